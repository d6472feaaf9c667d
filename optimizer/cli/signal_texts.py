"""A signal in words: its verdict, a block a symbol, and what the clock leaves out."""

from collections.abc import Collection, Iterator, Sequence

from optimizer.cli.console import Lines
from optimizer.cli.result import print_verdict
from optimizer.formatting import format_count, fraction
from optimizer.signals.records import (
    SignalBreakEven,
    SignalEntry,
    SignalFill,
    SignalLevel,
    SignalOrder,
    SignalSize,
    SignalTrade,
    SignalTrail,
    SymbolState,
)
from optimizer.signals.source import Signal

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400

MOST_NAMED = 8
"""Flat symbols that are named before the others are counted."""

PRICE_DIGITS = 8
"""Digits of a price, so that it can be typed where an order is placed."""

STOPS = {
    "stop": "where it was placed",
    "trail": "it follows",
    "break_even": "break-even",
    "margin": "margin: all of the account is lost there",
}
"""Of each kind of the stop in force."""


def print_signal(console: Lines, signal: Signal, changed: Collection[str] | None) -> None:
    """Print a signal; of a source that is watched only what `changed`.

    Args:
        console: Where to.
        signal: The reading.
        changed: Symbols whose state changed; None for a first reading, which is printed whole.
    """
    states = [state for state in signal.symbols if changed is None or state.symbol in changed]
    console.say_all(list_warnings(states, signal.now))
    if changed is None:
        print_verdict(console, signal.verdict)
        console.say_all(describe_genes(signal))
    states = [state for state in states if not state.is_stale]
    quiet = [state for state in states if state.state == "flat"] if changed is None else []
    if len(quiet) <= MOST_NAMED:
        quiet = []
    for state in states:
        if state not in quiet:
            console.say_all(describe_state(state))
    if quiet:
        console.say(f"{len(quiet)} symbols: flat")
    if changed is None:
        console.say_all(list_remarks(signal))
        console.say(signal.about)


def list_warnings(states: Sequence[SymbolState], now: str) -> Iterator[str]:
    """Symbols on which nothing is to be acted on, and why."""
    for state in states:
        if state.is_stale:
            yield (
                f"{state.symbol}: stale. By the clock, {now}, its newest bar closed "
                f"{format_age(state.age_s)} ago, more than three bars of "
                f"{format_age(state.step_s)} are missing, and nothing is known of now. Name newer "
                f"bars with --data, or with --now the time at which you ask."
            )
        if not state.is_searched:
            yield (
                f"{state.symbol}: never searched by this run, whose verdict says nothing of it. If "
                f"it is a searched market under another name, give its file that name."
            )


def describe_genes(signal: Signal) -> Iterator[str]:
    """Whose genes these are; of a schedule since when, and until when."""
    if signal.step is None:
        yield f"member {signal.member} of run {signal.run}, {signal.strategy}"
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
    if state.held_by is not None:
        facts.append(_describe_holders(state.held_by))
    yield from (f"  {fact}" for fact in facts)


def _describe_holders(held_by: Sequence[str]) -> str:
    """Why the account has no room for an entry."""
    if not held_by:
        return "no room in the account: alone it is more than --max-leverage"
    return f"no room in the account, which {', '.join(held_by)} hold{'s' * (len(held_by) == 1)}"


def list_remarks(signal: Signal) -> Iterator[str]:
    """Age of the newest bars, bars that the clock leaves out, and where chains of trades begin."""
    for state in signal.symbols[:MOST_NAMED]:
        yield f"{state.symbol}: {_describe_clock(state)}"
    more = len(signal.symbols) - MOST_NAMED
    if more > 0:
        yield f"and {format_count(more, 'more symbol')}: --json has all"


def _describe_clock(state: SymbolState) -> str:
    whose = "as the run's" if state.begins_with_run else "the first there is"
    words = f"closed {format_age(state.age_s)} ago; trades count from {state.begins} on, {whose}"
    if state.left_out == 1:
        return f"{words}; a bar that is still open is left out"
    if state.left_out:
        return f"{words}; {state.left_out:,} bars are left out that the clock says are not closed"
    return words


def _describe_trade(trade: SignalTrade) -> Iterator[str]:
    held = "" if not trade.out else f", {trade.left:.4g} of it left"
    yield f"{trade.side} since {trade.since} at {format_price(trade.entry)}{held}"
    yield from _describe_size(trade.size)
    for leg in trade.out:
        yield f"out {leg.share:.4g} of it at {format_price(leg.price)}, in the bar of {leg.bar}"
    yield f"stop now {format_price(trade.stop)} ({STOPS[trade.stop_kind]})"
    for leg in trade.targets:
        yield f"target {leg.number}: {leg.share:.4g} of it at {format_price(leg.price)}"
    yield from _describe_moves(trade.rest, len(trade.targets), trade.trail, trade.break_even)
    locked = f", of which {trade.locked_r:.2f} R are out" if trade.out else ""
    yield f"{trade.r:.2f} R if closed now{locked}"
    if trade.leaves:
        yield "leaves at the next open: close it at the market"
    elif trade.bars_left is not None:
        left = format_count(trade.bars_left, "bar")
        yield f"out in {left} at the latest{_describe_until(trade.until)}"
    if trade.session_ends is not None:
        yield f"out when its session ends, {trade.session_ends}"


def _describe_entry(entry: SignalEntry) -> Iterator[str]:
    does, when = _name_deal(entry), "at the next open"
    if entry.bars_to_wait:
        opens = "" if entry.from_time is None else f", {entry.from_time}"
        when = f"at the open in {format_count(entry.bars_to_wait, 'bar')}{opens}"
    yield f"enter: {does} at the market {when}"
    yield from _describe_fill(entry)
    yield f"void where the open risks {entry.min_risk:g} of the price or less"


def _describe_order(order: SignalOrder) -> Iterator[str]:
    yield f"order: {_name_deal(order)} {order.kind} {format_price(order.price)}"
    if order.needed != order.price:
        yield f"filled once {format_price(order.needed)} trades"
    if order.bars_to_wait:
        opens = "" if order.from_time is None else f", {order.from_time}"
        yield f"from the bar in {format_count(order.bars_to_wait, 'bar')} on{opens}"
    if order.bars_left is None:
        yield "stands until it is filled, or a new signal replaces it"
    else:
        left = format_count(order.bars_left, "bar")
        yield f"stands for {left} at most{_describe_until(order.until)}"
    if order.is_day:
        yield "ends with its session"
    yield from _describe_fill(order)


def _name_deal(fill: SignalFill) -> str:
    """What to do, such as ``buy (long, also closes the trade)``."""
    closes = ", closes the trade and turns it" if fill.reverses else ""
    return f"{'buy' if fill.side == 'long' else 'sell'} ({fill.side}{closes})"


def _describe_fill(fill: SignalFill) -> Iterator[str]:
    """Facts of a fill: size, stop, targets, and until when the position is held."""
    yield from _describe_size(fill.size)
    yield f"stop {_describe_level(fill.stop)}"
    if fill.margin_stop is not None:
        yield f"stop before that at {format_price(fill.margin_stop)} ({STOPS['margin']})"
    for number_, target in enumerate(fill.targets, 1):
        yield f"target {number_}: {target.share:.4g} of it, {_describe_level(target)}"
    yield from _describe_moves(fill.rest, len(fill.targets), fill.trail, fill.break_even)
    if fill.max_hold is not None:
        yield f"held {format_count(fill.max_hold, 'bar')} at most"
    if fill.session_end is not None:
        yield f"out by {fill.session_end}, in the session of the fill"


def _describe_moves(
    rest: float, targets: int, trail: SignalTrail | None, even: SignalBreakEven | None
) -> Iterator[str]:
    """Facts of what no target takes, and of how the stop moves."""
    if targets and rest:
        yield f"rest: {rest:.4g} of it has no target"
    if trail is not None:
        yield f"trail: {_describe_trail(trail)}"
    if even is not None:
        yield f"break-even: {_describe_even(even)}"


def _describe_trail(trail: SignalTrail) -> str:
    text = {
        "distance": "{} behind the best price",
        "share": "{} of the best price behind it",
        "row": "at a row, now {}",
    }[trail.kind].format("unknown" if trail.value is None else format_price(trail.value))
    if not trail.after:
        return f"{text}, from the first close on"
    at = "" if trail.begins is None else f" ({format_price(trail.begins)})"
    return f"{text}, once {trail.after:.4g} R are gained{at}"


def _describe_even(even: SignalBreakEven) -> str:
    when = f"after target {even.after_target}"
    if even.gain is not None:
        when = f"once {even.gain:.4g} R are gained"
    where = {
        "none": "the entry",
        "share": f"the entry and {even.value:.4g} of it",
        "times_risk": f"the entry and {even.value:.4g} R",
    }[even.kind]
    at = "" if even.price is None else f", {format_price(even.price)}"
    return f"{when} the stop goes to {where}{at}"


def _describe_size(size: SignalSize | None) -> Iterator[str]:
    if size is None:
        return
    guess = ", as if filled at the newest close" if size.is_guess else ""
    risk = f"{fraction(size.risk_share)} of it at risk, worth {size.leverage:.3g} times it"
    if size.units is None:
        units = format_price(size.per_account)
        yield f"size {units} units for each 1 of the account{guess}: {risk}"
    elif size.units > 0.0:
        cash = format_price(size.account)
        yield f"size {format_price(size.units)} units for an account of {cash}{guess}: {risk}"
    else:
        yield f"no size: an account of {format_price(size.account)} buys no lot"


def _describe_until(time: str | None) -> str:
    return "" if time is None else f", until {time}"


def _describe_level(level: SignalLevel) -> str:
    value = format_price(level.value)
    text = {
        "price": value,
        "distance": f"{value} from the entry",
        "share": f"{level.value:.4g} of the entry from it",
        "times_risk": f"{level.value:.4g} R from the entry",
    }[level.kind]
    is_said = level.kind == "price" or level.price is None
    return text if is_said else f"{format_price(level.price)} ({text})"


def format_price(value: float | None) -> str:
    """A price or a size with all digits that an order needs.

    >>> format_price(63120.5), format_price(1.08347), format_price(9721.967385416667)
    ('63,120.5', '1.08347', '9,721.9674')
    """
    if value is None:
        return "-"
    digits = max(PRICE_DIGITS - len(str(int(abs(value)))), 0) if abs(value) >= 1 else 0
    if not digits:
        return f"{value:,.{PRICE_DIGITS}g}" if abs(value) < 1 else f"{value:,.0f}"
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".")


def format_age(seconds: float) -> str:
    """How long ago, in the largest unit that fits.

    >>> format_age(90.0), format_age(7200.0)
    ('2 min', '2 h')
    """
    for unit, name in ((DAY_S, "days"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= (2 if unit == DAY_S else 1) * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
