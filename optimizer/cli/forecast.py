"""forecast: fit a model walk-forward, keep its forecasts as a file, and say how good they were."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from optimizer.cli.console import print_json, stderr, stdout
from optimizer.cli.flags import Sectioned, argument, config_flags, list_flags, option
from optimizer.cli.notes import note
from optimizer.cli.progress import open_show
from optimizer.cli.shared import DATA, AsJson, Quiet, command_group
from optimizer.config.run_config import make_settings, resolve_config
from optimizer.forecasts.settings import ForecastSettings

app = command_group("Forecasts as columns of bars: fit, show, list.")


@app.command("fit", cls=Sectioned)
@config_flags(*DATA, knobs=list_flags(ForecastSettings))
def fit_forecast(
    *,
    flags: dict[str, object],
    knobs: dict[str, object],
    out: Annotated[
        Path | None, option("--out", "File to write, of forecasts if unset.", "FILE.parquet")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a model walk-forward, write its forecasts, and say how good they were."""
    from optimizer import api
    from optimizer.cli.forecast_tables import print_forecast

    resolve_config(None, flags)
    settings = make_settings(ForecastSettings, knobs, where="forecast", flags=knobs)
    target = out or Path("forecasts") / f"{settings.model}.parquet"
    with open_show(stderr(), quiet=quiet) as show:
        forecast = api.forecast(target, progress=show, **knobs, **flags)
    print_forecast(forecast, target, as_json=as_json)


@app.command("show")
def show_forecast(
    file: Annotated[Path, argument("A forecast.", "FILE")],
    *,
    as_json: AsJson = False,
) -> None:
    """How a forecast was made, and how good it was."""
    from optimizer.cli.forecast_tables import print_forecast
    from optimizer.forecasts.column import counted_record, read_forecast

    forecast = read_forecast(file)
    record = counted_record(file) or forecast.record
    print_forecast(replace(forecast, record=record), file, as_json=as_json)


@app.command("list")
def list_forecasts(
    folder: Annotated[Path, argument("Of forecasts.", "FOLDER")] = Path("forecasts"),
    *,
    as_json: AsJson = False,
) -> None:
    """The forecasts of a folder."""
    from optimizer.cli.forecast_tables import build_records_table
    from optimizer.forecasts.column import list_records

    records, unread = list_records(folder)
    for line in unread.values():
        note(f"left out, and its fits are not counted: {line}")
    if as_json:
        print_json([{"file": str(path), **record.payload()} for path, record in records.items()])
    elif records:
        stdout().print(build_records_table(records))
    else:
        stdout().say(f"no forecast in {folder}; make one: python -m optimizer forecast fit")
