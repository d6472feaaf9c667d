"""No look-ahead of a whole account: bars of all symbols are cut, then poisoned, at one moment.

Whom an account with limits has room for hangs on all symbols, so cutting one by itself does not
show that it is chosen by what is known.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from data import Bars, Window
from data.checks import Flags, format_time
from engine.accounts.ledger import REASONS, Ledger
from engine.batch import Engine
from optimizer.evidence.lookahead import compare_bits, poison_bars
from optimizer.run.task import Task
from optimizer.search.generation import Floats

EVEN_MOMENTS, MOST_TRACED = 8, 16

END = REASONS.index("end")

Ledgers = Sequence[Ledger]


class AccountCuts(NamedTuple):
    """Result of cutting an account."""

    cuts: int
    mismatches: int  # of members at cuts
    first: str  # where, in words; empty without any


class MomentCut(NamedTuple):
    """Windows up to a moment."""

    windows: tuple[Window, ...]  # those that have bars by then
    places: tuple[int, ...]  # of them among all windows
    known_ns: int  # entries before it were answered by what these windows hold


def cut_account(task: Task, engine: Engine, genomes: Floats, members: Sequence[int]) -> AccountCuts:
    """Cut the accounts of a front [F, G] at moments, with and without the bars behind.

    Args:
        task: With limits; its searched windows are cut.
        engine: Of them, with limits.
        genomes: [F, G].
        members: Whose ledgers are compared too, trade by trade.
    """
    traced = members[:: -(-len(members) // MOST_TRACED)] if members else []
    whole = dict(zip(traced, engine.ledgers(genomes[traced]), strict=True))
    windows, mismatches, first = task.markets.windows, 0, ""
    moments = choose_moments(task.markets.series, windows, list(whole.values()))
    for moment in moments:
        cut = cut_windows(task.markets.series, windows, moment)
        differ = _find_differences(task, engine, cut, genomes, whole)
        mismatches += int(differ.sum())
        if differ.any() and not first:
            member = int(differ.argmax())
            first = f"{format_time(moment)}, in the account's room of member {member}"
    return AccountCuts(len(moments), mismatches, first)


def choose_moments(
    series: Sequence[Bars], windows: Sequence[Window], listed: Sequence[Ledgers]
) -> tuple[int, ...]:
    """Moments of cuts, nanoseconds UTC, ascending: even ones, and closes of bars of entries.

    Args:
        series: That windows refer to.
        windows: [W].
        listed: Ledgers [W] of some members, whose middle trades' entries are taken.
    """
    opened = np.unique(
        np.concatenate([series[w.series].timestamp[w.start : w.end] for w in windows])
    )
    even = np.linspace(0, len(opened) - 1, EVEN_MOMENTS + 2).astype(np.int64)[1:-1]
    moments = set(opened[even].tolist())
    for ledgers in listed:
        for window, ledger in zip(windows, ledgers, strict=True):
            if len(ledger):
                bars = series[window.series]
                entry = int(ledger.entry_bar[len(ledger) // 2])
                moments.add(int(bars.over_ns[entry]))
                break
    return tuple(sorted(moments))


def cut_windows(series: Sequence[Bars], windows: Sequence[Window], moment: int) -> MomentCut:
    """Windows as they are when only bars that have closed by a moment are known."""
    kept, numbers, known_ns = [], [], moment
    for number, window in enumerate(windows):
        bars = series[window.series]
        count = int(np.searchsorted(bars.over_ns, moment, side="right"))
        end = min(count, window.end)
        if end > window.start:
            kept.append(replace(window, end=end))
            numbers.append(number)
            if end < window.end:
                # A position that is open here ends with the window, and no longer holds room.
                known_ns = min(known_ns, int(bars.over_ns[end - 1]))
    return MomentCut(tuple(kept), tuple(numbers), known_ns)


def _find_differences(
    task: Task, engine: Engine, cut: MomentCut, genomes: Floats, whole: Mapping[int, Ledgers]
) -> Flags:
    """Whether accounts of members [F] depend on bars behind a moment."""
    differ = np.zeros(len(genomes), np.bool_)
    if not cut.windows:
        return differ
    known = engine.on(cut.windows)
    expected = known.evaluate_account(genomes)
    for change in (Bars.until, poison_bars):
        seen = _change_engine(task, cut.windows, change).evaluate_account(genomes)
        differ |= ~compare_bits(expected[0], seen[0])
        differ |= ~compare_bits(expected[1][:, None], seen[1][:, None])
    for member, ledgers in zip(whole, known.ledgers(genomes[list(whole)]), strict=True):
        for number, ledger in zip(cut.places, ledgers, strict=True):
            bars = task.markets.series[task.markets.windows[number].series]
            differ[member] |= not _is_beginning(ledger, whole[member][number], bars, cut.known_ns)
    return differ


def _change_engine(
    task: Task, windows: Sequence[Window], change: Callable[[Bars, int], Bars]
) -> Engine:
    """Engine of series that end, or are others, behind the windows."""
    ends: dict[int, int] = {}
    for window in windows:
        ends[window.series] = max(ends.get(window.series, 0), window.end)
    # What no window reads may be whole.
    series = [
        change(bars, ends[number]) if number in ends else bars
        for number, bars in enumerate(task.markets.series)
    ]
    return Engine(task.spec, series, windows, task.costs, device="cpu", threads=task.config.threads)


def _is_beginning(cut_short: Ledger, whole: Ledger, bars: Bars, known_ns: int) -> bool:
    """Whether the trades that were entered before a moment are those of the whole ledger."""
    entries = [bars.timestamp[ledger.entry_bar] for ledger in (cut_short, whole)]
    counts = [int((times < known_ns).sum()) for times in entries]
    if counts[0] != counts[1]:
        return False
    closed = np.flatnonzero(cut_short.reason[: counts[0]] != END)
    of_whole = whole.columns()
    return all(
        column[closed].tobytes() == of_whole[name][closed].tobytes()
        for name, column in cut_short.columns().items()
    )
