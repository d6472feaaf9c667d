"""Meanings of columns of numbers that have no names, by what the numbers are."""

from collections.abc import Sequence

import numpy as np

from data.checks import PRICES, Floats

LARGEST = 1e290
"""Numbers from here on are left out: sums of others are finite."""

MOST, SWAPPED_SHARE = 0.5, 0.5
"""Share of rows that decides, and share of the step from a close to the next open that is left at
most where the two are exchanged."""


def guess_meanings(columns: Sequence[Floats]) -> list[str]:
    """Meaning of each column [N] of rows in the order of time; empty for those of further ones.

    Of four columns side by side that lie closest to each other, the greatest is the high and the
    least the low; a bar opens near where the one before closed. Volume is the next column behind
    them, else before, that is no average price. `columns` are at least four.
    """
    firsts = range(len(columns) - len(PRICES) + 1)
    windows = [_select_whole(columns[k : k + len(PRICES)]) for k in firsts]
    first = min(firsts, key=lambda k: _measure_spread(windows[k]))
    prices = windows[first]
    low, *_, high = np.argsort(prices.sum(axis=1), kind="stable").tolist()
    if (prices[1] >= prices).all() and (prices[2] <= prices).all():
        high, low = 1, 2
    opening, close = (k for k in range(len(PRICES)) if k not in (high, low))
    if _are_swapped(prices[opening], prices[close]):
        opening, close = close, opening
    meanings = [""] * len(columns)
    for name, place in zip(PRICES, (opening, high, low, close), strict=True):
        meanings[first + place] = name
    least, greatest = columns[first + low], columns[first + high]
    for place in (*range(first + len(PRICES), len(columns)), *range(first)[::-1]):
        # An average price lies within its bar.
        if ((columns[place] >= least) & (columns[place] <= greatest)).mean() < MOST:
            meanings[place] = "volume"
            break
    return meanings


def _select_whole(columns: Sequence[Floats]) -> Floats:
    """Rows [K, M] in which all columns [N] hold a number whose sums are finite."""
    rows = np.array(columns)
    return rows[:, (np.abs(rows) < LARGEST).all(axis=0)]


def _measure_spread(rows: Floats) -> float:
    """Range of the numbers of a row, as a share of the greatest."""
    top = float(rows.max(axis=0).sum())
    return (top - float(rows.min(axis=0).sum())) / top if top > 0 else np.inf


def _are_swapped(opening: Floats, close: Floats) -> bool:
    """Whether bars begin where the one before ended if the two columns are exchanged."""
    as_named, exchanged = (
        float(np.abs(begin[1:] - end[:-1]).sum())
        for begin, end in ((opening, close), (close, opening))
    )
    return exchanged < SWAPPED_SHARE * as_named
