"""Mean reversion: long when a close falls far below its own mean inside an uptrend.

Source: house rule. It reads rows that other strategies use as well, and is the proof that no
engine knows any one strategy.
"""

from strategy.genes import Gene, GenomeLayout
from strategy.spec import Bracket, Comparison, Row, StrategySpec

MEAN_REVERSION = StrategySpec(
    name="mean_reversion",
    summary="Long when a close falls far below its own mean while it stays above a slow average.",
    layout=GenomeLayout(
        genes=(
            Gene("trend_ema", "int", 192, 1344, 672, "bars"),
            Gene("z_window", "int", 24, 384, 96, "bars"),
            Gene("atr_window", "int", 12, 192, 96, "bars"),
            Gene("close_z_max", "float", -4.0, -0.5, -1.5, "std"),
            Gene("atr_stop_mult", "float", 0.5, 5.0, 2.0, "ATR", positive=True),
            Gene("reward_r", "float", 0.3, 4.0, 1.0, "R", positive=True),
            Gene("max_hold", "int", 4, 384, 48, "bars"),
        ),
    ),
    rows=(
        Row("close", "level", "close"),
        Row("trend", "ema", "close", ("trend_ema",)),
        Row("close_z", "zscore", "close", ("z_window",)),
        Row("atr", "atr", parameters=("atr_window",)),
    ),
    entry=(
        Comparison("close", ">", "trend"),
        Comparison("close_z", "<", "close_z_max"),
    ),
    bracket=Bracket(
        stop_row="atr", stop_mult="atr_stop_mult", reward="reward_r", max_hold="max_hold"
    ),
)
