"""Seller exhaustion: long after a downtrend bar of extreme volume and range that closes high.

Source: house rule, stated in engine/README.md. Defaults suit 15-minute bars of a market that
never closes: 96 bars are a day, 672 a week. A second one has a forecast beside it: the extra column
`forecast`, whose least value a gene chooses.
"""

from strategy.words import (
    all_of,
    atr,
    beyond_bar,
    close,
    close_location,
    column,
    ema,
    gene,
    length,
    r_multiple,
    strategy,
    true_range,
    volume,
    zscore,
)

Z_WINDOW = length("z_window", 672, 96, 1344)
FALLS = ema(close, length("ema_fast", 96, 12, 192)) < ema(close, length("ema_slow", 672, 96, 1344))
VOLUME_IS_EXTREME = zscore(volume, Z_WINDOW) > gene("vol_z_min", 2.0, 0.5, 4.0, "std")
RANGE_IS_EXTREME = zscore(true_range, Z_WINDOW) > gene("tr_z_min", 1.2, 0.3, 3.0, "std")
CLOSES_HIGH = close_location > gene(
    "close_location_min", 0.6, 0.3, 0.9, "fraction of the bar's range"
)
STOP = beyond_bar(
    gene("atr_stop_mult", 0.7, 0.1, 3.0, "ATR") * atr(length("atr_window", 96, 12, 192))
)
TARGET = r_multiple(gene("reward_r", 2.0, 0.5, 5.0, "R"))
MAX_HOLD = length("max_hold", 96, 4, 384)
FAST_IS_SHORTER = ("ema_fast", "ema_slow")

SELLER_EXHAUSTION = strategy(
    "Long after a downtrend bar of extreme volume and range that closes near its high.",
    long=all_of(FALLS, VOLUME_IS_EXTREME, RANGE_IS_EXTREME, CLOSES_HIGH),
    stop=STOP,
    target=TARGET,
    max_hold=MAX_HOLD,
    less_than=[FAST_IS_SHORTER],
    timeframe="15m",
    name="seller_exhaustion",
    order=(
        "ema_fast",
        "ema_slow",
        "z_window",
        "atr_window",
        "vol_z_min",
        "tr_z_min",
        "close_location_min",
        "atr_stop_mult",
        "reward_r",
        "max_hold",
    ),
)


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
