"""Tables of forecasts."""

from collections.abc import Mapping
from pathlib import Path

from rich.table import Table

from data.shell import quote_word
from optimizer.cli.console import plain_table, print_json, stdout
from optimizer.forecasts.column import (
    Forecast,
    ForecastRecord,
    describe_record,
    find_main_gain,
    format_p,
    list_digests,
    list_skill_cells,
)
from optimizer.formatting import fraction, number


def build_records_table(records: Mapping[Path, ForecastRecord]) -> Table:
    """Forecasts of files, a line each."""
    headings = ("file", "model", "horizon", "symbols", "gain", "p", "skill")
    table = plain_table(*headings, right=("horizon", "symbols", "gain", "p"))
    for path, record in records.items():
        gain = find_main_gain(record)
        table.add_row(
            path.name,
            str(record.settings["model"]),
            number(record.settings["horizon"]),
            number(len(record.data)),
            fraction(gain.gain),
            format_p(gain.p),
            "skill" if record.skill.has_skill else "no skill",
        )
    return table


def print_forecast(forecast: Forecast, path: Path, *, as_json: bool) -> None:
    """Print how a forecast was made and how good it was."""
    record = forecast.record
    if as_json:
        print_json({"file": str(path), **record.payload()})
        return
    console = stdout()
    console.say(record.sentence, "cyan" if record.skill.has_skill else "red")
    console.print()
    console.print(_skill_table(record))
    console.print()
    console.say_all((*describe_record(record), list_digests(record)))
    flag = f"--column-file {quote_word(f'forecast={path}')}"
    console.say(f'read it in a strategy as column("forecast"), with {flag}')


def _skill_table(record: ForecastRecord) -> Table:
    """Gains over each rival with their p, refit by refit and in all; 80 columns wide at most."""
    rivals = list(record.skill.whole.against)
    headings = ["refit", "bars"]
    for name in rivals:
        # Headings are names: those of p differ by blanks that are not seen.
        headings += [f"over\n{name.removeprefix('the ')}", "p" + " " * rivals.index(name)]
    headings += ["hits", "slope"]
    table = plain_table(*headings, right=headings[1:], title="Gain in squared error")
    for cells in list_skill_cells(record):
        table.add_row(*cells)
    return table
