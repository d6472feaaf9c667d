"""Rows that lie in slots, as their readable definitions compute them."""

import numpy as np

from strategy.indicator_registry import COMPUTED_COLUMNS, KINDS


def count_lengths(form):
    """How many lengths a form takes."""
    return int(form.indicator != "level")


def readable_source(bars, name):
    """What a row reads, [T]."""
    if name not in COMPUTED_COLUMNS:
        return getattr(bars, name)
    loop, columns = COMPUTED_COLUMNS[name]
    with np.errstate(all="ignore"):
        return loop(*(getattr(bars, column) for column in columns))


def readable_row(form, values, *lengths):
    """A row [T] of values [T], in plain Python."""
    if form.indicator == "level":
        return values
    with np.errstate(all="ignore"):
        return KINDS[form.indicator].loop(values, *lengths)
