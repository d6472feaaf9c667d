"""Trades as the script of a page reads them, and marks of their partial exits."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from optimizer.report.trades import Ints, Trades, measure_excursions
from optimizer.run.backtest import Column, list_legs

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
    """Targets of trade k in their order, reached or not; none where it has none."""
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
        {"name": name, "kind": KINDS[column.dtype.kind], "values": _as_plain(column)}
        for name, column in trades.details.items()
    ]
    return {**packed, "details": details}


def _as_plain(column: Column) -> Column:
    return _milliseconds(column) if column.dtype.kind == "M" else column


def _milliseconds(times: Column) -> npt.NDArray[np.float64]:
    """Milliseconds since 1970; NaN where there is no time."""
    return np.where(np.isnat(times), np.nan, times.astype(np.int64) / 1e6)
