"""No look-ahead, for the whole front: bars after a cut are taken away, then poisoned."""

from collections.abc import Sequence

import numpy as np

from data import Bars, Window
from data.checks import Flags
from engine.batch import Engine
from engine.contract import Form
from engine.ledger import Ledger
from engine.rows.plan import parameters_of
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
        ledgers = dict(zip(places, (of_member[place] for of_member in whole), strict=True))
        ends = cuts(window, list(ledgers.values()))
        differ = _differences(task, engine, (window, ends), genomes, ledgers)
        n_cuts += len(ends)
        mismatches += int(differ.sum())
        if differ.any() and not first:
            cut = int(differ.any(axis=0).argmax())
            member = int(differ[:, cut].argmax())
            reader = _reader(task, window, ends[cut], genomes[member])
            symbol = task.markets.names[window.series]
            first = f"bar {ends[cut]} of {symbol}, in {reader} of member {member}"
    trades = sum(len(ledger) for of_member in whole for ledger in of_member)
    return CausalRecord(n_cuts, len(genomes), trades, mismatches, first)


def _differences(
    task: Task,
    engine: Engine,
    cut: tuple[Window, Sequence[int]],
    genomes: Floats,
    ledgers: dict[int, Ledger],
) -> Flags:
    """Whose trades before which cut depend on the bars behind it, [F, C].

    Args:
        task: Of the run.
        engine: Of its series as they are.
        cut: A window, and the bars [C] at which it is cut.
        genomes: [F, G].
        ledgers: Of some members in the whole window, by number.
    """
    window, ends = cut
    bars, members = task.markets.series[window.series], list(ledgers)
    whole = engine.on([Window(window.series, window.start, end) for end in ends])
    expected, parts = whole.evaluate(genomes), list(whole.ledgers(genomes[members]))
    differ = np.zeros((len(genomes), len(ends)), np.bool_)
    for place, end in enumerate(ends):
        seen = _changed(task, bars, window.start, end).evaluate(genomes)
        for found in (seen[:, 0], seen[:, 1]):
            differ[:, place] |= ~same_bits(expected[:, place], found)
        for (member, ledger), part in zip(ledgers.items(), parts, strict=True):
            differ[member, place] |= not begins(part[place], ledger)
    return differ


def _changed(task: Task, bars: Bars, start: int, end: int) -> Engine:
    """An engine of bars that end at a cut, and of bars that are poisoned from there on."""
    changed = (bars.until(end), poisoned(bars, end))
    windows = [Window(number, start, end) for number in range(len(changed))]
    threads = task.config.threads
    return Engine(task.spec, changed, windows, task.costs, device="cpu", threads=threads)


def _reader(task: Task, window: Window, end: int, genome: Floats) -> str:
    """What in a member reads the bars from a cut on: its rows that are others before it."""
    bars = task.markets.series[window.series]
    changed = _changed(task, bars, window.start, end)
    whole = Engine(task.spec, [bars], [Window(0, window.start, end)], task.costs, device="cpu")
    names = []
    for place, row in enumerate(task.spec.rows):
        form, (given,) = Form.of(row), parameters_of(task.spec, place, genome[None])
        rows = [whole.row(form, given), *(changed.row(form, given, number) for number in (0, 1))]
        if len({one[:end].tobytes() for one in rows}) > 1:
            names.append(f"'{row.name}'")
    return f"row {' and '.join(names)}" if names else "no row, but the trades"
