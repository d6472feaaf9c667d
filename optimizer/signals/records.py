"""Records of a signal: state of each symbol, its position and its orders, ready for JSON."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from engine.reference_standing import EntryLevel, EntryLevels, HeldLevels, OrderTerms
from optimizer.store.payload import Payload

State = Literal["flat", "enter", "order", "in a trade", "full", "stale"]


@dataclass(frozen=True)
class SignalSize(Payload):
    """Size of a fill."""

    units: float | None  # None without `account(...)`: then 1 of the account buys `per_account`
    account: float | None  # cash from which units are sized
    per_account: float  # units for each 1 of the account
    risk_share: float  # of the account, lost at the first stop
    leverage: float  # worth of the position over the account
    # Whether price or cash are not known yet: as if it were filled at the newest close, and what
    # leaves before it left there.
    is_guess: bool


@dataclass(frozen=True, kw_only=True)
class SignalFill(EntryLevels, Payload):
    """An entry that has not come yet, and what to place with it."""

    side: str
    signal_bar: str  # when its bar opened
    bars_to_wait: int  # before its first bar; 0: it is the next one
    from_time: str | None  # when its first bar opens, where bars come without a hole
    reverses: bool  # whether its fill ends the open trade
    target: EntryLevel | None  # the first of `targets`
    max_hold: int | None  # bars that the position is held at most; None without a limit
    session_end: str | None  # minute of its clock at which the position is left
    size: SignalSize | None


@dataclass(frozen=True, kw_only=True)
class SignalEntry(SignalFill):
    """An entry at the open of a bar that has not come yet."""

    min_risk: float  # it is void where the open risks no more than this share of the price


@dataclass(frozen=True, kw_only=True)
class SignalOrder(OrderTerms, SignalFill):
    """An order that waits for a price."""

    entry: float  # price of a fill there, with slippage, from which levels are measured
    until: str | None  # when its last bar closes, where bars come without a hole
    cancel: str | None  # condition that ends it at a close, as the strategy says it


@dataclass(frozen=True, kw_only=True)
class SignalLeg(Payload):
    """A target of an open trade."""

    number: int  # from 1, in the order of the strategy
    price: float
    share: float  # of the position
    bar: str | None = None  # open of the bar that reached it; None for the rest


@dataclass(frozen=True, kw_only=True)
class SignalTrade(HeldLevels, Payload):
    """A position that is open."""

    side: str
    since: str  # when its entry bar opened
    entry: float
    target: float | None  # the nearest of `targets`
    targets: tuple[SignalLeg, ...]  # that are left
    out: tuple[SignalLeg, ...]  # that were reached
    left: float  # share of the position that is still held
    rest: float  # share of the position that no target takes
    r: float  # of the whole if it were closed at the newest close, costs included
    bars_left: int | None  # until it is left by time at the latest; None without a limit
    until: str | None  # when the last of them closes, where bars come without a hole
    session_ends: str | None  # when its session does
    leaves: bool  # whether its exit condition holds, so that the next open ends it
    size: SignalSize | None  # at its entry


@dataclass(frozen=True, kw_only=True)
class SymbolState(Payload):
    """State on the newest closed bar of a symbol."""

    what: ClassVar[str] = "a state"

    symbol: str
    state: State
    bar: str  # when the newest closed bar opened
    age_s: float  # seconds since it closed
    step_s: float  # duration of a bar
    left_out: int  # bars that have not closed by the clock
    begins: str  # when the first bar opened that may signal
    begins_with_run: bool  # whether the run's own chain of trades began there
    is_searched: bool = True  # whether the run searched on this symbol
    trade: SignalTrade | None = None
    entry: SignalEntry | None = None
    orders: tuple[SignalOrder, ...] = ()  # those against a trade reverse it where they are filled
    # Symbols that hold the room which the entry needs; None where the account has room for it.
    held_by: tuple[str, ...] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Fields that make a change of state; prices that follow the market and R are none."""
        trade, entry = self.trade, self.entry
        return (
            self.state,
            trade and (trade.side, trade.since, trade.leaves, len(trade.out)),
            entry and (entry.side, entry.signal_bar),
            tuple((order.side, order.signal_bar) for order in self.orders),
            self.held_by is None,
        )

    @property
    def is_stale(self) -> bool:
        """True if bars have come since the newest one, so that the present is unknown."""
        return self.state == "stale"

    @property
    def is_due(self) -> bool:
        """True if something is to be done at the next open."""
        is_leaving = self.trade is not None and self.trade.leaves
        is_entering = self.entry is not None and self.entry.bars_to_wait == 0
        is_placing = any(order.is_new for order in self.orders)
        return is_leaving or is_placing or (is_entering and self.held_by is None)
