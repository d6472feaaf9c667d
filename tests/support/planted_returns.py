"""Markets whose next return follows a known function of the last twenty, and markets of noise."""

import numpy as np

from data import Bars

HOUR_NS = 3600 * 10**9
SEEN = 20
"""Bars that the function reads."""

SPREAD = 0.006
"""Standard deviation of a bar's return."""


def planted_market(seed, length, share, symbol="PLANTED"):
    """A market from a seed.

    With v the sum of the last twenty log volumes over its standard deviation, `share` of the next
    return's variance is sin(1.8 v), and noise the rest. A line can say a quarter of it. Share 0 is
    noise alone; signal to noise is share / (1 - share).
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    noise, crowd = rng.standard_normal((2, length))
    reach = np.abs(rng.standard_normal((2, length)))
    sums = np.convolve(crowd, np.ones(SEEN))[:length] / np.sqrt(SEEN)
    signal = np.sqrt(2) * np.sin(1.8 * np.concatenate([[0.0], sums[:-1]]))
    returns = np.sqrt(share) * signal + np.sqrt(1 - share) * noise
    close = 100 * np.cumprod(1 + SPREAD * returns)
    open_ = np.concatenate([[100.0], close[:-1]])
    body = np.maximum(open_, close), np.minimum(open_, close)
    return Bars(
        timestamp=1_577_836_800 * 10**9 + HOUR_NS * np.arange(length),
        open=open_,
        high=body[0] * (1 + 0.3 * SPREAD * reach[0]),
        low=body[1] * (1 - np.minimum(0.3 * SPREAD * reach[1], 0.5)),
        close=close,
        volume=1000 * np.exp(0.4 * crowd),
        symbol=symbol,
        timeframe_ns=HOUR_NS,
        is_simulated=True,
    )
