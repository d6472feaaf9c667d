"""A chart of a few lines shows the prices."""

import numpy as np

from optimizer.cli.data_tables import price_chart
from tests.support.series import make_bars


def test_rising_prices_rise_and_a_market_that_never_moves_is_one_line():
    """Both ends are labelled, and no range is no reason to divide by it."""
    chart = price_chart(make_bars(500))
    assert (chart[0].split(" ")[0], chart[-1].split()[0]) == ("225.2", "99.5")
    assert chart[0].rstrip().endswith("|")
    assert "|" in chart[-1][:20]
    flat = {name: np.full(50, 7.0) for name in ("open", "high", "low", "close")}
    chart = price_chart(make_bars(50, **flat))
    assert chart[-1] == "7 " + "|" * 50
    assert not any("|" in line for line in chart[:-1])
