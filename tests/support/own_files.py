"""Files of a person with an indicator of their own."""


def momentum_file(long='moved(length("n", 5, 2, 20)) > 0.002', summary="Goes with the move."):
    """Text of a file with the indicator ``moved`` and a strategy ``MOMENTUM`` that reads it."""
    return f"""import numpy as np

from strategy.words import *


@indicator(warm_up=lambda n: n)
def moved(bars, n):
    return np.concatenate([np.full(n, np.nan), bars.close[n:] / bars.close[:-n] - 1])


MOMENTUM = strategy(
    "{summary}",
    long={long},
    stop=share(gene("stop", 0.01, 0.002, 0.05)),
    max_hold=12,
)
"""
