"""Curves of an account: growth, falls, runs, and buying and holding the same bars."""

from collections.abc import Sequence

import numpy as np

from data.bars import Bars, Window
from data.checks import Flags, Floats, Ints
from data.timeframe import UNITS_NS
from engine.accounts.costs import Costs


def add_up(values: Floats) -> float:
    """Sum of values [N], one addition after another, as accumulators have it."""
    return float(values.cumsum()[-1]) if len(values) else 0.0


def compound(r: Floats, risk_fraction: float) -> Floats:
    """Equity after each trade, from 1, by its R [K] in order; ruin and infinity are for ever."""
    with np.errstate(over="ignore", invalid="ignore"):
        equity: Floats = np.multiply.accumulate(1.0 + risk_fraction * r)
    equity[np.logical_or.accumulate(~(equity > 0.0))] = 0.0
    return equity


def measure_falls(value: Floats) -> Floats:
    """How far values [N] lie below the highest so far, which begins with 1, as shares of it."""
    peak = np.maximum.accumulate(np.concatenate([[1.0], value]))[1:]
    falls: Floats = (peak - value) / peak
    return falls


def longest_run(flags: Flags) -> int:
    """Length of the longest run of true flags.

    >>> longest_run(np.array([True, False, True, True]))
    2
    """
    runs = find_runs(flags)
    return int((runs[:, 1] - runs[:, 0]).max(initial=0))


def find_runs(flags: Flags) -> Ints:
    """Begin and end, itself not within, of each run of true flags, [K, 2].

    >>> find_runs(np.array([True, False, True, True])).tolist()
    [[0, 1], [2, 4]]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return edges.reshape(-1, 2)


def hold_values(bars: Bars, window: Window, at: Ints, costs: Costs) -> Floats:
    """Worth at closes of bars [N] of a purchase at a window's first close, cost of entry paid.

    Not at the first open: on the bar of a listing that may be a price at which nothing was sold.
    """
    paid = bars.close[window.start] * (1.0 + costs.per_side)
    values: Floats = bars.close[at] / paid
    return values


def hold_by_day(
    series: Sequence[Bars], windows: Sequence[Window], strands: Ints, days: Ints, costs: Costs
) -> Floats:
    """Equity of buying each market at its first close and holding, at the end of each day [D].

    The mean of all markets, by `hold_values`, from 1; a market goes from one window to the next.
    Before its first bar a market is worth 1, after its last bar as much as at that bar.

    Args:
        series: [S] that windows refer to.
        windows: [W], those of one market in the order of time.
        strands: [W] number of each one's market, from 0.
        days: [D] UTC days since 1970, ascending.
        costs: What the entry costs.
    """
    values = np.ones((int(strands.max()) + 1, len(days)))
    ends_ns = (days + 1) * UNITS_NS["d"]
    for window, strand in zip(windows, strands, strict=True):
        bars = series[window.series]
        last = np.searchsorted(bars.timestamp, ends_ns, side="left") - 1
        known = np.clip(last, window.start, window.end - 1)
        value = hold_values(bars, window, known, costs)
        values[strand] *= np.where(last < window.start, 1.0, value)
    held: Floats = values.mean(axis=0)
    return held


def find_scale(hold: Floats, own: Floats) -> float:
    """Share of an account in holding at which its days vary as much as the account's own.

    Both are equity at the ends of days [D], from 1. NaN where one of them does not vary, or where
    the account is ruined.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        spread, own_spread = (float(np.std(_list_changes(each))) for each in (hold, own))
    return own_spread / spread if spread > 0.0 and own_spread > 0.0 else np.nan


def scale_hold(hold: Floats, scale: float) -> Floats:
    """Equity at the ends of days [D] with so much of the account in holding, each day anew."""
    scaled: Floats = np.multiply.accumulate(np.maximum(1.0 + scale * _list_changes(hold), 0.0))
    return scaled


def _list_changes(equity: Floats) -> Floats:
    """Change of each day [D] as a share of the day before, the first from 1."""
    changes: Floats = equity / np.concatenate([[1.0], equity[:-1]]) - 1.0
    return changes
