"""A signal in words: its verdict, a line a symbol, and what the clock leaves out."""

from collections.abc import Collection, Iterator, Sequence

from optimizer.cli.console import Lines
from optimizer.cli.result import print_verdict
from optimizer.formatting import format_count, number
from optimizer.signals.source import Signal
from optimizer.signals.state import SignalEntry, SignalLevel, SignalOrder, SignalTrade, SymbolState

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400

MOST_NAMED = 8
"""Flat symbols that are named before the others are counted."""


def print_signal(console: Lines, signal: Signal, changed: Collection[str] | None) -> None:
    """Print a signal; of a source that is watched only what `changed`.

    Args:
        console: Where to.
        signal: The reading.
        changed: Symbols whose state changed; None for a first reading, which is printed whole.
    """
    if changed is None:
        print_verdict(console, signal.verdict)
        console.say_all(describe_genes(signal))
    states = [state for state in signal.symbols if changed is None or state.symbol in changed]
    quiet = [state for state in states if state.state == "flat"] if changed is None else []
    if len(quiet) <= MOST_NAMED:
        quiet = []
    for state in states:
        if state not in quiet:
            console.say(describe_state(state))
    if quiet:
        console.say(f"{len(quiet)} symbols: flat")
    if changed is None:
        console.say_all(list_remarks(signal))
        console.say(signal.about)


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


def describe_state(state: SymbolState) -> str:
    """A line of a state."""
    opening = f"{state.symbol} at the close of the bar of {state.bar}: {state.state}"
    if state.trade is not None:
        opening += f", {_describe_trade(state.trade)}"
    if state.entry is not None:
        # Of a trade that its own condition does not end, the other side's entry is the end.
        then = ("; then enter" if state.trade.leaves else "; reversed by") if state.trade else ""
        opening += f"{then}, {_describe_entry(state.entry)}"
    for index, order in enumerate(state.orders):
        joined = "; or " if index else ", "
        if state.trade is not None:
            joined = "; then " if state.trade.leaves else "; reversed if filled: "
        opening += joined + _describe_order(order)
    return opening if state.held_by is None else f"{opening}; {_describe_holders(state.held_by)}"


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


def _describe_trade(trade: SignalTrade) -> str:
    words = [
        f"{trade.side} since {trade.since}",
        f"entry {number(trade.entry)}",
        f"stop {number(trade.stop)}",
        *([] if trade.target is None else [f"target {number(trade.target)}"]),
        f"R now {trade.r:.2f}",
        *([] if trade.bars_left is None else [f"{format_count(trade.bars_left, 'bar')} left"]),
        *(["leaves at the next open"] if trade.leaves else []),
    ]
    return ", ".join(words)


def _describe_entry(entry: SignalEntry) -> str:
    when = "at the next open"
    if entry.bars_to_wait:
        when = f"at an open in {format_count(entry.bars_to_wait, 'bar')}"
    words = [
        f"{entry.side} {when}",
        f"stop {_describe_level(entry.stop)}",
        *([] if entry.target is None else [f"target {_describe_level(entry.target)}"]),
        *([] if entry.max_hold is None else [f"{format_count(entry.max_hold, 'bar')} at most"]),
        f"void where it risks {entry.min_risk:g} of the price or less",
    ]
    return ", ".join(words)


def _describe_order(order: SignalOrder) -> str:
    does = "buy" if order.side == "long" else "sell"
    words = [
        f"{order.side} by {does} {order.kind} at {number(order.price)}",
        *([] if order.needed == order.price else [f"filled once {number(order.needed)} trades"]),
        *([] if not order.bars_to_wait else [f"in {format_count(order.bars_to_wait, 'bar')}"]),
        "until a new signal"
        if order.bars_left is None
        else f"for {format_count(order.bars_left, 'bar')} at most",
        *(["ends with its session"] if order.is_day else []),
        f"stop {_describe_level(order.stop)}",
        *([] if order.target is None else [f"target {_describe_level(order.target)}"]),
        *(
            []
            if order.max_hold is None
            else [f"held {format_count(order.max_hold, 'bar')} at most"]
        ),
    ]
    return ", ".join(words)


def _describe_level(level: SignalLevel) -> str:
    text = number(level.value)
    return {
        "price": text,
        "distance": f"{text} from the entry",
        "share": f"{level.value:.4g} of the entry from it",
        "times_risk": f"{text} R from the entry",
    }[level.kind]


def format_age(seconds: float) -> str:
    """How long ago, in the largest unit that fits.

    >>> format_age(90.0), format_age(7200.0)
    ('2 min', '2 h')
    """
    for unit, name in ((DAY_S, "days"), (HOUR_S, "h"), (MINUTE_S, "min")):
        if seconds >= (2 if unit == DAY_S else 1) * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
