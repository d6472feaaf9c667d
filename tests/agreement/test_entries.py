"""Limit entries, stop entries and two targets beside backtesting.py, by its rules.

Each program reads the same bars and fills its own orders: what it cannot know of the other is how
the other fills. Levels are the same products of the same prices, so that prices are equal in every
bit.
"""
# ruff: noqa: F403, F405

import warnings
from collections import Counter
from importlib.util import find_spec

import numpy as np
import pytest

from strategy.words import *
from tests.agreement.test_backtesting_py import HOUR_NS, read_bars
from tests.support.agreement import Suite, run_strategy
from tests.support.references import BACKEND_PARAMETERS

pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(not find_spec("backtesting"), reason="not installed (extra 'dev')"),
]

NEAR, SPAN, BEFORE = 0.0015, 12, 24
"""A limit's distance from the close; bars of whose extreme a stop order waits; bars of a trend."""

TARGETS = {"limit entries": (0.003,), "stop entries": (0.006,), "two targets": (0.003, 0.006)}
STOP = 0.008
"""Distances of targets and stop from the close that signals, shares of it."""

AT_GAP = "an open beyond the target fills at that open there, at the target here"
IN_ENTRY_BAR = "stop and target are looked at from the bar after the fill on there"


def build_plan(kind):
    """With the trend of a day, both ways."""

    def aside(share):
        return level(close * (1 + share)), level(close * (1 - share))

    entry = {
        "limit entries": by_side(limit_at(close * (1 - NEAR), 1), limit_at(close * (1 + NEAR), 1)),
        "stop entries": by_side(stop_at(highest(high, SPAN), 1), stop_at(lowest(low, SPAN), 1)),
    }
    long_legs, short_legs = zip(*(aside(share) for share in TARGETS[kind]), strict=True)
    share = 1 / len(long_legs)
    return strategy(
        "Follows the day.",
        long=close > lag(close, BEFORE),
        short=close < lag(close, BEFORE),
        entry=entry.get(kind),
        stop=by_side(*aside(-STOP)),
        targets=by_side([(leg, share) for leg in long_legs], [(leg, share) for leg in short_legs]),
    )


def list_legs(kind, bars, engine_name):
    """Parts of our trades, by entry bar and number of the target: side, exit bar and prices."""
    ledger, parts = run_strategy(build_plan(kind), bars, engine_name), {}
    for k in range(len(ledger)):
        for leg in range(len(TARGETS[kind])):
            bar, price = int(ledger.leg_bar[k, leg]), float(ledger.leg_price[k, leg])
            if bar < 0:
                bar, price = int(ledger.exit_bar[k]), float(ledger.exit[k])
            key = int(ledger.entry_bar[k]), leg
            parts[key] = int(ledger.side[k]), bar, float(ledger.entry[k]), price
    return parts


def trade_by_backtesting_py(kind, frame):
    """The same of their strategy, which orders a unit for each target."""
    from backtesting import Backtest, Strategy

    class Waiting(Strategy):
        def init(self):
            before, prices = self.data.Close.s.shift(BEFORE), self.data.Close.s
            self.sides = np.sign(prices - before).fillna(0).astype(int).to_numpy()
            self.levels = {
                1: self.data.High.s.rolling(SPAN).max().to_numpy(),
                -1: self.data.Low.s.rolling(SPAN).min().to_numpy(),
            }

        def next(self):
            i, price = len(self.data) - 1, self.data.Close[-1]
            for order in list(self.orders):
                if not order.is_contingent:
                    order.cancel()
            side = self.sides[i]
            if self.position or not side:
                return
            stop, waits = price * (1 - side * STOP), {}
            if kind == "limit entries":
                waits = {"limit": price * (1 - side * NEAR)}
            elif kind == "stop entries":
                waits = {"stop": self.levels[side][i]}
            for leg, share in enumerate(TARGETS[kind]):
                target = price * (1 + side * share)
                filled = next(iter(waits.values()), price)
                # The library refuses other orders; here they are no trade.
                if side * stop < side * filled < side * target:
                    place = self.buy if side > 0 else self.sell
                    place(size=1, sl=stop, tp=target, tag=leg, **waits)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = Backtest(frame, Waiting, cash=1e6, finalize_trades=True).run()
    return {
        (trade.EntryBar, trade.Tag): (
            int(np.sign(trade.Size)), trade.ExitBar, trade.EntryPrice, trade.ExitPrice
        )
        for trade in run["_trades"].itertuples()
    }  # fmt: skip


def name_rule(entry_bar, mine, others, opens):
    """Why a part of a trade ends otherwise there; empty where both are equal."""
    side, bar, entry, leave = mine
    assert others[::2] == (side, pytest.approx(entry, rel=1e-14, abs=0))
    if others[1] == bar and others[3] == pytest.approx(leave, rel=1e-14, abs=0):
        return ""
    if bar == entry_bar < others[1]:
        return IN_ENTRY_BAR
    assert others[1] == bar
    assert others[3] == opens[bar]
    assert side * others[3] > side * leave
    return AT_GAP


def count_rules(ours, theirs, bars):
    """Parts of trades by the rule by which they differ; all begin at the same bars and prices."""
    assert ours.keys() == theirs.keys()
    return Counter(name_rule(key[0], ours[key], theirs[key], bars.open) for key in ours)


def measure():
    """The suite: parts of trades of each kind beside those of backtesting.py."""
    bars, frame = read_bars("EURUSD", HOUR_NS)
    rows = []
    for kind in TARGETS:
        theirs = trade_by_backtesting_py(kind, frame)
        rules = count_rules(list_legs(kind, bars, "cpu"), theirs, bars)
        message = "; ".join(sorted(filter(None, rules)))
        rows.append((f"{kind}, EURUSD", len(theirs), len(theirs), rules[""], message))
    return Suite(
        "backtesting.py, orders that rest",
        "trades and their parts",
        *(sum(row[k] for row in rows) for k in (1, 2, 3)),
        AT_GAP,
        ("what", "cases", "sayable", "equal", "what differs"),
        tuple(tuple(map(str, row)) for row in rows),
    )


@pytest.fixture(scope="module")
def euro():
    """Bars of a currency, and what backtesting.py makes of each kind of trade."""
    bars, frame = read_bars("EURUSD", HOUR_NS)
    return bars, frame, {kind: trade_by_backtesting_py(kind, frame) for kind in TARGETS}


COUNTS = {"limit entries": 104, "stop entries": 83, "two targets": 168}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("engine_name", ["compiled_reference", *BACKEND_PARAMETERS])
def test_backtesting_py_fills_orders_alike(engine_name, kind, euro):
    """Each trade begins and ends at the same bars and prices, but where an open is better there."""
    bars, _, theirs = euro
    rules = count_rules(list_legs(kind, bars, engine_name), theirs[kind], bars)
    assert rules.total() == COUNTS[kind]
    assert rules[AT_GAP] == {"limit entries": 2, "stop entries": 0, "two targets": 2}[kind]
    assert rules[IN_ENTRY_BAR] == 0
