"""Orders of individuals by each objective: equals by the others, then the earlier place first.

A number and its place share a word: above the bits of the number, as far as there is room, which
compare as it does, below those of the place. Words are sorted digit by digit, the lowest one first,
and runs that agree above then by comparison, with shrinking gaps. On an AMD EPYC (Zen 4) numpy's
own sort of 65,536 such words takes four times as long.

Source: Shell, "A high-speed sorting procedure", 1959; gaps of 5/11 by Gonnet and Baeza-Yates,
"Handbook of algorithms and data structures", 1991.
"""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.addresses import declare_loop, declare_part

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

ZERO, SIGN, TO_SIGN = np.uint64(0), np.uint64(2**63), np.uint64(63)

LEAST_PLACE_BITS = 32
"""Of a place at least, so that four digits are left: numbers that agree in them are rare."""

DIGIT_BITS = 8
N_DIGITS = 1 << DIGIT_BITS
DIGIT = np.uint64(N_DIGITS - 1)


def argsort_objectives(columns: Floats, count: int | None = None) -> Places:
    """Orders [N, P] of objectives [O, P], none NaN, each as if sorted stably on the one before it.

    By the first `count` objectives, all when None. The first order is lexicographic, the earlier of
    equals first.
    """
    n_objectives = len(columns)
    return _argsort_columns(columns, n_objectives if count is None else count, n_objectives)


def rising_orders(rows: Floats) -> Places:
    """The order of each row [N, P], none NaN, by itself; the earlier of equals first."""
    return _argsort_columns(rows, len(rows), 1)


def _argsort_columns(columns: Floats, count: int, n_compared: int) -> Places:
    n = columns.shape[1]
    words, spare = np.empty((count, n), dtype=np.int64), np.empty(n, dtype=np.uint64)
    n_bits = max(n.bit_length(), LEAST_PLACE_BITS)
    sort_words(columns, n, count, n_bits, words.view(np.uint64), spare, allocate_counts(n_bits))
    settle_runs(columns, n, count, n_compared, n_bits, words)
    return words


def allocate_counts(n_bits: int) -> Places:
    """Scratch of `sort_words` for places of so many bits."""
    return np.empty((-(-(64 - n_bits) // DIGIT_BITS), N_DIGITS), dtype=np.int64)


@declare_loop("void(f8[:, ::1], i8, i8, i8, u8[:, ::1], u8[::1], i8[:, ::1])")
def sort_words(
    columns: Floats, n: int, n_rows: int, n_bits: int, words: Words, spare: Words, counts: Places
) -> None:
    """Put numbers and their places into words that compare as the numbers do, and sort these.

    Args:
        columns: [O, C], of which the first P count, none NaN.
        n: P.
        n_rows: N, how many objectives are sorted by.
        n_bits: Of a place.
        words: [N, C] receives the words of the first objectives, sorted.
        spare: [C] scratch.
        counts: [D, `N_DIGITS`] scratch, D the digits above a place.
    """
    n_digits, above = counts.shape[0], np.uint64(n_bits)
    for j in range(n_rows):
        for d in range(n_digits):
            for k in range(N_DIGITS):
                counts[d, k] = 0
        for i in range(n):
            # Adding 0 turns a negative zero, which equals 0 but has other bits, into 0.
            bits = np.float64(columns[j, i] + 0.0).view(np.uint64)
            # Negative numbers have all bits turned, others the sign: words rise as numbers do.
            left = (bits ^ ((ZERO - (bits >> TO_SIGN)) | SIGN)) >> above
            words[j, i] = left << above | np.uint64(i)
            for d in range(n_digits):
                counts[d, left & DIGIT] += 1
                left >>= np.uint64(DIGIT_BITS)
        source, target = words[j], spare
        for d in range(n_digits):
            shift = above + np.uint64(d * DIGIT_BITS)
            # A digit that all share needs no sorting.
            if n == 0 or counts[d, source[0] >> shift & DIGIT] == n:
                continue
            before = 0
            for k in range(N_DIGITS):
                counts[d, k], before = before, before + counts[d, k]
            for i in range(n):
                word = source[np.uint64(i)]
                digit = word >> shift & DIGIT
                target[np.uint64(counts[d, digit])] = word
                counts[d, digit] += 1
            source, target = target, source
        for i in range(n):
            words[j, i] = source[i]


@declare_loop("void(f8[:, ::1], i8, i8, i8, i8, i8[:, ::1])")
def settle_runs(
    columns: Floats, n: int, n_rows: int, n_compared: int, n_bits: int, words: Places
) -> None:
    """Sort runs of words that differ in their places only, and leave nothing but places.

    Individuals are compared by the objective of the order, the one before that and so on down to
    the first, then by those after it, then by place. `n_compared` of these objectives count: O, or
    1 for the order's own. Other arguments as of `sort_words`, whose `words` receive places.
    """
    mask = (1 << n_bits) - 1
    for first in range(n_rows):
        low = 0
        for high in range(1, n + 1):
            if high < n and words[first, high] >> n_bits == words[first, low] >> n_bits:
                continue
            gap = high - low
            # Shell's sort: the last gap is 1, which leaves the run in order.
            while gap > 1:
                gap = 1 if gap < 3 else (5 * gap - 1) // 11
                for i in range(low + gap, high):
                    word, at = words[first, i], i
                    individual = np.uint64(word & mask)
                    while at >= low + gap:
                        other = np.uint64(words[first, at - gap] & mask)
                        comes_before = individual < other
                        for step in range(n_compared):
                            j = np.uint64(first - step if step <= first else step)
                            if columns[j, individual] != columns[j, other]:
                                comes_before = columns[j, individual] < columns[j, other]
                                break
                        if not comes_before:
                            break
                        words[first, at] = words[first, at - gap]
                        at -= gap
                    words[first, at] = word
            low = high
        for i in range(n):
            words[first, i] &= mask


@declare_part("i8(i8[:, ::1], i8, i8[::1], f8[:, ::1], i8, i8[:, ::1])")
def thin_orders(
    orders: Places, n: int, seats: Places, columns: Floats, n_bits: int, words: Places
) -> int:
    """Orders of some of the first P of C, as words for `settle_runs`, and how many are left.

    `seats` [C] are new places, -1 of those who are left out, `columns` [3, C] objectives by new
    place. A word of `words` [3, C] is the number of a run of equals, and the place.
    """
    last = 0
    for j in range(3):
        last, run, before = 0, 0, 0.0
        for i in range(n):
            seat = seats[np.uint64(orders[j, i])]
            is_left = seat >= 0
            value = columns[j, np.uint64(seat if is_left else 0)]
            run += is_left and value != before
            words[j, last] = run << n_bits | seat
            before = value if is_left else before
            last += is_left
    return last
