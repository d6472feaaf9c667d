"""A market that exported programs trade, and a library that trades it."""

import sys

import pytest

from tests.support.exports import write_bars
from tests.support.vectorbt_stand_in import build_modules
from tests.support.worlds import make_bars


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """The path of 4,000 bars of a quarter of an hour."""
    path = tmp_path_factory.mktemp("market") / "bars.csv"
    write_bars(make_bars(3, 4000), path)
    return path


@pytest.fixture(params=["stand-in", "vectorbt"])
def vectorbt_library(request, monkeypatch):
    """vectorbt, or what stands in for it where it is not installed."""
    if request.param == "vectorbt":
        pytest.importorskip("vectorbt", reason="the library is not installed")
    else:
        for name, module in build_modules().items():
            monkeypatch.setitem(sys.modules, name, module)
