"""Sources: what rows read, as columns [T] of one series."""

import numpy as np

from data.bars import Bars
from engine.backend import Floats


def compute_sources(bars: Bars) -> dict[str, Floats]:
    """The columns of bars, and more that follow from them bar by bar: name to [T], read-only.

    True range and close location as engine/README.md section 3 defines them, one rounding an
    operation.
    """
    sources = {name: getattr(bars, name) for name in ("open", "high", "low", "close", "volume")}
    high, low, close = bars.high, bars.low, bars.close
    span = high - low
    widest = span.copy()
    widest[1:] = np.maximum(
        np.maximum(span[1:], np.abs(high[1:] - close[:-1])), np.abs(low[1:] - close[:-1])
    )
    location = np.full(len(bars), np.nan)
    np.divide(close - low, span, out=location, where=high != low)
    sources |= {"true_range": widest, "close_location": location}
    for source in sources.values():
        source.flags.writeable = False
    return sources
