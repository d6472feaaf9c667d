"""State of a member on each symbol's newest closed bar, as it is shown and sent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from data.bars import Bars
from data.checks import Floats, format_time
from engine.positions.standing import EntryLevel, PendingEntry, RestingOrder, Standing
from engine.reference import Reference
from optimizer.signals.account import ChainAccount, TradeChain, TradedChain
from optimizer.store.payload import Payload

State = Literal["flat", "enter", "order", "in a trade", "full"]

FLAT = Standing(None, math.nan, None, False, None)
"""Without trades and without genes that signal."""

SIDES = {1: "long", -1: "short"}


@dataclass(frozen=True)
class SignalLevel(Payload):
    """A stop or a target before the entry is known."""

    kind: str  # ``price``, or how far from the entry: ``distance``, ``share``, ``times_risk``
    value: float


@dataclass(frozen=True, kw_only=True)
class SignalEntry(Payload):
    """An entry at the open of a bar that has not come yet."""

    side: str
    signal_bar: str  # when its bar opened
    bars_to_wait: int  # 0: at the next open
    stop: SignalLevel
    target: SignalLevel | None
    max_hold: int | None  # bars that it is held at most; None without a limit
    min_risk: float  # it is void where the open risks no more than this share of the price


@dataclass(frozen=True, kw_only=True)
class SignalOrder(Payload):
    """An order that waits for a price."""

    side: str
    kind: str  # ``stop`` or ``limit``
    price: float
    needed: float  # price that must be reached; beyond `price` where a limit asks for more
    signal_bar: str  # when its bar opened
    bars_to_wait: int  # before its first bar; 0: it stands in the next one
    bars_left: int | None  # in which it stands at most; None: until it is filled or replaced
    is_day: bool  # whether it ends with the session of its first bar
    stop: SignalLevel
    target: SignalLevel | None
    max_hold: int | None  # bars that a position is held at most; None without a limit
    is_new: bool  # whether the newest close placed it


@dataclass(frozen=True, kw_only=True)
class SignalTrade(Payload):
    """A position that is open."""

    side: str
    since: str  # when its entry bar opened
    entry: float
    stop: float  # in force from the next bar on
    target: float | None
    r: float  # if it were closed at the newest close, costs included
    bars_left: int | None  # until it is left by time at the latest; None without a limit
    leaves: bool  # whether its exit condition holds, so that the next open ends it


@dataclass(frozen=True, kw_only=True)
class SymbolState(Payload):
    """State on the newest closed bar of a symbol."""

    what: ClassVar[str] = "a state"

    symbol: str
    state: State
    bar: str  # when the newest closed bar opened
    age_s: float  # seconds since it closed
    left_out: int  # bars that have not closed by the clock
    begins: str  # when the first bar opened that may signal
    begins_with_run: bool  # whether the run's own chain of trades began there
    trade: SignalTrade | None = None
    entry: SignalEntry | None = None
    orders: tuple[SignalOrder, ...] = ()  # those against a trade reverse it where they are filled
    # Symbols that hold the room which the entry needs; None where the account has room for it.
    held_by: tuple[str, ...] | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Fields that make a change of state; prices and R are none of them."""
        trade, entry = self.trade, self.entry
        return (
            self.state,
            trade and (trade.side, trade.since, trade.leaves),
            entry and (entry.side, entry.signal_bar),
            tuple((order.side, order.signal_bar) for order in self.orders),
            self.held_by is None,
        )

    @property
    def is_due(self) -> bool:
        """Whether something is to be done at the next open."""
        is_leaving = self.trade is not None and self.trade.leaves
        is_entering = self.entry is not None and self.entry.bars_to_wait == 0
        is_placing = any(order.is_new for order in self.orders)
        return is_leaving or is_placing or (is_entering and self.held_by is None)


def read_states(
    account: ChainAccount,
    genome: Floats | None,
    chains: Sequence[TradeChain],
    traded: Sequence[TradedChain],
    now_ns: int,
) -> tuple[SymbolState, ...]:
    """State of an individual on the newest bar of each chain.

    Args:
        account: Of the chains.
        genome: [G], whose signals count now; None where no entry does.
        chains: Of all symbols.
        traded: Trades on each.
        now_ns: Of the clock, nanoseconds UTC.
    """
    standings = account.find_standings(genome, traded)
    holders = account.find_holders(genome, traded, standings)
    states = []
    for chain, standing, holding in zip(chains, standings, holders, strict=True):
        entry: SignalEntry | None = None
        orders: tuple[SignalOrder, ...] = ()
        if genome is not None and standing is not None:
            entry = _describe_entry(account.reference, genome, chain.bars, standing.pending)
            orders = _describe_orders(account.reference, genome, chain.bars, standing.orders)
        held_by = None if holding is None else tuple(chains[number].symbol for number in holding)
        states.append(_build_state(chain, standing or FLAT, entry, orders, held_by, now_ns))
    return tuple(states)


def _build_state(
    chain: TradeChain,
    standing: Standing,
    entry: SignalEntry | None,
    orders: tuple[SignalOrder, ...],
    held_by: tuple[str, ...] | None,
    now_ns: int,
) -> SymbolState:
    bars = chain.bars
    return SymbolState(
        symbol=chain.symbol,
        state=name_state(standing, has_room=held_by is None),
        bar=format_time(bars.timestamp[-1]),
        age_s=(now_ns - int(bars.over_ns[-1])) / 1e9,
        left_out=chain.left_out,
        begins=format_time(bars.timestamp[chain.start]),
        begins_with_run=chain.begins_with_run,
        trade=_describe_trade(bars, standing),
        entry=entry,
        orders=orders,
        held_by=held_by,
    )


def name_state(standing: Standing, *, has_room: bool) -> State:
    """Name of a state."""
    if standing.trade is not None:
        return "in a trade"
    if standing.pending is None:
        return "order" if standing.orders else "flat"
    return "enter" if has_room else "full"


def _describe_trade(bars: Bars, standing: Standing) -> SignalTrade | None:
    trade = standing.trade
    if trade is None:
        return None
    return SignalTrade(
        side=SIDES[trade.side],
        since=format_time(bars.timestamp[trade.entry_bar]),
        entry=trade.entry,
        stop=standing.next_stop,
        target=trade.target if math.isfinite(trade.target) else None,
        r=trade.r,
        bars_left=standing.bars_left,
        leaves=standing.leaves,
    )


def _describe_entry(
    reference: Reference, genome: Floats, bars: Bars, pending: PendingEntry | None
) -> SignalEntry | None:
    if pending is None:
        return None
    limits = reference.find_limits(genome)
    return SignalEntry(
        side=SIDES[pending.side],
        signal_bar=format_time(np.int64(bars.timestamp[pending.signal_bar])),
        bars_to_wait=pending.bars_to_wait,
        stop=_describe_level(pending.stop),
        target=None if pending.target.kind == "none" else _describe_level(pending.target),
        max_hold=limits.max_hold or None,
        min_risk=limits.min_risk,
    )


def _describe_orders(
    reference: Reference, genome: Floats, bars: Bars, orders: Sequence[RestingOrder]
) -> tuple[SignalOrder, ...]:
    limits = reference.find_limits(genome)
    return tuple(
        SignalOrder(
            side=SIDES[order.side],
            kind=order.kind,
            price=order.price,
            needed=order.needed,
            signal_bar=format_time(np.int64(bars.timestamp[order.signal_bar])),
            bars_to_wait=order.bars_to_wait,
            bars_left=order.bars_left,
            is_day=order.is_day,
            stop=_describe_level(order.stop),
            target=None if order.target.kind == "none" else _describe_level(order.target),
            max_hold=limits.max_hold or None,
            is_new=order.signal_bar + 1 + limits.delay == len(bars),
        )
        for order in orders
    )


def _describe_level(level: EntryLevel) -> SignalLevel:
    return SignalLevel(level.kind, level.value)
