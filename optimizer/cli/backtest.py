"""backtest: one individual, its metrics and its ledger."""

from pathlib import Path
from typing import Annotated, Literal

from optimizer.cli.flags import argument, config_flags, option, parse_settings, trust_flag
from optimizer.cli.help import Sectioned
from optimizer.cli.notes import note
from optimizer.cli.shared import TRADES, AsJson, ConfigFile, Member, Runs, single_command
from optimizer.errors import ConfigError

app = single_command()


@app.command("backtest", cls=Sectioned)
@trust_flag("front", "run")
@config_flags(*TRADES)
def backtest_individual(  # noqa: PLR0913 - one argument a flag
    front: Annotated[
        str | None, argument("A run, to backtest a member of its front.", "RUN")
    ] = None,
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    genes: Annotated[
        Path | None, option("--genes", "Genes as JSON or CSV, or what a command wrote.", "FILE")
    ] = None,
    run: Annotated[str | None, option("--run", "The same as RUN.", "RUN")] = None,
    runs: Runs = Path("runs"),
    member: Member = None,
    set_: Annotated[list[str], option("--set", "One gene; repeatable.", "GENE=VALUE")] = [],  # noqa: B006 - typer copies it
    engine: Annotated[
        Literal["reference", "cpu", "cuda"],
        option("--engine", "What computes it.", "reference|cpu|cuda"),
    ] = "cpu",
    trades: Annotated[Path | None, option("--trades", "Write the ledger as CSV.", "FILE")] = None,
    plot: Annotated[Path | None, option("--plot", "Draw it as a page, .html.", "FILE")] = None,
    as_json: AsJson = False,
) -> None:
    """Backtest one individual: the strategy's default genes unless others are given."""
    from optimizer.atomic_write import check_outputs, write_output
    from optimizer.cli.backtest_tables import (
        Source,
        build_ledger_table,
        describe_backtest,
        draw_page,
        print_backtest,
        print_ends,
        resolve_source,
        run_engine,
    )
    from optimizer.cli.console import format_csv, print_json, stderr, stdout
    from optimizer.run.causal import prove_one, prove_shown
    from optimizer.run.task import check_genome_fits

    if front is not None and run is not None:
        raise ConfigError(f"'{front}' and --run {run}: name the run once")
    source = Source(genes, front or run, runs, member)
    if plot is not None and plot.suffix.lower() != ".html":
        raise ConfigError(f"--plot {plot}: a page is written; name it .html")
    check_outputs(trades, plot)
    task, genome, whose = resolve_source(flags, config, source, parse_settings(set_))
    check_genome_fits(task, genome)
    prove_one(task, genome)
    ledgers, accumulators, account = run_engine(task, genome, engine)
    prove_shown(task.spec, task.markets, genome[None], [ledgers])
    if trades is not None:
        write_output(trades, format_csv(*build_ledger_table(task, genome, ledgers)))
    backtest = describe_backtest(task, genome, ledgers, accumulators, account, engine)
    note(*task.notes)
    if plot is not None:
        changed = f" with {', '.join(set_)}" if whose and set_ else ""
        write_output(plot, draw_page(task, genome, whose + changed))
        (stderr() if as_json else stdout()).say(f"plot {plot}")
    if as_json:
        print_json(backtest.payload())
        return
    print_backtest(backtest)
    if trades is not None:
        stdout().say(f"\nledger written to {trades}")
    print_ends(task, ledgers, backtest)
