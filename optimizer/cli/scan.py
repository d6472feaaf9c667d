"""scan: the class of every symbol now, since when, and its changes."""

from pathlib import Path
from typing import Annotated, Literal, cast

from optimizer.atomic_write import check_outputs, write_output
from optimizer.cli.console import print_json, stderr, stdout
from optimizer.cli.flags import Sectioned, config_flags, option, parse_numbers
from optimizer.cli.progress import open_show
from optimizer.cli.shared import MOST, AsJson, ConfigFile, Member, Quiet, single_command
from optimizer.config.run_config import SCANNED, resolve_config
from optimizer.errors import ConfigError
from optimizer.formatting import format_count
from optimizer.trend_scan import HIGH, LOW

app = single_command()

NARROWER = {
    "start": "First bar of the rows, ISO time; a row depends on where it begins.",
    "end": "As it stood then: bars that open before this ISO time.",
    "cache": "Folder of fetched bars and last classes; the user's own cache if unset.",
}
"""Knobs that mean something narrower."""


@app.command("scan", cls=Sectioned)
@config_flags(*SCANNED, descriptions=NARROWER)
def scan_symbols(  # noqa: PLR0913 - one argument a flag
    *,
    flags: dict[str, object],
    config: ConfigFile = None,
    genes: Annotated[
        Path | None, option("--genes", "Parameters among genes that a command wrote.", "FILE")
    ] = None,
    member: Member = None,
    set_: Annotated[list[str], option("--set", "One parameter; repeatable.", "NAME=VALUE")] = [],  # noqa: B006 - typer copies it
    high: Annotated[float, option("--high", "Long above this.", "NUMBER")] = HIGH,
    low: Annotated[float, option("--low", "Short below this.", "NUMBER")] = LOW,
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
    remember: Annotated[
        bool, option("--remember/--no-remember", "Keep classes, say what changed since then.")
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
    from optimizer import api
    from optimizer.cli.scan_tables import encode_csv, encode_parquet, print_scan

    parameters = {**_read_parameters(genes, member), **parse_numbers(set_)}
    drawn, page = _name_page(plot)
    check_outputs(csv, parquet, page)
    settings = resolve_config(config, flags)
    notes = stderr()

    def say(line: str) -> None:
        if not quiet:
            notes.say(line)

    with open_show(notes, quiet=quiet, has_lines=False) as show:
        scan = api.scan(
            parameters, high=high, low=low, is_script=as_script, history=history, verify=verify,
            is_kept=remember, config=settings, progress=show,
        )  # fmt: skip
    for line in scan.notes:
        notes.say(f"note: {line}")
    if csv is not None:
        write_output(csv, encode_csv(scan))
    if parquet is not None:
        write_output(parquet, encode_parquet(scan))
    if page is not None:
        write_output(page, scan.figure(drawn).to_html())
        say(f"{drawn} drawn in {page}")
    for path in filter(None, (csv, parquet)):
        say(f"{format_count(scan.bars, 'bar')} written to {path}")
    if as_json:
        print_json(scan.payload())
    else:
        print_scan(stdout(), scan, history)


def _name_page(text: str | None) -> tuple[str, Path | None]:
    """The symbol and the page of ``SYMBOL=FILE``; no page without a text."""
    if text is None:
        return "", None
    symbol, _, file = text.rpartition("=")
    if not symbol or not file.lower().endswith(".html"):
        raise ConfigError(f"--plot {text}: write SYMBOL=FILE, the file named .html")
    return symbol, Path(file)


def _read_parameters(genes: Path | None, member: int | None) -> dict[str, float]:
    """Parameters of the trend among the genes of an individual; none without a file."""
    from optimizer.run.tables import chosen_individual
    from optimizer.trend_scan.result import ScanParams

    if genes is None:
        if member is not None:
            raise ConfigError("--member chooses from a file: add --genes")
        return {}
    values, names = chosen_individual(genes, member), ScanParams({}).names
    parameters = {name: value for name, value in values.items() if name in names}
    if not parameters:
        raise ConfigError(f"{genes}: holds no parameter of a trend, such as {names[0]}")
    return cast("dict[str, float]", parameters)
