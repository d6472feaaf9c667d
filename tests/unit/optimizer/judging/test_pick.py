"""The pick is the strongest member whose account stands at every close, by whatever rule."""

from functools import partial

import numpy as np
import pytest

from data.bars import Bars
from optimizer.errors import ConfigError
from optimizer.judging.pick import ask_pick, choose_member, replay_gone, select_pick
from optimizer.judging.schedule import StepPick, StepSetup, choose_picks
from optimizer.judging.schedule_record import build_schedule_record
from optimizer.run.problem import answer
from optimizer.schedule.dates import parse_schedule
from optimizer.search.in_step import run_alone
from strategy.words import (
    account,
    close,
    crosses_below,
    gene,
    notional,
    rsi,
    share,
    strategy,
    whole,
)
from tests.support.judging import make_task

HOUR_NS = 3600 * 10**9

DIPS = strategy(
    "Buys a dip.",
    long=crosses_below(rsi(close, 14), gene("level", 40, 36, 44)),
    stop=share(0.4),
    max_hold=whole("hold", 30, 26, 34),
    account=account(1000, notional(gene("size", 2000, 500, 40000))),
    timeframe="1h",
    name="dips",
)
"""It buys before the trough, a tenth above it."""


def wave_task(hours=1500):
    """A task on a market of waves, which never ends below where it was bought for long."""
    t = np.arange(hours)
    price = 100 + 12 * np.sin(t / 9) + 4 * np.sin(t / 2.3)
    opened = np.append(price[0], price[:-1])
    bars = Bars(
        timestamp=t * HOUR_NS,
        open=opened,
        high=np.maximum(opened, price),
        low=np.minimum(opened, price),
        close=price,
        volume=np.ones(hours),
        symbol="WAVE",
        timeframe_ns=HOUR_NS,
    )
    return make_task(bars, spec=DIPS, min_trades=1)


TASK = wave_task()


def genomes(*sizes):
    """Members that trade alike, in money of other sizes."""
    encode = TASK.spec.layout.encode
    return np.stack([encode({"level": 37.0, "hold": 34, "size": float(n)}) for n in sizes])


def test_the_strongest_that_stands_is_asked_for():
    """Of equal strength the least size comes first by genome, and the largest were gone."""
    front, engine = genomes(35000, 30000, 1000), TASK.engine()
    is_gone = replay_gone(TASK, front)
    assert [is_gone(member) for member in range(3)] == [True, True, False]
    ask = partial(answer, engine)
    assert run_alone(ask_pick(TASK, engine.windows, front), ask).member == 2
    assert run_alone(ask_pick(TASK, engine.windows, front[:2]), ask) is None
    assert choose_member(np.array([3.0, np.nan, np.nan]), front, is_gone) == 2


def test_a_member_that_was_gone_is_not_picked_by_name():
    """The line says when its account stood at nothing."""
    front, gone = genomes(1000, 35000), {1: "2024-01-02 16:00"}
    assert select_pick(TASK.engine(), front, gone=gone).member == 0
    with pytest.raises(ConfigError, match="--pick 1: the account stood at nothing on 2024-01-02"):
        select_pick(TASK.engine(), front, 1, gone)


def test_a_pick_that_would_be_gone_does_not_stay():
    """By the rule `keep`, which keeps one that is as strong where its account stands."""
    setup = StepSetup(TASK, parse_schedule("10d", "20d", 0, is_anchored=False), "keep")
    last = len(setup.steps) - 1
    for size, is_kept in ((1000, True), (35000, False)):
        (before, strongest), number = genomes(size, 1200).tolist(), last
        found = [
            *(StepPick(step, None, None) for step in range(last - 1)),
            StepPick(last - 1, tuple(before), 4.0),
            StepPick(number, tuple(strongest), setup.measure_strength(number, genomes(1200)[0])),
        ]
        assert (choose_picks(setup, found)[-1].genome == tuple(before)) == is_kept


def test_the_account_of_a_schedule_may_be_gone_as_well():
    """Its steps trade one account, which stood at nothing where one of them took too much."""
    setup = StepSetup(TASK, parse_schedule("10d", "20d", 0, is_anchored=False))
    for size, is_gone in ((1000, False), (35000, True)):
        genome = tuple(genomes(size)[0].tolist())
        picks = [StepPick(step, genome, 4.0) for step in range(len(setup.steps))]
        record = build_schedule_record(setup, picks, mismatches=0, null=None)
        assert bool(record.gone) == is_gone
        assert (record.equity > 1.0) or is_gone
