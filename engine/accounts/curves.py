"""Curves of an account: what results grow to, how far it falls, and runs of what holds."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def add_up(values: Floats) -> float:
    """Sum of values [N], one addition after another, as accumulators have it."""
    return float(values.cumsum()[-1]) if len(values) else 0.0


def compound(r: Floats, risk_fraction: float) -> Floats:
    """Equity after each trade, from 1, by its R [K] in order; ruin and infinity are for ever."""
    with np.errstate(over="ignore", invalid="ignore"):
        equity: Floats = np.multiply.accumulate(1.0 + risk_fraction * r)
    equity[np.logical_or.accumulate(~(equity > 0.0))] = 0.0
    return equity


def measure_falls(value: Floats) -> Floats:
    """How far values [N] lie below the highest so far, which begins with 1, as shares of it."""
    peak = np.maximum.accumulate(np.concatenate([[1.0], value]))[1:]
    falls: Floats = (peak - value) / peak
    return falls


def longest_run(flags: Flags) -> int:
    """Length of the longest run of true flags.

    >>> longest_run(np.array([True, False, True, True]))
    2
    """
    runs = find_runs(flags)
    return int((runs[:, 1] - runs[:, 0]).max(initial=0))


def find_runs(flags: Flags) -> Ints:
    """Begin and end, itself not within, of each run of true flags, [K, 2].

    >>> find_runs(np.array([True, False, True, True])).tolist()
    [[0, 1], [2, 4]]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return edges.reshape(-1, 2)
