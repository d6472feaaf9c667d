"""Strategies that nobody ships, for what those that ship do not ask of an engine."""

from strategy import Bracket, Comparison, Gene, GenomeLayout, Row, StrategySpec

CROSSINGS = StrategySpec(
    name="crossings",
    summary="Every form on either side of a comparison, several series; for tests.",
    layout=GenomeLayout(
        (
            Gene("fast", "int", 2, 30, 5, "bars"),
            Gene("slow", "int", 2, 60, 20, "bars"),
            Gene("score", "int", 2, 50, 15, "bars"),
            Gene("pace", "int", 2, 20, 8, "bars"),
            Gene("mean_min", "float", -2.0, 60.0, 0.0),
            Gene("score_max", "float", -1.0, 3.0, 2.0, "std"),
            Gene("pace_min", "float", -2.0, 60.0, 0.0),
            Gene("stop_mult", "float", 0.1, 3.0, 1.0, positive=True),
            Gene("reward", "float", 0.3, 4.0, 1.0, positive=True),
            Gene("max_hold", "int", 1, 60, 20, "bars"),
        )
    ),
    rows=(
        Row("close", "level", "close"),
        Row("fast_mean", "sma", "close", ("fast",)),
        Row("slow_mean", "sma", "open", ("slow",)),
        Row("slow_trend", "ema", "close", ("slow",)),
        Row("volume_mean", "sma", "volume", ("score",)),
        Row("volume_trend", "ema", "volume", ("fast",)),
        Row("close_score", "zscore", "close", ("score",)),
        Row("range_score", "zscore", "true_range", ("slow",)),
        Row("reach", "ema", "true_range", ("pace",)),
    ),
    entry=(
        Comparison("fast_mean", ">", "slow_mean"),
        Comparison("slow_trend", "<", "close"),
        Comparison("fast_mean", ">", "slow_trend"),
        Comparison("volume_mean", ">", "mean_min"),
        Comparison("volume_trend", ">", "pace_min"),
        Comparison("close_score", "<", "score_max"),
        Comparison("range_score", "<", "close_score"),
    ),
    bracket=Bracket("reach", "stop_mult", "reward", "max_hold"),
)
"""Its stop is measured by an EMA."""

LOCATED = StrategySpec(
    name="located",
    summary="A score of the close's location, which flat bars do not have; for tests.",
    layout=GenomeLayout(
        (
            Gene("window", "int", 2, 40, 10, "bars"),
            Gene("score_min", "float", -1.0, 2.0, 0.0, "std"),
            Gene("stop_mult", "float", 0.1, 3.0, 1.0, positive=True),
            Gene("reward", "float", 0.3, 4.0, 1.0, positive=True),
            Gene("max_hold", "int", 1, 60, 20, "bars"),
        )
    ),
    rows=(
        Row("location_score", "zscore", "close_location", ("window",)),
        Row("atr", "atr", parameters=("window",)),
    ),
    entry=(Comparison("location_score", ">", "score_min"),),
    bracket=Bracket("atr", "stop_mult", "reward", "max_hold"),
)

LEVELS = StrategySpec(
    name="levels",
    summary="Levels on either side of genes, and a stop of one bar's range; for tests.",
    layout=GenomeLayout(
        (
            Gene("score", "int", 2, 100, 15, "bars"),
            Gene("score_min", "float", -1.0, 1.0, -0.5, "std"),
            Gene("location_max", "float", 0.2, 0.9, 0.6, "fraction of the bar's range"),
            Gene("volume_min", "float", 100.0, 1500.0, 400.0, "units"),
            Gene("stop_mult", "float", 0.1, 3.0, 1.0, positive=True),
            Gene("reward", "float", 0.3, 4.0, 1.0, positive=True),
            Gene("max_hold", "int", 1, 60, 20, "bars"),
        )
    ),
    rows=(
        Row("volume_score", "zscore", "volume", ("score",)),
        Row("range_score", "zscore", "true_range", ("score",)),
        Row("location", "level", "close_location"),
        Row("volume", "level", "volume"),
        Row("range", "level", "true_range"),
    ),
    entry=(
        Comparison("volume_score", ">", "score_min"),
        Comparison("range_score", ">", "score_min"),
        Comparison("location", "<", "location_max"),
        Comparison("volume", ">", "volume_min"),
    ),
    bracket=Bracket("range", "stop_mult", "reward", "max_hold"),
)
"""Its scores are low enough to hold at many bars."""
