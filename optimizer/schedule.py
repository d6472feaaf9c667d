"""A schedule: when the search is repeated, on which bars, and one ledger over all its picks.

A date is a moment; in each series the first bar not earlier is its border. Each symbol has one
chain of trades, each entered by the pick of its bar's step. A position that is open at a border
runs on under the genes that entered it, and ends by them alone; until then new genes are not heard.
Limits are those of one account through all steps.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from data.bars import Bars, Window
from data.checks import Floats, Ints
from data.timeframe import UNITS_NS, format_timeframe, parse_timeframe
from engine.accounts.ledger import COUNTS, Ledger, Trade
from engine.accounts.limits import build_limits
from engine.reference import Reference
from engine.reference_account import take_account
from optimizer.errors import ConfigError

MOST_STEPS = 10_000
"""Steps of a schedule at most: each is a search of its own."""

Picks = Sequence[Floats | None]
"""Genome [G] of each step; None of an empty front, which enters nothing."""


def format_days(duration_ns: int) -> str:
    """A duration in days if it is whole ones; else in its longest unit.

    >>> format_days(parse_timeframe("26w")), format_days(parse_timeframe("90m"))
    ('182d', '90m')
    """
    days, rest = divmod(duration_ns, UNITS_NS["d"])
    return format_timeframe(duration_ns) if rest else f"{days}d"


@dataclass(frozen=True)
class Schedule:
    """How often the search is repeated, and on which bars; durations such as ``30d``."""

    every: str  # from one date to the next
    train: str  # length of a training
    purge: int  # bars cut from the end of a training
    anchored: bool  # whether every training begins with the first bar

    @property
    def every_ns(self) -> int:
        """From one date to the next, nanoseconds."""
        return parse_timeframe(self.every, "--every")

    @property
    def train_ns(self) -> int:
        """Length of a training, nanoseconds."""
        return parse_timeframe(self.train, "--train")


@dataclass(frozen=True)
class Step:
    """One search of a schedule, and from where on its pick trades."""

    date_ns: int  # nanoseconds UTC
    # Windows with the role ``train``, in the order of the searched ones; those without bars are
    # left out.
    train: tuple[Window, ...]
    borders: tuple[int, ...]  # [W], the first bar of each searched window that its pick trades


def list_dates(
    series: Sequence[Bars], windows: Sequence[Window], schedule: Schedule
) -> tuple[int, ...]:
    """Dates of the searches, nanoseconds UTC.

    Raises:
        ConfigError: When bars end before the first date, or there are too many dates.
        TimeframeError: When a text is no duration.
    """
    first_ns = min(int(series[w.series].timestamp[w.start]) for w in windows)
    last_ns = max(int(series[w.series].over_ns[w.end - 1]) for w in windows)
    dates = range(first_ns + schedule.train_ns, last_ns, schedule.every_ns)
    if not dates:
        raise ConfigError(
            f"--train {format_days(schedule.train_ns)} leaves no bar to trade: all bars last "
            f"{(last_ns - first_ns) / 86_400e9:.1f} days"
        )
    if len(dates) > MOST_STEPS:
        raise ConfigError(
            f"--every {format_days(schedule.every_ns)}: {len(dates):,} searches, at most "
            f"{MOST_STEPS:,} are made"
        )
    return tuple(dates)


def plan_steps(
    series: Sequence[Bars], windows: Sequence[Window], schedule: Schedule
) -> tuple[Step, ...]:
    """Steps of a schedule, in the order of time.

    Args:
        series: [S] that windows refer to.
        windows: [W] searched ones, as they were before they were cut into parts.
        schedule: When, and on which bars.

    Raises:
        ConfigError: When bars are too few, or the purge takes every training.
    """
    steps = []
    for date_ns in list_dates(series, windows, schedule):
        train, borders = [], []
        for window in windows:
            times = series[window.series].timestamp[window.start : window.end]
            from_ns = int(times[0]) if schedule.anchored else date_ns - schedule.train_ns
            first, border = (window.start + np.searchsorted(times, [from_ns, date_ns])).tolist()
            borders.append(border)
            if first < border - schedule.purge:
                train.append(Window(window.series, first, border - schedule.purge, "train"))
        steps.append(Step(date_ns, tuple(train), tuple(borders)))
    if not any(step.train for step in steps):
        raise ConfigError(
            f"--purge {schedule.purge} takes every bar of --train {format_days(schedule.train_ns)}"
        )
    return tuple(steps)


class EnteredTrades(NamedTuple):
    """Trades of one window by the genes that entered them."""

    window: Window
    genome: Floats  # [G]
    ledger: Ledger


@dataclass(frozen=True, eq=False)
class Stitched:
    """Trades of a schedule."""

    series: tuple[Bars, ...]  # [S] that windows refer to
    picks: Picks
    windows: tuple[Window, ...]  # [W], each from the first date on
    ledgers: tuple[Ledger, ...]  # [W]
    steps: tuple[Ints, ...]  # [W], number of the step that entered each trade, [K]
    borders: tuple[tuple[int, ...], ...]  # [W], first bar of each step, and the end

    @property
    def n_over_border(self) -> int:
        """Number of trades that were open at a border."""
        return sum(
            int((ledger.exit_bar >= np.array(borders)[steps + 1]).sum())
            for ledger, steps, borders in zip(self.ledgers, self.steps, self.borders, strict=True)
        )

    def list_entered(self, step: int) -> tuple[Ledger, ...]:
        """Trades that a step entered, a ledger a window, [W]."""
        pairs = zip(self.ledgers, self.steps, strict=True)
        return tuple(ledger.keep(steps == step) for ledger, steps in pairs)

    @cached_property
    def entered(self) -> list[EnteredTrades]:
        """The same trades, window after window of each step with a pick."""
        return [
            EnteredTrades(window, pick, ledger)
            for step, pick in enumerate(self.picks)
            if pick is not None
            for window, ledger in zip(self.windows, self.list_entered(step), strict=True)
        ]


def stitch(
    reference: Reference, windows: Sequence[Window], steps: Sequence[Step], picks: Picks
) -> Stitched:
    """Trades of the picks of all steps.

    Args:
        reference: Of the strategy and the series that windows refer to.
        windows: [W] searched ones, as steps were planned on them.
        steps: In the order of time.
        picks: Of each step.
    """
    traded: list[Window] = []
    borders: list[tuple[int, ...]] = []
    for number, window in enumerate(windows):
        cuts = *(step.borders[number] for step in steps), window.end
        # A market that ends before the first date trades nothing.
        if cuts[0] < window.end:
            traded.append(replace(window, start=cuts[0]))
            borders.append(cuts)
    if reference.costs.has_limits:
        by_step = _share_account(reference, traded, borders, picks)
    else:
        pairs = zip(traded, borders, strict=True)
        by_step = [list(_chain(reference, window, cuts, picks)) for window, cuts in pairs]
    entered = [np.repeat(np.arange(len(picks)), [len(part) for part in parts]) for parts in by_step]
    ledgers = tuple(map(join_ledgers, by_step))
    parts = tuple(traded), ledgers, tuple(entered), tuple(borders)
    return Stitched(reference.series, picks, *parts)


def _chain(
    reference: Reference, window: Window, cuts: Sequence[int], picks: Picks
) -> Iterator[Ledger]:
    """Trades of each step in a window, whatever other windows hold.

    Where orders rest or reverse, steps with equal genes are one: their orders stand on at its
    borders. Those of other genes end where orders of the next step may stand.
    """
    last: Trade | None = None
    stands = reference.spec.entry is not None or reference.spec.reverse

    def name_genes(step: int) -> object:
        pick = picks[step]
        return step if pick is None or not stands else pick.tobytes()

    for _, some in groupby(range(len(picks)), name_genes):
        steps = list(some)
        pick, start, stop = picks[steps[0]], cuts[steps[0]], cuts[steps[-1] + 1]
        part = _empty_ledger()
        if pick is not None and start < stop:
            part = _trade_step(reference, pick, replace(window, start=start), stop, last)
        if len(part):
            last = part.trade(len(part) - 1)
        entered = np.searchsorted(cuts[steps[0] + 1 : steps[-1] + 1], part.signal_bar, side="right")
        # Counts beside trades belong to the first of them.
        counts: Any = {name: getattr(part, name) for name in COUNTS}
        yield replace(part.keep(entered == 0), **counts)
        for number in range(1, len(steps)):
            yield part.keep(entered == number)


def _trade_step(
    reference: Reference, pick: Floats, window: Window, stop: int, last: Trade | None
) -> Ledger:
    """Trades of a pick with signals that count before bar `stop`.

    An open one may be reversed by its own genes; the trade that would begin is not taken.
    """
    part = reference.continue_trades(pick, window, stop, last)
    known, counts = stop, {name: getattr(part, name) for name in COUNTS}
    while reference.spec.reverse and len(part) and part.exit_bar[-1] > known < window.end:
        known = min(known + 2 * (known - window.start), window.end)
        longer = reference.continue_trades(pick, window, known, last)
        kept: Any = longer.keep(np.arange(len(longer)) < len(part))
        part = replace(kept, **counts)
    return part


def _share_account(
    reference: Reference, windows: Sequence[Window], borders: Sequence[Sequence[int]], picks: Picks
) -> list[list[Ledger]]:
    """Trades of each step [K] in each window [W] that one account with limits has room for."""
    by_step = [[_empty_ledger() for _ in picks] for _ in windows]
    asks, window_steps = [], []
    for number, (window, cuts) in enumerate(zip(windows, borders, strict=True)):
        for step, (pick, (start, stop)) in enumerate(zip(picks, pairwise(cuts), strict=True)):
            if pick is None or start == stop:
                continue
            asking = reference.ask_until(pick, replace(window, start=start), stop)
            # A position ends with its window, and runs on over a border within it.
            asks.append(asking._replace(continues=start > window.start))
            window_steps.append((number, step))
    taken = take_account(asks, build_limits(reference.costs))
    for (number, step), ledger in zip(window_steps, taken, strict=True):
        by_step[number][step] = ledger
    return by_step


def join_ledgers(parts: Sequence[Ledger]) -> Ledger:
    """Ledgers one after the other."""
    # Ledgers with trades show how many targets they have; the others have none of these columns.
    some = [part for part in parts if len(part)] or [_empty_ledger()]
    joined: Any = {
        name: np.concatenate([part.columns()[name] for part in some]) for name in some[0].columns()
    }
    totals = {name: sum(getattr(part, name) for part in parts) for name in COUNTS}
    return Ledger(**joined, **totals)


def _empty_ledger() -> Ledger:
    whole, prices, small = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int8)
    return Ledger(
        whole, whole, whole, small, prices, prices, prices, prices, prices, small, prices, whole
    )
