"""Screens: marks on whole blocks of bars that drop what surely does not hold, many bars at a time.

Scores are screened in float32, where twice as many fit a vector; the bounds know it. What passes
is looked at again.
"""

import numpy as np
import numpy.typing as npt

from engine.backends.compiled import compiled, compiled_inline
from engine.backends.cpu.codes import HIGHEST_CODE, encode
from engine.backends.cpu.exact import ZSCORE
from engine.backends.cpu.streamed.bounds import (
    LARGEST_THRESHOLD,
    ROUNDING_32,
    score_bounds,
)
from engine.backends.cpu.streamed.lowering import (
    CODE,
    GENE,
    KIND,
    LEFT,
    LENGTH,
    SIGN,
    SOURCE,
    Course,
)
from engine.backends.cpu.streamed.sums import FIT, REACH, SIZE, Floats32, Sums
from engine.backends.cpu.types import Codes, Floats, Slots

STEPS_32 = 5.0

Words = npt.NDArray[np.uint64]


@compiled
def screen_levels(codes: Codes, course: Course, genome: Floats, start: int, marks: Codes) -> None:
    """Mark the bars of a block at which no comparison of a level with a gene surely fails.

    Args:
        codes: [C, T] of the levels.
        course: The strategy.
        genome: [G].
        start: First bar of the block, once the longest row is known.
        marks: [width] receives 1 or 0.
    """
    is_first = True
    for e in range(course.early.shape[0]):
        code = course.early[e, CODE]
        if code < 0:
            continue
        low, scale = course.scales[code, 0], course.scales[code, 1]
        threshold = encode(genome[course.early[e, GENE]], low, scale)
        if course.early[e, SIGN] < 0:
            threshold = HIGHEST_CODE + 1 - threshold
        _mark_from(codes[code, start : start + marks.size], np.uint8(threshold), is_first, marks)
        is_first = False
    if is_first:
        marks[:] = 1


@compiled_inline
def _mark_from(codes: Codes, threshold: np.uint8, is_first: bool, marks: Codes) -> None:
    if is_first:
        for k in range(marks.size):
            marks[k] = codes[k] >= threshold
    else:
        for k in range(marks.size):
            marks[k] &= np.uint8(codes[k] >= threshold)


@compiled
def strongest_score(sums: Sums, course: Course, genome: Floats) -> int:
    """Which early comparison of a score with a gene probably holds least often; -1 for none."""
    strongest, highest = -1, -np.inf
    for e in range(course.early.shape[0]):
        if _is_screened(sums, course, genome, e):
            threshold = course.early[e, SIGN] * genome[course.early[e, GENE]]
            if threshold > highest:
                strongest, highest = e, threshold
    return strongest


@compiled_inline
def _is_screened(sums: Sums, course: Course, genome: Floats, e: int) -> bool:
    row, gene = course.early[e, LEFT], course.early[e, GENE]
    is_score = gene >= 0 and course.rows[row, KIND] == ZSCORE
    is_fit = is_score and sums.scale[course.rows[row, SOURCE], FIT] == 1.0
    return bool(is_fit and abs(genome[gene]) < LARGEST_THRESHOLD)


@compiled
def screen(
    sums: Sums, base: int, course: Course, genome: Floats, e: int, start: int, marks: Codes
) -> None:
    """Keep the marks of bars at which a score may hold; all of them where bounds cannot say.

    Args:
        sums: Of a stretch that holds the block and what its windows reach back to.
        base: First bar of the stretch.
        course: The strategy.
        genome: [G].
        e: Which of the early comparisons.
        start: First bar of the block.
        marks: [width].
    """
    if _is_screened(sums, course, genome, e):
        row, sign = course.early[e, LEFT], course.early[e, SIGN]
        window = int(genome[course.rows[row, LENGTH]])
        threshold = sign * genome[course.early[e, GENE]]
        _keep_scores(sums, course.rows[row, SOURCE], window, float(sign), threshold,
                     start - base, marks)  # fmt: skip


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
def collect(words: Words, start: int, found: Slots, out: Slots) -> int:
    """List the marked bars.

    Args:
        words: [N] marks of 8 bars each; places behind the block are 0.
        start: Bar of the first mark.
        found: [N + 1] scratch.
        out: [8 N + 8] receives the bars, ascending; what lies behind them is scratch.

    Returns:
        How many bars were written.
    """
    # Two passes without a branch: few words hold a mark, and few of their eight places do.
    n_words = np.uint64(0)
    for word in range(words.size):
        found[n_words] = word
        n_words += np.uint64(words[word] != 0)
    count = np.uint64(0)
    for i in range(n_words):
        marks = words[np.uint64(found[i])]
        first = start + 8 * found[i]
        for k in range(8):
            out[count] = first + k
            count += marks >> np.uint64(8 * k) & np.uint64(1)
    return int(np.int64(count))
