"""Trades of one individual as columns; their costs, groups and marks, and all packed for a page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from data.checks import Flags, Floats, Ints
from engine.accounts.costs import Costs
from engine.accounts.ledger import COUNTED_REASONS, REASONS, Ledger, Trade
from engine.accounts.metrics import SIDES
from optimizer.formatting import SAMPLES
from optimizer.run.backtest import AccountSteps, Column, Details, list_legs, plain_details

if TYPE_CHECKING:
    import pandas as pd

NS_PER_HOUR = 3_600_000_000_000
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

NUMBERS = ("entry", "stop", "target", "exit", "r", "cost_r", "signal_bar", "entry_bar", "exit_bar",
           "window", "side", "last_stop")  # fmt: skip
"""Columns of a frame of trades that are plain numbers, in its order."""

PAYMENTS = {"funding_r": "Funding", "borrow_r": "Borrowing"}
"""Columns of what trades paid to be held, and their names for people."""

THURSDAY = 3
"""Weekday of 1 January 1970, Monday being 0."""


@dataclass(frozen=True, eq=False)
class Trades:
    """Trades of one individual over its windows, window after window, each in the order of time.

    Every column is [K]; places are int64, prices and results float64.
    """

    window: Ints
    series: Ints
    is_held_out: Flags  # [K], whether the window was held out from the search
    signal_bar: Ints
    entry_bar: Ints
    exit_bar: Ints
    entry_ns: Ints  # [K] int64, when the entry bar opens, nanoseconds UTC
    exit_ns: Ints  # [K] int64, when the exit bar opens; the exit lies in it or at its close
    reason: Ints  # [K] int64, place in `engine.accounts.ledger.REASONS`
    entry: Floats
    stop: Floats
    target: Floats
    exit: Floats
    r: Floats  # [K], net result in units of risk
    cost_r: Floats  # [K], what fees and slippage in points took of it, of all legs
    side: Ints  # [K] int64, 1 for a long and -1 for a short
    last_stop: Floats  # [K], the stop in force at the exit; `stop` is the first one
    held: Ints  # [K] int64, bars in the market
    has_held_out: bool  # whether any window was held out
    # Legs, payments and sizes by name, [K] each; empty where the strategy has none.
    details: Mapping[str, Column]
    gross_r: Floats  # [K], R before all costs
    turnover_r: Floats  # [K], worth of what was bought and sold, over the first risk
    fee_r: Floats  # [K], R that fees a unit took
    # Where an account sizes trades from cash; bars that were held out have one of their own.
    steps: AccountSteps | None = None

    def __len__(self) -> int:
        return len(self.r)


@dataclass(frozen=True, eq=False)
class Groups:
    """Trades put together by something that they share."""

    labels: tuple[str, ...]
    trades: Ints  # how many trades it has, [N] int64
    sum_r: Floats  # their results added up, [N]


@dataclass(frozen=True)
class CostFacts:
    """Costs of trading, all in R but for those in basis points."""

    gross_r: float  # results without fee and slippage
    cost_r: float
    net_r: float
    # Fee and slippage a side at which nothing is left, basis points; NaN without trades.
    # Below 0 where even free trades lose.
    break_even_bp: float
    held_r: float  # fees a unit, funding and borrowing, which are the same whatever the fill costs


def collect_trades(
    ledgers: Sequence[Ledger],
    windows: Sequence[Window],
    series: Sequence[Bars],
    costs: Costs,
    details: Sequence[Details] = (),
) -> Trades:
    """Put an individual's ledgers, one a window [W], side by side; `details` of each, or none."""
    number = np.repeat(np.arange(len(windows)), [len(ledger) for ledger in ledgers])
    owner = np.array([window.series for window in windows], np.int64)
    is_held_out = np.array([window.role == "held_out" for window in windows], np.bool_)
    columns = {
        name: _join_columns(getattr(ledger_columns, name) for ledger_columns in ledgers)
        for name in Trade._fields
    }

    def read_open_times(bar: str) -> Ints:
        return np.concatenate(
            [
                series[window.series].timestamp[getattr(ledger, bar)]
                for window, ledger in zip(windows, ledgers, strict=True)
            ]
        )

    details = details or [plain_details(ledger) for ledger in ledgers]
    steps = [part.steps for part in details if part.steps is not None]
    gross_r, turnover_r, fee_r = (
        np.concatenate([getattr(part, name) for part in details])
        for name in ("gross_r", "turnover_r", "fee_r")
    )
    return Trades(
        **columns,
        window=number,
        series=owner[number],
        is_held_out=is_held_out[number],
        entry_ns=read_open_times("entry_bar"),
        exit_ns=read_open_times("exit_bar"),
        cost_r=costs.per_side * turnover_r + fee_r,
        has_held_out=bool(is_held_out.any()),
        details={
            name: np.concatenate([part.columns[name] for part in details])
            for name in details[0].columns
        },
        gross_r=gross_r,
        turnover_r=turnover_r,
        fee_r=fee_r,
        steps=AccountSteps(*map(_join_columns, zip(*steps, strict=True))) if steps else None,
    )


def build_trades_frame(
    trades: Trades, symbols: Sequence[str], windows: Sequence[Window], series: Sequence[Bars]
) -> "pd.DataFrame":
    """Trades as a frame, as `Tables.trades` describes it."""
    import pandas as pd

    best, worst = measure_excursions(trades, series)
    samples = [SAMPLES[window.role] for window in windows]
    symbol, sample = (
        pd.Categorical.from_codes(codes[trades.window], categories=pd.Index(names))
        for names, codes in (factorize_names(symbols), factorize_names(samples))
    )
    return pd.DataFrame(
        {
            "symbol": symbol,
            "sample": sample,
            "entry_time": pd.to_datetime(trades.entry_ns, unit="ns", utc=True),
            "exit_time": pd.to_datetime(trades.exit_ns, unit="ns", utc=True),
            "bars_held": trades.held,
            "reason": pd.Categorical.from_codes(trades.reason, categories=pd.Index(REASONS)),
            **{name: getattr(trades, name) for name in NUMBERS},
            "mfe_r": best,
            "mae_r": worst,
            **{name: _build_detail(column) for name, column in trades.details.items()},
        }
    )


def _build_detail(column: Column) -> object:
    """A column of a frame: bars that may be missing, times in UTC, or numbers."""
    import pandas as pd

    if column.dtype.kind == "M":
        return pd.to_datetime(column, utc=True)
    is_bar = column.dtype.kind == "i"
    return pd.arrays.IntegerArray(column, column < 0) if is_bar else column


def measure_excursions(trades: Trades, series: Sequence[Bars]) -> tuple[Floats, Floats]:
    """How far the price went for each trade and against it, [K] each: MFE and MAE, in R.

    From the bar of the entry to that of the exit, both whole, so that each is an upper bound; costs
    and parts that left before do not count. Source: Sweeney (1996), "Maximum Adverse Excursion".
    """
    highest, lowest = np.empty(len(trades)), np.empty(len(trades))
    for number in np.unique(trades.series).tolist():
        here = np.flatnonzero(trades.series == number)
        bars = np.column_stack([trades.entry_bar[here], trades.exit_bar[here] + 1]).ravel()
        high = np.append(series[number].high, -np.inf)
        low = np.append(series[number].low, np.inf)
        highest[here] = np.maximum.reduceat(high, bars)[::2]
        lowest[here] = np.minimum.reduceat(low, bars)[::2]
    risk = np.abs(trades.entry - trades.stop)
    up, down = (highest - trades.entry) / risk, (trades.entry - lowest) / risk
    is_long = trades.side > 0
    best, worst = np.where(is_long, up, down), np.where(is_long, down, up)
    return np.maximum(best, 0.0), np.maximum(worst, 0.0)


def summarize_sides(
    trades: Trades, series: Sequence[Bars], chosen: Flags
) -> dict[str, dict[str, float]]:
    """Figures of the chosen [K] trades, all and by side; NaN without a trade."""
    best, worst = measure_excursions(trades, series)
    parts = {"all": chosen, "long": chosen & (trades.side > 0), "short": chosen & (trades.side < 0)}
    return {
        name: {
            "trades": float(part.sum()),
            "win_rate": _mean(trades.r[part] > 0),
            "mean_r": _mean(trades.r[part]),
            "sum_r": float(trades.r[part].sum()),
            "profit_factor": _divide_gains(trades.r[part]),
            "best_r": float(trades.r[part].max(initial=np.nan if not part.any() else -np.inf)),
            "worst_r": float(trades.r[part].min(initial=np.nan if not part.any() else np.inf)),
            "mean_hold_bars": _mean(trades.held[part]),
            "mean_mfe_r": _mean(best[part]),
            "mean_mae_r": _mean(worst[part]),
        }
        for name, part in parts.items()
    }


def _mean(values: Column) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _divide_gains(r: Floats) -> float:
    """Gains over losses; NaN without a loss."""
    lost = -float(r[r < 0].sum())
    return float(r[r > 0].sum()) / lost if lost else float("nan")


def compute_cost_facts(trades: Trades, chosen: Flags, costs: Costs) -> CostFacts:
    """Costs of the chosen [K] trades, and bearable ones.

    Where a trade ends does not depend on costs, so that the same trades are simply dearer.
    """
    gross, turnover, held = (
        float(column[chosen].sum()) for column in (trades.gross_r, trades.turnover_r, trades.fee_r)
    )
    for name in PAYMENTS.keys() & trades.details.keys():
        held += float(trades.details[name][chosen].sum())
    bearable = (gross - held) / turnover * 10_000 if chosen.any() else float("nan")
    cost = costs.per_side * turnover
    return CostFacts(gross, cost, gross - cost - held, bearable, held)


def by_reason(trades: Trades, chosen: Flags) -> Groups:
    """The chosen [K] trades by why they ended; every reason of the law, in its order.

    Names of stops that moved are among them where trades have them.
    """
    is_named = (trades.reason >= len(COUNTED_REASONS)).any()
    labels = tuple(
        reason.replace("_", " ") for reason in (REASONS if is_named else COUNTED_REASONS)
    )
    return _group_trades(trades, chosen, trades.reason, labels)


def by_side(trades: Trades, chosen: Flags) -> Groups:
    """Longs and shorts apart."""
    return _group_trades(trades, chosen, (1 - trades.side) // 2, SIDES)


def by_hour(trades: Trades, chosen: Flags) -> Groups:
    """Trades by the hour of their entry, UTC, 24 groups."""
    hours = trades.entry_ns // NS_PER_HOUR % 24
    return _group_trades(trades, chosen, hours, tuple(f"{hour:02d}" for hour in range(24)))


def by_weekday(trades: Trades, chosen: Flags) -> Groups:
    """Trades by the weekday of their entry, UTC, from Monday."""
    days = trades.entry_ns // (24 * NS_PER_HOUR)
    return _group_trades(trades, chosen, (days + THURSDAY) % 7, WEEKDAYS)


def by_label(trades: Trades, chosen: Flags, labels: Sequence[str]) -> Groups:
    """The chosen [K] trades by the label of their window [W]; labels without a trade too."""
    names, codes = factorize_names(labels)
    return _group_trades(trades, chosen, codes[trades.window], names)


def factorize_names(names: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Each different name once, in order, and where each of the names [N] stands among them."""
    code_of = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return tuple(code_of), np.array([code_of[name] for name in names], np.int64)


def _group_trades(trades: Trades, chosen: Flags, keys: Ints, labels: tuple[str, ...]) -> Groups:
    n, chosen_keys = len(labels), keys[chosen]
    return Groups(
        labels=labels,
        trades=np.bincount(chosen_keys, minlength=n).astype(np.int64),
        sum_r=np.bincount(chosen_keys, weights=trades.r[chosen], minlength=n).astype(np.float64),
    )


def _join_columns(columns: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Columns of ledgers as one; places, sides and reasons are int64."""
    joined = np.concatenate(list(columns))
    return joined.astype(np.int64) if joined.dtype.kind == "i" else joined


Plain = dict[str, object]

KINDS = {"i": "bar", "M": "time", "f": "number"}
"""How the script writes a column, by the kind of its array."""


def list_partial_exits(
    trades: Trades, chosen: Ints
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], Ints]:
    """Times in milliseconds, prices and numbers of trades [N] of the targets that were reached.

    The target with which a trade ended is its exit, and is left out.
    """
    marks: list[tuple[Column, Column, Column]] = [(np.empty(0), np.empty(0), np.empty(0, np.int64))]
    for leg in list_legs(trades.details):
        bar, at = trades.details[f"{leg}_bar"], trades.details[f"{leg}_price"]
        is_exit = (bar == trades.exit_bar) & (at == trades.exit)
        kept = chosen[(bar >= 0)[chosen] & ~is_exit[chosen]]
        marks.append((_milliseconds(trades.details[f"{leg}_time"][kept]), at[kept], kept))
    times, prices, numbers = (np.concatenate(part) for part in zip(*marks, strict=True))
    return times, prices, numbers


class Aim(NamedTuple):
    """One of the targets of a trade."""

    price: float
    share: float  # of the position that leaves there
    end_ms: float  # when it was reached, or the trade ended; milliseconds since 1970


def list_aims(trades: Trades, k: int) -> list[Aim]:
    """Targets of trade k in their order, reached or not."""
    end_ms, aims = float(trades.exit_ns[k] / 1e6), [Aim(float(trades.target[k]), 1.0, np.nan)]
    if legs := list_legs(trades.details):
        parts = ("target", "share", "time")
        columns = [[trades.details[f"{leg}_{part}"][[k]] for part in parts] for leg in legs]
        aims = [
            Aim(float(price[0]), float(share[0]), float(_milliseconds(time)[0]))
            for price, share, time in columns
        ]
    return [
        aim._replace(end_ms=end_ms) if np.isnan(aim.end_ms) else aim
        for aim in aims
        if np.isfinite(aim.price)
    ]


def pack_trades(trades: Trades, series: Sequence[Bars]) -> Plain:
    """Trades as the script reads them, in as few bytes as they can be had back from exactly.

    Times and numbers of bars travel as steps, which repeat; an exit at the stop or the target, and
    what follows from the rest by one formula of the law, does not travel at all. Of sides and last
    stops only shorts and stops that moved do, with their places.
    """
    is_at_level = (trades.exit == trades.last_stop) | (trades.exit == trades.target)
    best, worst = measure_excursions(trades, series)
    moved = np.flatnonzero(trades.last_stop != trades.stop)
    packed: Plain = {
        "window": trades.window,
        "reason": trades.reason,
        "entry_bar": np.diff(trades.entry_bar, prepend=0),
        "bars_held": trades.held,
        "bars_later": trades.exit_bar - trades.entry_bar,
        "entry_ms": np.diff(trades.entry_ns / 1e6, prepend=0.0),
        "held_ms": (trades.exit_ns - trades.entry_ns) / 1e6,
        "entry": trades.entry,
        "stop": trades.stop,
        "target": trades.target,
        "level": np.where(trades.exit == trades.target, 2, 1) * is_at_level,
        "exit": np.where(is_at_level, 0.0, trades.exit),
        "r": trades.r,
        "shorts": np.flatnonzero(trades.side < 0),
        # In thousandths of R: they are only read.
        "mfe": np.rint(1000.0 * best).astype(np.int64),
        "mae": np.rint(1000.0 * worst).astype(np.int64),
        "moved": moved,
        "moved_to": trades.last_stop[moved],
    }
    return {**packed, **_pack_details(trades)}


def _pack_details(trades: Trades) -> Plain:
    """Columns that follow from no formula: waits of orders, costs of several legs."""
    waits = trades.entry_bar - trades.signal_bar
    is_alike = bool((waits == waits[:1]).all())
    packed: Plain = {"signal_before": int(waits[:1].sum()) if is_alike else waits}
    if trades.fee_r.any() or list_legs(trades.details):
        packed["costs"] = trades.cost_r
    details = [
        {
            "name": name,
            "kind": KINDS[column.dtype.kind],
            "values": _milliseconds(column) if column.dtype.kind == "M" else column,
        }
        for name, column in trades.details.items()
    ]
    return {**packed, "details": details}


def _milliseconds(times: Column) -> npt.NDArray[np.float64]:
    """Milliseconds since 1970; NaN where there is no time."""
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / 1e6)
