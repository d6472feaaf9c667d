"""A market that exported programs trade."""

import pandas as pd
import pytest

from tests.support.worlds import make_bars


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """The path of 4,000 bars of a quarter of an hour."""
    bars, path = make_bars(3, 4000), tmp_path_factory.mktemp("market") / "bars.csv"
    names = ("open", "high", "low", "close", "volume")
    columns = {name: getattr(bars, name) for name in names}
    times = pd.to_datetime(bars.timestamp, utc=True) + pd.Timedelta("18262D")
    pd.DataFrame({"timestamp": times, **columns}).to_csv(path, index=False)
    return path
