"""backtest: one candidate, its metrics and its ledger."""

from pathlib import Path
from typing import Annotated, Literal

from optimizer.atomic_write import check_outputs, write_output
from optimizer.cli import shared
from optimizer.cli.console import format_csv, print_json, stderr, stdout
from optimizer.cli.flags import Sectioned, argument, config_flags, option, parse_settings
from optimizer.cli.notes import note
from optimizer.config.run_config import TRADES, resolve_config
from optimizer.errors import ConfigError

app = shared.single_command()


@app.command("backtest", cls=Sectioned)
@config_flags(*TRADES)
def backtest_individual(  # noqa: PLR0913 - one argument a flag
    front: Annotated[
        str | None, argument("A run, to backtest a member of its front.", "RUN")
    ] = None,
    *,
    flags: dict[str, object],
    config: shared.ConfigFile = None,
    genes: shared.GenesFile = None,
    run: Annotated[str | None, option("--run", "The same as RUN.", "RUN")] = None,
    runs: shared.Runs = Path("runs"),
    member: shared.Member = None,
    trust: shared.Trust = False,
    set_: shared.Genes = [],  # noqa: B006 - typer copies it
    engine: Annotated[
        Literal["reference", "cpu", "cuda"],
        option("--engine", "What computes it.", "reference|cpu|cuda"),
    ] = "cpu",
    trades: Annotated[Path | None, option("--trades", "Write the ledger as CSV.", "FILE")] = None,
    plot: Annotated[Path | None, option("--plot", "Draw it as a page, .html.", "FILE")] = None,
    as_json: shared.AsJson = False,
) -> None:
    """Backtest one candidate, by default with the strategy's default genes."""
    from optimizer import api
    from optimizer.cli.result import print_backtest, print_ends
    from optimizer.run.backtest import build_ledger_table

    if front is not None and run is not None:
        raise ConfigError(f"'{front}' and --run {run}: name the run once")
    if plot is not None and plot.suffix.lower() != ".html":
        raise ConfigError(f"--plot {plot}: a page is written; name it .html")
    check_outputs(trades, plot)
    name = front or run
    single = api.backtest(
        parse_settings(set_),
        file=genes,
        run=name,
        member=member,
        engine=engine,
        trust=trust,
        config=config if name is not None else resolve_config(config, flags),
        **{**flags, "runs": runs},
    )
    if trades is not None:
        table = build_ledger_table(single.task, single.genomes[0], single.ledgers)
        write_output(trades, format_csv(*table))
    note(*single.task.notes)
    console = stderr() if as_json else stdout()
    if plot is not None:
        from optimizer.report.page import page_html

        write_output(plot, page_html(single))
        console.say(f"plot {plot}")
    if as_json:
        print_json(single.record.payload())
        return
    print_backtest(console, single)
    if trades is not None:
        console.say(f"\nledger written to {trades}")
    print_ends(console, single)
