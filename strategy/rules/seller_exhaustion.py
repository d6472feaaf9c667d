"""Seller exhaustion: long after a downtrend bar of extreme volume and range that closes high.

Source: house rule, stated in engine/README.md. Defaults suit 15-minute bars of a market that
never closes: 96 bars are a day, 672 a week.
"""

from strategy.genes import Gene, GenomeLayout, LessThan
from strategy.spec import Bracket, Comparison, Row, StrategySpec

SELLER_EXHAUSTION = StrategySpec(
    name="seller_exhaustion",
    summary="Long after a downtrend bar of extreme volume and range that closes near its high.",
    layout=GenomeLayout(
        genes=(
            Gene("ema_fast", "int", 12, 192, 96, "bars"),
            Gene("ema_slow", "int", 96, 1344, 672, "bars"),
            Gene("z_window", "int", 96, 1344, 672, "bars"),
            Gene("atr_window", "int", 12, 192, 96, "bars"),
            Gene("vol_z_min", "float", 0.5, 4.0, 2.0, "std"),
            Gene("tr_z_min", "float", 0.3, 3.0, 1.2, "std"),
            Gene("close_location_min", "float", 0.3, 0.9, 0.6, "fraction of the bar's range"),
            Gene("atr_stop_mult", "float", 0.1, 3.0, 0.7, "ATR", positive=True),
            Gene("reward_r", "float", 0.5, 5.0, 2.0, "R", positive=True),
            Gene("max_hold", "int", 4, 384, 96, "bars"),
        ),
        constraints=(LessThan("ema_fast", "ema_slow"),),
    ),
    rows=(
        Row("fast", "ema", "close", ("ema_fast",)),
        Row("slow", "ema", "close", ("ema_slow",)),
        Row("volume_z", "zscore", "volume", ("z_window",)),
        Row("range_z", "zscore", "true_range", ("z_window",)),
        Row("close_location", "level", "close_location"),
        Row("atr", "atr", parameters=("atr_window",)),
    ),
    entry=(
        Comparison("fast", "<", "slow"),
        Comparison("volume_z", ">", "vol_z_min"),
        Comparison("range_z", ">", "tr_z_min"),
        Comparison("close_location", ">", "close_location_min"),
    ),
    bracket=Bracket(
        stop_row="atr", stop_mult="atr_stop_mult", reward="reward_r", max_hold="max_hold"
    ),
)
