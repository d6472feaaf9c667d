"""State of a member on each symbol's newest closed bar, as it is shown and sent."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from data.bars import Bars
from data.checks import Floats, format_time
from engine.accounts.valuation import OpenParts
from engine.positions.entry_plans import (
    BreakEven,
    EntryLevel,
    PendingEntry,
    RestingOrder,
    StopTrail,
)
from engine.positions.standing import OpenPosition, Standing
from engine.reference import Reference
from optimizer.signals.account import ChainAccount, TradeChain, TradedChain, TradeSize
from optimizer.signals.records import (
    SignalBreakEven,
    SignalEntry,
    SignalLeg,
    SignalLevel,
    SignalOrder,
    SignalSize,
    SignalTarget,
    SignalTrade,
    SignalTrail,
    State,
    SymbolState,
)
from strategy.rows import resolve_value

FLAT = Standing(None, None, None, False, None)
"""Without trades and without genes that signal."""

SIDES = {1: "long", -1: "short"}

STEADY_BARS = 1000
"""So many of the newest bars without a hole, and the next ones come one duration after another."""


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
    sizes = account.find_sizes(genome, traded, standings)
    states = []
    columns = chains, standings, holders, sizes
    for number, (chain, standing, holding, listed) in enumerate(zip(*columns, strict=True)):
        known: dict[str, Any] = {}
        if standing is not None and not chain.is_stale:
            held_by = None if holding is None else tuple(chains[k].symbol for k in holding)
            describer = _Describer(account.reference, genome, chain.bars, standing, iter(listed))
            has_trade = standing.trade is not None
            parts = account.find_parts(traded[number], number) if has_trade else None
            known = {"held_by": held_by, **describer.describe(parts)}
        states.append(_build_state(chain, standing or FLAT, known, now_ns))
    return tuple(states)


def _build_state(
    chain: TradeChain, standing: Standing, known: dict[str, Any], now_ns: int
) -> SymbolState:
    bars = chain.bars
    has_room = known.get("held_by") is None
    return SymbolState(
        symbol=chain.symbol,
        state="stale" if chain.is_stale else name_state(standing, has_room=has_room),
        bar=format_time(bars.timestamp[-1]),
        age_s=(now_ns - int(bars.over_ns[-1])) / 1e9,
        step_s=bars.timeframe_ns / 1e9,
        left_out=chain.left_out,
        begins=format_time(bars.timestamp[chain.start]),
        begins_with_run=chain.begins_with_run,
        is_searched=chain.is_searched,
        **known,
    )


def name_state(standing: Standing, *, has_room: bool) -> State:
    """Name of a state."""
    if standing.trade is not None:
        return "in a trade"
    if standing.pending is None:
        return "order" if standing.orders else "flat"
    return "enter" if has_room else "full"


@dataclass(frozen=True, eq=False)
class _Describer:
    """Records of a standing."""

    reference: Reference
    genome: Floats | None
    bars: Bars
    standing: Standing
    sizes: Iterator[TradeSize | None]  # of the trade, the entry and the orders, as far as there are

    def describe(self, parts: OpenParts | None) -> dict[str, Any]:
        """Records of the trade, which has such parts, the entry and the orders, by their names."""
        trade = None if parts is None else self._describe_trade(parts)
        if self.genome is None:
            return {"trade": trade}
        limits = self.reference.find_limits(self.genome)
        pending, entry = self.standing.pending, None
        if pending is not None:
            entry = SignalEntry(min_risk=limits.min_risk, **self._describe_fill(pending))
        orders = tuple(self._describe_order(order, limits.delay) for order in self.standing.orders)
        return {"trade": trade, "entry": entry, "orders": orders}

    def _describe_trade(self, parts: OpenParts) -> SignalTrade:
        trade, position, left = self.standing.trade, self.standing.position, self.standing.bars_left
        assert trade is not None, "parts are those of a trade"
        assert position is not None, "a trade has a position"
        legs = list(self._list_legs(parts))
        targets = tuple(leg for leg in legs if leg.bar is None)
        nearest = min((trade.side * leg.price for leg in targets), default=None)
        return SignalTrade(
            side=SIDES[trade.side],
            since=format_time(self.bars.timestamp[trade.entry_bar]),
            entry=trade.entry,
            stop=position.stop,
            stop_kind=position.stop_kind,
            target=None if nearest is None else trade.side * nearest,
            targets=targets,
            out=tuple(leg for leg in legs if leg.bar is not None),
            left=float(parts.left[0]),
            rest=float(parts.rest[0]) if legs else 1.0,
            r=trade.r,
            locked_r=position.locked_r,
            trail=_describe_trail(position.trail),
            break_even=_describe_even(position.even),
            bars_left=left,
            until=self._find_time(left),
            session_ends=self._find_session_end(position),
            leaves=self.standing.leaves,
            size=self._describe_size(trade.side * (trade.entry - trade.stop)),
        )

    def _list_legs(self, parts: OpenParts) -> Iterator[SignalLeg]:
        """Targets of the trade; a side may have fewer than there are columns."""
        columns = zip(parts.target[0], parts.share[0], parts.reached[0], strict=True)
        for number, (price, share, bar) in enumerate(columns, 1):
            if math.isfinite(price):
                opened = format_time(self.bars.timestamp[bar]) if bar >= 0 else None
                yield SignalLeg(number=number, price=float(price), share=float(share), bar=opened)

    def _find_session_end(self, position: OpenPosition) -> str | None:
        if position.session_left_ns is None:
            return None
        return format_time(np.int64(self.bars.timestamp[-1] + position.session_left_ns))

    def _describe_order(self, order: RestingOrder, delay: int) -> SignalOrder:
        left = order.bars_left
        return SignalOrder(
            kind=order.kind,
            price=order.price,
            needed=order.needed,
            entry=order.plan.entry,
            bars_left=left,
            until=self._find_time(None if left is None else order.bars_to_wait + left),
            is_day=order.is_day,
            is_new=order.signal_bar + 1 + delay == len(self.bars),
            **self._describe_fill(order),
        )

    def _describe_fill(self, fill: PendingEntry | RestingOrder) -> dict[str, Any]:
        """Fields that entries at the market and orders share."""
        assert self.genome is not None, "an entry has genes that signal"
        plan = fill.plan
        return {
            "side": SIDES[fill.side],
            "signal_bar": format_time(np.int64(self.bars.timestamp[fill.signal_bar])),
            "bars_to_wait": fill.bars_to_wait,
            "from_time": self._find_time(fill.bars_to_wait),
            "reverses": self.standing.trade is not None and not self.standing.leaves,
            "stop": _describe_level(plan.stop),
            "margin_stop": _known(plan.margin),
            "target": _describe_level(plan.targets[0].level) if plan.targets else None,
            "targets": tuple(
                SignalTarget(*_list_level(target.level), target.share) for target in plan.targets
            ),
            "rest": plan.rest,
            "trail": _describe_trail(plan.trail),
            "break_even": _describe_even(plan.even),
            "max_hold": self.reference.find_limits(self.genome).max_hold or None,
            "session_end": self._format_session_end(self.genome),
            "size": self._describe_size(plan.risk),
        }

    def _format_session_end(self, genome: Floats) -> str | None:
        """Minute of its clock at which a session ends, such as ``19:50 America/New_York``."""
        spec = self.reference.spec
        if spec.session is None:
            return None
        minute = int(resolve_value(spec.session.minute, spec.layout.decode(genome)))
        clock, offset = f"{minute // 60:02}:{minute % 60:02}", spec.session.offset
        if isinstance(offset, str):
            return f"{clock} {offset}"
        return f"{clock} UTC" if offset == 0 else f"{clock} of a clock {offset:+} min from UTC"

    def _describe_size(self, risk: float) -> SignalSize | None:
        size = next(self.sizes, None)
        if size is None:
            return None
        market = self.reference.spec.market
        worth = 1.0 if market is None else resolve_value(market.multiplier, {})
        per_account = size.risk_share / (risk * worth)
        return SignalSize(
            _known(size.units), _known(size.cash), per_account, size.risk_share, size.leverage,
            size.is_guess,
        )  # fmt: skip

    def _find_time(self, bars: int | None) -> str | None:
        """When so many bars have come, where those of late came without a hole."""
        opened, step = self.bars.timestamp, self.bars.timeframe_ns
        if bars is None or (np.diff(opened[-STEADY_BARS:]) != step).any():
            return None
        return format_time(np.int64(opened[-1] + (1 + bars) * step))


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _list_level(level: EntryLevel) -> tuple[str, float, float | None]:
    return level.kind, level.value, _known(level.price)


def _describe_level(level: EntryLevel) -> SignalLevel:
    return SignalLevel(*_list_level(level))


def _describe_trail(trail: StopTrail | None) -> SignalTrail | None:
    if trail is None:
        return None
    return SignalTrail(trail.kind, _known(trail.value), trail.after, _known(trail.begins))


def _describe_even(even: BreakEven | None) -> SignalBreakEven | None:
    if even is None:
        return None
    return SignalBreakEven(_known(even.gain), even.leg or None, *_list_level(even.level))
