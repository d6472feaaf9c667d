"""A forecast from settings to its file, for the command line and for Python."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from optimizer.config.data import DataSettings
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError
from optimizer.forecasts.column import (
    SUFFIX,
    Forecast,
    make_forecast,
    write_forecast,
)
from optimizer.forecasts.fit import Watch
from optimizer.forecasts.settings import ForecastSettings
from optimizer.run.markets import load_series
from strategy.errors import unknown


def forecast_by_settings(out: Path, settings: Mapping[str, object], watch: Watch) -> Forecast:
    """As `optimizer.forecast`; `watch` hears how far it is."""
    names = {knob.name for knob in fields(ForecastSettings)}
    knobs = {name: value for name, value in settings.items() if name in names}
    flags = {name: value for name, value in settings.items() if name not in names}
    for name in flags:
        if name not in DataSettings.model_fields:
            raise ConfigError(unknown("setting", name, [*names, *DataSettings.model_fields]))
    return forecast_to_file(out, flags, ForecastSettings(**knobs), watch)  # type: ignore[arg-type]


def forecast_to_file(
    out: Path,
    flags: Mapping[str, object],
    settings: ForecastSettings,
    watch: Watch,
) -> Forecast:
    """Fit a forecast on the bars that flags name, and write it; interrupted, nothing is written.

    Raises:
        ConfigError: When a setting is wrong, or does not fit the bars.
        DataError, DeviceError: When bars or the device cannot be had.
        OptimizerError: When it cannot be written.
    """
    if out.suffix != SUFFIX or out.is_dir():
        raise ConfigError(f"--out {out}: a forecast is a {SUFFIX} file")
    series = load_series(resolve_config(None, flags))
    return write_forecast(make_forecast(series, settings, watch), out)
