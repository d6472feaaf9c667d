"""A market that exported programs trade, and a library that trades it."""

import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from tests.support.exports import write_bars
from tests.support.worlds import make_bars


class Order(NamedTuple):
    """A buy, or a sale where its size is below 0."""

    size: float
    price: float
    fees: float


class Portfolio(NamedTuple):
    """Filled orders, and what the account is worth in the end."""

    orders: SimpleNamespace
    worth: float

    def final_value(self):
        """What the account is worth at the last close."""
        return self.worth

    @classmethod
    def from_order_func(cls, close, next_order, *arguments, init_cash, **_):
        """Ask for the orders of each bar until there is none, and fill each in full."""
        cash, position, records = np.array([init_cash]), np.zeros(1), []
        for i in range(len(close)):
            for call in range(len(close)):
                context = SimpleNamespace(
                    i=i, call_idx=call, last_cash=cash, last_position=position
                )
                column, order = next_order(context, *arguments)
                if column < 0:
                    break
                paid = order.size * order.price
                cash -= paid + order.fees * abs(paid)
                position += order.size
                records.append((len(records), i, abs(order.size), order.price))
        frame = pd.DataFrame(records, columns=["id", "idx", "size", "price"])
        worth = float(cash[0] + position[0] * close.iloc[-1])
        return cls(SimpleNamespace(records=frame), worth)


def build_modules():
    """Modules by their names, as `sys.modules` has them."""
    names = ("vectorbt", "vectorbt.portfolio", "vectorbt.portfolio.nb")
    modules = {name: ModuleType(name) for name in names}
    modules["vectorbt"].Portfolio = Portfolio
    modules["vectorbt.portfolio.nb"].order_nb = Order
    modules["vectorbt.portfolio.nb"].order_nothing_nb = lambda: None
    return modules


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
    """Modules in which scripts run without vectorbt: no check of what the library does."""
    for name, module in build_modules().items():
        monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture(params=["stand-in", "vectorbt"])
def vectorbt_library(request):
    """vectorbt, or what stands in for it where it is not installed."""
    if request.param == "vectorbt":
        pytest.importorskip("vectorbt", reason="the library is not installed")
    else:
        request.getfixturevalue("stand_in")
