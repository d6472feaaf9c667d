"""From accumulators to metrics: one function for every engine, on the host.

A metric that is undefined is NaN and carries the reason; it never reaches a search as a number.
Only + - * / and square roots are used, so that every processor gives the same bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.ledger import ACCUMULATOR_INDEX

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

UNDEFINED = ("", "no_trades", "one_trade", "no_variation", "no_losses", "no_drawdown", "ruined")
"""Why a metric is undefined; place 0 stands for a defined one."""

_NO_TRADES, _ONE_TRADE, _NO_VARIATION, _NO_LOSSES, _NO_DRAWDOWN, _RUINED = range(1, len(UNDEFINED))

METRICS = (
    "trades",
    "win_rate",
    "mean_r",
    "std_r",
    "sum_r",
    "profit_factor",
    "sharpe",
    "sharpe_annual",
    "sortino",
    "total_return",
    "max_drawdown",
    "max_drawdown_r",
    "calmar",
    "exposure",
    "mean_hold_bars",
    "trades_per_year",
)
"""Names of the last axis of metrics [P, W, M], in order."""

METRIC_INDEX = {name: i for i, name in enumerate(METRICS)}

NS_PER_YEAR = 365.25 * 24 * 3600 * 1e9


@dataclass(frozen=True)
class Span:
    """How long a window is.

    Args:
        bars: Bars in it.
        years: Time from its first bar's open to its last bar's close, in years of 365.25 days.
    """

    bars: int
    years: float


@dataclass(frozen=True, eq=False)
class MetricTable:
    """Metrics of a population.

    Args:
        values: [P, W, M], named by `METRICS`; NaN where undefined.
        reasons: [P, W, M] int8, place in `UNDEFINED`.
    """

    values: Floats
    reasons: npt.NDArray[np.int8]

    def column(self, name: str) -> Floats:
        """One metric [P, W]."""
        return self.values[:, :, METRIC_INDEX[name]]

    def why(self, name: str) -> npt.NDArray[np.int8]:
        """Why one metric is undefined, [P, W], place in `UNDEFINED`."""
        return self.reasons[:, :, METRIC_INDEX[name]]

    def named(self, individual: int, window: int = 0) -> dict[str, float]:
        """All metrics of one individual in one window by name; NaN where undefined."""
        return dict(zip(METRICS, self.values[individual, window].tolist(), strict=True))


def span_of(bars: Bars, window: Window) -> Span:
    """The span of a window on its series.

    Args:
        bars: The series that the window refers to.
        window: The window.

    Returns:
        Its span.
    """
    first, last = int(bars.timestamp[window.start]), int(bars.timestamp[window.end - 1])
    return Span(window.end - window.start, (last + bars.timeframe_ns - first) / NS_PER_YEAR)


def compute_metrics(accumulators: Floats, spans: Sequence[Span]) -> MetricTable:
    """Derive metrics from accumulators.

    Args:
        accumulators: [P, W, A], named by `ACCUMULATORS`.
        spans: [W] span of each window.

    Returns:
        The metrics with the reasons of those that are undefined:

        - win_rate, mean_r, mean_hold_bars: per trade.
        - std_r: sample standard deviation of r; needs two trades.
        - sharpe: mean_r / std_r, per trade; sharpe_annual: times the root of trades_per_year.
        - sortino: mean_r over the root of the mean of squared losses, each trade counted, a gain
          as 0; undefined without a loss.
        - profit_factor: gains over losses, in R; undefined without a loss.
        - total_return: final equity minus 1, a fraction; undefined once equity has been lost.
        - max_drawdown: deepest fall of equity as a fraction of its peak.
        - calmar: total_return per year over max_drawdown, not compounded.
        - exposure: fraction of the window's bars with an open position.

    Source: sharpe after William F. Sharpe (1994), on trades in place of periods; sortino
    after Frank A. Sortino and Lee N. Price (1994), likewise, with a target of 0; R after Van K.
    Tharp, Trade Your Way to Financial Freedom (1998); the rest house rules.
    """

    def total(name: str) -> Floats:
        return accumulators[:, :, ACCUMULATOR_INDEX[name]]

    bars = np.array([span.bars for span in spans], np.float64)
    years = np.array([span.years for span in spans], np.float64)
    shape = (*accumulators.shape[:2], len(METRICS))
    table = MetricTable(np.full(shape, np.nan), np.zeros(shape, np.int8))
    trades, equity_loss = total("trades"), total("max_drawdown")
    traded, repeated, alive = trades > 0, trades > 1, equity_loss < 1
    n = np.maximum(trades, 1.0)
    mean = total("sum_r") / n
    variance = (total("sum_r2") - total("sum_r") * total("sum_r") / n) / np.maximum(n - 1.0, 1.0)
    varied = repeated & (variance > 0)
    std = np.sqrt(np.where(varied, variance, 1.0))
    losing, falling = total("loss_r") > 0, equity_loss > 0
    hurt = total("loss_r2") > 0
    per_year = trades / years
    gained = total("equity") - 1.0
    _put(table, "trades", trades)
    _put(table, "sum_r", total("sum_r"))
    _put(table, "max_drawdown", equity_loss)
    _put(table, "max_drawdown_r", total("max_drawdown_r"))
    _put(table, "exposure", total("bars_in_market") / bars)
    _put(table, "trades_per_year", per_year)
    _put(table, "win_rate", total("wins") / n, (traded, _NO_TRADES))
    _put(table, "mean_r", mean, (traded, _NO_TRADES))
    _put(table, "mean_hold_bars", total("bars_in_market") / n, (traded, _NO_TRADES))
    spread = ((varied, _NO_VARIATION), (repeated, _ONE_TRADE), (traded, _NO_TRADES))
    _put(table, "std_r", std, *spread[1:])
    _put(table, "sharpe", mean / std, *spread)
    _put(table, "sharpe_annual", mean / std * np.sqrt(per_year), *spread)
    downside = np.sqrt(np.where(hurt, total("loss_r2"), 1.0) / n)
    _put(table, "sortino", mean / downside, (hurt, _NO_LOSSES), (traded, _NO_TRADES))
    factor = total("gain_r") / np.where(losing, total("loss_r"), 1.0)
    _put(table, "profit_factor", factor, (losing, _NO_LOSSES), (traded, _NO_TRADES))
    _put(table, "total_return", gained, (alive, _RUINED))
    calmar = gained / years / np.where(falling, equity_loss, 1.0)
    _put(table, "calmar", calmar, (falling, _NO_DRAWDOWN), (alive, _RUINED), (traded, _NO_TRADES))
    flat = repeated & ~varied
    table.values[:, :, METRIC_INDEX["std_r"]][flat] = 0.0
    return table


def _put(table: MetricTable, name: str, values: Floats, *needs: tuple[Flags, int]) -> None:
    """Write a metric; of the needs that are not met the last one names the reason."""
    column = METRIC_INDEX[name]
    table.values[:, :, column] = values
    for is_met, reason in needs:
        table.values[:, :, column][~is_met] = np.nan
        table.reasons[:, :, column][~is_met] = reason
