"""Screens: marks on whole blocks of bars that drop what surely does not hold, many bars at a time.

Scores are screened in float32, where twice as many fit a vector; the bounds know it. What passes
is looked at again.
"""

import numpy as np

from engine.backends.compiled import compiled, compiled_inline
from engine.backends.cpu.exact import LEVEL, ZSCORE
from engine.backends.cpu.streamed.bounds import (
    LARGEST_THRESHOLD,
    ROUNDING_32,
    score_bounds,
)
from engine.backends.cpu.streamed.lowering import GENE, KIND, LEFT, LENGTH, SIGN, SOURCE, Course
from engine.backends.cpu.streamed.sums import FIT, REACH, SIZE, Floats32, Sums
from engine.backends.cpu.types import Codes, Floats, Slots

STEPS_32 = 5.0


@compiled
def screen(
    columns: Floats,
    sums: Sums,
    base: int,
    course: Course,
    genome: Floats,
    start: int,
    marks: Codes,
) -> None:
    """Mark the bars of a block at which no early comparison with a gene surely fails.

    Args:
        columns: [S, T] the sources.
        sums: Of a stretch that holds the block and what its windows reach back to.
        base: First bar of the stretch.
        course: The strategy.
        genome: [G].
        start: First bar of the block, once the longest row is known.
        marks: [width] receives 1 or 0.
    """
    width = marks.size
    for k in range(width):
        marks[k] = 1
    for e in range(course.early.shape[0]):
        row, gene, sign = course.early[e, LEFT], course.early[e, GENE], course.early[e, SIGN]
        if gene < 0:
            continue
        kind, source = course.rows[row, KIND], course.rows[row, SOURCE]
        if kind == LEVEL:
            values = columns[source, start : start + width]
            if sign > 0:
                _keep_above(values, genome[gene], marks)
            else:
                _keep_below(values, genome[gene], marks)
        elif kind == ZSCORE and sums.scale[source, FIT] == 1.0:
            window = int(genome[course.rows[row, LENGTH]])
            threshold = sign * genome[gene]
            if abs(threshold) < LARGEST_THRESHOLD:
                _keep_scores(sums, source, window, float(sign), threshold, start - base, marks)


@compiled_inline
def _keep_above(values: Floats, threshold: float, marks: Codes) -> None:
    for k in range(marks.size):
        marks[k] &= np.uint8(values[k] > threshold)


@compiled_inline
def _keep_below(values: Floats, threshold: float, marks: Codes) -> None:
    for k in range(marks.size):
        marks[k] &= np.uint8(values[k] < threshold)


@compiled
def _keep_scores(
    sums: Sums,
    source: int,
    window: int,
    sign: float,
    threshold: float,
    first: int,
    marks: Codes,
) -> None:
    """Keep what may exceed a threshold; `first` is the block's place in the stretch."""
    n = sums.near.shape[1]
    reach = sums.scale[source, REACH] / sums.scale[source, SIZE]
    shift, factor, addend, _, _ = score_bounds(
        window, threshold, n, 1.0, reach, ROUNDING_32, STEPS_32
    )
    width = marks.size
    _compare_scores(
        sums.near[source, first : first + width],
        sums.near1[source, first + 1 : first + 1 + width],
        sums.near1[source, first + 1 - window : first + 1 - window + width],
        sums.near2[source, first + 1 : first + 1 + width],
        sums.near2[source, first + 1 - window : first + 1 - window + width],
        np.float32(window),
        np.float32(sign),
        np.float32(shift),
        np.float32(factor),
        np.float32(addend),
        marks,
    )


@compiled_inline
def _compare_scores(
    near: Floats32,
    newer1: Floats32,
    older1: Floats32,
    newer2: Floats32,
    older2: Floats32,
    window: np.float32,
    sign: np.float32,
    shift: np.float32,
    factor: np.float32,
    addend: np.float32,
    marks: Codes,
) -> None:
    slope = sign * window
    for k in range(marks.size):
        sum1 = newer1[k] - older1[k]
        sum2 = newer2[k] - older2[k]
        far = slope * near[k] - sign * sum1 + shift
        spread = window * sum2 - sum1 * sum1 + addend
        marks[k] &= np.uint8(far * abs(far) > factor * spread)


@compiled
def collect(words: np.ndarray, marks: Codes, start: int, found: Slots, out: Slots) -> int:
    """List the marked bars.

    Args:
        words: [N] uint64, the marks eight at a time; places behind the block are 0.
        marks: [8 N].
        start: Bar of the first mark.
        found: [N + 1] scratch.
        out: [8 N + 8] receives the bars, ascending; what lies behind them is scratch.

    Returns:
        How many bars were written.
    """
    # Two passes without a branch: few words hold a mark, and few of their eight places do.
    n_words = 0
    for word in range(words.size):
        found[n_words] = word
        n_words += words[word] != 0
    count = 0
    for i in range(n_words):
        first = found[i] * 8
        for k in range(first, first + 8):
            out[count] = start + k
            count += marks[k]
    return count
