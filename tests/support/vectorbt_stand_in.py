"""A stand-in for the part of vectorbt that an exported script asks: orders filled as stated.

It lets scripts run where the library is not installed; it is no check of what the library does.
"""

from types import ModuleType, SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd


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
