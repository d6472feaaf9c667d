"""agree: trades that another program lists, beside those of the same strategy here."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.cli.flags import argument, config_flags, option, parse_settings
from optimizer.cli.help import Sectioned
from optimizer.cli.notes import note
from optimizer.cli.shared import AsJson, ConfigFile, Member, Runs, Trust, single_command
from optimizer.config.settings import CostSettings, DataSettings, StrategySettings

app = single_command()

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
    config: ConfigFile = None,
    genes: Annotated[
        Path | None, option("--genes", "Genes as JSON or CSV, or what a command wrote.", "FILE")
    ] = None,
    run: Annotated[str | None, option("--run", "Compare a member of this run.", "RUN")] = None,
    runs: Runs = Path("runs"),
    member: Member = None,
    trust: Trust = False,
    set_: Annotated[list[str], option("--set", "One gene; repeatable.", "GENE=VALUE")] = [],  # noqa: B006 - typer copies it
    list_tz: Annotated[
        str | None,
        option("--list-tz", "Zone of the list's times, such as UTC+8h; UTC if unset.", "ZONE"),
    ] = None,
    market: Annotated[
        str | None, option("--market", "Market of a list that has several.", "NAME")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether a strategy makes the trades here that another program lists, or why not.

    TradingView's list of trades in any language, freqtrade's backtest result, stats._trades of
    backtesting.py as CSV. Exit code: 0 all trades are equal, 1 some are not.
    """
    from optimizer.agreement.calls import agree
    from optimizer.cli.agree_tables import print_agreement
    from optimizer.cli.console import print_json, stdout
    from optimizer.config.run_config import resolve_config

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
