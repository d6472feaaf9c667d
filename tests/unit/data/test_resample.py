"""Coarser bars from finer ones, beside the rows of the corpus that merge them."""

import numpy as np

from data import resample
from tests.support.series import MINUTE_NS, START_NS, make_bars

HOUR_NS, DAY_NS = 60 * MINUTE_NS, 1440 * MINUTE_NS


def test_an_hour_is_its_quarters_and_knows_no_later_one():
    """Marks of the series are kept; aligned values are the last; a beginning is the beginning."""
    mood = np.random.default_rng(1).normal(size=40)
    bars = make_bars(40, extra={"mood": mood}, source="sample", is_simulated=True, notes=("first",))
    hours = resample(bars, HOUR_NS)
    assert (hours.symbol, hours.source, hours.is_simulated) == ("TEST", "sample", True)
    assert hours.notes[0] == "first"
    assert hours.extra["mood"].tolist() == mood[3::4].tolist()
    assert resample(bars, bars.timeframe_ns) is bars
    weeks = resample(make_bars(9, step_ns=DAY_NS), 7 * DAY_NS)
    assert weeks.timestamp.tolist() == [START_NS, START_NS + 7 * DAY_NS]
    for end in range(4, 40, 4):
        part = resample(bars.until(end), HOUR_NS)
        for name in ("open", "high", "low", "close", "volume"):
            assert getattr(part, name).tolist() == getattr(hours, name)[: end // 4].tolist()
        assert part.extra["mood"].tolist() == hours.extra["mood"][: end // 4].tolist()
