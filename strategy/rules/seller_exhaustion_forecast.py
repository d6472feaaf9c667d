"""Seller exhaustion with a forecast beside it; all else as `seller_exhaustion`.

The forecast is the extra column `forecast`; a gene chooses its least value. Source: house rule.
"""

from strategy.rules.seller_exhaustion import (
    CLOSES_HIGH,
    FALLS,
    FAST_IS_SHORTER,
    MAX_HOLD,
    RANGE_IS_EXTREME,
    STOP,
    TARGET,
    VOLUME_IS_EXTREME,
)
from strategy.words import column, gene, strategy

IS_FORECAST = column("forecast") > gene("forecast_min", 0.0, -0.5, 0.5, "unit of the forecast")

SELLER_EXHAUSTION_FORECAST = strategy(
    "Seller exhaustion while a forecast is high enough; reads column forecast.",
    long=FALLS & VOLUME_IS_EXTREME & RANGE_IS_EXTREME & CLOSES_HIGH & IS_FORECAST,
    stop=STOP,
    target=TARGET,
    max_hold=MAX_HOLD,
    less_than=[FAST_IS_SHORTER],
    timeframe="15m",
    name="seller_exhaustion_forecast",
)
