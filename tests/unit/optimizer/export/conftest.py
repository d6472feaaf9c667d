"""A market that exported programs trade, and a library that trades it."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.support.exports import write_bars
from tests.support.vectorbt_stand_in import build_modules
from tests.support.worlds import make_bars


@pytest.fixture(scope="package")
def market(tmp_path_factory):
    """The path of 3,000 bars of a quarter of an hour."""
    path = tmp_path_factory.mktemp("market") / "bars.csv"
    write_bars(make_bars(3, 3000), path)
    return path


@pytest.fixture(scope="package")
def gapped_bars(tmp_path_factory):
    """The path of 3,000 bars whose opens lie away from the closes before them."""
    bars, path = make_bars(3, 3000), tmp_path_factory.mktemp("gapped") / "bars.csv"
    rng = np.random.default_rng(1)
    opened = np.round(bars.open * (1 + rng.normal(0.0, 0.01, len(bars))), 2)
    high, low = np.maximum(bars.high, opened), np.minimum(bars.low, opened)
    write_bars(replace(bars, open=opened, high=high, low=low), path)
    return path


@pytest.fixture
def stand_in(monkeypatch):
    """What stands in for vectorbt."""
    for name, module in build_modules().items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture(params=["stand-in", "vectorbt"])
def vectorbt_library(request):
    """vectorbt, or what stands in for it where it is not installed."""
    if request.param == "vectorbt":
        pytest.importorskip("vectorbt", reason="the library is not installed")
    else:
        request.getfixturevalue("stand_in")
