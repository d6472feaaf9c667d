"""The ledger of trades and the layout of accumulators: words that all engines share."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bars64 = npt.NDArray[np.int64]

COUNTED_REASONS = ("stop_gap", "stop", "target", "time", "end", "signal", "session", "reverse")
"""Reasons that have an accumulator of their own."""

REASONS = (*COUNTED_REASONS, "trail", "break_even", "margin")
"""Reasons why a trade ended; a ledger holds the place in this tuple. Those behind the counted ones
end at the stop as well, and are counted with it."""

AT_STOP = tuple(REASONS.index(name) for name in ("stop", "trail", "break_even", "margin"))
"""Reasons of exits at the stop, wherever it stood, that are counted with it. All but `margin` are
within a bar; that one takes in opens beyond the stop."""

MARGIN = REASONS.index("margin")
"""The account was lost: it ends with the trade."""

ACCUMULATORS = (
    "trades",
    "wins",
    "sum_r",
    "sum_r2",
    "gain_r",
    "loss_r",
    "peak_r",
    "max_drawdown_r",
    "equity",
    "peak_equity",
    "max_drawdown",
    "bars_in_market",
    "rejected",
    "exits_stop_gap",
    "exits_stop",
    "exits_target",
    "exits_time",
    "exits_end",
    "loss_r2",
    "exits_signal",
    "exits_session",
    "shorts",
    "wins_short",
    "sum_r_short",
    "exits_reverse",
    "orders",
    "expired",
    "partials",
    "unsized",
    "coarse",
    "skipped",
    "max_leverage",
)
"""Names of the last axis of accumulators [P, W, A], in order; all float64, counts are whole."""

ACCUMULATOR_INDEX = {name: i for i, name in enumerate(ACCUMULATORS)}

EXIT_PLACES = tuple(ACCUMULATOR_INDEX[f"exits_{reason}"] for reason in COUNTED_REASONS)
"""Where the trades of each reason are counted; new reasons stand behind all older accumulators."""


class Trade(NamedTuple):
    """One trade: bars are numbers in the series, prices in its currency, r in units of risk."""

    signal_bar: int
    entry_bar: int
    exit_bar: int
    reason: int
    entry: float
    stop: float
    target: float
    exit: float
    r: float
    side: int
    last_stop: float
    held: int


COUNTS = ("rejected", "orders", "expired", "coarse", "skipped")
"""Numbers of a ledger that are no columns."""

WIDE = ("leg_bar", "leg_price", "scale", "gross")
"""Columns of a ledger that are [K, L], L being 0 where they are not there."""

NO_LEGS: Any = None
"""In place of targets where there is one at most."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """The trades of one individual in one window, in the order of time."""

    signal_bar: Bars64  # [K] int64, bar whose close gave the signal
    entry_bar: Bars64  # [K] int64, the bar after it, or later by the costs' delay
    exit_bar: Bars64  # [K] int64, bar in which the position ended
    reason: npt.NDArray[np.int8]  # [K] int8, place in `REASONS`
    entry: Floats  # [K], price
    stop: Floats  # [K], price at entry; the risk that r is measured in follows from it
    target: Floats  # [K], price
    exit: Floats  # [K], price
    r: Floats  # [K], net result in units of risk
    side: npt.NDArray[np.int8]  # [K] int8, 1 for a long and -1 for a short
    last_stop: Floats  # [K], price of the stop in force at the exit; `stop` if it never moved
    held: Bars64  # [K] int64, bars in the market: without an exit bar that it leaves at the open
    # [K, L] int64, bar in which each target of several was reached; -1 if never.
    leg_bar: Bars64 = NO_LEGS
    leg_price: Floats = NO_LEGS  # [K, L], its price; NaN if never reached
    # [K, 1] measure of a trade's size, where an account needs it; else [K, 0].
    scale: Floats = NO_LEGS
    # [K, 1] leverage of what other symbols had open at the entry, where an account has limits.
    gross: Floats = NO_LEGS
    rejected: int = 0  # signals that found the account flat but risked too little to trade
    orders: int = 0  # resting orders placed
    expired: int = 0  # those of them that were neither filled nor rejected
    coarse: int = 0  # bars that touched something and are not made up of the finer ones
    skipped: int = 0  # signals for which the account had no room

    def __post_init__(self) -> None:
        if self.leg_bar is NO_LEGS:
            object.__setattr__(self, "leg_bar", np.empty((len(self), 0), np.int64))
            object.__setattr__(self, "leg_price", np.empty((len(self), 0)))
        if self.scale is NO_LEGS:
            object.__setattr__(self, "scale", np.empty((len(self), 0)))
        if self.gross is NO_LEGS:
            object.__setattr__(self, "gross", np.empty((len(self), 0)))

    def __len__(self) -> int:
        return len(self.signal_bar)

    def trade(self, k: int) -> Trade:
        """The k-th trade as plain numbers."""
        return Trade(*(getattr(self, name)[k].item() for name in Trade._fields))

    def keep(self, is_kept: npt.NDArray[np.bool_]) -> "Ledger":
        """Some of its trades [K], without the counts beside them."""
        kept: Any = {name: column[is_kept] for name, column in self.columns().items()}
        return Ledger(**kept)

    def cut(self, counts: Bars64, *totals: Bars64) -> list[tuple["Ledger", ...]]:
        """Ledgers [W] of each of several individuals [P], with their trades together.

        They share this one's columns. `counts` [P, W]: trades of each, individual after individual
        and window after window. `totals` [P, W]: the first ones of `COUNTS`; the others are 0.
        """
        columns: Any = self.columns()
        absent = [np.zeros_like(counts)] * (len(COUNTS) - len(totals))
        ends = counts.cumsum().reshape(counts.shape)
        spans = np.stack([ends - counts, ends, *totals, *absent], axis=2).tolist()
        return [
            tuple(
                Ledger(
                    **{name: column[first:end] for name, column in columns.items()},
                    **dict(zip(COUNTS, numbers, strict=True)),
                )
                for first, end, *numbers in of_one
            )
            for of_one in spans
        ]

    def columns(self) -> dict[str, npt.NDArray[np.generic]]:
        """Column name to array [K], in the order of `Trade`, then present columns [K, L]."""
        columns = {name: getattr(self, name) for name in Trade._fields}
        wide = {name: getattr(self, name) for name in WIDE}
        return columns | {name: column for name, column in wide.items() if column.shape[1]}
