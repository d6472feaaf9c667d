"""A strategy whose entries rest and reverse, on a file that grows: states, then trades."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from optimizer.cli.signal_texts import describe_state
from optimizer.errors import ConfigError
from strategy import words as w
from tests.support.judging import judge_briefly
from tests.support.signals import GrowingMarket

SPEC = w.strategy(
    "Breaks out of the last bars, both ways.",
    long=w.close > w.ema(w.close, w.length("span", 8, 4, 20)),
    short=w.close < w.ema(w.close, w.length("span", 8, 4, 20)),
    entry=w.by_side(
        w.stop_at(w.highest(w.high, 5), expires=3), w.limit_at(w.close * 1.02, expires=6)
    ),
    stop=w.share(0.03),
    target=w.r_multiple(2),
    reverse=True,
    max_hold=12,
    name="breaking",
)


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A run of it, and a file that any test may cut anew."""
    folder = tmp_path_factory.mktemp("resting")
    return GrowingMarket(folder, 700, 600, strategy=SPEC, bounds={})


@pytest.fixture(scope="module")
def readings(market):
    """State after each of some bars."""
    source, counts = market.source(0), range(600, 690)
    return [source.read(market.write(count)) for count in counts]


def test_a_trade_begins_where_an_order_was_told(market, readings):
    """A stop that buys and a limit that sells fill at their price or above it."""
    seen = {"order": 0, "in a trade": 0, "entered": 0, "reversed": 0}
    for before, after in pairwise(readings):
        (old,), (new,) = before.symbols, after.symbols
        seen[old.state] += 1
        if new.trade is None or (old.trade is not None and old.trade.since == new.trade.since):
            continue
        orders = {order.side: order for order in old.orders}
        order = orders[new.trade.side]
        assert (order.side, order.kind) in (("long", "stop"), ("short", "limit"))
        assert order.price <= new.trade.entry < 1.05 * order.price
        seen["reversed" if old.trade is not None else "entered"] += 1
    assert min(seen.values()) >= 2, seen


def test_orders_are_told_in_words_and_json(readings):
    """Which, at which price, for how long; what reversing does; what is due at the next open."""
    states = [signal.symbols[0] for signal in readings]
    both = next(state for state in states if len(state.orders) == 2 and state.trade is None)
    words = "\n".join(describe_state(both))
    assert words.startswith(f"{both.symbol} at the close of the bar of {both.bar}: order\n")
    assert "\n  order: buy (long) stop " in words
    assert "\n  order: sell (short) limit " in words
    assert "(3% from the entry)\n  target 1: 1 of it, " in words
    assert "(2 R from the entry)\n  held 12 bars at most" in words
    held = next(state for state in states if state.orders and state.trade is not None)
    assert "closes the trade and turns it) " in "\n".join(describe_state(held))
    assert all(order.reverses for order in held.orders)
    assert {order.side for order in held.orders} != {held.trade.side}
    told_before = tuple(replace(order, is_new=False) for order in both.orders)
    assert (both.is_due, replace(both, orders=told_before).is_due) == (True, False)
    for signal in readings:
        (row,) = json.loads(json.dumps(signal.payload()))["symbols"]
        assert signal.is_due >= any(order["is_new"] for order in row["orders"])
        for order in row["orders"]:
            assert 0 < order["bars_left"] <= (3 if order["side"] == "long" else 6)


def test_a_schedule_of_such_a_strategy_names_the_members(market):
    """Which order of an earlier step stands is not kept."""
    now = market.write(600)
    judge_briefly(market.path, causal=False, every="2d", train="4d", purge=8, resamples=19)
    with pytest.raises(ConfigError, match=r"schedule whose entries rest or reverse.*:0$"):
        market.source().read(now)
    assert market.source(0).read(now).member == 0
