"""Records of a signal: state of each symbol, what it holds, and what to place, ready for JSON."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from optimizer.store.payload import Payload

State = Literal["flat", "enter", "order", "in a trade", "full", "stale"]


@dataclass(frozen=True)
class SignalLevel(Payload):
    """A stop or a target of an entry."""

    kind: str  # ``price``, or how far from the entry: ``distance``, ``share``, ``times_risk``
    value: float
    price: float | None  # where the entry's price is known, or it hangs on none


@dataclass(frozen=True)
class SignalTarget(SignalLevel):
    """One of the targets of an entry."""

    share: float  # of the position


@dataclass(frozen=True)
class SignalTrail(Payload):
    """How a stop follows."""

    kind: str  # behind the best price by a ``distance`` or a ``share`` of it; or at a ``row``
    value: float | None  # of a row the newest
    after: float  # gain from which on it follows, in R
    begins: float | None  # best price from which on it follows, where the entry is known


@dataclass(frozen=True)
class SignalBreakEven(Payload):
    """When a stop moves to the entry, or beyond it."""

    gain: float | None  # in R; None where it hangs on a target
    after_target: int | None  # number of the target, from 1; None where it hangs on a gain
    kind: str  # ``none`` for the entry itself, or how far beyond: ``share``, ``times_risk``
    value: float
    price: float | None  # where the entry is known


@dataclass(frozen=True)
class SignalSize(Payload):
    """Size of a fill."""

    units: float | None  # None without `account(...)`: then 1 of the account buys `per_account`
    account: float | None  # cash from which units are sized
    per_account: float  # units for each 1 of the account
    risk_share: float  # of the account, lost at the first stop
    leverage: float  # worth of the position over the account
    is_guess: bool  # whether it is that of a fill at the newest close


@dataclass(frozen=True, kw_only=True)
class SignalFill(Payload):
    """An entry that has not come yet, and what to place with it."""

    side: str
    signal_bar: str  # when its bar opened
    bars_to_wait: int  # before its first bar; 0: it is the next one
    from_time: str | None  # when its first bar opens, where bars come without a hole
    reverses: bool  # whether its fill ends the open trade
    stop: SignalLevel
    margin_stop: float | None  # nearer stop in force at which all of the account is lost
    target: SignalLevel | None  # the first of `targets`
    targets: tuple[SignalTarget, ...]
    rest: float  # share of the position that no target takes
    trail: SignalTrail | None
    break_even: SignalBreakEven | None
    max_hold: int | None  # bars that the position is held at most; None without a limit
    session_end: str | None  # minute of its clock at which the position is left
    size: SignalSize | None


@dataclass(frozen=True, kw_only=True)
class SignalEntry(SignalFill):
    """An entry at the open of a bar that has not come yet."""

    min_risk: float  # it is void where the open risks no more than this share of the price


@dataclass(frozen=True, kw_only=True)
class SignalOrder(SignalFill):
    """An order that waits for a price."""

    kind: str  # ``stop`` or ``limit``
    price: float
    needed: float  # price that must be reached; beyond `price` where a limit asks for more
    entry: float  # price of a fill there, with slippage, from which levels are measured
    bars_left: int | None  # in which it stands at most; None: until it is filled or replaced
    until: str | None  # when the last of them closes, where bars come without a hole
    is_day: bool  # whether it ends with the session of its first bar
    is_new: bool  # whether the newest close placed it


@dataclass(frozen=True, kw_only=True)
class SignalLeg(Payload):
    """A target of an open trade."""

    number: int  # from 1, in the order of the strategy
    price: float
    share: float  # of the position
    bar: str | None = None  # when the bar opened that reached it; None where it is left


@dataclass(frozen=True, kw_only=True)
class SignalTrade(Payload):
    """A position that is open."""

    side: str
    since: str  # when its entry bar opened
    entry: float
    stop: float  # in force from the next bar on
    stop_kind: str  # ``stop`` that never moved, ``trail``, ``break_even`` or ``margin``
    target: float | None  # the nearest of `targets`
    targets: tuple[SignalLeg, ...]  # that are left
    out: tuple[SignalLeg, ...]  # that were reached
    left: float  # share of the position that is still held
    rest: float  # share of the position that no target takes
    r: float  # of the whole if it were closed at the newest close, costs included
    locked_r: float  # of it what was reached already
    trail: SignalTrail | None
    break_even: SignalBreakEven | None  # None where the stop is there already
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
        """Whether bars have come since the newest one, so that nothing is known of now."""
        return self.state == "stale"

    @property
    def is_due(self) -> bool:
        """Whether something is to be done at the next open."""
        is_leaving = self.trade is not None and self.trade.leaves
        is_entering = self.entry is not None and self.entry.bars_to_wait == 0
        is_placing = any(order.is_new for order in self.orders)
        return is_leaving or is_placing or (is_entering and self.held_by is None)
