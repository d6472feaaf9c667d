"""The account of one individual: its equity, drawdowns, months and Sharpe ratio over time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from data.checks import Ints
from data.timeframe import UNITS_NS
from engine.accounts.account import Account
from engine.accounts.curves import compound, find_scale, scale_hold
from optimizer.evidence.returns import sharpe_ratios
from optimizer.formatting import fraction, minute, number
from optimizer.report.trades import Trades, factorize_names
from optimizer.search.generation import Floats

NS_PER_DAY = UNITS_NS["d"]

SHARPE_DAYS = 90
"""Days with bars over which a Sharpe ratio is taken, again and again."""

MOST_DRAWDOWNS = 5
"""Drawdowns that are named, the deepest first."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A value that changes at certain times."""

    time_ns: Ints  # [N] int64, nanoseconds UTC, ascending
    value: Floats  # [N], from then on


@dataclass(frozen=True)
class Drawdown:
    """A fall of equity below its peak."""

    depth: float  # share of the peak that was lost at the deepest point
    from_ns: int  # when equity was at its peak for the last time, nanoseconds UTC
    to_ns: int  # when it was deepest
    recovered_ns: int | None  # when it was at its peak again; None where it has not been
    bars: int  # from the peak to the recovery, or else to the last bar


def equity_curve(
    trades: Trades, accounts: Sequence[str], risk_fraction: float, start_ns: int
) -> Curve:
    """Equity after each trade, from 1: all windows and markets are one account.

    `accounts` names each window's market, [W]; `risk_fraction` is what one R is worth. [K + 1]
    at the time of each exit bar; of trades that end together those of the first market come first.
    A later end comes no earlier, where the account sizes trades from cash.
    """
    if trades.steps is None:
        _, owner = factorize_names(accounts)
        order, changed_ns = np.lexsort((owner[trades.window], trades.exit_ns)), trades.exit_ns
        value = compound(trades.r[order], risk_fraction)
    else:
        equity, changed_ns, turn = trades.steps
        order = np.lexsort((turn, changed_ns))
        value, is_held_out = equity[order], trades.is_held_out[order]
        # The account of bars held out goes on where that of those searched on ended.
        if is_held_out.any() and not is_held_out.all():
            value[is_held_out] *= value[~is_held_out][-1]
    time_ns = np.concatenate([[start_ns], changed_ns[order]])
    return Curve(time_ns, np.concatenate([[1.0], value]))


def drawdown(curve: Curve) -> Floats:
    """How far equity lies below its peak so far, a fraction of the peak, [N] from 0 down.

    NaN where equity outgrew all numbers.
    """
    peak = np.maximum.accumulate(curve.value)
    with np.errstate(invalid="ignore"):
        fallen: Floats = curve.value / peak - 1.0
    return fallen


def find_hold_scale(holding: Account, curve: Curve) -> float:
    """Share of the account in holding at which its days vary as those of a curve; NaN for none."""
    last_point = np.searchsorted(curve.time_ns // NS_PER_DAY, holding.days, side="right") - 1
    return find_scale(holding.hold_days, curve.value[np.maximum(last_point, 0)])


def build_hold_curve(holding: Account, scale: float) -> Curve:
    """Buying and holding the bars of an account, at the ends of days; from 1 at the first bar."""
    opens = [
        holding.series[window.series].timestamp[[window.start, window.end - 1]]
        for window in holding.windows
    ]
    first, last = np.min(opens), np.max(opens)
    time_ns = np.minimum((holding.days + 1) * NS_PER_DAY, last)
    value = scale_hold(holding.hold_days, scale)
    return Curve(np.append(first, time_ns), np.append(1.0, value))


def match_hold(holding: Account, curve: Curve) -> tuple[Curve | None, float]:
    """Buying and holding at the volatility of a curve, and its end unscaled.

    None where one of them does not vary.
    """
    scale, ends = find_hold_scale(holding, curve), float(holding.hold_days[-1])
    return None if np.isnan(scale) else build_hold_curve(holding, scale), ends


def worst_drawdowns(curve: Curve, bar_times: Ints) -> list[Drawdown]:
    """The deepest falls of equity, the deepest first, in bars that open at `bar_times` [T].

    Equity is known after each trade: a loss that was still open is in none.
    """
    fallen = drawdown(curve)
    is_below = np.concatenate([[False], fallen < 0.0, [False]])
    begins, ends = np.flatnonzero(np.diff(is_below)).reshape(-1, 2).T
    lowest = [a + int(fallen[a:b].argmin()) for a, b in zip(begins, ends, strict=True)]
    drawdowns = []
    for fall in np.argsort(fallen[lowest], kind="stable")[:MOST_DRAWDOWNS].tolist():
        peak, end = int(begins[fall]) - 1, int(ends[fall])
        is_over = end < len(fallen)
        last = int(curve.time_ns[end]) if is_over else int(bar_times[-1])
        from_ns = int(curve.time_ns[peak])
        first_bar, last_bar = np.searchsorted(bar_times, [from_ns, last], side="right").tolist()
        drawdowns.append(
            Drawdown(
                -float(fallen[lowest[fall]]),
                from_ns,
                int(curve.time_ns[lowest[fall]]),
                last if is_over else None,
                last_bar - first_bar,
            )
        )
    return drawdowns


def describe_drawdowns(drawdowns: Sequence[Drawdown]) -> list[list[str]]:
    """Drawdowns as people read them, a row each."""
    return [
        [
            fraction(drawdown.depth),
            minute(drawdown.from_ns),
            minute(drawdown.to_ns),
            "not yet" if drawdown.recovered_ns is None else minute(drawdown.recovered_ns),
            number(drawdown.bars),
        ]
        for drawdown in drawdowns
    ]


def monthly_returns(curve: Curve, bar_times: Ints) -> tuple[Ints, Floats]:
    """Return of each month, by the month in which trades end, UTC.

    Of the months in which bars open, `bar_times` [T], nanoseconds UTC: years [Y], and [Y, 13]
    fractions, January to December, then the year; NaN for months without a bar and after ruin.
    """
    with_bars = np.unique(bar_times.astype("datetime64[ns]").astype("datetime64[M]").astype(int))
    first, last = int(with_bars[0]), int(with_bars[-1])
    months = np.arange(first, last + 1)
    edges = np.append(months, last + 1).astype("datetime64[M]").astype("datetime64[ns]")
    last_point = np.searchsorted(curve.time_ns, edges.astype(np.int64), side="left") - 1
    value = curve.value[np.maximum(last_point, 0)]  # [months + 1]
    years = np.arange(first // 12, last // 12 + 1)
    table = np.full((len(years), 13), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        made = np.where(np.isin(months, with_bars), value[1:] / value[:-1] - 1.0, np.nan)
    table[months // 12 - years[0], months % 12] = made
    is_there = np.isfinite(table).any(axis=1)
    table[is_there, 12] = np.nanprod(1.0 + table[is_there, :12], axis=1) - 1.0
    return years + 1970, table


def rolling_sharpe(trades: Trades, days: Ints) -> Floats:
    """Sharpe ratio of the R of each day, per day, over the `SHARPE_DAYS` up to and with it.

    Of days [D] since 1970 UTC with a bar: [max(D - SHARPE_DAYS + 1, 0)], the first one at
    `days[SHARPE_DAYS - 1]`; NaN where all of these days are equal, as without a trade.
    Source: `optimizer.evidence.returns`.
    """
    if len(days) < SHARPE_DAYS:
        return np.empty(0)
    closed = np.searchsorted(days, trades.exit_ns // NS_PER_DAY)
    daily = np.bincount(closed, weights=trades.r, minlength=len(days)).astype(np.float64)
    return sharpe_ratios(sliding_window_view(daily, SHARPE_DAYS).T)
