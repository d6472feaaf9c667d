"""State of a member on each symbol's newest closed bar, as it is shown and sent."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from data.bars import Bars
from data.checks import Floats, format_time
from engine.accounts.ledger import Trade
from engine.accounts.metrics import SIDES
from engine.accounts.valuation import OpenParts
from engine.reference_standing import EntryLevels, OrderTerms, PendingEntry, RestingOrder, Standing
from optimizer.signals.account import ChainAccount, TradeChain, TradedChain
from optimizer.signals.records import (
    SignalEntry,
    SignalLeg,
    SignalOrder,
    SignalTrade,
    State,
    SymbolState,
)
from strategy.pretty_print import format_tree
from strategy.rows import resolve_value

STEADY_BARS = 1000
"""So many of the newest bars without a hole, and the next ones come one duration after another."""


def read_states(
    account: ChainAccount,
    genome: Floats | None,
    chains: Sequence[TradeChain],
    traded: Sequence[TradedChain],
    now_ns: int,
) -> tuple[SymbolState, ...]:
    """State of an individual on the newest bar of each chain, with the trades on each.

    Signals of `genome` [G] count now; None where no entry does.
    """
    standings = account.find_standings(genome, traded)
    holders = account.find_holders(genome, traded, standings)
    states = []
    for number, (chain, held_by) in enumerate(zip(chains, holders, strict=True)):
        bars, standing, known = chain.bars, standings[number] or Standing(), dict[str, Any]()
        if not chain.is_stale:
            known = _Describer(account, genome, traded, number, bars, standing).describe()
            if held_by is not None:
                known["held_by"] = tuple(chains[place].symbol for place in held_by)
        state = SymbolState(
            symbol=chain.symbol,
            state="stale" if chain.is_stale else name_state(standing, has_room=held_by is None),
            bar=format_time(bars.timestamp[-1]),
            age_s=(now_ns - int(bars.over_ns[-1])) / 1e9,
            step_s=bars.timeframe_ns / 1e9,
            left_out=chain.left_out,
            begins=format_time(bars.timestamp[chain.start]),
            begins_with_run=chain.begins_with_run,
            is_searched=chain.is_searched,
            **known,
        )
        states.append(state)
    return tuple(states)


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

    account: ChainAccount
    genome: Floats | None
    traded: Sequence[TradedChain]
    number: int  # of the chain
    bars: Bars
    standing: Standing

    def describe(self) -> dict[str, Any]:
        """Records of the trade, the entry and the orders, by their names."""
        trade, pending = self.standing.trade, self.standing.pending
        return {
            "trade": None if trade is None else self._describe_trade(trade),
            "entry": None if pending is None else self._describe_entry(pending),
            "orders": tuple(self._describe_order(order) for order in self.standing.orders),
        }

    def _describe_trade(self, trade: Trade) -> SignalTrade:
        standing, left, until = self.standing, self.standing.bars_left, None
        if standing.session_left_ns is not None:
            until = format_time(np.int64(self.bars.timestamp[-1] + standing.session_left_ns))
        parts = self.account.find_parts(self.traded[self.number], self.number)
        legs = list(self._list_legs(parts))
        targets = tuple(leg for leg in legs if leg.bar is None)
        nearest = min(targets, key=lambda leg: trade.side * leg.price, default=None)
        return SignalTrade(
            **vars(standing.position),
            side=SIDES[trade.side < 0],
            since=format_time(self.bars.timestamp[trade.entry_bar]),
            entry=trade.entry,
            target=None if nearest is None else nearest.price,
            targets=targets,
            out=tuple(leg for leg in legs if leg.bar is not None),
            left=float(parts.left[0]),
            rest=float(parts.rest[0]) if legs else 1.0,
            r=trade.r,
            bars_left=left,
            until=self._find_time(left),
            session_ends=until,
            leaves=standing.leaves,
            size=self.account.size_trade(self.traded, self.number),
        )

    def _list_legs(self, parts: OpenParts) -> Iterator[SignalLeg]:
        """Targets of the trade; a side may have fewer than there are columns."""
        columns = zip(parts.target[0], parts.share[0], parts.reached[0], strict=True)
        for number, (price, share, bar) in enumerate(columns, 1):
            if math.isfinite(price):
                opened = format_time(self.bars.timestamp[bar]) if bar >= 0 else None
                yield SignalLeg(number=number, price=float(price), share=float(share), bar=opened)

    def _describe_entry(self, pending: PendingEntry) -> SignalEntry:
        fill = self._describe_fill(pending)
        return SignalEntry(min_risk=self.account.reference.costs.min_risk, **fill)

    def _describe_order(self, order: RestingOrder) -> SignalOrder:
        left = order.bars_left
        cancel = self.account.reference.spec.cancels[order.side < 0]
        return SignalOrder(
            **_take(OrderTerms, order),
            entry=order.entry,
            until=self._find_time(None if left is None else order.bars_to_wait + left),
            cancel=None if cancel is None else format_tree(cancel),
            **self._describe_fill(order),
        )

    def _describe_fill(self, fill: PendingEntry) -> dict[str, Any]:
        """Fields that entries at the market and orders share."""
        assert self.genome is not None, "an entry has genes that signal"
        reference = self.account.reference
        return {
            **_take(EntryLevels, fill),
            "side": SIDES[fill.side < 0],
            "signal_bar": format_time(np.int64(self.bars.timestamp[fill.signal_bar])),
            "bars_to_wait": fill.bars_to_wait,
            "from_time": self._find_time(fill.bars_to_wait),
            "reverses": self.standing.trade is not None and not self.standing.leaves,
            "target": next(iter(fill.targets), None),
            "max_hold": reference.find_limits(reference.decode(self.genome)).max_hold or None,
            "session_end": self._format_session_end(self.genome),
            "size": self.account.size_entry(self.genome, self.traded, self.number, fill),
        }

    def _format_session_end(self, genome: Floats) -> str | None:
        """Minute of its clock at which a session ends, such as ``19:50 America/New_York``."""
        spec = self.account.reference.spec
        if spec.session is None:
            return None
        minute = int(resolve_value(spec.session.minute, spec.layout.decode(genome)))
        clock, offset = f"{minute // 60:02}:{minute % 60:02}", spec.session.offset
        if isinstance(offset, str):
            return f"{clock} {offset}"
        return f"{clock} UTC" if offset == 0 else f"{clock} of a clock {offset:+} min from UTC"

    def _find_time(self, bars: int | None) -> str | None:
        """When so many bars have come, where those of late came without a hole."""
        opened, step = self.bars.timestamp, self.bars.timeframe_ns
        if bars is None or (np.diff(opened[-STEADY_BARS:]) != step).any():
            return None
        return format_time(np.int64(opened[-1] + (1 + bars) * step))


def _take(kind: type[Any], record: object) -> dict[str, Any]:
    """Fields of a kind of record, from one with more."""
    return {field.name: getattr(record, field.name) for field in fields(kind)}
