"""Orders of each side end by a condition of their own."""

from dataclasses import replace

import numpy as np
import pytest

from data.timeframe import MINUTE_NS
from strategy import words as w
from tests.support.ledgers import make_flat_bars
from tests.support.references import trade_once

SIGNAL, ENDS_LONGS, ENDS_SHORTS = 1.0, 2.0, 3.0
"""Volume of a bar that asks, and of bars that end orders."""

ASKS, LONGS_END, SHORTS_END = (w.equals(w.volume, mark) for mark in (1, 2, 3))


def straddle(cancel):
    """Stop orders of both sides that wait at 110 and at 90."""
    level = 0 * w.close
    return w.strategy(
        "Waits on both sides.", long=ASKS, short=ASKS, stop=w.share(0.5), cancel=cancel,
        entry=w.by_side(w.stop_at(110 + level), w.stop_at(90 + level)),
    )  # fmt: skip


def build_bars(volumes, touch):
    """Bars at 100 that end with one that reaches 110 or 90, and one behind it."""
    volume = np.array([0.0, SIGNAL, *volumes, 0.0, 0.0])
    high, low = (np.full(len(volume), price) for price in (101.0, 99.0))
    high[-2], low[-2] = (111.0, 99.0) if touch == "long" else (101.0, 89.0)
    bars = make_flat_bars(*[100.0] * len(volume), step_ns=MINUTE_NS, high=high, low=low)
    return replace(bars, volume=volume)


@pytest.mark.parametrize(
    ("cancel", "volumes", "filled"),
    [
        (w.by_side(LONGS_END, SHORTS_END), [0.0], {"long", "short"}),
        (w.by_side(LONGS_END, SHORTS_END), [ENDS_LONGS], {"short"}),
        (w.by_side(LONGS_END, SHORTS_END), [ENDS_SHORTS], {"long"}),
        (w.by_side(LONGS_END, SHORTS_END), [ENDS_SHORTS, ENDS_LONGS], set()),
        (w.by_side(None, SHORTS_END), [ENDS_SHORTS, ENDS_LONGS], {"long"}),
        (LONGS_END, [ENDS_LONGS], set()),
        (LONGS_END, [ENDS_SHORTS], {"long", "short"}),
    ],
)
def test_each_sides_orders_end_by_its_own_condition(cancel, volumes, filled):
    """A close at which it holds ends the orders of its side alone; one condition ends both."""
    strategy = straddle(cancel)
    for touch, side in (("long", 1), ("short", -1)):
        (ledger,) = trade_once(strategy, [build_bars(volumes, touch)])
        assert ledger.side.tolist() == [side] * (touch in filled)
        assert (ledger.orders, ledger.expired) == (2, 2 - (touch in filled))
