"""Mean reversion: long when a close falls far below its own mean inside an uptrend.

Source: house rule. It reads rows that other strategies use as well, and is the proof that no
engine knows any one strategy.
"""

from strategy.words import (
    atr,
    beyond_bar,
    close,
    ema,
    gene,
    length,
    r_multiple,
    strategy,
    zscore,
)

RISES = close > ema(close, length("trend_ema", 672, 192, 1344))
IS_LOW = zscore(close, length("z_window", 96, 24, 384)) < gene("close_z_max", -1.5, -4, -0.5, "std")

MEAN_REVERSION = strategy(
    "Long when a close falls far below its own mean while it stays above a slow average.",
    long=RISES & IS_LOW,
    stop=beyond_bar(
        gene("atr_stop_mult", 2.0, 0.5, 5.0, "ATR") * atr(length("atr_window", 96, 12, 192))
    ),
    target=r_multiple(gene("reward_r", 1.0, 0.3, 4.0, "R")),
    max_hold=length("max_hold", 48, 4, 384),
    timeframe="15m",
    name="mean_reversion",
    order=("trend_ema", "z_window", "atr_window", "close_z_max", "atr_stop_mult", "reward_r"),
)
