"""Finer bars of null markets: they move with the bars that are made up of them, and turn with them.

As ratios to the open of their bar they keep their order within it, so that a rebuilt bar is made up
of them in every bit wherever the bar was from which it comes.
"""

import numpy as np

from data.bars import Bars
from data.checks import Flags, Floats, Ints
from data.finer import FinerBars


def rebuild_finer(
    bars: Bars, opens: Floats, kept: int, bodies: Ints, turns: Flags, mean: float
) -> FinerBars:
    """Finer bars of a null market.

    Those of bars that were not made up of any are left out.

    Args:
        bars: The market, with finer bars.
        opens: [T] of the null market.
        kept: Bars before the first that moves; these stay to the last bit.
        bodies: [T] number of the bar whose body stands at each bar.
        turns: [T] bars whose body is turned about the mean.
        mean: Of closes over opens.
    """
    assert bars.finer is not None
    first, end = (edge[bodies] for edge in bars.finer_spans)
    counts = end - first
    bar = np.repeat(np.arange(len(bars)), counts)
    # The k-th finer bar of each bar, all bars one after the other.
    within = np.arange(len(bar)) - np.repeat(counts.cumsum() - counts, counts)
    taken = first[bar] + within
    ratios = bars.finer.prices[:, taken] / bars.open[bodies][bar]
    ratios = np.where(turns[bar], _turn_ratios(ratios, within == 0, mean), ratios)
    prices = np.where(bar < kept, bars.finer.prices[:, taken], ratios * opens[bar])
    moved = bars.timestamp[bar] - bars.timestamp[bodies][bar]
    times = bars.finer.timestamp[taken] + moved
    return FinerBars(times, prices, bars.finer.timeframe_ns, bars.finer.source)


def _turn_ratios(ratios: Floats, is_first: Flags, mean: float) -> Floats:
    """Ratios [4, K] about the mean; the first of a bar opens with it, whichever way it goes."""
    open_, high, low, close = ratios
    opened = np.where(is_first, 1.0, 2 * mean - open_)
    top = np.where(is_first, np.maximum(2 * mean - low, 1.0), 2 * mean - low)
    bottom = np.where(is_first, np.minimum(2 * mean - high, 1.0), 2 * mean - high)
    return np.array([opened, top, bottom, 2 * mean - close])
