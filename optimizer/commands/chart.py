"""A price chart of a few lines, for a terminal."""

import numpy as np

from data import Bars
from optimizer.shown import number

WIDTH, HEIGHT = 72, 10


def price_chart(bars: Bars, *, mark: str = "|") -> list[str]:
    """Draw the range of prices over time.

    Args:
        bars: The series.
        mark: What stands where prices were.

    Returns:
        Lines from the highest high to the lowest low; each column covers a like number of bars and
        reaches from their lowest low to their highest high. Prices stand left of the outermost.
    """
    edges = np.linspace(0, len(bars), min(WIDTH, len(bars)) + 1).round().astype(int)[:-1]
    low, high = np.minimum.reduceat(bars.low, edges), np.maximum.reduceat(bars.high, edges)
    bottom, top = float(low.min()), float(high.max())
    step = (top - bottom) / HEIGHT or 1.0
    first = np.clip(((low - bottom) / step).astype(int), 0, HEIGHT - 1)
    last = np.clip(np.ceil((high - bottom) / step).astype(int) - 1, first, HEIGHT - 1)
    labels = {HEIGHT - 1: number(top), 0: number(bottom)}
    margin = max(map(len, labels.values()))
    return [
        f"{labels.get(row, ''):>{margin}} "
        + "".join(
            mark if a <= row <= b else " "
            for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ).rstrip()
        for row in reversed(range(HEIGHT))
    ]
