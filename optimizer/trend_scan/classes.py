"""Classes of a trend, the runs they come in, and the direction of the script."""

import numpy as np
import numpy.typing as npt

from strategy.genes import Floats, Ints

Int8s = npt.NDArray[np.int8]

LONG, NEUTRAL, SHORT, UNKNOWN = 1, 0, -1, 2

WORDS = {LONG: "long", NEUTRAL: "neutral", SHORT: "short", UNKNOWN: ""}
"""Names of classes."""

DIRECTIONS = {LONG: "long", NEUTRAL: "", SHORT: "short"}
"""Names of directions."""


def classify_bars(row: Floats, high: float, low: float) -> Int8s:
    """Class at each bar: long above `high`, short below `low`, unknown where the row is NaN.

    Args:
        row: [T], -1 to 1 or NaN.
        high: At least `low`.
        low: A row at a threshold itself is neutral.

    Returns:
        [T], codes of `WORDS`.

    >>> classify_bars(np.array([np.nan, 0.1, 0.2, -0.2]), 0.1, -0.1).tolist()
    [2, 0, 1, -1]
    """
    codes = (row > high).astype(np.int8) - (row < low).astype(np.int8)
    codes[np.isnan(row)] = UNKNOWN
    return codes


def find_directions(row: Floats, high: float, low: float) -> Int8s:
    """Direction at each bar: of the last rise through `high` or fall through `low`, 0 before one.

    Args:
        row: [T], -1 to 1 or NaN, which crosses nothing.
        high: At least `low`.
        low: A row at a threshold itself has not crossed it.

    Returns:
        [T], codes of `DIRECTIONS`.

    >>> find_directions(np.array([0.2, 0.0, 0.2, 0.0, -0.2]), 0.1, -0.1).tolist()
    [0, 0, 1, 1, -1]
    """
    turns = np.zeros(len(row), np.int8)
    now, before = row[1:], row[:-1]
    turns[1:] += (now > high) & (before <= high)
    turns[1:] -= (now < low) & (before >= low)
    last = np.where(turns != 0, np.arange(len(row)), 0)
    return turns[np.maximum.accumulate(last)]


def run_starts(codes: Int8s) -> Ints:
    """First bars of the longest stretches of one code, [K] ascending; of [T], at least 1 bar.

    >>> run_starts(np.array([2, 2, 1, 1, 0], np.int8)).tolist()
    [0, 2, 4]
    """
    return np.concatenate(([0], np.flatnonzero(codes[1:] != codes[:-1]) + 1)).astype(np.int64)
