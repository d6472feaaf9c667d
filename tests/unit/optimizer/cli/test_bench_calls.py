"""Series for timing that are longer than the data: a repetition carries on."""

import numpy as np
import pytest

from optimizer.cli.bench_calls import extend_bars
from tests.support.worlds import make_bars

BARS = make_bars(3, 900, jump=0.1)


@pytest.mark.parametrize("count", [10, 900, 901, 2500])
def test_extended_bars_continue(count):
    """A repetition opens where the last one closed, a bar later; the end is the series' own."""
    longer = extend_bars(BARS, count)
    assert len(longer) == count
    assert (np.diff(longer.timestamp) > 0).all()
    ratio = longer.close / longer.open
    shown = min(count, len(BARS))
    np.testing.assert_allclose(ratio[-shown:], (BARS.close / BARS.open)[-shown:], rtol=1e-12)
    if count > len(BARS):
        seam = count - len(BARS)
        assert longer.open[seam] == pytest.approx(longer.close[seam - 1], rel=1e-12)
