"""The commands of `data` and their flags; what a command needs is imported when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from optimizer.commands.flags import config_flags
from optimizer.config.data import DataSettings
from optimizer.errors import ConfigError

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Specs = Annotated[
    list[str] | None, typer.Argument(help="Bars, as --data names them.", metavar="SPEC")
]
RANGE = {
    "start": "First day to fetch, such as 2024-01-01, UTC.",
    "end": "The day after the last; up to the last day that has been over for a day if unset.",
}
"""What the bounds of a range mean where bars are fetched."""

DATA = tuple(DataSettings.model_fields)
READ = tuple(name for name in DATA if name != "data")
FETCH = ("timeframe", "start", "end", "adjusted", "accept_missing", "cache", "max_bytes")

data_app = typer.Typer(help="Look at bars, check and keep them.", rich_markup_mode=None)


@data_app.command("show")
@config_flags(*DATA)
def data_show(specs: Specs = None, *, flags: dict[str, object], as_json: AsJson = False) -> None:
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
        bool, typer.Option("--refetch", help="Set what is cached aside, fetch it all anew.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Bring a vendor's bars into the cache: polygon:SYMBOL, --from and --to."""
    from optimizer.commands.data import fetch_command

    fetch_command(flags, specs, refetch=refetch, as_json=as_json)


@data_app.command("check")
@config_flags(*DATA)
def data_check(specs: Specs = None, *, flags: dict[str, object], as_json: AsJson = False) -> None:
    """Whether bars are fit for use: everything that is wrong with every source, at once."""
    from optimizer.commands.data import check_command

    check_command(_named(specs, flags), as_json=as_json)


@data_app.command("import")
@config_flags(*READ)
def data_import(
    files: Annotated[list[str], typer.Argument(help="Files, folders or patterns.", metavar="FILE")],
    *,
    flags: dict[str, object],
    into: Annotated[
        Path, typer.Option("--into", help="Folder to keep them in.", metavar="FOLDER")
    ] = Path("bars"),
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace files that hold other bars.")
    ] = False,
    join: Annotated[
        str | None,
        typer.Option("--join", help="All files are parts of one market.", metavar="SYMBOL"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read files of any layout and keep each as a Parquet file of one form."""
    from optimizer.commands.data import import_command

    given = {**flags, "data": files}
    import_command(given, into, join=join, may_replace=replace, as_json=as_json)


@data_app.command("list")
@config_flags("cache")
def data_list(*, flags: dict[str, object], as_json: AsJson = False) -> None:
    """Sources of bars, and the series that were fetched and kept."""
    from optimizer.commands.data import list_command

    list_command(flags, as_json=as_json)


def _named(specs: list[str] | None, flags: dict[str, object]) -> dict[str, object]:
    """The flags with the sources that were named, in either way but not in both."""
    if specs and "data" in flags:
        raise ConfigError(f"'{specs[0]}' and --data: name the bars once")
    return {**flags, "data": specs} if specs else flags
