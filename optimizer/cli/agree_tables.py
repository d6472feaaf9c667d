"""Trades of another program beside those here, printed."""

from optimizer.agreement.agreement import Agreement, Difference, Fill
from optimizer.cli.console import Lines, columns_table
from optimizer.formatting import format_count

TEXTS = {
    "clock": "another time zone",
    "begin": "beginning with the list",
    "end": "ending with the list",
    "bars": "bars of all trades",
    "close": "fills at the close",
    "delay": "fills a bar later",
    "tick": "prices of ticks",
    "slippage": "slippage",
    "scale": "prices of another scale",
    "side": "the other side",
    "last": "the end of an open trade",
    "warm-up": "leaving out the first days",
    "prices": "leaving out prices",
}
"""Causes that were tried, in words."""

NONE = Difference(None, None)


def print_agreement(console: Lines, agreement: Agreement) -> None:
    """Print equal trades, the first that differ, and likely causes."""
    console.say(
        f"{agreement.list} ({agreement.program}) beside {agreement.strategy} on {agreement.data}, "
        "reference engine"
    )
    console.say(agreement.sentence, style="bold")
    if agreement.open_there:
        still = format_count(agreement.open_there, "trade")
        console.say(f"{still} of the list still open at its end: compared by side and entry.")
    if agreement.is_equal:
        return
    _print_difference(console, "First without an equal one:", agreement.first)
    _print_causes(console, agreement)
    read = ", ".join(f"{name} {column!r}" for name, column in agreement.read_as.items())
    console.say(f"\nColumns of the list: {read}")


def _print_causes(console: Lines, agreement: Agreement) -> None:
    causes = agreement.causes
    if causes:
        console.say("\nLikely causes, each tried on top of those before it:")
    for number, cause in enumerate(causes, start=1):
        console.say(f"{number}. {cause.sentence}: {cause.equal:,} of {cause.of:,} equal then.")
        if cause.remedy:
            console.say(f"   {cause.remedy}")
    tried = ", ".join(TEXTS[name] for name in agreement.tried)
    if not causes:
        console.say(f"\nNo likely cause: as few are equal by {tried}.")
    elif agreement.remaining == NONE:
        console.say("Then no trade differs.")
    else:
        console.say(f"No more are equal by {tried}.")
        _print_difference(console, "First without an equal one then:", agreement.remaining)


def _print_difference(console: Lines, title: str, difference: Difference) -> None:
    columns = {
        "there": _describe_fill(difference.there),
        "here": _describe_fill(difference.here),
    }
    console.say(f"\n{title}")
    console.print(columns_table(columns, ""))


def _describe_fill(fill: Fill | None) -> dict[str, str]:
    """Facts of a trade, a line each."""
    if fill is None:
        return {"trade": "none", "side": "", "entry": "", "exit": ""}
    ends = (fill.entry_time, fill.entry_bar, fill.entry), (fill.exit_time, fill.exit_bar, fill.exit)
    entry, leave = (
        (time if bar is None else f"{time} UTC, bar {bar:,}")
        + ("" if price is None else f"\nat {price:.10g}")
        for time, bar, price in ends
    )
    still = ", still open" if fill.is_open else ""
    return {"trade": fill.number, "side": f"{fill.side}{still}", "entry": entry, "exit": leave}
