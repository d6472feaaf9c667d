"""The commands and their flags; what a command needs is imported when it runs, not before."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from optimizer.commands.data_app import data_app
from optimizer.commands.flags import config_flags
from optimizer.config.compute import ComputeSettings
from optimizer.config.data import CostSettings, DataSettings, StrategySettings, WindowSettings
from optimizer.config.run_config import RunConfig

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="TOML file; flags win over it.", metavar="FILE")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Runs = Annotated[
    Path, typer.Option("--runs", help="Folder in which runs are recorded.", metavar="FOLDER")
]
RunName = Annotated[
    str, typer.Argument(help="A run's id, its beginning, its path, or latest.", metavar="RUN")
]

ALL = tuple(RunConfig.model_fields)
"""Flags of every knob."""

MARKET = (*DataSettings.model_fields, *StrategySettings.model_fields, *ComputeSettings.model_fields)
"""Flags of what is traded."""

TRADES = (*MARKET, *WindowSettings.model_fields, *CostSettings.model_fields)
"""Flags of what decides trades."""

MOST = 10_000_000
"""Individuals that a command takes at once, as many as a population may have."""

app = typer.Typer(
    name="optimizer",
    help="Find trading parameters by a genetic search, every trade checked against a reference.",
    epilog="Any command takes --debug, which shows the traceback of an error.",
    add_completion=False,
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
runs_app = typer.Typer(
    help="Recorded runs: list, show, export, compare, verify, delete.", rich_markup_mode=None
)
strategies_app = typer.Typer(help="Strategies and their genes.", rich_markup_mode=None)
objectives_app = typer.Typer(help="What a search can strive for.", rich_markup_mode=None)
app.add_typer(runs_app, name="runs")
app.add_typer(data_app, name="data")
app.add_typer(strategies_app, name="strategies")
app.add_typer(objectives_app, name="objectives")


@app.command()
@config_flags(*ALL)
def evolve(
    context: typer.Context,
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    resume: Annotated[
        str | None, typer.Option("--resume", help="Go on with a recorded run.", metavar="RUN")
    ] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Search for the best compromises between objectives, and certify them."""
    from optimizer.config.run_config import resolve_config

    # Before anything heavy is imported, so that what is wrong is refused at once.
    begun = resolve_config(config, flags) if resume is None else None
    from optimizer.commands.evolve import evolve_command

    evolve_command(flags, config, resume, begun, own=context.obj, as_json=as_json, quiet=quiet)


@app.command()
@config_flags(*TRADES)
def backtest(
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    genes: Annotated[
        Path | None, typer.Option("--genes", help="JSON object of genes.", metavar="FILE")
    ] = None,
    set_: Annotated[
        list[str], typer.Option("--set", help="One gene; repeatable.", metavar="GENE=VALUE")
    ] = [],  # noqa: B006 - typer copies it
    engine: Annotated[
        Literal["reference", "cpu", "cuda"],
        typer.Option("--engine", help="What computes it.", metavar="reference|cpu|cuda"),
    ] = "cpu",
    trades: Annotated[
        Path | None, typer.Option("--trades", help="Write the ledger as CSV.", metavar="FILE")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw it as .html or .png.", metavar="FILE"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Backtest one individual: the strategy's default genes unless others are given."""
    from optimizer.commands.backtest import backtest_command

    backtest_command(
        flags, config, genes, set_, engine=engine, trades=trades, plot=plot, as_json=as_json
    )


@app.command()
@config_flags(*TRADES, "seed")
def parity(
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    individuals: Annotated[
        int,
        typer.Option(
            "--individuals", help="Random individuals to compare.", min=1, max=MOST, metavar="COUNT"
        ),
    ] = 100,
    run: Annotated[
        str | None, typer.Option("--run", help="Compare the front of this run.", metavar="RUN")
    ] = None,
    runs: Runs = Path("runs"),
    engine: Annotated[
        Literal["cpu", "cuda"],
        typer.Option("--engine", help="What is compared with the reference.", metavar="cpu|cuda"),
    ] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Compare the batch engine with the reference, trade for trade."""
    from optimizer.commands.parity import parity_command

    parity_command(flags, config, individuals, run=run, runs=runs, engine=engine, as_json=as_json)


@app.command()
@config_flags("data")
def report(
    run: RunName,
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    out: Annotated[
        Path | None,
        typer.Option("--out", help="File to write; the run's folder if unset.", metavar="FILE"),
    ] = None,
    member: Annotated[
        int | None,
        typer.Option("--member", help="Member of the front to open with.", min=0, metavar="NUMBER"),
    ] = None,
) -> None:
    """Write a run's report, one page without a network; --data says where its bars are now."""
    from optimizer.commands.report import report_command

    report_command(flags, run, runs, out, member)


@app.command()
@config_flags(*MARKET, "device")
def bench(  # noqa: PLR0913 - one argument a flag
    *,
    flags: dict[str, object],
    population: Annotated[
        int,
        typer.Option(
            "--population", help="Random individuals in a call.", min=1, max=MOST, metavar="COUNT"
        ),
    ] = 512,
    bars: Annotated[
        int, typer.Option("--bars", help="Use the last so many bars.", min=2, metavar="COUNT")
    ] = 35_040,
    repeats: Annotated[
        int, typer.Option("--repeats", help="Calls that are timed.", min=3, metavar="COUNT")
    ] = 20,
    populations: Annotated[
        str | None,
        typer.Option(
            "--populations",
            metavar="P,P,...",
            help="Instead, a table of these sizes for every engine of this machine.",
        ),
    ] = None,
    lengths: Annotated[
        str,
        typer.Option("--lengths", metavar="T,T,...", help="Bars of the table's series."),
    ] = "35040",
    windows: Annotated[
        str, typer.Option("--windows", metavar="W,W,...", help="Windows of the table's series.")
    ] = "1",
    whole: Annotated[
        str | None,
        typer.Option(
            "--whole",
            metavar="all|CASE,CASE,...",
            help="Instead, whole runs from command to end, beside those of last time.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the engine, then time it."""
    from optimizer.commands.bench import bench_command, matrix_command

    if whole is not None:
        from optimizer.commands.bench_whole import whole_command

        whole_command(str(flags.get("device", "auto")), whole, as_json=as_json)
    elif populations is not None:
        matrix_command(flags, populations, lengths, windows, repeats, as_json=as_json)
    else:
        bench_command(flags, population, bars, repeats, as_json=as_json)


@app.command()
def doctor(*, as_json: AsJson = False) -> None:
    """Say what was found on this machine, and why a GPU is not used."""
    from optimizer.commands.doctor import doctor_command

    doctor_command(as_json=as_json)


@app.command()
@config_flags(*ALL)
def config(*, flags: dict[str, object], config: ConfigFile = None) -> None:
    """Print the configuration as TOML, each key under its meaning."""
    from optimizer.config.run_config import resolve_config, to_toml

    typer.echo(to_toml(resolve_config(config, flags)), nl=False)


@runs_app.command("list")
def runs_list(*, runs: Runs = Path("runs"), as_json: AsJson = False) -> None:
    """All recorded runs, oldest first."""
    from optimizer.commands.runs import list_command

    list_command(runs, as_json=as_json)


@runs_app.command("show")
def runs_show(run: RunName, *, runs: Runs = Path("runs"), as_json: AsJson = False) -> None:
    """What a run found."""
    from optimizer.commands.runs import show_command

    show_command(run, runs, as_json=as_json)


@runs_app.command("export")
def runs_export(
    run: RunName,
    to: Annotated[
        Path,
        typer.Argument(
            help="File to write: .csv, .json, .parquet, or .journal for Optuna.", metavar="FILE"
        ),
    ],
    *,
    runs: Runs = Path("runs"),
    what: Annotated[
        Literal["front", "generations", "individuals"],
        typer.Option("--what", help="Which table.", metavar="front|generations|individuals"),
    ] = "front",
    sample: Annotated[
        int,
        typer.Option(
            "--sample", help="Individuals beside the front in a .journal.", min=0, metavar="COUNT"
        ),
    ] = 500,
) -> None:
    """Write what a run recorded to a file, exactly."""
    from optimizer.commands.runs import export_command

    export_command(run, to, runs, what=what, sample=sample)


@runs_app.command("compare")
def runs_compare(
    names: Annotated[list[str], typer.Argument(help="Two runs or more.", metavar="RUN")],
    *,
    runs: Runs = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Say how runs differ, and whose front is better."""
    from optimizer.commands.compare import compare_command

    compare_command(names, runs, as_json=as_json)


@runs_app.command("delete")
def runs_delete(
    run: RunName,
    *,
    runs: Runs = Path("runs"),
    yes: Annotated[bool, typer.Option("--yes", help="Do it; there is no way back.")] = False,
) -> None:
    """Remove a run from the disk; only with --yes, and never one that is being recorded."""
    from optimizer.commands.runs import delete_command

    delete_command(run, runs, is_meant=yes)


@runs_app.command("verify")
def runs_verify(
    run: RunName,
    *,
    runs: Runs = Path("runs"),
    individuals: Annotated[
        int, typer.Option("--individuals", help="Members to replay.", min=0, metavar="COUNT")
    ] = 5,
) -> None:
    """Check a run's record, and replay members of its front on the reference."""
    from optimizer.commands.runs import verify_command

    verify_command(run, runs, individuals)


@strategies_app.command("list")
def strategies_list() -> None:
    """Every strategy with its genes."""
    from optimizer.commands.lists import strategies_command

    strategies_command()


@objectives_app.command("list")
def objectives_list() -> None:
    """Every objective."""
    from optimizer.commands.lists import objectives_command

    objectives_command()
