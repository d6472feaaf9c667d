"""Numbers of the indicators that have a compiled form here."""

LEVEL, EMA, SMA, ZSCORE = range(4)

GIVEN = 4
"""A row that lies in its slot already and needs its codes only."""

KINDS = {"level": LEVEL, "ema": EMA, "sma": SMA, "zscore": ZSCORE}
"""Form of an indicator to its number."""
