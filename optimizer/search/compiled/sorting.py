"""Stable orders of float64 numbers, digit by digit: no comparison, and no random access but one.

A number becomes a whole number that rises with it; a negative zero becomes zero before, because
the two are equal. Eight digits of eight bits are then sorted, the last first, each time stably.
Digits in which all numbers agree are skipped.
"""

import numpy as np
import numpy.typing as npt

from engine.compiling.loops import compiled

Floats = npt.NDArray[np.float64]
Keys = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

SHORT = 24
"""Runs of equals up to this length are sorted by insertion."""

SIGN = np.uint64(1 << 63)
DIGIT = np.uint64(255)


@compiled
def rising_keys(values: Floats, keys: Keys) -> None:
    """Whole numbers that compare as the numbers do.

    Args:
        values: [N], none NaN.
        keys: [N] receives them.
    """
    for i in range(values.size):
        bits = np.float64(values[i] + 0.0).view(np.uint64)
        keys[i] = ~bits if bits >= SIGN else bits | SIGN


@compiled
def sort_by_keys(keys: Keys, order: Places) -> None:
    """Sort places by their keys, stably, both in place.

    Args:
        keys: [N], N at least 1.
        order: [N], moved as the keys are.
    """
    counts = np.zeros((8, 256), np.int64)
    for i in range(keys.size):
        for digit in range(8):
            counts[digit, (keys[i] >> np.uint64(8 * digit)) & DIGIT] += 1
    keys_from, keys_to = keys, np.empty_like(keys)
    from_, to = order, np.empty_like(order)
    for digit in range(8):
        shift = np.uint64(8 * digit)
        next_ = counts[digit]
        if next_[(keys[0] >> shift) & DIGIT] == keys.size:
            continue
        total = 0
        for d in range(256):
            count = next_[d]
            next_[d] = total
            total += count
        for i in range(keys.size):
            d = (keys_from[i] >> shift) & DIGIT
            place = next_[d]
            next_[d] = place + 1
            keys_to[place] = keys_from[i]
            to[place] = from_[i]
        keys_from, keys_to = keys_to, keys_from
        from_, to = to, from_
    # Written out: compiling an assignment of arrays takes two seconds.
    for i in range(keys.size):
        keys[i], order[i] = keys_from[i], from_[i]


@compiled
def rising_order(values: Floats, order: Places) -> None:
    """The order of numbers, smallest first, the earlier of equals first.

    Args:
        values: [N], none NaN.
        order: [N] receives places.
    """
    keys = np.empty(values.size, np.uint64)
    rising_keys(values, keys)
    for i in range(values.size):
        order[i] = i
    if values.size:
        sort_by_keys(keys, order)


@compiled
def comes_before(columns: Floats, first: int, a: int, b: int) -> bool:
    """Whether individual a stands before b: by column `first`, then by the others, then by place.

    Args:
        columns: [O, N].
        first: The column that counts most; the one that counts next is the one before it, down
            to column 0, and then those after it.
        a: One place.
        b: Another.
    """
    for i in range(first, -1, -1):
        if columns[i, a] != columns[i, b]:
            return bool(columns[i, a] < columns[i, b])
    for i in range(first + 1, columns.shape[0]):
        if columns[i, a] != columns[i, b]:
            return bool(columns[i, a] < columns[i, b])
    return a < b


@compiled
def sort_run(columns: Floats, first: int, order: Places, spare: Places) -> None:
    """Sort places [N] by `comes_before`, in place: short runs by insertion, then merged.

    Args:
        columns: [O, P].
        first: As in `comes_before`.
        order: [N] places.
        spare: [N] scratch.
    """
    n = order.size
    for low in range(0, n, SHORT):
        for i in range(low + 1, min(low + SHORT, n)):
            place = order[i]
            j = i
            while j > low and comes_before(columns, first, place, order[j - 1]):
                order[j] = order[j - 1]
                j -= 1
            order[j] = place
    width = SHORT
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            a, b = low, middle
            for i in range(low, high):
                if b == high or (a < middle and comes_before(columns, first, order[a], order[b])):
                    spare[i] = order[a]
                    a += 1
                else:
                    spare[i] = order[b]
                    b += 1
        for i in range(n):
            order[i] = spare[i]
        width *= 2


@compiled
def column_order(columns: Floats, first: int, order: Places) -> None:
    """The order of individuals by `comes_before`.

    Args:
        columns: [O, P], none NaN.
        first: As in `comes_before`.
        order: [P] receives places.
    """
    rising_order(columns[first], order)
    values = columns[first]
    spare = np.empty_like(order)
    low = 0
    for i in range(1, order.size + 1):
        if i == order.size or values[order[i]] != values[order[low]]:
            if i - low > 1:
                sort_run(columns, first, order[low:i], spare[low:i])
            low = i
