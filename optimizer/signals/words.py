"""A signal in words: its verdict, a block a symbol, and bars beyond the clock."""

import math
from collections.abc import Iterator, Mapping, Sequence

from engine.reference_standing import EntryLevel, StopTrail
from optimizer.formatting import format_count, fraction
from optimizer.signals.records import (
    SignalEntry,
    SignalFill,
    SignalOrder,
    SignalSize,
    SignalTrade,
    SymbolState,
)
from optimizer.signals.source import Signal

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400

MOST_NAMED = 8
"""Flat symbols that are named before the others are counted."""

PRICE_DIGITS, MOST_DECIMALS = 8, 12
"""Digits of a price, so that it can be typed where an order is placed."""

STOPS = {
    "stop": "where it was placed",
    "trail": "it follows",
    "break_even": "break-even",
    "margin": "margin: all of the account is lost there",
}
"""Of each kind of the stop in force."""

FROM_ENTRY = " from the entry"

LEVELS = {
    "price": "{0}",
    "distance": "{0}" + FROM_ENTRY,
    "share": "{1:.4g}%" + FROM_ENTRY,
    "times_risk": "{2:.4g} R" + FROM_ENTRY,
}
TRAILS = {
    "distance": "{0} behind the best price",
    "share": "{1:.4g}% behind the best price",
    "row": "at a row, now {0}",
}
EVENS = {"none": "", "share": " and {1:.4g}% of it", "times_risk": " and {2:.4g} R"}
"""Where a level lies, what a stop follows, and where break-even is, by their kinds."""

NEXT, FIRST = "at the next open", "from the first close on"


def list_warnings(states: Sequence[SymbolState], now: str) -> Iterator[str]:
    """Symbols on which nothing is to be acted on, and why."""
    for state in states:
        if state.is_stale:
            yield (
                f"{state.symbol}: stale. By the clock, {now}, its newest bar closed "
                f"{format_age(state.age_s)} ago. More than three bars of "
                f"{format_age(state.step_s)} are missing, so nothing is known of now. Name newer "
                f"bars with --data, or another clock with --now."
            )
        if not state.is_searched:
            yield (
                f"{state.symbol}: never searched by this run, whose verdict says nothing of it. If "
                f"the run knows it by another name, give its file that name."
            )


def describe_genes(signal: Signal) -> Iterator[str]:
    """Source of the genes; of a schedule since when, and until when."""
    if signal.step is None:
        yield f"member {signal.member} of run {signal.run}, {signal.strategy}"
        if signal.outlook:
            yield f"Expected of it: {signal.outlook}"
        return
    step = signal.step
    lack = "" if signal.genes else "; its search kept no member, so that nothing is entered"
    yield (
        f"today's genes of run {signal.run}, {signal.strategy}: searched {step.date}, the next "
        f"search {step.next_date}{lack}"
    )
    yield "Not these genes were tested, but the way of finding them."
    if step.due is not None:
        yield f"A search is due since {step.due}: without --no-search it is made."


def describe_state(state: SymbolState) -> Iterator[str]:
    """Lines of a state: its name, then a fact each."""
    yield f"{state.symbol} at the close of the bar of {state.bar}: {state.state}"
    facts: list[str] = []
    if state.trade is not None:
        facts += _describe_trade(state.trade)
    if state.entry is not None:
        facts += _describe_entry(state.entry)
    for order in state.orders:
        facts += _describe_order(order)
    if state.held_by:
        holds = "holds" if len(state.held_by) == 1 else "hold"
        facts.append(f"the account has no room: {', '.join(state.held_by)} {holds} it")
    elif state.held_by is not None:
        facts.append("the account has no room: the entry alone is more than --max-leverage")
    yield from (f"  {fact}" for fact in facts)


def describe_order(state: SymbolState) -> str:
    """The order to place at a broker now, with size and prices, in one line; else ``nothing``."""
    trade, parts = state.trade, []
    entries = () if state.entry is None else (state.entry,)
    fills: tuple[SignalEntry | SignalOrder, ...] = (*entries, *state.orders)
    if trade is not None and trade.leaves:
        parts.append("close at the next open")
    elif trade is not None:
        targets = (f"target {format_price(leg.price)}" for leg in trade.targets)
        parts.append(", ".join((f"stop {format_price(trade.stop)}", *targets)))
    if state.held_by is None:
        parts += map(_name_fill, fills)
    elif fills:
        parts.append("no room in the account")
    return "; ".join(parts) or "nothing"


def _name_fill(fill: SignalEntry | SignalOrder) -> str:
    """Side, size, kind, stop and targets of an entry."""
    size = fill.size
    units = None if size is None else size.per_account if size.units is None else size.units
    per = " per 1 of the account" if size is not None and size.units is None else ""
    sized = "" if units is None else f" {format_price(units)}{per}"
    wait = format_count(fill.bars_to_wait, "bar")
    when = f"at the open in {wait}" if fill.bars_to_wait else NEXT
    price = f"{fill.kind} {format_price(fill.price)}" if isinstance(fill, SignalOrder) else when
    levels = [("stop", fill.stop), *(("target", target) for target in fill.targets)]
    named = (f"{name} {_describe_level(level).removesuffix(FROM_ENTRY)}" for name, level in levels)
    return ", ".join((f"{'buy' if fill.side == 'long' else 'sell'}{sized} {price}", *named))


def list_remarks(signal: Signal) -> Iterator[str]:
    """Age of the newest bars, bars that the clock leaves out, and where chains of trades begin."""
    for state in signal.symbols[:MOST_NAMED]:
        yield f"{state.symbol}: {_describe_clock(state)}"
    more = len(signal.symbols) - MOST_NAMED
    if more > 0:
        yield f"and {format_count(more, 'more symbol')}: --json has all"


def _describe_clock(state: SymbolState) -> str:
    whose = "as the run's" if state.begins_with_run else "its first bar"
    words = f"closed {format_age(state.age_s)} ago; trades count from {state.begins} on, {whose}"
    if state.left_out == 1:
        return f"{words}; a bar that is still open is left out"
    if state.left_out:
        return f"{words}; {state.left_out:,} later bars ignored (--now)"
    return words


def _describe_trade(trade: SignalTrade) -> Iterator[str]:
    held = f"; {_format_part(trade.left)} is left" if trade.out else ""
    yield f"{trade.side} since {trade.since} at {format_price(trade.entry)}{held}"
    yield from _describe_size(trade.size)
    for leg in trade.out:
        took = f"target {leg.number} took {_format_part(leg.share)}"
        yield f"{took} at {format_price(leg.price)}, in the bar of {leg.bar}"
    yield f"stop now {format_price(trade.stop)} ({STOPS[trade.stop_kind]})"
    for leg in trade.targets:
        yield f"target {leg.number}: {_format_part(leg.share)} at {format_price(leg.price)}"
    yield from _describe_moves(trade)
    locked = f"; targets took {trade.locked_r:.2f} R of it" if trade.out else ""
    yield f"{trade.r:.2f} R if closed now{locked}"
    if trade.leaves:
        yield "leaves at the next open: close it at the market"
    elif trade.bars_left is not None:
        left = format_count(trade.bars_left, "bar")
        yield f"leaves in {left} at the latest{_add(', until {}', trade.until)}"
    if trade.session_ends is not None:
        yield f"leaves when its session ends, {trade.session_ends}"


def _describe_entry(entry: SignalEntry) -> Iterator[str]:
    wait = format_count(entry.bars_to_wait, "bar")
    when = f"at the open in {wait}{_add(', {}', entry.from_time)}"
    yield f"enter: {_name_deal(entry)} at the market {when if entry.bars_to_wait else NEXT}"
    yield from _describe_fill(entry, ", as if filled at the newest close")
    yield f"void if the open risks {entry.min_risk:g} of the price or less"


def _describe_order(order: SignalOrder) -> Iterator[str]:
    yield f"order: {_name_deal(order)} {order.kind} {format_price(order.price)}"
    if order.needed != order.price:
        yield f"it fills once the price reaches {format_price(order.needed)}"
    if order.bars_to_wait:
        wait = format_count(order.bars_to_wait, "bar")
        yield f"it rests from the bar in {wait} on{_add(', {}', order.from_time)}"
    if order.bars_left is None:
        yield "it stands until it is filled, or a new signal replaces it"
    else:
        left = format_count(order.bars_left, "bar")
        yield f"it stands for {left} at most{_add(', until {}', order.until)}"
    if order.is_day:
        yield "it ends with its session"
    if order.cancel is not None:
        yield f"cancel it after a close with {order.cancel}"
    yield from _describe_fill(order)


def _name_deal(fill: SignalFill) -> str:
    """Action, such as ``buy (long, closes the trade and turns it)``."""
    closes = ", closes the trade and turns it" if fill.reverses else ""
    return f"{'buy' if fill.side == 'long' else 'sell'} ({fill.side}{closes})"


def _describe_fill(fill: SignalFill, guess: str = "") -> Iterator[str]:
    """Facts of a fill: size, stop, targets, and until when the position is held."""
    yield from _describe_size(fill.size)
    yield f"stop {_describe_level(fill.stop)}"
    if fill.margin_stop is not None:
        yield f"nearer stop {format_price(fill.margin_stop)}{guess} ({STOPS['margin']})"
    for number_, target in enumerate(fill.targets, 1):
        yield f"target {number_}: {_format_part(target.share)}, {_describe_level(target)}"
    yield from _describe_moves(fill)
    if fill.max_hold is not None:
        yield f"held {format_count(fill.max_hold, 'bar')} at most"
    if fill.session_end is not None:
        yield f"leaves by {fill.session_end}, in the session of the fill"


def _describe_moves(at: SignalFill | SignalTrade) -> Iterator[str]:
    """Facts of what no target takes, and of how the stop moves."""
    trail, even = at.trail, at.break_even
    if at.targets and at.rest:
        yield f"rest: {_format_part(at.rest)} has no target"
    if trail is not None:
        begins = _add(" ({})", trail.begins)
        when = f"once {trail.after:.4g} R are gained{begins}" if trail.after else FIRST
        yield f"trail: {_format_value(TRAILS, trail)}, {when}"
    if even is not None:
        when = f"after target {even.after_target}"
        if even.gain is not None:
            when = f"once {even.gain:.4g} R are gained"
        where = f"{_format_value(EVENS, even)}{_add(', {}', even.price)}"
        yield f"break-even: {when} the stop goes to the entry{where}"


def _describe_size(size: SignalSize | None) -> Iterator[str]:
    if size is None:
        return
    guess = ", as if filled at the newest close" if size.is_guess else ""
    risk = f"{fraction(size.risk_share)} of it at risk, leverage {size.leverage:.3g}"
    if size.units is None or size.account is None:
        units = format_price(size.per_account)
        yield f"size {units} units for each 1 of the account{guess}: {risk}"
    elif size.units > 0.0:
        cash = format_price(size.account)
        yield f"size {format_price(size.units)} units for an account of {cash}{guess}: {risk}"
    else:
        yield f"no size: an account of {format_price(size.account)} buys no lot"


def _describe_level(level: EntryLevel) -> str:
    text = _format_value(LEVELS, level)
    is_said = level.kind == "price" or level.price is None
    return text if is_said else f"{_add('{}', level.price)} ({text})"


def _format_part(share: float) -> str:
    return "all of it" if share == 1.0 else f"{share:.4g} of it"


def _format_value(words: Mapping[str, str], level: EntryLevel | StopTrail) -> str:
    """Words of the kind of a level with its value: a price, percent, or a number as it is."""
    if level.value is None:
        return words[level.kind].format("unknown")
    return words[level.kind].format(format_price(level.value), 100 * level.value, level.value)


def _add(words: str, known: float | str | None) -> str:
    """Words with a time or a price in them; none if unknown."""
    if known is None:
        return ""
    return words.format(known if isinstance(known, str) else format_price(known))


def format_price(value: float) -> str:
    """A price or a size with all digits that an order needs.

    >>> format_price(63120.5), format_price(0.00001234), format_price(9721.967385416667)
    ('63,120.5', '0.00001234', '9,721.9674')
    >>> format_price(1e-40)
    '0'
    """
    whole = math.floor(math.log10(abs(value))) + 1 if value else 1
    text = f"{value:,.{min(max(PRICE_DIGITS - whole, 0), MOST_DECIMALS)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_age(seconds: float) -> str:
    """How long ago, in the largest unit that fits.

    >>> format_age(90.0), format_age(7200.0)
    ('2 min', '2 h')
    """
    for unit, name in ((DAY_S, "days"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= (2 if unit == DAY_S else 1) * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
