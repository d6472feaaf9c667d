"""Comparisons decided on codes (`engine.indicators.coders`): rows with genes, and each other."""

import math
from typing import NamedTuple, TypeGuard

import numpy as np

from engine.conditions.cpu.parts import is_fresh
from engine.indicators.coders import HIGHEST_CODE, CodeMap
from engine.indicators.individuals import list_gene_columns
from engine.runtime.compiling.loops import compiled_part, compiled_uncounted, compiled_unlocked
from engine.runtime.cpu.bitset import EMPTY, FULL, ONE, Words
from engine.runtime.cpu.memory import SlotMemory
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
from strategy.expressions import GeneValue, holds_row
from strategy.genes import GenomeLayout
from strategy.nodes import Node

AHEAD = 2048
"""Bytes by which codes are fetched before they are compared: processors stop at ends of pages."""

SAME = np.repeat(np.arange(HIGHEST_CODE + 1, dtype=np.uint8), CODES)
"""Every code at as many bars as are compared at once, in place of a row's for a number."""


class Coded(NamedTuple):
    """A conjunction with some comparisons decided on codes."""

    compares: tuple[Compare, ...]  # of rows with real genes, and with each other
    rest: tuple[Condition, ...]  # the other conditions


def code_conjunction(conjunction: AllOf, layout: GenomeLayout) -> Coded | None:
    """The comparisons of a conjunction that codes decide; None where no gene makes it new."""
    conditions = tuple(split_conjunction(conjunction))
    if not any(is_coded(some, layout) and not some.bars_ago for some in conditions):
        return None
    compares = tuple(
        some for some in conditions if is_coded(some, layout) or _is_of_two_rows(some, layout)
    )
    return Coded(compares, tuple(some for some in conditions if some not in compares))


def is_coded(condition: Node, layout: GenomeLayout) -> TypeGuard[Compare]:
    """True if a row is compared with a real gene: whole genes are decided once."""
    if not isinstance(condition, Compare) or condition.bars_ago > CODES:
        return False
    sides = condition.left, condition.right
    genes = [side for side in sides if isinstance(side, GeneValue)]
    return (
        len(genes) == 1 and any(map(_is_row, sides)) and not layout.gene(genes[0].gene.name).is_int
    )


def _is_of_two_rows(condition: Condition, layout: GenomeLayout) -> TypeGuard[Compare]:
    """True if rows are compared that genes choose apart: words of one row alone are kept."""
    if not isinstance(condition, Compare) or condition.bars_ago:
        return False
    sides, columns = (condition.left, condition.right), list_gene_columns(condition, layout)
    return all(_is_row(side) and list_gene_columns(side, layout) != columns for side in sides)


def _is_row(node: Node) -> bool:
    """True if values are kept as a row: no arithmetic with a gene."""
    return holds_row(node) and not is_fresh(node)


class RowCodes:
    """Codes of rows that have slots, under one map.

    Args:
        code_map: The map.
        n_bars: Bars T of each row.
    """

    def __init__(self, code_map: CodeMap, n_bars: int) -> None:
        self.map, self._n_bars = code_map, n_bars
        self._width = -(-n_bars // CODES) * CODES
        self._memory = SlotMemory(CODES + self._width)
        self._is_there = np.empty(0, np.bool_)

    def bring(self, slots: Ints, rows: Ints, workers: Threads) -> Ints:
        """Where codes of slots [n] lie; rows of all slots lie at addresses."""
        more = np.zeros(len(rows) - len(self._is_there), np.bool_)
        self._is_there = np.concatenate([self._is_there, more])
        missing = np.unique(slots[~self._is_there[slots]])
        if missing.size:
            shared, places, sources = (
                np.zeros(1, np.int64),
                self._find_places(missing),
                rows[missing],
            )
            workers.run(
                lambda _: encode_each(
                    sources, *self.map, self._n_bars, self._width, shared, places
                ),
                len(missing),
            )
            self._is_there[missing] = True
        return self._find_places(slots)

    def _find_places(self, slots: Ints) -> Ints:
        """Where codes of slots [n] begin, behind those of no bars."""
        return self._memory.bring(slots) + CODES

    def forget(self, slots: Ints) -> None:
        """Take up other rows in slots."""
        self._is_there[slots[slots < len(self._is_there)]] = False


MOST_IN_TURN, TURNS = 16, 4
"""Individuals that a thread takes at once, at most: it decides for all of them, then walks, so that
neither takes the other's memory from its caches; and turns of each thread, at least."""

NOT_SHARED: tuple[Ints, Ints] = np.empty((0, 0), np.int64), np.empty(0, np.int64)
"""In place of sets and an order of individuals, where each is decided for itself."""


class AskedWords(NamedTuple):
    """Words of C conditions of U individuals, decided where they are read.

    A condition holds where all of its K comparisons do, and J words that are there already.
    Comparisons have the larger side first, and one at least has a number and is of the bar itself:
    before the first bar and behind the last codes are 0, as those of no number are.
    """

    sides: Ints  # [U, K, 4] addresses of both sides' codes, or of one code 64 times, then of values
    steps: Ints  # [K, 5] bytes to the next 64 codes or value, 0 for a number; 1 if equal ones fail
    others: Ints  # [U, J] addresses of words
    spans: Ints  # [C, 4] first comparison and one past the last, then the same of words
    sets: Ints  # [U, C] equal where words are
    order: Ints  # [U] individuals, those with equal words of the first condition side by side
    first: int  # first word that is read; all others are 0
    last: int  # one past the last
    turn: int  # individuals that a thread takes at once


class TurnRoom(NamedTuple):
    """Room of a thread that decides for the individuals of a turn."""

    rows: Ints  # [n, C] rows of words
    equal: Words  # [K, N] bars with equal codes


def join_words(addresses: Ints, n_words: int) -> AskedWords:
    """Words of one condition that hold where all do that lie at addresses [U, J]."""
    count, n_joined = addresses.shape
    return AskedWords(
        np.empty((count, 0, 4), np.int64), np.empty((0, 5), np.int64), addresses,
        np.array([[0, 0, 0, n_joined]]), *NOT_SHARED, 0, n_words, 1,
    )  # fmt: skip


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
        width: Codes of each row; behind the last bar they are 0, as so many before the first are
            that are compared at once.
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
        for k in range(CODES):
            store_code(place - CODES + k, 0)
        u = take(shared, 0)


@compiled_unlocked
def decide_asked(asked: AskedWords, shared: Ints, out: Words) -> None:
    """Decide conditions of one individual after another, while other threads take others.

    Args:
        asked: The conditions.
        shared: [1] of all threads, counts the individuals that were begun.
        out: [U, C, N] receives the bars at which they hold.
    """
    equal = np.empty((asked.steps.shape[0], out.shape[2]), np.uint64)
    u = take(shared, 0)
    while u < out.shape[0]:
        for c in range(out.shape[1]):
            decide_words(asked, u, c, equal, out[u], c)
        u = take(shared, 0)


@compiled_part
def make_turn_room(asked: AskedWords, words: Words) -> TurnRoom:
    """Room of a thread with so many words."""
    rows = np.empty((asked.turn, asked.spans.shape[0]), np.int64)
    return TurnRoom(rows, np.empty((asked.steps.shape[0], words.shape[1]), np.uint64))


@compiled_part
def decide_turn(asked: AskedWords, first: int, last: int, room: TurnRoom, words: Words) -> None:
    """Decide conditions of individuals from one place in their order to another.

    Args:
        asked: The conditions.
        first: First place.
        last: One past the last.
        room: Receives the rows of words where each condition of each of them lies.
        words: [most individuals of a turn times C, N] receives the words.
    """
    n_conditions = asked.spans.shape[0]
    for place in range(first, last):
        u, turn = asked.order[place], place - first
        for c in range(n_conditions):
            row = turn * n_conditions + c
            if turn > 0 and asked.sets[u, c] == asked.sets[asked.order[place - 1], c]:
                row = room.rows[turn - 1, c]
            else:
                decide_words(asked, u, c, room.equal, words, row)
            room.rows[turn, c] = row


@compiled_uncounted
def point_to_words(choices: Ints, p: int, rows: Ints, turn: int) -> None:
    """Have conditions [P, 2] of an individual, by number, point to rows of words [turns, C]."""
    for side in range(choices.shape[1]):
        if choices[p, side] >= 0:
            choices[p, side] = rows[turn, choices[p, side]]


@compiled_uncounted
def decide_words(asked: AskedWords, u: int, c: int, equal: Words, out: Words, row: int) -> None:
    """Decide a condition of an individual into a row, given room [K, N] for equal codes."""
    first, last = asked.first, asked.last
    for i in range(out.shape[1]):
        out[row, i] = FULL if first <= i < last else EMPTY
    for k in range(asked.spans[c, 2], asked.spans[c, 3]):
        for i in range(first, last):
            out[row, i] &= load_indirect_word(asked.others, u, k, i)
    begin, end = asked.spans[c, 0], asked.spans[c, 1]
    for k in range(begin, end):
        larger, smaller = asked.sides[u, k, 0], asked.sides[u, k, 1]
        by_larger, by_smaller = asked.steps[k, 0], asked.steps[k, 1]
        larger += by_larger * first
        smaller += by_smaller * first
        for i in range(first, last):
            expect_number(larger + AHEAD)
            expect_number(smaller + AHEAD)
            above, equal[k, i] = compare_codes(larger, smaller)
            out[row, i] &= above | equal[k, i]
            larger += by_larger
            smaller += by_smaller
    if begin < end:
        # Values are looked up where they are on their way already.
        for i in range(first, last):
            if out[row, i] != 0:
                expect_values(asked, u, c, i, equal, out[row, i])
        for i in range(first, last):
            if out[row, i] != 0:
                out[row, i] = settle_word(asked, u, c, i, equal, out[row, i])


@compiled_uncounted
def expect_values(asked: AskedWords, u: int, c: int, i: int, equal: Words, word: np.uint64) -> None:
    """Have the values on their way that `settle_word` looks at."""
    for k in range(asked.spans[c, 0], asked.spans[c, 1]):
        looked_at = word & load_value(equal, k, i)
        while looked_at != 0:
            bar = CODES * i + lowest_place(looked_at)
            looked_at &= looked_at - ONE
            for side in range(2, 4):
                expect_number(asked.sides[u, k, side] + bar * asked.steps[k, side])


@compiled_uncounted
def settle_word(
    asked: AskedWords, u: int, c: int, i: int, equal: Words, word: np.uint64
) -> np.uint64:
    """A word without the bars at which equal codes [K, N] hid a comparison that does not hold."""
    for k in range(asked.spans[c, 0], asked.spans[c, 1]):
        looked_at = word & load_value(equal, k, i)
        while looked_at != 0:
            place = lowest_place(looked_at)
            looked_at &= looked_at - ONE
            if not is_met(asked, u, k, CODES * i + place):
                word &= ~(ONE << np.uint64(place))
    return word


@compiled_uncounted
def is_met(asked: AskedWords, u: int, k: int, bar: int) -> bool:
    """True if a comparison holds at a bar, by its values."""
    larger: float = load_number(asked.sides[u, k, 2] + bar * asked.steps[k, 2])
    smaller: float = load_number(asked.sides[u, k, 3] + bar * asked.steps[k, 3])
    return larger > smaller or (asked.steps[k, 4] == 0 and larger == smaller)
