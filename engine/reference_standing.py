"""Standing of an individual and its account after the last close: in a trade, about to enter, flat.

Entries and orders that bars to come may fill have known prices and levels. It reads what the
reference reads, and shares no code with the batch engine.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from data.bars import Window
from engine.accounts.ledger import REASONS, Ledger, Trade
from engine.accounts.limits import AccountLimits
from engine.accounts.reference import Sized, find_leverage, size_trades
from engine.accounts.stake import Stake
from engine.positions.exit_spec import (
    BEYOND_BAR,
    DAY_NS,
    FROM_ENTRY,
    LEVEL,
    MARKET,
    NONE,
    R_MULTIPLE,
    SHARE,
    STOP_ORDER,
    Floats,
)
from engine.positions.reference import (
    ListedTrades,
    begin_trades,
    compute_net,
    find_free_bars,
    find_signal_range,
    list_signals,
    take_bar,
)
from engine.positions.reference_exits import (
    END,
    FLAT,
    MARGIN,
    NOT_REACHED,
    SIGNAL,
    HeldPosition,
    asks_exit,
    find_even_price,
    is_worth,
    move_stop,
    open_position,
    stay_out,
)
from engine.positions.reference_orders import (
    AFTER,
    AT_OPEN,
    CANCELS,
    CLOSE,
    ENTRIES,
    EXPIRES,
    FIRST_LEG,
    FORM,
    LEG_BARS,
    LEG_LEVELS,
    NO_ORDER,
    NUMBER,
    ORDER_PART,
    REST,
    SINCE,
    STANDING,
    STOP_PART,
    TRAIL_PART,
    WITHIN,
    BarPart,
    Book,
    Ints,
    SignalSpan,
    World,
    asks_entry,
    begin_book,
    count_targets,
    find_sign,
    order_price,
    read_row,
    touch_level,
)
from engine.positions.reference_orders import SHARE as SHARE_ROW
from engine.reference import Reference
from engine.reference_account import (
    Ask,
    Asking,
    AskingWindow,
    HeldRoom,
    Permit,
    admit_in_turn,
    find_turn,
)
from strategy.rows import LoopRunner, as_it_reads

LEVEL_KINDS = {SHARE: "share", FROM_ENTRY: "distance", R_MULTIPLE: "times_risk", NONE: "none"}
"""Kinds of a level that depends on the entry, by its form."""


@dataclass(frozen=True)
class EntryLevel:
    """A stop or a target of an entry."""

    # ``price`` itself, or how far from the entry: a ``distance``, a ``share`` of it, or
    # ``times_risk``; ``none`` at the entry.
    kind: str
    value: float
    price: float | None  # where the entry's price is known, or it hangs on none


@dataclass(frozen=True)
class EntryTarget(EntryLevel):
    """A target of an entry."""

    share: float  # of the position


@dataclass(frozen=True)
class EvenLevel(EntryLevel):
    """Where a stop moves, the entry or beyond it, and when."""

    gain: float | None  # in units of risk; None if it hangs on a target
    after_target: int | None  # number of the target, from 1; None if it hangs on a gain


@dataclass(frozen=True)
class StopTrail:
    """How a stop follows."""

    kind: str  # behind the best price by a ``distance`` or a ``share`` of it; or at a ``row``
    value: float | None  # of a row the newest
    after: float  # gain from which on it follows, in units of risk
    begins: float | None  # best price from which on it follows, where the entry is known


@dataclass(frozen=True, kw_only=True)
class EntryLevels:
    """Levels that follow from a fill."""

    stop: EntryLevel
    margin_stop: float | None  # nearer stop in force at which all of the account is lost
    targets: tuple[EntryTarget, ...]
    rest: float  # share of the position that no target takes
    trail: StopTrail | None
    break_even: EvenLevel | None


@dataclass(frozen=True, kw_only=True)
class PendingEntry(EntryLevels):
    """A signal that counts, with an entry at the open of a bar to come.

    At the market prices are those of an open at the newest close.
    """

    signal_bar: int
    bars_to_wait: int  # before its first bar; 0: it is the next one
    side: int  # 1 for a long, -1 for a short
    entry: float  # its own price with slippage, or the newest close's
    risk: float
    is_taken: bool  # whether it is worth it there


@dataclass(frozen=True, kw_only=True)
class OrderTerms:
    """Terms of an order that waits for a price."""

    kind: str  # ``stop`` or ``limit``
    price: float  # on the tick
    needed: float  # price that must be reached; beyond `price` if a limit needs more
    bars_left: int | None  # in which it stands at most; None: until it is filled or replaced
    is_day: bool  # whether it ends with the session of its first bar
    is_new: bool  # whether the newest close placed it


@dataclass(frozen=True, kw_only=True)
class RestingOrder(OrderTerms, PendingEntry):
    """An order that may stand in bars to come."""


def plan_entry(world: World, side: int, t: int, end: int) -> PendingEntry:
    """The entry of a signal at bar t after bar `end - 1`, with the levels of its fill."""
    is_known, book = world.parts[side, FORM, ORDER_PART] != MARKET, begin_book(world)
    close = float(world.prices[CLOSE, end - 1])
    bar = BarPart(end, True, True, close, close, close, close)
    at = open_position(world, book, side, t, WITHIN if is_known else AT_OPEN, bar)
    count, prices = count_targets(world, side), book.levels[side, LEG_LEVELS:].tolist()
    legs = range(FIRST_LEG, FIRST_LEG + count)
    return PendingEntry(
        signal_bar=t,
        bars_to_wait=max(t + 1 + world.limits.delay - end, 0),
        side=int(find_sign(side)),
        entry=float(at.entry),
        risk=float(at.risk),
        is_taken=bool(is_worth(world, book, at)),
        stop=EntryLevel(*place_level(world, at, STOP_PART, at.first_stop, is_known)),
        margin_stop=float(at.stop) if at.mover == MARGIN else None,
        targets=tuple(
            EntryTarget(
                *place_level(world, at, leg, price, is_known),
                float(world.parts[side, SHARE_ROW, leg]),
            )
            for leg, price in zip(legs, prices, strict=False)
        ),
        rest=float(world.parts[side, NUMBER, REST]) if count else 1.0,
        trail=find_trail(world, at, end, is_known=is_known),
        break_even=find_break_even(world, at, is_known=is_known),
    )


def place_level(
    world: World, at: HeldPosition, part: int, price: float, is_known: bool
) -> tuple[str, float, float | None]:
    """Kind, value and price of a level, with the price if the entry's is known."""
    if world.parts[at.side, FORM, part] in (BEYOND_BAR, LEVEL):
        return "price", float(price), float(price)
    return *read_form(world, at, part), float(price) if is_known else None


def read_form(world: World, at: HeldPosition, part: int) -> tuple[str, float]:
    """Kind and value of a part that hangs on the entry of a position."""
    form, value = world.parts[at.side, FORM, part], world.parts[at.side, NUMBER, part]
    if form == FROM_ENTRY:
        value = read_row(world, at.side, part, at.signal_bar)
    return LEVEL_KINDS[int(form)], float(value)


def find_trail(
    world: World, at: HeldPosition, end: int, *, is_known: bool = True
) -> StopTrail | None:
    """How the stop of a position follows after bar `end - 1`."""
    form, after = world.parts[at.side, FORM, TRAIL_PART], float(world.parts[at.side, NUMBER, AFTER])
    if form == NONE:
        return None
    begins = float(at.entry + find_sign(at.side) * (after * at.risk)) if is_known else None
    if form == LEVEL:
        newest = float(read_row(world, at.side, TRAIL_PART, end - 1))
        return StopTrail("row", None if math.isnan(newest) else newest, after, begins)
    return StopTrail(*read_form(world, at, TRAIL_PART), after, begins)


def find_break_even(world: World, at: HeldPosition, *, is_known: bool = True) -> EvenLevel | None:
    """When and where the stop of a position moves to the entry."""
    limits = world.limits
    gain = None if math.isnan(limits.break_even) else float(limits.break_even)
    if gain is None and not limits.even_leg:
        return None
    price, kind = float(find_even_price(world, at)), LEVEL_KINDS[limits.even_form]
    number, leg = float(limits.even_number), int(limits.even_leg) or None
    return EvenLevel(kind, number, price if is_known else None, gain, leg)


def is_void(world: World, side: int, t: int) -> bool:
    """True if a level that a signal reads is unknown, or on the wrong side at any entry."""
    legs = range(FIRST_LEG, FIRST_LEG + count_targets(world, side))
    # A level that a stop follows may be known later.
    trail = [TRAIL_PART] if world.parts[side, FORM, TRAIL_PART] != LEVEL else []
    return any(_is_wrong(world, side, part, t) for part in (STOP_PART, *legs, *trail))


def _is_wrong(world: World, side: int, part: int, t: int) -> bool:
    form, value = world.parts[side, FORM, part], read_row(world, side, part, t)
    if form in (NONE, SHARE, R_MULTIPLE):
        return False
    return bool(math.isnan(value) or (form == FROM_ENTRY and not value > 0))


@dataclass(frozen=True)
class HeldLevels:
    """An open position after a close, beside its trade."""

    stop: float  # in force from the next bar on
    stop_kind: str  # ``stop`` that never moved, ``trail``, ``break_even`` or ``margin``
    locked_r: float  # of targets that were reached, net
    trail: StopTrail | None
    break_even: EvenLevel | None  # None with the stop already at it, or beyond


class Standing(NamedTuple):
    """State after a window's last close; flat by default."""

    trade: Trade | None = None  # that is open, as if closed at that close
    position: HeldLevels | None = None  # of that trade
    bars_left: int | None = None  # until it is left by time at the latest
    session_left_ns: int | None = None  # from the newest bar's open until its session ends
    leaves: bool = False  # whether its exit condition holds, so that the next open ends it
    pending: PendingEntry | None = None
    orders: tuple[RestingOrder, ...] = ()


class Walked(NamedTuple):
    """Orders and position after a window's last close, as if bars came behind it."""

    book: Book
    at: HeldPosition


def has_resting(world: World) -> bool:
    """True if orders rest or reverse, so that the book hangs on all bars of a window."""
    return bool(world.limits.reverses or (world.parts[:, FORM, ORDER_PART] != MARKET).any())


def walk_signals(form: LoopRunner, world: World, span: SignalSpan) -> Walked:
    """Orders and position of all signals of a window; `form` is how loops run."""
    book = begin_book(world)
    trades = begin_trades(world, span, max(count_targets(world, 0), count_targets(world, 1)))
    return Walked(book, form(take_all)(world, span, book, trades))


def take_all(world: World, span: SignalSpan, book: Book, trades: ListedTrades) -> HeldPosition:
    """Take the signals of a window as if bars came behind it; the position after its last close."""
    position, longer = stay_out(), SignalSpan(span.first, span.last, span.end + 1)
    for j in range(span.first, span.end):
        position = take_bar(world, longer, book, trades, position, j)
        if position.side != FLAT:
            position = move_stop(world, book, position, j)
    return position


def find_open(ledger: Ledger) -> Trade | None:
    """The open trade with which a ledger ends."""
    last = ledger.trade(len(ledger) - 1) if len(ledger) else None
    return last if last is not None and last.reason == END else None


def describe_trade(world: World, trade: Trade, walked: Walked, end: int) -> Standing:
    """The standing of an open trade after bar `end - 1`, without entries to come."""
    (book, at), locked, sign = walked, 0.0, find_sign(walked.at.side)
    hold, local_ns = world.limits.max_hold, world.local_ns
    legs = slice(FIRST_LEG, FIRST_LEG + count_targets(world, at.side))
    shares = world.parts[at.side, SHARE_ROW, legs].tolist()
    reached = book.orders[at.side, LEG_BARS:].tolist()
    prices = book.levels[at.side, LEG_LEVELS:].tolist()
    for share, bar, price in zip(shares, reached, prices, strict=False):
        if bar != NOT_REACHED:
            locked += share * (compute_net(world, at, bar, price) / at.risk)
    is_even = sign * at.stop >= sign * find_even_price(world, at)
    return Standing(
        trade,
        HeldLevels(
            float(at.stop),
            REASONS[at.mover],
            float(locked),
            find_trail(world, at, end),
            None if is_even else find_break_even(world, at),
        ),
        trade.entry_bar + hold - end if hold else None,
        int(world.minute_ns - local_ns[end - 1] % DAY_NS) if len(local_ns) else None,
        asks_exit(world, at, end - 1),
    )


def find_pending(world: World, ledger: Ledger, signals: Ints, end: int) -> PendingEntry | None:
    """The first signal that counts and can become a trade at some open.

    Args:
        world: Of the individual.
        ledger: Trades until then; one that is open leaves at the next open.
        signals: Bars at which one side asks for an entry that no bar has brought yet, ascending.
        end: One past the last bar.
    """
    free = (0, 0)
    if len(ledger):
        last = ledger.trade(len(ledger) - 1)
        free = find_free_bars(last.exit_bar, last.reason, last.side, world.limits.cooldown)
        # What leaves at the next open may reverse there.
        if last.reason == END:
            free = find_free_bars(end, SIGNAL, last.side, 0)
    for t in signals.tolist():
        side = 0 if world.marks[ENTRIES, t] else 1
        if t >= free[side] and not is_void(world, side, t):
            return plan_entry(world, side, t, end)
    return None


def add_orders(standing: Standing, walked: Walked, world: World, span: SignalSpan) -> Standing:
    """A standing with the orders that bars to come may fill."""
    (book, at), end = walked, span.end
    # Of the other side the signal counts at the close at which the exit was known.
    if standing.leaves and not world.limits.reverses:
        book.orders[1 - at.side, SINCE] = end - 1
    entries: list[PendingEntry] = []
    resting: list[RestingOrder] = []
    for side in range(2):
        form = world.parts[side, FORM, ORDER_PART]
        placed = list(_list_placed(world, span, book, side))
        for number, t in enumerate(placed):
            if is_void(world, side, t):
                continue
            entry = plan_entry(world, side, t, end)
            needed = float(touch_level(world, side, t))
            if form == MARKET:
                entries.append(entry)
            # Without a price it replaces the order before, and is never touched.
            elif 0.0 < needed < math.inf:
                order = RestingOrder(
                    **vars(entry),
                    kind="stop" if form == STOP_ORDER else "limit",
                    price=float(order_price(world, side, t)),
                    needed=needed,
                    bars_left=_count_left(world, side, t, placed[number + 1 :], end),
                    is_day=len(world.local_ns) > 0,
                    is_new=t + 1 + world.limits.delay == end,
                )
                resting.append(order)
    first = min(entries, key=lambda entry: entry.signal_bar, default=None)
    return standing._replace(pending=first, orders=tuple(resting))


def _list_placed(world: World, span: SignalSpan, book: Book, side: int) -> Iterator[int]:
    """Signal bars of a side's orders from the next bar on, each replaced by the one behind it."""
    end, newest = span.end, span.end - 1 - world.limits.delay
    since, before = int(book.orders[side, SINCE]), int(book.orders[side, STANDING])
    signal_bars = [t for t in range(max(newest, since), end) if asks_entry(world, span, side, t)]
    if before != NO_ORDER and newest not in signal_bars:
        signal_bars.insert(0, before)
    yield from (t for t in signal_bars if _stands(world, side, t, end))


def _stands(world: World, side: int, t: int, end: int) -> bool:
    """True if the order of a signal at bar t may stand in a bar to come."""
    first = t + 1 + world.limits.delay
    if world.parts[side, FORM, ORDER_PART] == MARKET:
        return first >= end
    expires = world.parts[side, NUMBER, EXPIRES]
    if expires > 0.0 and end >= first + expires:
        return False
    if world.marks[CANCELS + side, t + 1 : end].any():
        return False
    # The next bar opens no earlier than the last one closes.
    local_ns = world.local_ns
    if len(local_ns) == 0 or first >= end:
        return True
    return bool((local_ns[end - 1] + world.bar_ns) // DAY_NS == local_ns[first] // DAY_NS)


def _count_left(world: World, side: int, t: int, later: Sequence[int], end: int) -> int | None:
    """Bars from the next one on, or from its first, in which an order stands at most."""
    first, expires = t + 1 + world.limits.delay, world.parts[side, NUMBER, EXPIRES]
    ends = [other + 1 + world.limits.delay for other in later[:1]]
    if expires > 0.0:
        ends.append(first + int(expires))
    return min(ends) - max(first, end) if ends else None


NEVER_NS = 2**63 - 1


class StandingStrand(NamedTuple):
    """A strand after its last close."""

    asking: AskingWindow  # by the genes with signals that count now
    ledger: Ledger  # until then
    stake: Stake  # of the genes that entered its last trade
    standing: Standing


def find_holders(
    strands: Sequence[StandingStrand], limits: AccountLimits
) -> list[tuple[int, ...] | None]:
    """Places of strands that hold the room which the pending entry of each [S] needs.

    None where there is room, or nothing is pending. No entry comes before the newest close of all;
    each asks as if it came at its own newest close, since limits of leverage hang on its price.
    """
    asked = [strand.asking for strand in strands]
    now_ns = max(int(asking.bars.over_ns[asking.window.end - 1]) for asking in asked)
    permits: dict[int, Permit] = {}
    asking = [_ask_once(number, strand, now_ns, permits) for number, strand in enumerate(strands)]
    admit_in_turn(asking, limits, _list_held(strands, now_ns))
    return [
        None if number not in permits or permits[number].is_taken else permits[number].holders
        for number in range(len(strands))
    ]


def _ask_once(
    number: int, strand: StandingStrand, now_ns: int, permits: dict[int, Permit]
) -> Asking:
    """The pending entry of a strand; its permit stays at its place."""
    pending, asking = strand.standing.pending, strand.asking
    if pending is None:
        return
    rank = 0.0 if asking.ranks is None else float(asking.ranks[pending.signal_bar])
    asks_ns = now_ns + pending.bars_to_wait * asking.bars.timeframe_ns
    # At the newest close; of what would be void there none.
    leverage, quoted = 0.0, quote_trade(pending, asking.scales)
    if pending.is_taken:
        leverage = find_leverage(quoted, asking.stake, 0, asking.weight)
    permits[number] = yield Ask(asks_ns, NEVER_NS, leverage, rank)


def quote_trade(entry: PendingEntry, scales: Floats | None) -> Sized:
    """An entry as an account sizes it; `scales` [T] as a ledger has them."""
    scale = np.empty(0) if scales is None else scales[[entry.signal_bar]]
    unknown, sides = np.full(1, np.nan), np.array([entry.side], np.int8)
    price, risk, lost = np.array([entry.entry]), np.array([entry.risk]), np.zeros(1, np.bool_)
    return Sized(unknown, sides, price, risk, unknown, unknown[:, None], scale, lost)


def _list_held(strands: Sequence[StandingStrand], now_ns: int) -> list[HeldRoom]:
    """Open positions in the order of taking; one to leave at the next open is over there."""
    taken: list[tuple[Ask, HeldRoom]] = []
    for number, (asking, ledger, stake, standing) in enumerate(strands):
        trade = standing.trade
        if trade is None:
            continue
        leverage = find_leverage(size_trades(ledger), stake, len(ledger) - 1, asking.weight)
        over_ns = now_ns if standing.leaves else NEVER_NS
        rank = 0.0 if asking.ranks is None else float(asking.ranks[trade.signal_bar])
        entered = Ask(int(asking.bars.timestamp[trade.entry_bar]), over_ns, leverage, rank)
        taken.append((entered, HeldRoom(number, over_ns, leverage)))
    taken.sort(key=lambda pair: find_turn(pair[0], pair[1].strand))
    return [held for _, held in taken]


def find_standing(
    reference: Reference,
    genome: Floats,
    window: Window,
    ledger: Ledger,
    entered_by: Floats | None = None,
) -> Standing:
    """How an account stands after a window's last close, by its trades there.

    Args:
        reference: Of the strategy and the series.
        genome: [G] that signals are of; orders rest as if it had traded the whole window.
        window: With the trades.
        ledger: All of them.
        entered_by: [G] that entered the last of them; the same if None.
    """
    genes, end = reference.decode(genome), window.end
    limits, warm_up = reference.find_limits(genes), reference.spec.warm_up(genes)
    known = find_signal_range(window.start, end + 1 + limits.delay, warm_up, limits)
    asked = held = reference.find_world(genes, window.series)
    if entered_by is not None:
        held = reference.find_world(reference.decode(entered_by), window.series)
    trade, standing, walked = find_open(ledger), Standing(), None
    span = SignalSpan(known.start, known.stop, end)
    if has_resting(asked):
        walked = walk_signals(reference.form, asked, span)
    if trade is not None:
        own = SignalSpan(trade.signal_bar, trade.signal_bar + 1, end)
        standing = describe_trade(held, trade, walked or walk_signals(as_it_reads, held, own), end)
    if walked is not None:
        return add_orders(standing, walked, asked, span)
    if trade is not None and not standing.leaves:
        return standing
    bars = slice(max(known.start, end - 1 - limits.delay), known.stop)
    signals = list_signals(asked, bars)
    return standing._replace(pending=find_pending(asked, ledger, signals, end))
