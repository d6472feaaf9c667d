"""Rows that lie in slots, as their readable definitions compute them."""

import numpy as np

from engine.backend import RowForm
from engine.fast_case import HOLED, SOURCES, find_fast_case
from engine.indicators.plan import list_reads
from engine.indicators.row_bank import RowBank
from strategy.indicator_registry import COMPUTED_COLUMNS, KINDS

FORMS = [
    RowForm(indicator, source)
    for indicator in ("level", "ema", "sma", "zscore")
    for source in SOURCES
    if (indicator, source) != ("ema", HOLED)
]
"""Every form of a row that lies in a slot."""


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


def list_rows(spec, genomes):
    """Form and lengths of the distinct rows that a population reads in the fast case."""
    names, _ = RowBank(list_reads(find_fast_case(spec)), 0, fill=None).list_distinct(genomes)
    return names
