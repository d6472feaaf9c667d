"""agree: trades that another program lists, beside those of the same strategy here."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimizer.cli import shared
from optimizer.cli.console import Lines, columns_table, print_json, stdout
from optimizer.cli.flags import Sectioned, argument, config_flags, option, parse_settings
from optimizer.cli.notes import note
from optimizer.config.run_config import resolve_config
from optimizer.config.settings import CostSettings, DataSettings, StrategySettings
from optimizer.formatting import format_count

if TYPE_CHECKING:
    from optimizer.agreement.agreement import Agreement, Difference, Fill

app = shared.single_command()

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

DIFFERENT = 1
"""Exit code where a trade of either side has no equal one; 0 where each has."""

COMPARED = (
    *DataSettings.model_fields,
    *StrategySettings.model_fields,
    *("start", "end"),
    *CostSettings.model_fields,
)


@app.command("agree", cls=Sectioned)
@config_flags(*COMPARED)
def compare_trades(  # noqa: PLR0913 - one argument a flag
    trades: Annotated[
        Path, argument("Trades of TradingView, freqtrade, backtesting.py or backtest.", "LIST")
    ],
    *,
    flags: dict[str, object],
    config: shared.ConfigFile = None,
    genes: shared.GenesFile = None,
    run: Annotated[str | None, option("--run", "Compare a member of this run.", "RUN")] = None,
    runs: shared.Runs = Path("runs"),
    member: shared.Member = None,
    trust: shared.Trust = False,
    set_: shared.Genes = [],  # noqa: B006 - typer copies it
    list_tz: Annotated[
        str | None,
        option("--list-tz", "Zone of the list's times, such as UTC+8h; UTC if unset.", "ZONE"),
    ] = None,
    market: Annotated[
        str | None, option("--market", "Market of a list that has several.", "NAME")
    ] = None,
    as_json: shared.AsJson = False,
) -> None:
    """Say whether a strategy makes the trades here that another program lists, or why not.

    TradingView's list of trades in any language, freqtrade's backtest result, stats._trades of
    backtesting.py as CSV. Exit code: 0 all trades are equal, 1 some are not.
    """
    from optimizer.agreement.agreement import agree

    agreement = agree(
        trades,
        parse_settings(set_),
        file=genes,
        run=run,
        member=member,
        list_tz=list_tz,
        market=market,
        trust=trust,
        config=config if run is not None else resolve_config(config, flags),
        **{**flags, "runs": runs},
    )
    note(*agreement.notes)
    if as_json:
        print_json(agreement.payload())
    else:
        print_agreement(stdout(), agreement)
    raise typer.Exit(0 if agreement.is_equal else DIFFERENT)


def print_agreement(console: "Lines", agreement: "Agreement") -> None:
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


def _print_causes(console: "Lines", agreement: "Agreement") -> None:
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
    elif agreement.remaining.there is None is agreement.remaining.here:
        console.say("Then no trade differs.")
    else:
        console.say(f"No more are equal by {tried}.")
        _print_difference(console, "First without an equal one then:", agreement.remaining)


def _print_difference(console: "Lines", title: str, difference: "Difference") -> None:

    columns = {
        "there": _describe_fill(difference.there),
        "here": _describe_fill(difference.here),
    }
    console.say(f"\n{title}")
    console.print(columns_table(columns, ""))


def _describe_fill(fill: "Fill | None") -> dict[str, str]:
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
