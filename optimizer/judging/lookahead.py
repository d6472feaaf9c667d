"""No look-ahead, for the whole front: bars behind a cut are others, and what was known stays.

Each symbol is cut by itself. Where symbols share limits or cash the account is also cut as a whole,
all symbols at one moment, because whom it has room for hangs on all of them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from data import Bars, Window
from data.checks import Floats, Ints
from engine.accounts.ledger import Ledger
from engine.batch import Engine
from optimizer.evidence.lookahead import (
    EVEN_CUTS,
    FULL_WINDOWS,
    MOST_MEMBERS,
    CausalRecord,
    choose_cuts,
    choose_evenly,
    choose_trade_cuts,
    share_cuts,
)
from optimizer.judging.cuts import Cut, Job, Proof
from optimizer.run.task import Task

READERS = 4
"""Members whose rows are compared where all members are cut: they take turns."""

MOST_BARS = 2_000_000
"""Of cuts of one member that are evaluated together."""

EVEN_MOMENTS, MOST_OF_ACCOUNT, TRADES_OF_ACCOUNT = 8, 16, 4
"""Moments at which accounts are cut for every member; members that are cut at so many trades."""


def build_causal_record(
    task: Task,
    engine: Engine,
    genomes: Floats,
    watch: Callable[[int, int], None] = lambda done, planned: None,
    *,
    is_shared: bool | None = None,
) -> CausalRecord:
    """Judge members before many cuts, with wrong bars behind.

    Args:
        task: Its searched windows are cut, one after the other.
        engine: Of them.
        genomes: [F, G] of the whole front.
        watch: Is given how many windows are done, of how many: a thousand symbols take minutes.
        is_shared: Whether windows share cuts, as a record has it; None where they are many.
    """
    windows, limited = task.markets.windows, (task, engine)
    if task.costs.has_limits:
        task = replace(task, costs=task.costs.without_limits)
        engine = task.engine(device="cpu")
    if is_shared is None:
        is_shared = len(windows) > FULL_WINDOWS
    turns, n_even = share_cuts(len(windows)) if is_shared else (1, EVEN_CUTS)
    traced = choose_evenly(np.arange(len(genomes)), MOST_MEMBERS)
    found, n_done = CausalRecord(0, len(genomes), 0, 0, "", is_shared), 0
    for window_numbers, share in engine.shares():
        whole = list(share.ledgers(genomes[traced]))
        # Memory may not hold it beside the next one.
        del share
        n_trades = sum(len(ledger) for of_member in whole for ledger in of_member)
        found = replace(found, trades=found.trades + n_trades)
        for number, place in enumerate(window_numbers.tolist()):
            ledgers = {
                int(member): of_member[number]
                for member, of_member in list(zip(traced, whole, strict=True))[
                    place % turns :: turns
                ]
            }
            jobs = _plan_window(task, place, len(genomes), ledgers, n_even)
            found, n_done = _add(found, Proof(task, engine, genomes).find(jobs)), n_done + 1
            watch(n_done, len(windows))
    if len(windows) > 1 and (limited[0].costs.has_limits or task.spec.account is not None):
        found = _add(found, cut_account(*limited, genomes, traced))
    return found


def cut_account(
    task: Task, engine: Engine, genomes: Floats, members: Ints
) -> Iterator[tuple[int, int, str]]:
    """Cut the accounts of a front [F, G] as a whole: cuts, differences and the first of them.

    Args:
        task: Its searched windows are cut.
        engine: Of them.
        genomes: [F, G].
        members: Some of them are also cut at trades of their own.
    """
    series, windows = task.markets.series, task.markets.windows
    some = choose_evenly(members, MOST_OF_ACCOUNT)
    opened = np.unique(
        np.concatenate([series[w.series].timestamp[w.start : w.end] for w in windows])
    )
    even = np.linspace(0, len(opened) - 1, EVEN_MOMENTS + 2).astype(np.int64)[1:-1]
    jobs = [_plan_moments(task, opened[even], np.arange(len(genomes)))]
    for member, ledgers in zip(some, engine.ledgers(genomes[some]), strict=True):
        moments = np.unique(
            np.concatenate(
                [
                    series[w.series].timestamp[choose_evenly(ledger.entry_bar, TRADES_OF_ACCOUNT)]
                    for w, ledger in zip(windows, ledgers, strict=True)
                ]
            )
        )
        moments = choose_evenly(moments, TRADES_OF_ACCOUNT)
        jobs.append(_plan_moments(task, moments, np.array([member]))._replace(whole=ledgers))
    return Proof(task, engine, genomes, is_account=True).find(jobs)


def _plan_window(
    task: Task, place: int, n_members: int, ledgers: Mapping[int, Ledger], n_even: int
) -> Iterator[Job]:
    """Cuts of one window: for all members, and at trades of some."""
    window = task.markets.windows[place]
    bars = task.markets.series[window.series]

    def cut(end: int) -> Cut:
        return Cut((replace(window, end=end),), (place,))

    # The last cuts first, which take most memory.
    for turn, end in enumerate(choose_cuts(bars, window, task.spec.zones, n_even)[::-1]):
        readers = np.unique((turn * READERS + np.arange(READERS)) % n_members)
        yield Job((cut(end),), np.arange(n_members), readers)
    together = max(1, MOST_BARS // len(bars))
    for member, ledger in ledgers.items():
        cuts = [
            cut(end) for end in choose_trade_cuts(bars, window, ledger, task.config.seed, member)
        ]
        for begin in range(0, len(cuts), together):
            yield Job(
                tuple(cuts[begin : begin + together]), np.array([member]), np.arange(0), (ledger,)
            )


def _plan_moments(task: Task, moments: Ints, members: Ints) -> Job:
    """Cuts of all windows at moments, as when only bars are known that are over by then."""
    return Job(
        tuple(filter(None, (cut_windows(task, int(now)) for now in moments))), members, np.arange(0)
    )


def cut_windows(task: Task, moment: int) -> Cut | None:
    """Windows as they are when only bars that are over by a moment are known; None without any."""
    kept = [
        (replace(window, end=end), place)
        for place, window in enumerate(task.markets.windows)
        if (end := _count_known_bars(task.markets.series[window.series], window, moment))
        > window.start
    ]
    return Cut(*zip(*kept, strict=True)) if kept else None


def _count_known_bars(bars: Bars, window: Window, moment: int) -> int:
    return min(int(np.searchsorted(bars.over_ns, moment, side="right")), window.end)


def _add(found: CausalRecord, differences: Iterator[tuple[int, int, str]]) -> CausalRecord:
    for cuts, mismatches, first in differences:
        found = replace(
            found,
            cuts=found.cuts + cuts,
            mismatches=found.mismatches + mismatches,
            first=found.first or first,
        )
    return found
