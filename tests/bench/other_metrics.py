"""The same trades measured by other libraries: which numbers agree, which differ and why.

quantstats, empyrical-reloaded and backtesting.py get the account's day ends, its equity at closes
of bars, or its trades, whatever they take. `python -m tests.bench.other_metrics` prints the tables
of docs/howto/metrics.md; the first two bring 500 MB and are installed for it alone.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from engine.accounts.account import Account
from engine.accounts.ledger import Ledger
from engine.accounts.metrics import compute_metrics
from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare

BY_DAYS = "theirs is by ends of days, ours by closed trades, as deep or deeper"


class Compared(NamedTuple):
    """One number of ours and theirs; `why` they differ, empty where they must be equal."""

    ours: str
    theirs: str
    value: float
    other: float
    why: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether both agree to nine digits."""
        return abs(self.value - self.other) <= 1e-9 * abs(self.value)


class Measured(NamedTuple):
    """One candidate in one window: all our numbers, and what other libraries take."""

    values: dict[str, float]
    daily: pd.Series
    periods: float
    marked: pd.Series
    trades: pd.DataFrame
    bars: pd.DataFrame


def measure_sample(**settings: object) -> Measured:
    """The default strategy with its default genes, on the embedded sample."""
    task = prepare(RunConfig(**settings))
    (bars,), (window,) = task.markets.series, task.markets.windows
    engine = task.full_engine(device="cpu")
    genome = task.spec.layout.defaults
    (ledger,) = engine.trades(genome)
    spans = task.markets.spans([window])
    own = Account((bars,), (window,), task.markets.symbols, task.costs)
    values = compute_metrics(engine.evaluate(genome[None]), spans).name_metrics(0)
    values |= own.measure([ledger])[0]
    folded = own.fold([ledger])
    ends = np.concatenate([[1.0], own.day_ends(folded)])
    days = pd.to_datetime(own.days, unit="D")
    times, equity = own.mark([ledger], folded)
    closes = pd.to_datetime(bars.timestamp + bars.timeframe_ns, unit="ns")
    marked = pd.Series(equity, pd.to_datetime(times, unit="ns")).groupby(level=0).last()
    frame = pd.DataFrame(
        {name.title(): getattr(bars, name) for name in ("open", "high", "low", "close", "volume")},
        index=closes,
    )
    return Measured(
        values,
        pd.Series(ends[1:] / ends[:-1] - 1.0, days),
        len(own.days) / own.years,
        marked.reindex(closes).ffill().fillna(1.0),
        _trades(ledger, closes, folded.equity, own.costs.per_side),
        frame,
    )


def compare_quantstats(found: Measured) -> Iterator[Compared]:
    """Against quantstats, of the ends of days."""
    import quantstats.stats as stats

    daily, periods = found.daily, found.periods
    details = stats.drawdown_details(stats.to_drawdown_series(daily))
    for name, theirs, other, why in (
        ("total_return", "comp", stats.comp(daily), ""),
        ("cagr", "cagr", stats.cagr(daily, periods=periods), ""),
        ("sharpe_daily", "sharpe", stats.sharpe(daily, periods=periods), ""),
        ("sortino_daily", "sortino", stats.sortino(daily, periods=periods), ""),
        ("under_water_days", "drawdown_details, days", details["days"].max(), ""),
        ("max_drawdown", "max_drawdown", -stats.max_drawdown(daily), BY_DAYS),
        ("calmar", "calmar", stats.calmar(daily, periods=periods), BY_DAYS),
        ("ulcer", "ulcer_index", stats.ulcer_index(daily), "theirs divides by one day less"),
        ("losing_streak", "consecutive_losses", stats.consecutive_losses(daily),
         "theirs counts losing days"),
        ("win_rate", "win_rate", stats.win_rate(daily), "theirs is of days that moved"),
        ("profit_factor", "profit_factor", stats.profit_factor(daily),
         "theirs is of days, ours of R"),
    ):  # fmt: skip
        yield Compared(name, theirs, found.values[name], float(other), why)


def compare_empyrical(found: Measured) -> Iterator[Compared]:
    """Against empyrical-reloaded, of the ends of days."""
    import empyrical as stats

    daily, periods = found.daily, found.periods
    calmar = stats.calmar_ratio(daily, annualization=periods)
    for name, theirs, other, why in (
        ("total_return", "cum_returns_final", stats.cum_returns_final(daily), ""),
        ("cagr", "cagr", stats.cagr(daily, annualization=periods), ""),
        ("sharpe_daily", "sharpe_ratio", stats.sharpe_ratio(daily, annualization=periods), ""),
        ("sortino_daily", "sortino_ratio", stats.sortino_ratio(daily, annualization=periods), ""),
        ("max_drawdown", "max_drawdown", -stats.max_drawdown(daily), BY_DAYS),
        ("calmar", "calmar_ratio", calmar, BY_DAYS),
    ):
        yield Compared(name, theirs, found.values[name], float(other), why)


def compare_backtesting(found: Measured) -> Iterator[Compared]:
    """Against backtesting.py, of the trades and of equity at closes of bars."""
    from backtesting._stats import compute_stats

    stats = compute_stats(found.trades, found.marked.to_numpy(), found.bars, None)
    for name, theirs, why in (
        ("trades", "# Trades", ""),
        ("total_return", "Return [%]", ""),
        ("win_rate", "Win Rate [%]", ""),
        ("max_drawdown_marked", "Max. Drawdown [%]", ""),
        ("mean_trade", "Expectancy [%]", ""),
        ("mean_trade", "Avg. Trade [%]", "theirs is the geometric mean"),
        ("buy_and_hold", "Buy & Hold Return [%]", "ours pays the entry cost"),
        ("cagr", "CAGR [%]", "theirs is a bar shorter"),
        ("sharpe_daily", "Sharpe Ratio", "theirs compounds mean and deviation, open trades marked"),
        ("profit_factor", "Profit Factor", "theirs is of returns, ours of R"),
        ("calmar", "Calmar Ratio", "theirs divides by the fall at closes of bars"),
        ("exposure", "Exposure Time [%]", ""),
    ):
        other = float(stats[theirs]) / (100.0 if theirs.endswith("[%]") else 1.0)
        other = -other if "Drawdown" in theirs else other
        yield Compared(name, theirs, found.values[name], other, why)


def _trades(
    ledger: Ledger, closes: pd.DatetimeIndex, equity: np.ndarray, per_side: float
) -> pd.DataFrame:
    """Trades as backtesting.py lists them: money and returns net of costs."""
    before = np.concatenate([[1.0], equity[:-1]])
    risk = ledger.side * (ledger.entry - ledger.stop)
    gain = equity - before
    return pd.DataFrame(
        {
            "Size": gain / (ledger.r * risk) * ledger.side,
            "EntryBar": ledger.entry_bar,
            "ExitBar": ledger.exit_bar,
            "EntryPrice": ledger.entry,
            "ExitPrice": ledger.exit,
            "PnL": gain,
            "Commission": per_side * (ledger.entry + ledger.exit),
            "ReturnPct": ledger.r * risk / ledger.entry,
            "EntryTime": closes[ledger.entry_bar],
            "ExitTime": closes[ledger.exit_bar],
            "Duration": closes[ledger.exit_bar] - closes[ledger.entry_bar],
            "Tag": None,
        }
    )


LIBRARIES = {
    "quantstats": compare_quantstats,
    "empyrical": compare_empyrical,
    "backtesting": compare_backtesting,
}


def main() -> None:
    """Print the table of the page."""
    sample = measure_sample()
    for name, compare in LIBRARIES.items():
        print(f"\n## {name}\n\n| ours | theirs | ours | theirs | |")
        print("| --- | --- | --- | --- | --- |")
        for row in compare(sample):
            verdict = row.why or ("equal" if row.is_equal else "DIFFERS")
            print(
                f"| `{row.ours}` | `{row.theirs}` | {row.value:.9g} | {row.other:.9g} | {verdict} |"
            )


if __name__ == "__main__":
    main()
