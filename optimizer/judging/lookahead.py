"""No look-ahead, for the whole front: bars after a cut are taken away, then poisoned."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from data import Bars, Window
from data.checks import Flags
from engine.accounts.ledger import Ledger
from engine.batch import Engine
from engine.memory_plan import allow_host_bytes
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.cpu.row_memory import keeping_row_memory
from engine.runtime.machine import available_cores
from optimizer.evidence.lookahead import (
    EVEN_CUTS,
    FULL_WINDOWS,
    MOST_MEMBERS,
    CausalRecord,
    choose_cuts,
    compare_bits,
    count_signals_taken,
    is_beginning,
    poison_bars,
    share_cuts,
)
from optimizer.judging.account_lookahead import cut_account
from optimizer.run.task import Task
from optimizer.search.generation import Floats

MOST_CUTS_AT_ONCE = 16
"""Cuts of a window that are evaluated side by side."""

CUT_BAR_BYTES = 500
"""Of a bar of a cut, about: two copies of it, what is computed of them, and rows of one member."""


def build_causal_record(
    task: Task,
    engine: Engine,
    genomes: Floats,
    watch: Callable[[int, int], None] = lambda done, planned: None,
    *,
    is_shared: bool | None = None,
) -> CausalRecord:
    """Judge members before many cuts, with and without the bars behind.

    Args:
        task: Its searched windows are cut, one after the other.
        engine: Of them.
        genomes: [F, G] of the whole front.
        watch: Is given how many windows are done, of how many: a thousand symbols take minutes.
        is_shared: Whether windows share cuts, as a record has it; None where they are many.

    Each symbol is cut by itself, without limits of an account; one that has limits is also cut as
    a whole.
    """
    limited = task, engine
    if task.costs.has_limits:
        task = replace(task, costs=task.costs.without_limits)
        engine = task.engine(device="cpu")
    windows = task.markets.windows
    chosen = min(len(genomes), MOST_MEMBERS)
    traced = [i * len(genomes) // max(chosen, 1) for i in range(chosen)]
    if is_shared is None:
        is_shared = len(windows) > FULL_WINDOWS
    turns, n_even = share_cuts(len(windows)) if is_shared else (1, EVEN_CUTS)
    n_cuts = mismatches = trades = n_done = 0
    first = ""
    for window_indices, share in engine.shares():
        whole = list(share.ledgers(genomes[traced]))
        # Memory may not hold it beside the next one.
        del share
        trades += sum(len(ledger) for of_member in whole for ledger in of_member)
        for number, index in enumerate(window_indices):
            window = windows[index]
            ledgers = dict(zip(traced, (of_member[number] for of_member in whole), strict=True))
            ends = choose_cuts(window, list(ledgers.values())[index % turns :: turns], n_even)
            with keeping_row_memory():
                differ = _find_differences(task, engine, (window, ends), genomes, ledgers)
            n_cuts, n_done = n_cuts + len(ends), n_done + 1
            watch(n_done, len(windows))
            mismatches += int(differ.sum())
            if differ.any() and not first:
                cut = int(differ.any(axis=0).argmax())
                member = int(differ[:, cut].argmax())
                reader = _find_reader(task, window, ends[cut], genomes[member])
                symbol = task.markets.names[window.series]
                first = f"bar {ends[cut]} of {symbol}, in {reader} of member {member}"
    if limited[0].costs.has_limits:
        account = cut_account(*limited, genomes, traced)
        n_cuts, mismatches = n_cuts + account.cuts, mismatches + account.mismatches
        first = first or account.first
    return CausalRecord(n_cuts, len(genomes), trades, mismatches, first, is_shared)


def _find_differences(
    task: Task,
    engine: Engine,
    cut: tuple[Window, Sequence[int]],
    genomes: Floats,
    ledgers: dict[int, Ledger],
) -> Flags:
    """Whether trades of members before each cut depend on the bars behind it, [F, C].

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
    expected, cut_ledgers = whole.evaluate(genomes), list(whole.ledgers(genomes[members]))
    nexts = [Window(0, window.start, min(end + 1, len(bars))) for end in ends]
    prompt = (
        _build_engine(task, (bars,), nexts, 0)
        if task.costs.entry_delay
        else engine.on([replace(following, series=window.series) for following in nexts])
    )
    rests = task.spec.entry is not None
    taken = count_signals_taken(prompt.evaluate(genomes), rests=rests)
    differ = np.zeros((len(genomes), len(ends)), np.bool_)
    # The last cut first, which takes most memory.
    cuts = _evaluate_cuts(task, bars, window.start, ends[::-1], genomes)
    for index, (seen, seen_taken) in zip(range(len(ends))[::-1], cuts, strict=True):
        end = ends[index]
        for accumulators in (seen[:, 0], seen[:, 1]):
            differ[:, index] |= ~compare_bits(expected[:, index], accumulators)
        if end < len(bars):
            differ[:, index] |= seen_taken != taken[:, index]
        for (member, ledger), member_ledgers in zip(ledgers.items(), cut_ledgers, strict=True):
            differ[member, index] |= not is_beginning(member_ledgers[index], ledger)
    return differ


def _evaluate_cuts(
    task: Task, bars: Bars, start: int, ends: Sequence[int], genomes: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Results of `_evaluate_cut` at each end, several of them side by side.

    Much of a cut is checking and copying bars, which one core does.
    """
    cores, free = available_cores(task.config.threads), allow_host_bytes()
    fit = free // (CUT_BAR_BYTES * len(bars))
    # A person's own code may not be made for threads.
    at_once = 1 if task.spec.own else max(1, min(cores, len(ends), MOST_CUTS_AT_ONCE, fit))

    def evaluate(end: int) -> tuple[Floats, Floats]:
        # Room for as many rows at every cut, so that what one leaves serves the next.
        memory = free // at_once * (end + len(bars)) // (2 * len(bars))
        shared = {"threads": cores // at_once, "memory": memory}
        alone = replace(task, config=task.config.model_copy(update=shared))
        return _evaluate_cut(alone, bars, start, end, genomes)

    if at_once == 1:
        # In the caller's own thread, where a signal ends it.
        yield from map(evaluate, ends)
        return
    pool = ThreadPoolExecutor(at_once, "cuts")
    try:
        yield from pool.map(evaluate, ends)
    finally:
        pool.shutdown(cancel_futures=True)


def _evaluate_cut(
    task: Task, bars: Bars, start: int, end: int, genomes: Floats
) -> tuple[Floats, Floats]:
    """Accumulators of members before a cut, with other bars behind it.

    Returns:
        Accumulators [F, 2, A] up to the cut, of bars that end there and of poisoned ones; and how
        many signals up to the bar before it were taken on poisoned ones, [F].
    """
    changed = bars.until(end), poison_bars(bars, end)
    # With an entry on the first poisoned bar, the signal of the last good one counts as well.
    following = Window(1, start, min(end + 1, len(bars)))
    windows = [Window(0, start, end), Window(1, start, end), following]
    engine = _build_engine(task, changed, windows, task.costs.entry_delay)
    seen, rests = engine.evaluate(genomes), task.spec.entry is not None
    if task.costs.entry_delay:
        prompt = engine.with_costs(replace(task.costs, entry_delay=0)).on((following,))
        return seen, count_signals_taken(prompt.evaluate(genomes), rests=rests)[:, 0]
    return seen, count_signals_taken(seen, rests=rests)[:, 2]


def _build_engine(
    task: Task, series: Sequence[Bars], windows: Sequence[Window], delay: int
) -> Engine:
    config = task.config
    engine = Engine(
        task.spec,
        series,
        windows,
        replace(task.costs, entry_delay=delay),
        device="cpu",
        threads=config.threads,
        memory_bytes=config.memory,
    )
    engine.end_rows()
    return engine


def _find_reader(task: Task, window: Window, end: int, genome: Floats) -> str:
    """Names of a member's rows that read bars from a cut on: those that differ before it."""
    bars = task.markets.series[window.series]
    rows = [
        _read_rows(task, seen_bars, genome)
        for seen_bars in (bars, bars.until(end), poison_bars(bars, end))
    ]
    names = [
        f"'{name}'"
        for name in rows[0]
        if len({rows_of_bars[name][:end].tobytes() for rows_of_bars in rows}) > 1
    ]
    return f"row {' and '.join(names)}" if names else "no row, but the trades"


def _read_rows(task: Task, bars: Bars, genome: Floats) -> dict[str, Floats]:
    """Rows [T] that a member reads of some bars, as the strategy writes them."""
    reference = Reference(task.spec, [bars], [], form=CompiledForm())
    return reference.rows(task.spec.layout.decode(genome), 0)
