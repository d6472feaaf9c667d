"""Comparisons decided on codes of one byte: rows with genes, and rows with each other.

A map gives each value of a row a code from 1 to `HIGHEST_CODE`, and never a lower one to a higher
value at the same bar; NaN has 0. Different codes compare as the values do, and where codes are
equal the values are looked at. So a map can be badly chosen, which costs time, but cannot be wrong.
"""

import math
from typing import NamedTuple, TypeGuard

import numpy as np

from engine.conditions.cpu.parts import holds_gene
from engine.indicators.coders import map_wandering
from engine.runtime.compiling.loops import compiled_uncounted, compiled_unlocked
from engine.runtime.cpu.bitset import EMPTY, FULL, ONE, Words
from engine.runtime.cpu.row_memory import SlotMemory
from engine.runtime.cpu.simd4 import take
from engine.runtime.cpu.simd8 import (
    EIGHT,
    load_eight,
    load_indirect_word,
    load_value,
    lowest_place,
)
from engine.runtime.cpu.simd64 import (
    CODES,
    compare_codes,
    expect_number,
    load_number,
    load_numbers,
    store_code,
    store_codes,
)
from engine.runtime.cpu.threads import Threads
from engine.runtime.cpu.types import Floats, Ints
from strategy.conditions import AllOf, Compare, Condition, split_conjunction
from strategy.expressions import Arithmetic, GeneValue, holds_row
from strategy.genes import GenomeLayout
from strategy.nodes import Node

HIGHEST_CODE = 254

WITHIN_BOUNDS = HIGHEST_CODE - 5
"""Codes between the bounds of a gene: values beyond these share no code with a bound."""

AHEAD = 2048
"""Bytes by which codes are fetched before they are compared: processors stop at ends of pages."""

SAME = np.repeat(np.arange(HIGHEST_CODE + 1, dtype=np.uint8), CODES)
"""Every code at as many bars as are compared at once, in place of a row's for a number."""


class CodeMap(NamedTuple):
    """A map from values to codes."""

    low: Floats  # [T] value at which code 1 begins; [EIGHT] if the same at all bars
    scale: Floats  # likewise, codes per unit
    moves: int  # 0 if the same at all bars, else 1

    def encode(self, numbers: Floats) -> Ints:
        """Codes [n] of numbers, where the map is the same at all bars."""
        positions = np.fmin(np.fmax((numbers - self.low[0]) * self.scale[0], 0.0), HIGHEST_CODE - 1)
        return np.where(np.isnan(numbers), 0, 1 + positions.astype(np.int64))


def map_bounds(low: float, high: float) -> CodeMap:
    """The map of rows that are compared with a gene within bounds."""
    scale = WITHIN_BOUNDS / (high - low) if high > low else 1.0
    return CodeMap(np.full(EIGHT, low - 2.0 / scale), np.full(EIGHT, scale), 0)


def map_row(row: Floats, span: int) -> CodeMap:
    """The map of rows that are compared with each other: it wanders with one of them [T]."""
    known = np.isfinite(row)
    first = row[known.argmax()] if known.any() else 0.0
    return CodeMap(*map_wandering(np.where(known, row, first), span, HIGHEST_CODE), 1)


class Coded(NamedTuple):
    """A conjunction with some comparisons decided on codes."""

    compares: tuple[Compare, ...]  # of rows with real genes, and with each other
    rest: tuple[Condition, ...]  # the other conditions


def code_conjunction(conjunction: AllOf, layout: GenomeLayout) -> Coded | None:
    """The comparisons of a conjunction that codes decide; None where no gene makes it new."""
    conditions = tuple(split_conjunction(conjunction))
    if not any(is_coded(condition, layout) for condition in conditions):
        return None
    compares = tuple(some for some in conditions if is_coded(some, layout) or _has_two_rows(some))
    return Coded(compares, tuple(some for some in conditions if some not in compares))


def is_coded(condition: Node, layout: GenomeLayout) -> TypeGuard[Compare]:
    """True if a row is compared with a real gene: whole genes are decided once."""
    if not isinstance(condition, Compare) or condition.bars_ago:
        return False
    sides = condition.left, condition.right
    genes = [side for side in sides if isinstance(side, GeneValue)]
    return (
        len(genes) == 1 and any(map(_is_row, sides)) and not layout.gene(genes[0].gene.name).is_int
    )


def _has_two_rows(condition: Condition) -> TypeGuard[Compare]:
    return (
        isinstance(condition, Compare)
        and not condition.bars_ago
        and _is_row(condition.left)
        and _is_row(condition.right)
    )


def _is_row(node: Node) -> bool:
    """True if values are kept as a row: no arithmetic with a gene."""
    is_fresh = isinstance(node, Arithmetic) and any(map(holds_gene, node.parts))
    return holds_row(node) and not is_fresh


class RowCodes:
    """Codes of rows that have slots, under one map.

    Args:
        code_map: The map.
        n_bars: Bars T of each row.
    """

    def __init__(self, code_map: CodeMap, n_bars: int) -> None:
        self.map, self._n_bars = code_map, n_bars
        self._width = -(-n_bars // CODES) * CODES
        self._memory = SlotMemory(self._width)
        self._is_there = np.empty(0, np.bool_)

    def bring(self, slots: Ints, rows: Ints, workers: Threads) -> Ints:
        """Where codes of slots [n] lie; rows of all slots lie at addresses."""
        more = np.zeros(len(rows) - len(self._is_there), np.bool_)
        self._is_there = np.concatenate([self._is_there, more])
        missing = np.unique(slots[~self._is_there[slots]])
        if missing.size:
            shared, places, sources = (
                np.zeros(1, np.int64),
                self._memory.bring(missing),
                rows[missing],
            )
            workers.run(
                lambda _: encode_each(
                    sources, *self.map, self._n_bars, self._width, shared, places
                ),
                len(missing),
            )
            self._is_there[missing] = True
        return self._memory.bring(slots)

    def forget(self, slots: Ints) -> None:
        """Take up other rows in slots."""
        self._is_there[slots[slots < len(self._is_there)]] = False


class CodedSides(NamedTuple):
    """Both sides of K comparisons of U individuals, the larger one first."""

    codes: Ints  # [U, K, 2] addresses of codes of rows, or of the same code 64 times
    code_steps: Ints  # [K, 2] bytes from 64 codes to the next; 0 where they are the same
    values: Ints  # [U, K, 2] addresses of the values
    value_steps: Ints  # [K, 2] bytes from a value to the next; 0 for a number
    is_strict: Ints  # [K] whether equal values do not hold


@compiled_unlocked
def encode_each(
    rows: Ints,
    low: Floats,
    scale: Floats,
    moves: int,
    n_bars: int,
    width: int,
    shared: Ints,
    places: Ints,
) -> None:
    """Codes of one row after another, while other threads encode others.

    Args:
        rows: [n] addresses of rows [T].
        low: As `CodeMap` has it.
        scale: Likewise.
        moves: Likewise.
        n_bars: T.
        width: Codes of each row; behind the last bar they are 0.
        shared: [1] of all threads, counts the rows that were begun.
        places: [n] addresses that receive the codes.
    """
    whole = n_bars // EIGHT * EIGHT
    lows, scales = low.reshape((1, low.size)), scale.reshape((1, low.size))
    u = take(shared, 0)
    while u < rows.size:
        row, place = rows[u], places[u]
        for k in range(0, whole, EIGHT):
            value = load_numbers(row + k * EIGHT)
            at = load_eight(scales, 0, k * moves) * (value - load_eight(lows, 0, k * moves))
            store_codes(place + k, value, at, HIGHEST_CODE - 1.0)
        for k in range(whole, n_bars):
            number, code = load_number(row + k * EIGHT), 0
            if not math.isnan(number):
                position = (number - lows[0, k * moves]) * scales[0, k * moves]
                above = position if position > 0.0 else 0.0
                code = 1 + int(above if above < HIGHEST_CODE - 1.0 else HIGHEST_CODE - 1.0)
            store_code(place + k, code)
        for k in range(n_bars, width):
            store_code(place + k, 0)
        u = take(shared, 0)


@compiled_unlocked
def decide_coded(
    sides: CodedSides, others: Ints, first: int, last: int, shared: Ints, out: Words
) -> None:
    """Decide where all of some comparisons hold, of one individual after another.

    Other threads take others.

    Args:
        sides: Both sides of the comparisons, of which one at least has a number: behind the last
            bar codes are 0, as those of no number are.
        others: [U, J] addresses of words that must hold as well.
        first: Place of the first word that is read.
        last: One past the last one's; all others are 0.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [U, N] receives the bars at which they hold.
    """
    equal = np.empty((sides.is_strict.size, out.shape[1]), np.uint64)
    u = take(shared, 0)
    while u < out.shape[0]:
        out[u] = EMPTY
        for i in range(first, last):
            out[u, i] = FULL
        for k in range(others.shape[1]):
            for i in range(first, last):
                out[u, i] &= load_indirect_word(others, u, k, i)
        for k in range(sides.is_strict.size):
            larger, smaller = sides.codes[u, k, 0], sides.codes[u, k, 1]
            by_larger, by_smaller = sides.code_steps[k, 0], sides.code_steps[k, 1]
            larger += by_larger * first
            smaller += by_smaller * first
            for i in range(first, last):
                expect_number(larger + AHEAD)
                expect_number(smaller + AHEAD)
                above, equal[k, i] = compare_codes(larger, smaller)
                out[u, i] &= above | equal[k, i]
                larger += by_larger
                smaller += by_smaller
        # Values are looked up where they are on their way already.
        for i in range(first, last):
            if out[u, i] != 0:
                expect_values(sides, u, i, equal, out[u, i])
        for i in range(first, last):
            if out[u, i] != 0:
                out[u, i] = settle_word(sides, u, i, equal, out[u, i])
        u = take(shared, 0)


@compiled_uncounted
def expect_values(sides: CodedSides, u: int, i: int, equal: Words, word: np.uint64) -> None:
    """Have the values on their way that `settle_word` looks at."""
    for k in range(sides.is_strict.size):
        looked_at = word & load_value(equal, k, i)
        while looked_at != 0:
            bar = CODES * i + lowest_place(looked_at)
            looked_at &= looked_at - ONE
            for side in range(2):
                expect_number(sides.values[u, k, side] + bar * sides.value_steps[k, side])


@compiled_uncounted
def settle_word(sides: CodedSides, u: int, i: int, equal: Words, word: np.uint64) -> np.uint64:
    """A word without the bars at which equal codes [K, N] hid a comparison that does not hold."""
    for k in range(sides.is_strict.size):
        looked_at = word & load_value(equal, k, i)
        while looked_at != 0:
            place = lowest_place(looked_at)
            looked_at &= looked_at - ONE
            if not is_met(sides, u, k, CODES * i + place):
                word &= ~(ONE << np.uint64(place))
    return word


@compiled_uncounted
def is_met(sides: CodedSides, u: int, k: int, bar: int) -> bool:
    """True if a comparison holds at a bar, by its values."""
    larger: float = load_number(sides.values[u, k, 0] + bar * sides.value_steps[k, 0])
    smaller: float = load_number(sides.values[u, k, 1] + bar * sides.value_steps[k, 1])
    return larger > smaller or (sides.is_strict[k] == 0 and larger == smaller)
