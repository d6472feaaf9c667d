"""Dates of a schedule: when the search is repeated, on which bars, and what its pick then trades.

A date is a moment; in each series the first bar not earlier is its border.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.bars import Bars, Window
from data.timeframe import UNITS_NS, format_timeframe, parse_timeframe
from optimizer.errors import ConfigError

MOST_STEPS = 10_000
"""Steps of a schedule at most: each is a search of its own."""


def format_days(duration_ns: int) -> str:
    """A duration in days where it is whole ones, such as ``30d``; else in its longest unit."""
    days, rest = divmod(duration_ns, UNITS_NS["d"])
    return format_timeframe(duration_ns) if rest else f"{days}d"


@dataclass(frozen=True)
class Schedule:
    """How often the search is repeated, and on which bars."""

    every_ns: int  # from one date to the next, nanoseconds
    train_ns: int  # length of a training, nanoseconds
    purge: int = 0  # bars cut from the end of a training
    is_anchored: bool = False  # whether every training begins with the first bar


def parse_schedule(every: str, train: str, purge: int, *, is_anchored: bool = False) -> Schedule:
    """Schedule of durations such as ``30d``.

    Raises:
        TimeframeError: When a text is no duration.

    >>> format_days(parse_schedule("30d", "26w", 96).train_ns)
    '182d'
    """
    every_ns, train_ns = parse_timeframe(every, "--every"), parse_timeframe(train, "--train")
    return Schedule(every_ns, train_ns, purge, is_anchored)


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
    """
    first_ns = min(int(series[w.series].timestamp[w.start]) for w in windows)
    closes = [int(series[w.series].over_ns[w.end - 1]) for w in windows]
    dates = range(first_ns + schedule.train_ns, max(closes), schedule.every_ns)
    if not dates:
        raise ConfigError(
            f"--train {format_days(schedule.train_ns)} leaves no bar to trade: all bars last "
            f"{(max(closes) - first_ns) / 86_400e9:.1f} days"
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
    steps = [
        plan_step(series, windows, schedule, date) for date in list_dates(series, windows, schedule)
    ]
    if not any(step.train for step in steps):
        raise ConfigError(
            f"--purge {schedule.purge} takes every bar of --train {format_days(schedule.train_ns)}"
        )
    return tuple(steps)


def plan_step(
    series: Sequence[Bars], windows: Sequence[Window], schedule: Schedule, date_ns: int
) -> Step:
    """The step of one date."""
    train, borders = [], []
    for window in windows:
        times = series[window.series].timestamp[window.start : window.end]
        from_ns = int(times[0]) if schedule.is_anchored else date_ns - schedule.train_ns
        first, border = (window.start + np.searchsorted(times, [from_ns, date_ns])).tolist()
        borders.append(border)
        if first < border - schedule.purge:
            train.append(Window(window.series, first, border - schedule.purge, "train"))
    return Step(date_ns, tuple(train), tuple(borders))
