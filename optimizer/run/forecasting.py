"""A forecast from settings to its file, for the command line and for Python."""

from pathlib import Path

from data.progress import Watch
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.forecasts.column import (
    SUFFIX,
    Forecast,
    make_forecast,
    write_forecast,
)
from optimizer.forecasts.settings import ForecastSettings
from optimizer.run.markets import load_series


def forecast_to_file(
    out: Path,
    config: RunConfig,
    settings: ForecastSettings,
    watch: Watch,
) -> Forecast:
    """Fit a forecast on the bars of a configuration, and write it; interrupted, nothing is written.

    Raises:
        ConfigError: When a setting is wrong, or does not fit the bars.
        DataError, DeviceError: When bars or the device cannot be had.
        OptimizerError: When it cannot be written.
    """
    if out.suffix != SUFFIX or out.is_dir():
        raise ConfigError(f"--out {out}: a forecast is a {SUFFIX} file")
    series = load_series(config)
    return write_forecast(make_forecast(series, settings, watch), out)
