"""State of a member on each symbol's newest closed bar, as it is shown and sent."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from data.bars import Bars, Window
from data.checks import Floats, format_time
from engine.accounts.ledger import Ledger
from engine.positions.standing import EntryLevel, PendingEntry, Standing
from engine.reference import Reference
from optimizer.store.payload import Payload

State = Literal["flat", "enter", "in a trade"]

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

    @property
    def key(self) -> tuple[object, ...]:
        """What a change of state changes; prices and R are no part of it."""
        trade, entry = self.trade, self.entry
        return (
            self.state,
            trade and (trade.side, trade.since, trade.leaves),
            entry and (entry.side, entry.signal_bar),
        )

    @property
    def is_due(self) -> bool:
        """Whether something is to be done at the next open."""
        is_leaving = self.trade is not None and self.trade.leaves
        return is_leaving or (self.entry is not None and self.entry.bars_to_wait == 0)


@dataclass(frozen=True)
class TradeChain:
    """Closed bars of a symbol, and where its chain of trades begins."""

    symbol: str
    series: int  # its number
    bars: Bars
    start: int  # number of the first bar that may signal
    begins_with_run: bool
    left_out: int  # bars that have not closed by the clock


@dataclass(frozen=True, eq=False)
class TradedSteps:
    """Trades of a schedule on the bars of a chain."""

    ledger: Ledger
    entered_by: Floats | None  # [G] that entered the last trade; None without trades


def read_state(
    reference: Reference,
    genome: Floats | None,
    chain: TradeChain,
    now_ns: int,
    traded: TradedSteps | None = None,
) -> SymbolState:
    """State of an individual on the newest bar of a chain.

    Args:
        reference: Of the chains' series.
        genome: [G], whose signals count now; None for nobody's.
        chain: Of the symbol.
        now_ns: Of the clock, nanoseconds UTC.
        traded: Trades until now, where others entered them; its own if None.
    """
    bars, end = chain.bars, len(chain.bars)
    window = Window(chain.series, chain.start, end)
    standing = FLAT
    if traded is None:
        assert genome is not None, "without a schedule there is a member"
        ledger = reference.continue_trades(genome, window, end)
        standing = reference.find_standing(genome, window, ledger)
    elif traded.entered_by is not None or genome is not None:
        signals_of = traded.entered_by if genome is None else genome
        assert signals_of is not None
        standing = reference.find_standing(signals_of, window, traded.ledger, traded.entered_by)
        if genome is None:
            standing = standing._replace(pending=None)
    closed_ns = int(bars.timestamp[-1]) + bars.timeframe_ns
    return SymbolState(
        symbol=chain.symbol,
        state=name_state(standing),
        bar=format_time(bars.timestamp[-1]),
        age_s=(now_ns - closed_ns) / 1e9,
        left_out=chain.left_out,
        begins=format_time(bars.timestamp[chain.start]),
        begins_with_run=chain.begins_with_run,
        trade=_describe_trade(bars, standing),
        entry=None
        if genome is None
        else _describe_entry(reference, genome, bars, standing.pending),
    )


def name_state(standing: Standing) -> State:
    """Name of a state."""
    if standing.trade is not None:
        return "in a trade"
    return "flat" if standing.pending is None else "enter"


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


def _describe_level(level: EntryLevel) -> SignalLevel:
    return SignalLevel(level.kind, level.value)
