"""Orders of individuals, non-dominated ranks in one sweep, and crowding distances.

*Orders* by each objective: equals by the others, then the earlier place first. A number and its
place share a word: above the bits of the number, as far as there is room, which compare as it does,
below those of the place. Words are sorted digit by digit, the lowest one first, and runs that agree
above then by comparison, with shrinking gaps. On an AMD EPYC (Zen 4) numpy's own sort of 65,536
such words takes four times as long.

*Ranks*: individuals come in lexicographic order, so that none is dominated by a later one. Of two
objectives, the newest member of a front has its least second one, which rises from front to front.
Of three, only the second and the third are compared. Individuals have places in the order of the
second, cut into blocks of `BLOCK`. The individuals that dominate one have places in its block or in
one before it.

- Blocks before: a table knows the least third objective that each front has up to a block. It
  rises from front to front, so that the fronts with a dominating member are simply counted.
- The own block: all earlier members are compared.

Both are loops of fixed length without a branch, many comparisons at a time. The table grows with
fronts times blocks. For the first front alone it is one number a block, of its members alone.

*Crowding*: going through all in the order of one objective, each front is met in that order too.
The neighbours of a member are the members of its front that were met last and that are met next.

Places are unsigned here, so that no access looks whether one is counted from the end.

Sources: Shell, "A high-speed sorting procedure", 1959; gaps of 5/11 by Gonnet and Baeza-Yates,
"Handbook of algorithms and data structures", 1991.
"""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.addresses import declare_loop, declare_part

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

SIGN, TO_SIGN = np.uint64(2**63), np.uint64(63)

LEAST_PLACE_BITS = 32
"""Of a place at least, so that four digits are left: numbers that agree in them are rare."""

DIGIT_BITS = 8
N_DIGITS = 1 << DIGIT_BITS
DIGIT = np.uint64(N_DIGITS - 1)

Bools = npt.NDArray[np.bool_]
Unsigned = npt.NDArray[np.uint64]

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)
Levels = npt.NDArray[np.int32]

BLOCK_BITS = 6
BLOCK = 1 << BLOCK_BITS
"""Places of a block."""

WIDTH_BITS = 4
WIDTH = 1 << WIDTH_BITS
"""Fronts that are compared at a time."""

MOST_ENTRIES = 1 << 26
"""Most entries of the table; 256 MiB, of which fronts that there are take their part."""

FURTHEST = np.int32(2**31 - 1)
NONE_ABOVE, NEXT = np.int32(0), np.int32(1)
TO_BLOCK, IN_BLOCK = np.uint64(BLOCK_BITS), np.uint64(BLOCK - 1)
TO_GROUP, IN_GROUP = np.uint64(WIDTH_BITS), np.uint64(WIDTH - 1)
PLACE, LAST, LEVEL = np.uint64(0), np.uint64(1), np.uint64(2)
"""Columns of an individual: its place in the order of the second objective, the last place
of an equal there, and a number that compares as the third objective does."""

LARGE = 2.0**1000
"""Objectives beyond this are scaled before they are subtracted, so that no distance overflows."""

SCALE = 2.0**-10

LOW, EXTENT, BEFORE, NEAR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
"""Rows of a table of fronts: the least value, the extent, and the last two values that were met."""


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
    1 for the order's own. Other arguments as of `sort_words`; its `words` receive places.
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

    `seats` [C] are new places, -1 of individuals that are left out, `columns` [3, C] objectives by
    new place. A word of `words` [3, C] is the number of a run of equals, and the place.
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


def rank_in_order(columns: Floats, order: Places, most: int) -> tuple[Places, Bools]:
    """Number of the front of each individual [P], at most `most`, and flags of repeats [P].

    By two objectives [2, P] and a lexicographic order [P], the earlier of equals first.
    """
    count = len(order)
    ranks, is_copy = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.bool_)
    sweep_order(columns, order, most, np.empty(count), ranks, is_copy)
    return ranks, is_copy


@declare_loop("void(f8[:, ::1], i8[::1], i8, f8[::1], i8[::1], b1[::1])")
def sweep_order(
    columns: Floats, order: Places, most: int, newest: Floats, ranks: Places, is_copy: Bools
) -> None:
    """Rank individuals; the last two arguments receive the results of `rank_in_order`.

    `newest` [P] is scratch: the second objective of the newest member of each front.
    """
    n_fronts, rank, before = ZERO, ZERO, ZERO
    for i in range(order.size):
        p = np.uint64(order[i])
        y = columns[1, p]
        is_same = i > 0 and columns[0, p] == columns[0, before] and y == columns[1, before]
        is_copy[p], before = is_same, p
        if not is_same:
            rank, high = ZERO, n_fronts
            while rank < high:
                middle = (rank + high) >> ONE
                if newest[middle] <= y:
                    rank = middle + ONE
                else:
                    high = middle
            if rank < np.uint64(most):
                newest[rank] = y
                n_fronts += np.uint64(rank == n_fronts)
        ranks[p] = rank


def allocate_table(count: int) -> tuple[Levels, Levels, Levels]:
    """Scratch of `sweep_blocks` for so many individuals."""
    n_blocks = (count >> BLOCK_BITS) + 1
    most = max(1, MOST_ENTRIES // (n_blocks * WIDTH))
    levels = np.empty((2, n_blocks, BLOCK), dtype=np.int32)
    least = np.empty((min(most, count // WIDTH + 1), n_blocks, WIDTH), dtype=np.int32)
    return np.empty((count, 3), dtype=np.int32), levels, least


def allocate_seats(count: int) -> tuple[Places, Floats, Floats]:
    """Scratch of `sweep_first` for so many individuals."""
    n_blocks = (count >> BLOCK_BITS) + 1
    levels, least = np.empty((n_blocks, BLOCK)), np.empty(n_blocks)
    return np.empty((2, count), dtype=np.int64), levels, least


@declare_loop("i8(f8[:, ::1], i8[:, ::1], i8, i8[:, ::1], f8[:, ::1], f8[::1], i8[::1], b1[::1])")
def sweep_first(
    columns: Floats, orders: Places, n: int, positions: Places, levels: Floats, least: Floats,
    ranks: Places, is_copy: Bools,
) -> int:  # fmt: skip
    """Find the first front of the first P of C, and how many of its members differ.

    Args:
        columns: [3, C].
        orders: [N, C] by each, the first two lexicographic; more are not read.
        n: P.
        positions: [2, C] scratch, `PLACE` and `LAST` of each individual.
        levels: [B, BLOCK] scratch, third objective of members, by place.
        least: [B] scratch, the least of these before each block.
        ranks: [C] receives 0 or 1.
        is_copy: [C] receives whether an earlier individual has the same objectives.
    """
    n_blocks = np.uint64((n >> BLOCK_BITS) + 1)
    for b in range(n_blocks):
        least[b] = np.inf
        for k in range(BLOCK):
            levels[b, k] = np.inf
    last = n - 1
    for i in range(n - 1, -1, -1):
        p = np.uint64(orders[1, i])
        if i + 1 < n and columns[1, p] != columns[1, np.uint64(orders[1, i + 1])]:
            last = i
        positions[PLACE, p], positions[LAST, p] = i, last
    rank, before, n_members = 0, ZERO, 0
    for i in range(n):
        p = np.uint64(orders[0, i])
        y, z = columns[1, p], columns[2, p]
        is_same = i > 0 and columns[0, p] == columns[0, before]
        is_same = is_same and y == columns[1, before] and z == columns[2, before]
        is_copy[p], before = is_same, p
        if is_same:
            ranks[p] = rank
            continue
        last_place = np.uint64(positions[LAST, p])
        block, last_seat = last_place >> TO_BLOCK, np.int64(last_place & IN_BLOCK)
        n_above = np.int64(least[block] <= z)
        if n_above == 0:
            for k in range(BLOCK):
                n_above += np.int64(levels[block, k] <= z and k <= last_seat)
        rank = 1 if n_above > 0 else 0
        ranks[p] = rank
        if rank == 0:
            n_members += 1
            position = np.uint64(positions[PLACE, p])
            block = position >> TO_BLOCK
            levels[block, position & IN_BLOCK] = z
            block += ONE
            while block < n_blocks and least[block] > z:
                least[block] = z
                block += ONE
    return n_members


@declare_loop(
    "b1(f8[:, ::1], i8[:, ::1], i8, i8, i4[:, ::1], i4[:, :, ::1], i4[:, :, ::1], i8[::1], b1[::1])"
)
def sweep_blocks(
    columns: Floats, orders: Places, n: int, most: int, known: Levels, levels: Levels,
    least: Levels, ranks: Places, is_copy: Bools,
) -> bool:  # fmt: skip
    """Rank the first P of C; False when there are more fronts than the table holds.

    Args:
        columns: [3, C].
        orders: [3, C] by each, the first one lexicographic.
        n: P.
        most: Fronts that are told apart, at least 1; those behind them count as one.
        known: [C, 3] scratch, `PLACE`, `LAST` and `LEVEL` of each individual.
        levels: [2, B, BLOCK] scratch, by place: `LEVEL` of those that came, and their ranks plus 1.
        least: [N, B, WIDTH] scratch, least `LEVEL` of each front up to each block.
        ranks: [C] receives numbers.
        is_copy: [C] receives whether an earlier individual has the same objectives.
    """
    last = n - 1
    for i in range(n - 1, -1, -1):
        p = np.uint64(orders[1, i])
        if i + 1 < n and columns[1, p] != columns[1, np.uint64(orders[1, i + 1])]:
            last = i
        known[p, PLACE], known[p, LAST] = i, last
    number, before = 0, np.uint64(orders[2, 0])
    for i in range(n):
        p = np.uint64(orders[2, i])
        number += columns[2, p] != columns[2, before]
        known[p, LEVEL], before = number, p
    furthest, most_group = np.uint64(most), np.uint64(most - 1) >> TO_GROUP
    most_front = np.uint64(most - 1) & IN_GROUP
    n_blocks, n_groups, rank = np.uint64(((n - 1) >> BLOCK_BITS) + 1), ZERO, ZERO
    for b in range(n_blocks):
        for k in range(BLOCK):
            levels[ZERO, b, k], levels[ONE, b, k] = FURTHEST, NONE_ABOVE
    for i in range(n):
        p = np.uint64(orders[0, i])
        is_same = i > 0 and columns[0, p] == columns[0, before]
        is_same = is_same and known[p, LAST] == known[before, LAST]
        is_same = is_same and known[p, LEVEL] == known[before, LEVEL]
        is_copy[p], before = is_same, p
        if is_same:
            ranks[p] = rank
            continue
        last_place, level = np.uint64(known[p, LAST]), known[p, LEVEL]
        block, last_seat = last_place >> TO_BLOCK, np.int32(last_place & IN_BLOCK)
        # Behind a member of the last front that matters.
        is_behind = n_groups > most_group and block > ZERO
        if is_behind and least[most_group, block - ONE, most_front] <= level:
            ranks[p] = rank = furthest
            continue
        best = NONE_ABOVE
        for k in range(BLOCK):
            is_above = levels[ZERO, block, k] <= level and np.int32(k) <= last_seat
            other = levels[ONE, block, k] if is_above else NONE_ABOVE
            best = other if other > best else best
        rank = np.uint64(best)
        # Least values rise from front to front: halving counts fronts with a dominating member.
        if block > ZERO:
            above, low, high = block - ONE, rank >> TO_GROUP, n_groups
            while low < high:
                middle = (low + high) >> ONE
                if least[middle, above, IN_GROUP] <= level:
                    low = middle + ONE
                else:
                    high = middle
            n_above = low << TO_GROUP
            if low < n_groups:
                n_more = NONE_ABOVE
                for k in range(WIDTH):
                    n_more += np.int32(least[low, above, k] <= level)
                n_above += np.uint64(n_more)
            rank = n_above if n_above > rank else rank
        rank = rank if rank < furthest else furthest
        ranks[p] = rank
        if rank == furthest:
            continue
        group, front = rank >> TO_GROUP, rank & IN_GROUP
        if group == n_groups:
            if group == np.uint64(least.shape[0]):
                return False
            for b in range(n_blocks):
                for k in range(WIDTH):
                    least[group, b, k] = FURTHEST
            n_groups += ONE
        position = np.uint64(known[p, PLACE])
        block, seat = position >> TO_BLOCK, position & IN_BLOCK
        levels[ZERO, block, seat], levels[ONE, block, seat] = level, np.int32(rank) + NEXT
        while block < n_blocks and least[group, block, front] > level:
            least[group, block, front] = level
            block += ONE
    return True


def compute_crowding_distances(columns: Floats, orders: Places, ranks: Places) -> Floats:
    """Crowding distances [P] of objectives [O, P], by their orders [O, P] and the fronts [P].

    A sum over objectives: infinite for either end of a front, else the gap between both neighbours
    over O times the extent of the front, 0 where the front has none.
    """
    n_fronts = int(ranks.max(initial=-1)) + 1
    distances = np.zeros(len(ranks))
    met = np.empty(n_fronts, dtype=np.int64)
    fronts = np.empty((4, n_fronts))
    add_gaps(columns, orders, len(ranks), n_fronts, ranks, fronts, met, distances)
    return distances


@declare_loop("void(f8[:, ::1], i8[:, ::1], i8, i8, i8[::1], f8[:, ::1], i8[::1], f8[::1])")
def add_gaps(
    columns: Floats, orders: Places, n: int, n_fronts: int, ranks: Places, fronts: Floats,
    met: Places, out: Floats,
) -> None:  # fmt: skip
    """Add what each objective gives to crowding distances `out` [C] of the first P of C.

    `fronts` [4, C] is scratch, and so is `met` [C], the member that was met last, -1 before the
    first.
    """
    n_objectives = orders.shape[0]
    for j in range(n_objectives):
        scale = 1.0
        if n and (columns[j, orders[j, 0]] < -LARGE or columns[j, orders[j, n - 1]] > LARGE):
            scale = SCALE
        for f in range(n_fronts):
            met[f] = -1
        # First the ends and extent of each front, then the gaps between neighbours.
        for i in range(n):
            p = np.uint64(orders[j, i])
            front, value = np.uint64(ranks[p]), columns[j, p] * scale
            if met[front] < 0:
                fronts[LOW, front] = value
                out[p] += np.inf
            fronts[EXTENT, front], met[front] = value, orders[j, i]
        for f in range(n_fronts):
            extent = n_objectives * (fronts[EXTENT, f] - fronts[LOW, f])
            fronts[EXTENT, f] = extent if extent > 0 else np.inf
            if met[f] >= 0:
                out[met[f]] += np.inf
            met[f] = -1
        for i in range(n):
            p = np.uint64(orders[j, i])
            front, value = np.uint64(ranks[p]), columns[j, p] * scale
            if met[front] >= 0:
                # The first of a front is infinite already.
                gap = (value - fronts[BEFORE, front]) / fronts[EXTENT, front]
                out[np.uint64(met[front])] += gap
                fronts[BEFORE, front] = fronts[NEAR, front]
            else:
                fronts[BEFORE, front] = value
            fronts[NEAR, front], met[front] = value, orders[j, i]
