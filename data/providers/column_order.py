"""Meanings of columns of numbers that have no names, by what the numbers are."""

from collections.abc import Sequence

import numpy as np

from data.checks import PRICES, Floats

SWAPPED_SHARE = 0.5
"""Share of the step from a close to the next open that is left where the two are exchanged."""


def guess_meanings(columns: Sequence[Floats]) -> list[str]:
    """Meaning of each column [N] of rows in the order of time; empty for those of further ones.

    Of four columns side by side that lie closest to each other, the greatest is the high and the
    least the low; a bar opens near where the one before closed. Volume is the next column behind
    them, else before, that is no average price. `columns` are at least four.
    """
    firsts = range(len(columns) - len(PRICES) + 1)
    first = min(firsts, key=lambda k: _measure_spread(columns[k : k + len(PRICES)]))
    prices = np.array(columns[first : first + len(PRICES)])
    low, *_, high = np.argsort(np.nansum(prices, axis=1), kind="stable").tolist()
    if (prices[1] >= prices).all() and (prices[2] <= prices).all():
        high, low = 1, 2
    opening, close = (k for k in range(len(PRICES)) if k not in (high, low))
    if _are_swapped(prices[opening], prices[close]):
        opening, close = close, opening
    meanings = [""] * len(columns)
    for name, place in zip(PRICES, (opening, high, low, close), strict=True):
        meanings[first + place] = name
    for place in (*range(first + len(PRICES), len(columns)), *range(first)[::-1]):
        # An average price lies within its bar.
        if not ((columns[place] >= prices[low]) & (columns[place] <= prices[high])).all():
            meanings[place] = "volume"
            break
    return meanings


def _measure_spread(columns: Sequence[Floats]) -> float:
    """Range of the numbers of a row, as a share of the greatest."""
    rows = np.array(columns)
    top = float(np.nansum(rows.max(axis=0)))
    spread = (top - float(np.nansum(rows.min(axis=0)))) / top if top > 0 else np.inf
    return spread if np.isfinite(spread) else np.inf


def _are_swapped(opening: Floats, close: Floats) -> bool:
    """Whether bars begin where the one before ended if the two columns are exchanged."""
    as_named, exchanged = (
        float(np.nansum(np.abs(begin[1:] - end[:-1])))
        for begin, end in ((opening, close), (close, opening))
    )
    return exchanged < SWAPPED_SHARE * as_named
