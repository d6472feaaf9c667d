"""Coarser bars from finer ones, beside the rows of the corpus that merge them."""

from data import resample
from tests.support.series import MINUTE_NS, make_bars

HOUR_NS = 60 * MINUTE_NS


def test_marks_of_the_series_are_kept():
    """Symbol, source, simulation and earlier notes survive."""
    bars = make_bars(4, source="sample", is_simulated=True, notes=("first",))
    hour = resample(bars, HOUR_NS)
    assert (hour.symbol, hour.source, hour.is_simulated) == ("TEST", "sample", True)
    assert hour.notes[0] == "first"
