"""A recorded run whose entries rest and reverse."""

import pytest

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
    cancel=w.by_side(w.close < w.open, None),
    max_hold=12,
    name="breaking",
)


def test_a_schedule_of_such_a_strategy_names_the_members(tmp_path):
    """Which order of an earlier step stands is not kept; a member has orders."""
    market = GrowingMarket(tmp_path, 700, 600, strategy=SPEC, bounds={})
    source, counts = market.source(0), range(600, 690, 10)
    orders = [order for n in counts for order in source.read(market.write(n)).symbols[0].orders]
    assert {(order.side, order.kind, order.cancel) for order in orders} == {
        ("long", "stop", "close < open"), ("short", "limit", None),
    }  # fmt: skip
    now = market.write(600)
    judge_briefly(market.path, causal=False, every="2d", train="4d", purge=8, resamples=19)
    with pytest.raises(ConfigError, match=r":0$"):
        market.source().read(now)
    assert market.source(0).read(now).member == 0
