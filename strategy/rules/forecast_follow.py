"""Forecast follow: on the side of a forecast while it is far enough from nothing.

The forecast is the extra column `forecast`, as `python -m optimizer forecast fit` writes it; genes
choose thresholds, never how it was trained. Source: house rule.
"""

from strategy.words import atr, column, from_entry, gene, length, strategy

FORECAST = column("forecast")
ENTER = gene("enter", 0.05, 0.01, 0.5, "unit of the forecast")
LEAVE = gene("leave", 0.0, -0.5, 0.01, "unit of the forecast")

FORECAST_FOLLOW = strategy(
    "On the side of a forecast while it is far enough from nothing; reads column forecast.",
    long=FORECAST > ENTER,
    short=FORECAST < -1 * ENTER,
    exit_long=FORECAST < LEAVE,
    exit_short=FORECAST > -1 * LEAVE,
    stop=from_entry(gene("stop_mult", 3.0, 0.5, 8.0, "ATR") * atr(96)),
    max_hold=length("max_hold", 16, 1, 384),
    name="forecast_follow",
)
