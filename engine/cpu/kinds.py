"""Numbers of the indicators that have a compiled form here."""

LEVEL, EMA, SMA, ZSCORE = range(4)

KINDS = {"level": LEVEL, "ema": EMA, "sma": SMA, "zscore": ZSCORE}
"""Form of an indicator to its number."""
