"""Laws of merging bars."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from data import resample
from tests.support.series import MINUTE_NS, START_NS, make_bars


@st.composite
def minutes(draw):
    """Minute bars with gaps, whole volumes and prices that wander."""
    at = np.array(sorted(draw(st.sets(st.integers(0, 400), min_size=2, max_size=80))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    quotes = np.sort(rng.integers(50, 200, (len(at), 4)), axis=1).astype(float)
    return make_bars(
        len(at),
        timestamp=START_NS + MINUTE_NS * at,
        timeframe_ns=MINUTE_NS,
        open=quotes[:, 1],
        high=quotes[:, 3],
        low=quotes[:, 0],
        close=quotes[:, 2],
        volume=rng.integers(0, 1000, len(at)).astype(float),
    )


@given(bars=minutes(), minutes_a_bar=st.sampled_from([2, 5, 15, 60, 1440]))
def test_merging_equals_a_plain_loop(bars, minutes_a_bar):
    """One bucket at a time, in plain Python, gives the same bars."""
    length_ns = minutes_a_bar * MINUTE_NS
    merged = resample(bars, length_ns)
    edges = sorted({int(t) // length_ns * length_ns for t in bars.timestamp})
    assert edges == merged.timestamp.tolist()
    for k, edge in enumerate(edges):
        inside = [i for i in range(len(bars)) if edge <= bars.timestamp[i] < edge + length_ns]
        assert merged.open[k] == bars.open[inside[0]]
        assert merged.close[k] == bars.close[inside[-1]]
        assert merged.high[k] == max(bars.high[i] for i in inside)
        assert merged.low[k] == min(bars.low[i] for i in inside)
        assert merged.volume[k] == sum(bars.volume[i] for i in inside)


@given(bars=minutes(), cut=st.integers(1, 79))
def test_later_bars_do_not_change_earlier_ones(bars, cut):
    """A merged bar that is over stays as it is when more bars arrive."""
    end = 1 + cut % (len(bars) - 1)
    columns = {n: getattr(bars, n)[:end] for n in ("open", "high", "low", "close", "volume")}
    prefix = make_bars(end, timestamp=bars.timestamp[:end], timeframe_ns=MINUTE_NS, **columns)
    early, late = resample(prefix, 5 * MINUTE_NS), resample(bars, 5 * MINUTE_NS)
    over = len(early) - 1
    for name in ("timestamp", "open", "high", "low", "close", "volume"):
        assert np.array_equal(getattr(early, name)[:over], getattr(late, name)[:over])
