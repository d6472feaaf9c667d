"""No look-ahead, for the whole front: bars after a cut are taken away, then poisoned."""

from collections.abc import Sequence

import numpy as np

from data import Bars, Window
from data.checks import Ints
from engine.batch import Engine
from engine.ledger import Ledger
from optimizer.evidence.causality import MOST_MEMBERS, begins, cuts, poisoned, same_bits
from optimizer.judging.judgement import CausalRecord
from optimizer.search.generation import Floats
from optimizer.session.task import Task


def causal_record(task: Task, engine: Engine, genomes: Floats) -> CausalRecord:
    """Judge members before many cuts, with and without the bars behind.

    Args:
        task: Its searched windows are cut, one after the other.
        engine: Of them.
        genomes: [F, G] of the whole front.
    """
    chosen = min(len(genomes), MOST_MEMBERS)
    places = [i * len(genomes) // max(chosen, 1) for i in range(chosen)]
    whole = list(engine.ledgers(genomes[places]))
    n_cuts = mismatches = 0
    first = ""
    for place, window in enumerate(task.markets.windows):
        bars = task.markets.series[window.series]
        ledgers = [of_member[place] for of_member in whole]
        ends = cuts(window, ledgers)
        found = _differences(task, bars, window.start, ends, genomes, (places, ledgers))
        n_cuts += len(ends)
        mismatches += int(found.sum())
        if found.any() and not first:
            first = f"{bars.symbol}, bars from {ends[int(found.argmax())]} on"
    trades = sum(len(ledger) for of_member in whole for ledger in of_member)
    return CausalRecord(n_cuts, len(genomes), trades, mismatches, first)


def _differences(
    task: Task,
    bars: Bars,
    start: int,
    ends: Sequence[int],
    genomes: Floats,
    listed: tuple[Sequence[int], Sequence[Ledger]],
) -> Ints:
    """Members whose trades before a cut depend on the bars behind it, [C]."""

    def engine(series: Sequence[Bars], windows: Sequence[Window]) -> Engine:
        threads = task.config.threads
        return Engine(task.spec, series, windows, task.costs, device="cpu", threads=threads)

    whole = engine([bars], [Window(0, start, end) for end in ends])
    expected = whole.evaluate(genomes)
    parts = list(whole.ledgers(genomes[list(listed[0])]))
    found = np.zeros(len(ends), np.int64)
    for cut, end in enumerate(ends):
        changed = (bars.until(end), poisoned(bars, end))
        windows = [Window(number, start, end) for number in range(len(changed))]
        seen = engine(changed, windows).evaluate(genomes)
        same = same_bits(expected[:, cut], seen[:, 0]) & same_bits(expected[:, cut], seen[:, 1])
        for place, part, ledger in zip(listed[0], parts, listed[1], strict=True):
            same[place] &= begins(part[cut], ledger)
        found[cut] = (~same).sum()
    return found
