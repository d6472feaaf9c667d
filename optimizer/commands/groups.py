"""Commands under one word: runs, strategies, objectives, data, forecast."""

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from optimizer.commands.flags import config_flags, forecast_flags, option, trust_flag
from optimizer.commands.shared import (
    DATA,
    FETCH,
    RANGE,
    READ,
    TRADES,
    AnyJson,
    AsJson,
    Front,
    Member,
    Order,
    Quiet,
    RunName,
    Runs,
    Specs,
)
from optimizer.errors import ConfigError
from optimizer.forecasts.settings import ForecastSettings
from optimizer.grades import GRADES, Grade


def _group(text: str) -> typer.Typer:
    """Commands under one word."""
    return typer.Typer(help=text, rich_markup_mode=None)


runs_app = _group("Recorded runs: list, show, tag, note, export, compare, verify, source, delete.")
data_app = _group("Look at bars, check and keep them.")
strategies_app = _group("Strategies: list, words, new, check.")
objectives_app = _group("What a search can strive for.")
forecast_app = _group("Forecasts as columns of bars: fit, show, list.")

GROUPS = {
    "runs": runs_app,
    "data": data_app,
    "strategies": strategies_app,
    "objectives": objectives_app,
    "forecast": forecast_app,
}


@runs_app.command("list")
def runs_list(
    *,
    runs: Runs = Path("runs"),
    sort: Annotated[
        Order,
        option(
            "--sort",
            "Oldest first, or greatest first by verdict or a number of the pick.",
            "|".join(get_args(Order)),
        ),
    ] = "created",
    verdict: Annotated[
        Grade | None,
        option("--verdict", "Only finished runs of this grade.", "|".join(GRADES)),
    ] = None,
    symbol: Annotated[
        str | None, option("--symbol", "Only runs that search or searched on it.", "NAME")
    ] = None,
    tag: Annotated[
        list[str] | None, option("--tag", "Only runs with this tag; of several, all.", "WORD")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recorded runs with verdict, pick, tags and note, oldest first."""
    from optimizer.commands.listing import Wanted, list_command

    list_command(runs, Wanted(verdict, symbol, tuple(tag or ())), order=sort, as_json=as_json)


@runs_app.command("tag")
def runs_tag(
    run: RunName,
    words: Annotated[
        list[str] | None, typer.Argument(help="Tags to add, one word each.", metavar="WORD")
    ] = None,
    *,
    remove: Annotated[
        list[str] | None, option("--remove", "A tag to take away; the flag repeats.", "WORD")
    ] = None,
    runs: Runs = Path("runs"),
) -> None:
    """Give a run tags, by which runs list --tag finds it, or take some away."""
    from optimizer.commands.labels import tag_command

    tag_command(run, runs, words or (), remove or ())


@runs_app.command("note")
def runs_note(
    run: RunName,
    text: Annotated[
        str | None,
        typer.Argument(help='The note, in quotes; "" removes it.', metavar="TEXT"),
    ] = None,
    *,
    runs: Runs = Path("runs"),
) -> None:
    """Set the note of a run, one line that runs list and runs show print; or print it."""
    from optimizer.commands.labels import note_command

    note_command(run, runs, text)


@runs_app.command("show")
def runs_show(
    run: RunName,
    *,
    runs: Runs = Path("runs"),
    member: Member = None,
    front: Front = "few",
    importance: Annotated[
        bool, option("--importance", "How much of each objective each gene explains.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """What a run found; or one member of its front in full, or what its genes explain."""
    from optimizer.commands.runs import importance_command, member_command, show_command

    if importance and member is not None:
        raise ConfigError("--importance is of all trials, --member of one: leave one out")
    if importance:
        importance_command(run, runs, as_json=as_json)
    elif member is not None:
        member_command(run, runs, member, as_json=as_json)
    else:
        show_command(run, runs, is_whole=front == "all", as_json=as_json)


@runs_app.command("export")
@trust_flag("run")
@config_flags("data")
def runs_export(
    run: RunName,
    to: Annotated[
        Path,
        typer.Argument(
            help="File to write: .csv, .json, .parquet, .journal (Optuna); .py, .pine with --as.",
            metavar="FILE",
        ),
    ],
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    what: Annotated[
        Literal["front", "generations", "individuals", "points"],
        option(
            "--what",
            "Which table; points are those of a lattice, with all metrics.",
            "front|generations|individuals|points",
        ),
    ] = "front",
    sample: Annotated[
        int, option("--sample", "Candidates beside the front in a .journal.", "COUNT", min=0)
    ] = 500,
    member: Member = None,
    platform: Annotated[
        Literal["backtesting.py", "vectorbt", "pine"] | None,
        option("--as", "A member as a program of this platform.", "backtesting.py|vectorbt|pine"),
    ] = None,
) -> None:
    """Write what a run recorded to a file, exactly; or a member as another platform's program."""
    from optimizer.commands.runs import export_command, program_command

    if platform is not None:
        program_command(run, to, runs, member, platform, flags)
    elif member is not None:
        raise ConfigError("--member chooses one to write as a program: add --as")
    else:
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
@trust_flag("run")
@config_flags("data")
def runs_verify(
    run: RunName,
    *,
    flags: dict[str, object],
    runs: Runs = Path("runs"),
    individuals: Annotated[int, option("--individuals", "Members to replay.", "COUNT", min=0)] = 5,
    as_json: AsJson = False,
) -> None:
    """Check a run's record, and find anew what follows; --data says where its bars are now."""
    from optimizer.commands.verify import verify_command

    verify_command(run, runs, flags, individuals, as_json=as_json)


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


@strategies_app.command("words")
def strategies_words() -> None:
    """Every word that a strategy's file may say."""
    from optimizer.commands.strategies import words_command

    words_command()


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
    from optimizer.commands.check import check_command

    check_command(file, flags)


@objectives_app.command("list")
def objectives_list() -> None:
    """Every objective."""
    from optimizer.commands.objectives import objectives_command

    objectives_command()


@forecast_app.command("fit")
@config_flags(*DATA)
@forecast_flags
def forecast_fit(
    *,
    flags: dict[str, object],
    settings: ForecastSettings,
    out: Annotated[
        Path | None, option("--out", "File to write, of forecasts if unset.", "FILE.parquet")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a model walk-forward, write its forecasts, and say how good they were."""
    from optimizer.commands.forecast import fit_command

    where = out or Path("forecasts") / f"{settings.model}.parquet"
    fit_command(flags, settings, where, as_json=as_json, quiet=quiet)


@forecast_app.command("show")
def forecast_show(
    file: Annotated[Path, typer.Argument(help="A forecast.", metavar="FILE")],
    *,
    as_json: AsJson = False,
) -> None:
    """How a forecast was made, and how good it was."""
    from optimizer.commands.forecast import show_command

    show_command(file, as_json=as_json)


@forecast_app.command("list")
def forecast_list(
    folder: Annotated[Path, typer.Argument(help="Of forecasts.", metavar="FOLDER")] = Path(
        "forecasts"
    ),
    *,
    as_json: AsJson = False,
) -> None:
    """The forecasts of a folder."""
    from optimizer.commands.forecast import list_command

    list_command(folder, as_json=as_json)


@data_app.command("show")
@config_flags(*DATA)
def data_show(specs: Specs = None, *, flags: dict[str, object], as_json: AnyJson = False) -> None:
    """What bars hold: their range, gaps, quirks, a small chart and their hash."""
    from optimizer.commands.data import show_command

    show_command(_merge_specs(specs, flags), as_json=as_json)


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

    check_command(_merge_specs(specs, flags), as_json=as_json)


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


def _merge_specs(specs: list[str] | None, flags: dict[str, object]) -> dict[str, object]:
    """The flags with the sources that were named, in either way but not in both."""
    if specs and "data" in flags:
        raise ConfigError(f"'{specs[0]}' and --data: name the bars once")
    return {**flags, "data": specs} if specs else flags
