"""The commands and their flags; what a command needs is imported when it runs, not before."""

from collections import UserDict
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from optimizer.cluster.address import Address
from optimizer.commands.clusters import cluster_flags
from optimizer.commands.flags import config_flags, option, parse_settings, run_names, trust_flag
from optimizer.commands.help import Sectioned
from optimizer.commands.shared import (
    ALL,
    JUDGED,
    MARKET,
    MOST,
    TRADES,
    AsJson,
    ConfigFile,
    Front,
    Member,
    Quiet,
    RunName,
    Runs,
)
from optimizer.errors import ConfigError
from optimizer.scanning.knobs import NARROWER, SCANNED

GROUPS = ("runs", "data", "strategies", "objectives", "forecast")
"""Words with commands under them: each is the `app` of the file of its name."""


class _Commands(UserDict[str, Any]):
    """Commands by name, and groups, of which one is imported when it is asked for."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - the library's own
        if super().__getitem__(name) is None:
            self[name] = typer.main.get_group(import_module(f"optimizer.commands.{name}").app)
        return super().__getitem__(name)


class _Program(TyperGroup):
    """The program, whose groups nobody imports who does not name them."""

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - the library's own
        super().__init__(**attributes)
        self.commands = _Commands({**self.commands, **dict.fromkeys(GROUPS)})


app = typer.Typer(
    name="optimizer",
    cls=_Program,
    help="Find trading parameters by a genetic search, every trade checked against a reference.",
    epilog="Any command takes --debug, which shows the traceback of an error; --version says which "
    "version this is. The command is also installed as `optimizer`, whose words, flags, runs and "
    "strategies a shell completes after optimizer --install-completion.",
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command(cls=Sectioned)
@trust_flag("resume")
@config_flags(*ALL)
@cluster_flags
def evolve(
    context: typer.Context,
    *,
    flags: dict[str, object],
    cluster: Address | None,
    config: ConfigFile = None,
    resume: Annotated[str | None, option("--resume", "Go on with a recorded run.", "RUN")] = None,
    front: Front = "few",
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search for the best compromises between objectives, and certify them."""
    from optimizer.config.run_config import resolve_config

    # Before anything heavy is imported, so that what is wrong is refused at once.
    begun = resolve_config(config, flags) if resume is None else None
    from optimizer.commands.evolve import Output, evolve_command

    own = context.obj
    shown = Output(as_json=as_json, is_quiet=quiet, is_whole=front == "all")
    evolve_command(flags, config, resume, begun, shown, own=own, cluster=cluster)


@app.command(cls=Sectioned)
@trust_flag("front", "run")
@config_flags(*TRADES)
def backtest(  # noqa: PLR0913 - one argument a flag
    front: Annotated[
        str | None,
        typer.Argument(
            help="A run, to backtest a member of its front.",
            metavar="RUN",
            autocompletion=run_names,
        ),
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
    from optimizer.commands.backtest import Source, backtest_command

    if front is not None and run is not None:
        raise ConfigError(f"'{front}' and --run {run}: name the run once")
    source = Source(genes, front or run, runs, member)
    backtest_command(
        flags, config, source, set_, engine=engine, trades=trades, plot=plot, as_json=as_json
    )


@app.command(cls=Sectioned)
@trust_flag("run")
@config_flags(*TRADES, "seed")
@cluster_flags
def parity(  # noqa: PLR0913 - one argument a flag
    *,
    flags: dict[str, object],
    cluster: Address | None,
    config: ConfigFile = None,
    individuals: Annotated[
        int, option("--individuals", "Random candidates to compare.", "COUNT", min=1, max=MOST)
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
    parity_command(
        flags, config, individuals, front=front, engine=engine, as_json=as_json, cluster=cluster
    )


@app.command(cls=Sectioned)
@trust_flag("run")
@config_flags(*JUDGED)
@cluster_flags
def judge(
    run: RunName,
    *,
    flags: dict[str, object],
    cluster: Address | None,
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
    from optimizer.commands.judge import Asked, judge_command

    asked = Asked(flags, pick, is_open=open_)
    judge_command(run, runs, asked, as_json=as_json, quiet=quiet, cluster=cluster)


@app.command()
@trust_flag("run")
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


@app.command(cls=Sectioned)
@config_flags(*SCANNED, descriptions=NARROWER)
def scan(  # noqa: PLR0913 - one argument a flag
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    genes: Annotated[
        Path | None, option("--genes", "Parameters among genes that a command wrote.", "FILE")
    ] = None,
    member: Member = None,
    set_: Annotated[list[str], option("--set", "One parameter; repeatable.", "NAME=VALUE")] = [],  # noqa: B006 - typer copies it
    high: Annotated[float, option("--high", "Long above this.", "NUMBER")] = 0.1,
    low: Annotated[float, option("--low", "Short below this.", "NUMBER")] = -0.1,
    as_script: Annotated[
        bool, option("--as-script", "The trend as the script of its author has it.")
    ] = False,
    history: Annotated[
        int, option("--history", "Last runs of each symbol to list.", "COUNT", min=0, max=MOST)
    ] = 0,
    verify: Annotated[
        Literal["sample", "all"],
        option("--verify", "Symbols that the readable definition replays.", "sample|all"),
    ] = "sample",
    keep: Annotated[
        bool, option("--keep/--no-keep", "Keep classes, say what changed since the last scan.")
    ] = True,
    csv: Annotated[Path | None, option("--csv", "Write whole rows, exact.", "FILE")] = None,
    parquet: Annotated[Path | None, option("--parquet", "Write whole rows, exact.", "FILE")] = None,
    plot: Annotated[
        str | None, option("--plot", "Draw a symbol as a page, .html.", "SYMBOL=FILE")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Class many symbols by their adaptive trend: long, neutral or short, and since when."""
    from optimizer.commands.scan import Files, named_page, read_parameters, scan_command
    from optimizer.scanning.question import Question
    from optimizer.scanning.scan import Ways

    settings = {**read_parameters(genes, member), **parse_settings(set_)}
    question = Question(settings, high, low, as_script)
    ways = Ways(history=history, is_all_replayed=verify == "all")
    files = Files(csv, parquet, *named_page(plot))
    scan_command(flags, config, question, ways, files, is_kept=keep, as_json=as_json, quiet=quiet)


@app.command(cls=Sectioned)
@config_flags(*MARKET, "device")
def bench(
    *,
    flags: dict[str, object],
    population: Annotated[
        int, option("--population", "Random candidates in a call.", "COUNT", min=1, max=MOST)
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
@cluster_flags
def doctor(*, cluster: Address | None, as_json: AsJson = False) -> None:
    """Say what was found on this machine, or on each worker, and why a GPU is not used."""
    from optimizer.commands.doctor import cluster_command, doctor_command

    if cluster is None:
        doctor_command(as_json=as_json)
    else:
        cluster_command(cluster, as_json=as_json)


@app.command(cls=Sectioned)
@config_flags(*ALL)
def config(*, flags: dict[str, object], config: ConfigFile = None) -> None:
    """Print the configuration as TOML, each key under its meaning."""
    from optimizer.config.run_config import resolve_config, to_toml

    typer.echo(to_toml(resolve_config(config, flags)), nl=False)
