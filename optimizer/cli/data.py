"""data: what bars hold, whether they are fit for use, fetching, and files in one form."""

from pathlib import Path
from typing import Annotated

from optimizer.cli.console import stderr
from optimizer.cli.flags import Sectioned, argument, config_flags, option
from optimizer.cli.progress import open_show, track_sources
from optimizer.cli.shared import DATA, FETCH, RANGE, READ, AnyJson, Specs, command_group
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.formatting import format_count

app = command_group("Look at bars, check and keep them.")


@app.command("show", cls=Sectioned)
@config_flags(*DATA)
def show_bars(specs: Specs = None, *, flags: dict[str, object], as_json: AnyJson = False) -> None:
    """Show range, gaps and quirks of bars, a small chart and their hash."""
    from optimizer.cli.data_tables import print_series
    from optimizer.run.markets import load_series

    print_series(load_series(resolve_config(None, _merge_specs(specs, flags))), as_json=as_json)


@app.command("fetch")
@config_flags(*FETCH, descriptions=RANGE)
def fetch_bars(
    specs: Annotated[list[str], argument("Series to fetch.", "SPEC")],
    *,
    flags: dict[str, object],
    refetch: Annotated[
        bool, option("--refetch", "Set what is cached aside, fetch it all anew.")
    ] = False,
    as_json: AnyJson = False,
) -> None:
    """Bring bars into the cache: polygon:SYMBOL with --from and --to, or ccxt:... as it is."""
    from dataclasses import replace
    from importlib import import_module

    from data import load_bars
    from data.providers import find_provider
    from optimizer.cli.data_tables import print_series
    from optimizer.run.markets import load_options

    options = load_options(resolve_config(None, flags))
    kept = replace(options, fetch=replace(options.fetch, may_fetch=False))
    for spec in specs:
        if find_provider(spec)[0].name not in ("ccxt", "polygon"):
            raise ConfigError(f"'{spec}' is not fetched: only polygon:SYMBOL and ccxt:... are")
    fetched = []
    with open_show(stderr(), has_lines=False) as show:
        for spec in specs:
            provider, address = find_provider(spec)
            # Clients of vendors take a while to import, and few commands need them.
            vendor = import_module(provider.module)
            vendor.fetch(address, options, show, refetch=refetch)
            fetched.append(load_bars(spec, kept))
    print_series(fetched, as_json=as_json)


@app.command("check", cls=Sectioned)
@config_flags(*DATA)
def check_bars(specs: Specs = None, *, flags: dict[str, object], as_json: AnyJson = False) -> None:
    """Check whether bars are fit for use: all faults of all sources at once."""
    from data import inspect_source
    from optimizer.cli.data_tables import print_inspected
    from optimizer.run.markets import load_options, named_specs

    config = resolve_config(None, _merge_specs(specs, flags))
    options = load_options(config)
    sources = named_specs(config)
    inspected = [inspect_source(spec, options) for spec in track_sources(sources, "checking")]
    print_inspected(inspected, as_json=as_json)
    if refused := sum(report.bars is None for report in inspected):
        raise ConfigError(
            f"{refused} of {format_count(len(sources), 'source')} cannot be used as is"
        )


@app.command("import", cls=Sectioned)
@config_flags(*READ)
def import_files(
    files: Annotated[list[str], argument("Files, folders or patterns.", "FILE")],
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
    from data import join_bars, keep_bars, load_bars
    from data.bars import check_symbol
    from data.files import is_input, note_input
    from data.save_bars import file_name
    from optimizer.cli.data_tables import describe_bars, list_remarks, print_imported
    from optimizer.run.markets import load_options, named_specs

    config = resolve_config(None, {**flags, "data": files})
    options, rows = load_options(config), []
    loaded = (load_bars(spec, options) for spec in track_sources(named_specs(config), "importing"))
    for bars in loaded if join is None else [join_bars(list(loaded), check_symbol(join))]:
        stderr().say_all(list_remarks(bars, f"{bars.symbol}: "))
        may_replace = replace and not is_input(into / file_name(bars.symbol))
        path, written = keep_bars(bars, into, may_replace=may_replace)
        note_input(path)
        rows.append({**describe_bars(bars), "file": str(path), "written": written})
    print_imported(rows, into, options.aligned, as_json=as_json)


@app.command("list")
@config_flags("cache")
def list_sources(*, flags: dict[str, object], as_json: AnyJson = False) -> None:
    """Sources of bars, and the series that were fetched and kept."""
    from data.cache import list_cached
    from optimizer.cli.data_tables import print_sources

    cache = resolve_config(None, flags).cache
    print_sources(list_cached(None if cache is None else Path(cache)), as_json=as_json)


def _merge_specs(specs: list[str] | None, flags: dict[str, object]) -> dict[str, object]:
    """The flags with the sources that were named, in either way but not in both."""
    if specs and "data" in flags:
        raise ConfigError(f"'{specs[0]}' and --data: name the bars once")
    return {**flags, "data": specs} if specs else flags
