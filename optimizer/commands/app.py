"""The commands and their flags; what a command needs is imported when it runs, not before."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from optimizer.commands.flags import config_flags, option
from optimizer.commands.shared import (
    ALL,
    DATA,
    FETCH,
    JUDGED,
    MARKET,
    MOST,
    RANGE,
    READ,
    TRADES,
    AnyJson,
    AsJson,
    ConfigFile,
    Member,
    Quiet,
    RunName,
    Runs,
    Specs,
)
from optimizer.errors import ConfigError

app = typer.Typer(
    name="optimizer",
    help="Find trading parameters by a genetic search, every trade checked against a reference.",
    epilog="Any command takes --debug, which shows the traceback of an error.",
    add_completion=False,
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _group(name: str, text: str) -> typer.Typer:
    """Commands under one word."""
    group = typer.Typer(help=text, rich_markup_mode=None)
    app.add_typer(group, name=name)
    return group


runs_app = _group("runs", "Recorded runs: list, show, export, compare, verify, source, delete.")
data_app = _group("data", "Look at bars, check and keep them.")
strategies_app = _group("strategies", "Strategies: list, new, check.")
objectives_app = _group("objectives", "What a search can strive for.")


@app.command()
@config_flags(*ALL)
def evolve(
    context: typer.Context,
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    resume: Annotated[str | None, option("--resume", "Go on with a recorded run.", "RUN")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search for the best compromises between objectives, and certify them."""
    from optimizer.config.run_config import resolve_config

    # Before anything heavy is imported, so that what is wrong is refused at once.
    begun = resolve_config(config, flags) if resume is None else None
    from optimizer.commands.evolve import evolve_command

    evolve_command(flags, config, resume, begun, own=context.obj, as_json=as_json, quiet=quiet)


@app.command()
@config_flags(*TRADES)
def backtest(  # noqa: PLR0913 - one argument a flag
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    genes: Annotated[
        Path | None, option("--genes", "Genes as JSON or CSV, or what a command wrote.", "FILE")
    ] = None,
    run: Annotated[str | None, option("--run", "A member of this run's front.", "RUN")] = None,
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
    from optimizer.commands.backtest import Source, backtest_command

    source = Source(genes, run, runs, member)
    backtest_command(
        flags, config, source, set_, engine=engine, trades=trades, plot=plot, as_json=as_json
    )


@app.command()
@config_flags(*TRADES, "seed")
def parity(
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    individuals: Annotated[
        int, option("--individuals", "Random individuals to compare.", "COUNT", min=1, max=MOST)
    ] = 100,
    run: Annotated[str | None, option("--run", "Compare the front of this run.", "RUN")] = None,
    runs: Runs = Path("runs"),
    member: Member = None,
    engine: Annotated[
        Literal["cpu", "cuda"],
        option("--engine", "What is compared with the reference.", "cpu|cuda"),
    ] = "cpu",
    as_json: AsJson = False,
) -> None:
    """Compare the batch engine with the reference, trade for trade."""
    from optimizer.commands.parity import parity_command

    if run is None and member is not None:
        raise ConfigError("--member chooses from the front of a run: add --run")
    front = None if run is None else (run, runs, member)
    parity_command(flags, config, individuals, front=front, engine=engine, as_json=as_json)


@app.command()
@config_flags(*JUDGED)
def judge(
    run: RunName,
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    pick: Annotated[
        int | None,
        option("--pick", "Judge this member, not the strongest.", "NUMBER", min=0),
    ] = None,
    open_: Annotated[
        bool, option("--open", "Look at the bars that were held out; each look is counted.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find out whether a run's front is more than luck, and say so in plain words."""
    from optimizer.commands.judge import judge_command

    judge_command(run, runs, flags, pick, is_open=open_, as_json=as_json, quiet=quiet)


@app.command()
@config_flags("data")
def report(
    run: RunName,
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    out: Annotated[
        Path | None, option("--out", "File to write; the run's folder if unset.", "FILE")
    ] = None,
    member: Annotated[
        int | None, option("--member", "Member of the front to open with.", "NUMBER", min=0)
    ] = None,
) -> None:
    """Write a run's report, one page without a network; --data says where its bars are now."""
    from optimizer.commands.report import report_command

    report_command(flags, run, runs, out, member)


@app.command()
@config_flags(*MARKET, "device")
def bench(
    *,
    flags: dict[str, object],
    population: Annotated[
        int, option("--population", "Random individuals in a call.", "COUNT", min=1, max=MOST)
    ] = 512,
    bars: Annotated[int, option("--bars", "Use the last so many bars.", "COUNT", min=2)] = 35_040,
    repeats: Annotated[int, option("--repeats", "Calls that are timed.", "COUNT", min=3)] = 20,
    whole: Annotated[
        str | None,
        option(
            "--whole",
            "Instead, whole runs from command to end, beside those of last time.",
            "all|CASE,CASE,...",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Verify the engine, then time it."""
    if whole is not None:
        from optimizer.commands.bench_whole import whole_command

        whole_command(str(flags.get("device", "auto")), whole, as_json=as_json)
    else:
        from optimizer.commands.bench import bench_command

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
        option("--what", "Which table.", "front|generations|individuals"),
    ] = "front",
    sample: Annotated[
        int, option("--sample", "Individuals beside the front in a .journal.", "COUNT", min=0)
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
    yes: Annotated[bool, option("--yes", "Do it; there is no way back.")] = False,
) -> None:
    """Remove a run from the disk; only with --yes, and never one that is being recorded."""
    from optimizer.commands.runs import delete_command

    delete_command(run, runs, is_meant=yes)


@runs_app.command("verify")
def runs_verify(
    run: RunName,
    *,
    runs: Runs = Path("runs"),
    individuals: Annotated[int, option("--individuals", "Members to replay.", "COUNT", min=0)] = 5,
) -> None:
    """Check a run's record, and replay members of its front on the reference."""
    from optimizer.commands.runs import verify_command

    verify_command(run, runs, individuals)


@runs_app.command("source")
def runs_source(run: RunName, *, runs: Runs = Path("runs")) -> None:
    """Print the text of the file that a run's strategy came from."""
    from optimizer.commands.runs import source_command

    source_command(run, runs)


@strategies_app.command("list")
def strategies_list() -> None:
    """Every strategy with its genes."""
    from optimizer.commands.strategies import list_command

    list_command()


@strategies_app.command("new")
def strategies_new(
    name: Annotated[str, typer.Argument(help="Of the strategy and its file.", metavar="NAME")],
) -> None:
    """Write a commented file to begin a strategy of your own from."""
    from optimizer.commands.strategies import new_command

    new_command(name)


@strategies_app.command("check")
@config_flags(*(name for name in TRADES if name != "strategy"))
def strategies_check(
    file: Annotated[
        str, typer.Argument(help="The file, with :NAME if it has several.", metavar="FILE.py")
    ],
    *,
    flags: dict[str, object],
) -> None:
    """Say what is wrong with a strategy, or what it does with its default genes."""
    from optimizer.commands.strategies import check_command

    check_command(file, flags)


@objectives_app.command("list")
def objectives_list() -> None:
    """Every objective."""
    from optimizer.commands.objectives import objectives_command

    objectives_command()


@data_app.command("show")
@config_flags(*DATA)
def data_show(specs: Specs = None, *, flags: dict[str, object], as_json: AnyJson = False) -> None:
    """What bars hold: their range, gaps, quirks, a small chart and their hash."""
    from optimizer.commands.data import show_command

    show_command(_named(specs, flags), as_json=as_json)


@data_app.command("fetch")
@config_flags(*FETCH, descriptions=RANGE)
def data_fetch(
    specs: Annotated[list[str], typer.Argument(help="Series to fetch.", metavar="SPEC")],
    *,
    flags: dict[str, object],
    refetch: Annotated[
        bool, option("--refetch", "Set what is cached aside, fetch it all anew.")
    ] = False,
    as_json: AnyJson = False,
) -> None:
    """Bring a vendor's bars into the cache: polygon:SYMBOL, --from and --to."""
    from optimizer.commands.data import fetch_command

    fetch_command(flags, specs, refetch=refetch, as_json=as_json)


@data_app.command("check")
@config_flags(*DATA)
def data_check(specs: Specs = None, *, flags: dict[str, object], as_json: AnyJson = False) -> None:
    """Whether bars are fit for use: everything that is wrong with every source, at once."""
    from optimizer.commands.data import check_command

    check_command(_named(specs, flags), as_json=as_json)


@data_app.command("import")
@config_flags(*READ)
def data_import(
    files: Annotated[list[str], typer.Argument(help="Files, folders or patterns.", metavar="FILE")],
    *,
    flags: dict[str, object],
    into: Annotated[Path, option("--into", "Folder to keep them in.", "FOLDER")] = Path("bars"),
    replace: Annotated[bool, option("--replace", "Replace files that hold other bars.")] = False,
    join: Annotated[
        str | None, option("--join", "All files are parts of one market.", "SYMBOL")
    ] = None,
    as_json: AnyJson = False,
) -> None:
    """Read files of any layout and keep each as a Parquet file of one form."""
    from optimizer.commands.data import import_command

    given = {**flags, "data": files}
    import_command(given, into, join=join, may_replace=replace, as_json=as_json)


@data_app.command("list")
@config_flags("cache")
def data_list(*, flags: dict[str, object], as_json: AnyJson = False) -> None:
    """Sources of bars, and the series that were fetched and kept."""
    from optimizer.commands.data import list_command

    list_command(flags, as_json=as_json)


def _named(specs: list[str] | None, flags: dict[str, object]) -> dict[str, object]:
    """The flags with the sources that were named, in either way but not in both."""
    if specs and "data" in flags:
        raise ConfigError(f"'{specs[0]}' and --data: name the bars once")
    return {**flags, "data": specs} if specs else flags
