"""The two published strategies in the words of the language."""
# ruff: noqa: F403, F405

from strategy.words import *

z_window = length("z_window", 672, 96, 1344)
SELLER_EXHAUSTION = strategy(
    "Long after a downtrend bar of extreme volume and range that closes near its high.",
    long=all_of(
        ema(close, length("ema_fast", 96, 12, 192)) < ema(close, length("ema_slow", 672, 96, 1344)),
        zscore(volume, z_window) > gene("vol_z_min", 2, 0.5, 4, "std"),
        zscore(true_range, z_window) > gene("tr_z_min", 1.2, 0.3, 3, "std"),
        close_location > gene("close_location_min", 0.6, 0.3, 0.9, "fraction of the bar's range"),
    ),
    stop=beyond_bar(
        gene("atr_stop_mult", 0.7, 0.1, 3, "ATR") * atr(length("atr_window", 96, 12, 192))
    ),
    target=r_multiple(gene("reward_r", 2, 0.5, 5, "R")),
    max_hold=length("max_hold", 96, 4, 384),
    less_than=[("ema_fast", "ema_slow")],
    timeframe="15m",
    order=("ema_fast", "ema_slow", "z_window", "atr_window"),
)

MEAN_REVERSION = strategy(
    "Long when a close falls far below its own mean while it stays above a slow average.",
    long=(close > ema(close, length("trend_ema", 672, 192, 1344)))
    & (zscore(close, length("z_window", 96, 24, 384)) < gene("close_z_max", -1.5, -4, -0.5, "std")),
    stop=beyond_bar(
        gene("atr_stop_mult", 2, 0.5, 5, "ATR") * atr(length("atr_window", 96, 12, 192))
    ),
    target=r_multiple(gene("reward_r", 1, 0.3, 4, "R")),
    max_hold=length("max_hold", 48, 4, 384),
    timeframe="15m",
    order=("trend_ema", "z_window", "atr_window"),
)
