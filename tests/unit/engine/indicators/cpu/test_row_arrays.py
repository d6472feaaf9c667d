"""Rows by address: the bits of their definitions, on every path."""

import ctypes

import numpy as np

from engine.fast_case import find_form
from engine.indicators.cpu.row_arrays import TOGETHER, RowArrays
from engine.indicators.cpu.trends import build_series_rows
from engine.runtime.cpu.threads import Threads
from strategy.expressions import Arithmetic, Call, Column, Number
from tests.support.slot_rows import FORMS, count_lengths
from tests.support.worlds import make_bars

BARS = make_bars(7, 400, gaps=0.05, jump=0.2, flat=0.1, tick=0.5)
LENGTHS = (2, 3, 16, 100, 399, 400, 405)


def list_known():
    """Each form of a row that kernels know, of several lengths; more than they take at once."""
    trees = []
    for form in FORMS:
        for length in LENGTHS if count_lengths(form) else (1,):
            if form.indicator == "level":
                trees.append(Column(form.source))
            elif form == ("sma", "true_range"):
                trees.append(Call("atr", None, (Number(float(length)),)))
            else:
                trees.append(Call(form.indicator, Column(form.source), (Number(float(length)),)))
    return trees


def read_row(arrays, slot):
    """What lies at the address of a slot, as bytes."""
    return ctypes.string_at(int(arrays.addresses[slot]), 8 * len(BARS))


def test_rows_have_the_bits_of_their_definitions():
    """Those that kernels compute, those that they do not, and rows that took another's place."""
    (rows,) = build_series_rows([BARS], 2**26)
    known = list_known()
    others = [Call("rsi", Column("close"), (Number(7.0),)), Column("hl2"),
              Arithmetic("-", Column("close"), known[3])]  # fmt: skip
    assert len(known) > TOGETHER
    assert [find_form(tree) is None for tree in (*known, *others)] == [False] * len(known) + [
        True
    ] * len(others)
    trees = [*known, *others]
    arrays = RowArrays(rows, Threads(3))
    arrays.fill(trees, np.arange(len(trees)))
    for slot, tree in enumerate(trees):
        assert read_row(arrays, slot) == rows.values(tree, {}).tobytes(), tree
    arrays.fill([others[0], known[9]], np.array([4, len(trees)]))
    for slot, tree in ((4, others[0]), (len(trees), known[9]), (5, known[5])):
        assert read_row(arrays, slot) == rows.values(tree, {}).tobytes()
