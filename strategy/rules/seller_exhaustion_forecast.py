"""Seller exhaustion that asks a forecast as well; all else as `seller_exhaustion`.

The forecast is the extra column `forecast`; a gene chooses how much of it is asked. Source: house
rule.
"""

from strategy.expressions import GeneValue
from strategy.language import Term
from strategy.rules.seller_exhaustion import SELLER_EXHAUSTION
from strategy.words import (
    atr,
    beyond_bar,
    close,
    close_location,
    column,
    ema,
    gene,
    r_multiple,
    strategy,
    true_range,
    volume,
    zscore,
)

_SAME = {one.name: Term(GeneValue(one)) for one in SELLER_EXHAUSTION.layout.genes}

SELLER_EXHAUSTION_FORECAST = strategy(
    "Seller exhaustion while a forecast is high enough; reads column forecast.",
    long=(ema(close, _SAME["ema_fast"]) < ema(close, _SAME["ema_slow"]))
    & (zscore(volume, _SAME["z_window"]) > _SAME["vol_z_min"])
    & (zscore(true_range, _SAME["z_window"]) > _SAME["tr_z_min"])
    & (close_location > _SAME["close_location_min"])
    & (column("forecast") > gene("forecast_min", 0.0, -0.5, 0.5, "unit of the forecast")),
    stop=beyond_bar(_SAME["atr_stop_mult"] * atr(_SAME["atr_window"])),
    target=r_multiple(_SAME["reward_r"]),
    max_hold=_SAME["max_hold"],
    less_than=[("ema_fast", "ema_slow")],
    timeframe="15m",
    name="seller_exhaustion_forecast",
)
