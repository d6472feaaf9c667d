"""Running sums of a stretch of bars, from which the sums of any window are one difference."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.backends.compiled import compiled
from engine.backends.cpu.types import Floats

Floats32 = npt.NDArray[np.float32]

ANCHOR, SIZE, REACH, FIT, CENTRE = range(5)


class Sums(NamedTuple):
    """Running sums of a stretch that begins at bar `base`; sum i is that of its first i values.

    Args:
        sum1: [S, N + 1] of distances from the anchor, by source.
        sum2: [S, N + 1] of their squares.
        near: [S, N] float32, distances in units of `SIZE`.
        near1: [S, N + 1] float32, `sum1` in these units.
        near2: [S, N + 1] float32, `sum2` in their square.
        scale: [S, 5] anchor; root of the sum of all squares, or more; largest size of a value, or
            more; 1 where bounds can be trusted and else 0; the stretch's mean.
    """

    sum1: Floats
    sum2: Floats
    near: Floats32
    near1: Floats32
    near2: Floats32
    scale: Floats


def empty_sums(sources: int, n: int) -> Sums:
    """Room for the sums of n values of each source."""
    return Sums(
        np.empty((sources, n + 1)),
        np.empty((sources, n + 1)),
        np.empty((sources, n), np.float32),
        np.empty((sources, n + 1), np.float32),
        np.empty((sources, n + 1), np.float32),
        np.zeros((sources, 5)),
    )


@compiled
def sum_up(columns: Floats, source: int, base: int, n: int, sums: Sums) -> None:
    """Fill the sums of one source over bars base to base + n.

    Args:
        columns: [S, T] the sources.
        source: Number of the source.
        base: First bar.
        n: Bars.
        sums: Receives; the mean of what it held is the anchor, near which values probably are.
    """
    anchor = sums.scale[source, CENTRE] if sums.scale[source, FIT] == 1.0 else columns[source, base]
    total1 = 0.0
    total2 = 0.0
    sums.sum1[source, 0] = 0.0
    sums.sum2[source, 0] = 0.0
    for i in range(n):
        d = columns[source, base + i] - anchor
        total1 = total1 + d
        total2 = total2 + d * d
        sums.sum1[source, i + 1] = total1
        sums.sum2[source, i + 1] = total2
    size = math.sqrt(total2) * (1.0 + 1e-6)
    # Outside, or where a value is not a number, a square might under- or overflow unnoticed.
    is_fit = 1e-140 < size < 1e140
    sums.scale[source, ANCHOR] = anchor
    sums.scale[source, SIZE] = size
    sums.scale[source, REACH] = (abs(anchor) + size) * (1.0 + 1e-6)
    sums.scale[source, FIT] = 1.0 if is_fit else 0.0
    sums.scale[source, CENTRE] = anchor + total1 / n
    if is_fit:
        _bring_near(columns, source, base, n, anchor, sums)


@compiled
def _bring_near(columns: Floats, source: int, base: int, n: int, anchor: float, sums: Sums) -> None:
    unit1 = 1.0 / sums.scale[source, SIZE]
    unit2 = unit1 * unit1
    sums.near1[source, 0] = 0.0
    sums.near2[source, 0] = 0.0
    for i in range(n):
        sums.near[source, i] = np.float32((columns[source, base + i] - anchor) * unit1)
        sums.near1[source, i + 1] = np.float32(sums.sum1[source, i + 1] * unit1)
        sums.near2[source, i + 1] = np.float32(sums.sum2[source, i + 1] * unit2)
