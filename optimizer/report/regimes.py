"""Trades by the regime of the market at their signal: its trend, and its volatility.

Trend is what price made of the last `REGIME_BARS` bars, volatility the standard deviation of its
steps over them, both of logarithms of closes; each is cut into thirds of the bars of a symbol that
were searched or tried. Thirds are known only afterwards: the table describes, it selects nothing.
House rule.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from data.bars import Bars, Window
from data.checks import Ints
from optimizer.report.trades import Trades
from optimizer.search.generation import Floats

REGIME_BARS = 100

TRENDS, VOLATILITIES = ("falling", "sideways", "rising"), ("calm", "middling", "wild")

CELLS = tuple(product(TRENDS, VOLATILITIES))
"""Trend and volatility of each regime."""

UNKNOWN = -1
"""Regime of a bar that has fewer bars before it."""


@dataclass(frozen=True, eq=False)
class Regimes:
    """Regimes of the bars of each series [S]: 3 * trend + volatility, `UNKNOWN` where unknown."""

    series: tuple[Ints, ...]

    def summarize(self, trades: Trades) -> dict[str, Ints | Floats]:
        """Number of trades, mean R and sum of R of each of `CELLS`; a mean of none is NaN.

        Trades on held-out bars are left out: the table is of searched bars.
        """
        regime = np.empty(len(trades.r), np.int64)
        for number, regimes in enumerate(self.series):
            is_there = trades.series == number
            regime[is_there] = regimes[trades.signal_bar[is_there]]
        is_known = (regime != UNKNOWN) & ~trades.is_held_out
        cells = len(CELLS)
        count = np.bincount(regime[is_known], minlength=cells)
        sum_r = np.bincount(regime[is_known], weights=trades.r[is_known], minlength=cells)
        mean_r = np.divide(sum_r, count, out=np.full(cells, np.nan), where=count > 0)
        return {"trades": count, "mean_r": mean_r, "sum_r": sum_r}


def find_regimes(series: tuple[Bars, ...], ranges: tuple[Window, ...]) -> Regimes:
    """Regimes of all bars; thirds are those of the bars of `ranges` [S], one a series."""
    pairs = zip(series, ranges, strict=True)
    return Regimes(tuple(_classify(bars, window) for bars, window in pairs))


def _classify(bars: Bars, window: Window) -> Ints:
    regime = np.full(len(bars), UNKNOWN, np.int64)
    if len(bars) <= REGIME_BARS:
        return regime
    steps = np.diff(np.log(bars.close))
    behind = sliding_window_view(steps, REGIME_BARS)
    trend, volatility = behind.sum(axis=1), behind.std(axis=1)
    begin = max(window.start - REGIME_BARS, 0)
    chosen = slice(begin, max(window.end - REGIME_BARS, begin))
    if chosen.start < chosen.stop:
        regime[REGIME_BARS:] = 3 * _thirds(trend, chosen) + _thirds(volatility, chosen)
    return regime


def _thirds(values: Floats, chosen: slice) -> Ints:
    """Third of the chosen values in which each value lies, 0 to 2."""
    borders = np.quantile(values[chosen], [1 / 3, 2 / 3])
    thirds: Ints = np.searchsorted(borders, values, side="left").astype(np.int64)
    return thirds
