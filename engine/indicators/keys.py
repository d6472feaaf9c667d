"""Numbers for sets of values of genes: of a whole population at once, and the same ones later."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engine.backend import Floats, Ints, Slots
from engine.runtime.compiling.loops import compiled_loop, compiled_part

FREE = -1
"""In a table's slot that holds no number."""

NO_GENE = -1
"""In the place of a gene, for what fewer genes decide than others: its value is 0."""

LEAST_SLOTS = 64

MIXER, HALF_BITS = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


class NumberedSets(NamedTuple):
    """Numbers of individuals."""

    numbers: Ints  # [P] one a set of values, from 0 on in the order in which sets came
    fresh: Ints  # [n] one individual of each set that had no number yet; they got the next ones


class Keys:
    """The sets of values that some genes had so far, as a hash table.

    Args:
        columns: The genes, columns of a genome; without any, there is one set.
    """

    def __init__(self, columns: Sequence[int]) -> None:
        self.columns = list(columns)
        self.count = 0
        self._values = np.empty((0, len(self.columns)), np.int64)
        self._slots = _make_slots(0)

    def number(self, genomes: Floats) -> NumberedSets:
        """The number of each of genomes [P, G]."""
        values = _encode_values(genomes, self.columns)
        self._reserve(len(values))
        numbers, fresh = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
        n = number_sets(values, self._values, self._slots, self.count, numbers, fresh)
        self.count += n
        return NumberedSets(numbers, fresh[:n])

    def find(self, genomes: Floats, columns: Ints, there: Slots, found: Slots) -> bool:
        """Look up for each r of `columns` the set of r and the values of genes.

        Args:
            genomes: [P, G]; one with a -0.0 is not found.
            columns: [R, k] genes, or `NO_GENE`; k is one less than in a set.
            there: What belongs to each number, -1 where nothing does.
            found: [P, R] receives it.

        Returns:
            Whether something belongs to all of them.
        """
        bits = np.ascontiguousarray(genomes).view(np.int64)
        return find_sets(bits, columns, self._values, self._slots, there, found)

    def keep(self, numbers: Ints) -> None:
        """Forget all other sets; the rest is numbered anew, in this order."""
        values, self.count = self._values[numbers], 0
        self._values = np.empty_like(values)
        self._insert(values)

    def _reserve(self, more: int) -> None:
        """Make room for so many new sets; at most half of the slots are taken."""
        most = self.count + more
        if 2 * most > len(self._slots) or most > len(self._values):
            values, self.count = self._values[: self.count], 0
            self._values = np.empty((2 * most, values.shape[1]), np.int64)
            self._insert(values)

    def _insert(self, values: Ints) -> None:
        self._slots = _make_slots(len(self._values))
        if not len(values):
            return
        unread = np.empty((2, len(values)), np.int64)
        self.count = number_sets(values, self._values, self._slots, 0, unread[0], unread[1])


def number_once(genomes: Floats, columns: Sequence[int]) -> NumberedSets:
    """Numbers by `Keys.number` for first genomes [P, G]; nothing is kept."""
    values = _encode_values(genomes, list(columns))
    numbers, fresh = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    # Known sets lie in front of sets still to come.
    n = number_sets(values, values, _make_slots(len(values)), 0, numbers, fresh)
    return NumberedSets(numbers, fresh[:n])


def _encode_values(genomes: Floats, columns: list[int]) -> Ints:
    """Values [P, k] of genes, as bits."""
    # A slice of one column is copied several times as fast as a list of columns.
    chosen = genomes[:, columns[0] : columns[0] + 1] if len(columns) == 1 else genomes[:, columns]
    # One zero, whatever its sign; then equal numbers have equal bits.
    return np.ascontiguousarray(chosen + 0.0).view(np.int64)


def _make_slots(most: int) -> Ints:
    """Free slots for so many sets, at most half of them taken; a power of two."""
    return np.full(max(LEAST_SLOTS, 1 << (2 * most - 1).bit_length()), FREE, np.int64)


@compiled_loop
def number_sets(
    values: Ints, known: Ints, slots: Ints, count: int, numbers: Ints, fresh: Ints
) -> int:
    """Find the number of each set, and give new sets the next ones.

    Args:
        values: [P, k] the sets, as bits.
        known: [N, k] sets by their numbers; receives new ones.
        slots: [M] numbers by what is hashed, M a power of two; receives new ones.
        count: Numbers given before.
        numbers: [P] receives numbers.
        fresh: [P] receives the individuals whose sets were new.

    Returns:
        How many were new.
    """
    n_fresh, last_slot = 0, np.uint64(len(slots) - 1)
    unused_bits = count_unused_bits(slots)
    for p in range(values.shape[0]):
        mixed = MIXER
        for k in range(values.shape[1]):
            mixed = mix(mixed, values[p, k])
        slot = mixed >> unused_bits
        while slots[slot] != FREE and not are_equal(values[p], known[slots[slot]]):
            slot = (slot + np.uint64(1)) & last_slot
        if slots[slot] == FREE:
            slots[slot] = count + n_fresh
            # A slice could have another shape, and the sentence for that takes long to compile.
            for k in range(values.shape[1]):
                known[count + n_fresh, k] = values[p, k]
            fresh[n_fresh] = p
            n_fresh += 1
        numbers[p] = slots[slot]
    return n_fresh


@compiled_loop
def find_sets(
    bits: Ints, columns: Ints, known: Ints, slots: Ints, there: Slots, found: Slots
) -> bool:
    """`Keys.find` with genomes [P, G] as bits, and the table's sets and slots."""
    n_missing, last_slot, unused_bits = 0, np.uint64(len(slots) - 1), count_unused_bits(slots)
    kinds = np.arange(columns.shape[0]).astype(np.float64).view(np.int64)
    wanted = np.zeros((columns.shape[1], bits.shape[0]), np.int64)
    mixed = np.empty(bits.shape[0], np.uint64)
    for r in range(columns.shape[0]):
        mixed[:] = mix(MIXER, kinds[r])
        for k in range(columns.shape[1]):
            column = columns[r, k]
            for p in range(bits.shape[0]):
                wanted[k, p] = bits[p, column] if column != NO_GENE else 0
                mixed[p] = mix(mixed[p], wanted[k, p])
        for p in range(bits.shape[0]):
            slot = mixed[p] >> unused_bits
            number = slots[slot]
            while number != FREE:
                # Unsigned, so that no check for an index from the end is compiled.
                row = np.uint64(number)
                is_same = known[row, 0] == kinds[r]
                for k in range(columns.shape[1]):
                    is_same &= known[row, 1 + k] == wanted[k, p]
                if is_same:
                    break
                slot = (slot + np.uint64(1)) & last_slot
                number = slots[slot]
            found[p, r] = there[number] if number != FREE else -1
            n_missing += found[p, r] < 0
    return n_missing == 0


@compiled_part
def count_unused_bits(slots: Ints) -> np.uint64:
    """Lower bits of a hash, which choose no slot: those of small whole numbers are much alike."""
    return np.uint64(64 - int(np.log2(len(slots))))


@compiled_part
def mix(mixed: np.uint64, value: int) -> np.uint64:
    """The hash of a set so far, and of one value more."""
    mixed = (mixed ^ np.uint64(value)) * MIXER
    return mixed ^ (mixed >> HALF_BITS)


@compiled_part
def are_equal(one: Ints, other: Ints) -> bool:
    """True if two sets are the same."""
    n_equal = 0
    for k in range(one.size):
        n_equal += one[k] == other[k]
    return n_equal == one.size
