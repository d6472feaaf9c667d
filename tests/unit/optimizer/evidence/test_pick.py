"""The pick is the strongest member whose account stands at every close, by whatever rule."""

import math
from functools import partial

import numpy as np
import pytest

from optimizer.evidence.pick import ask_pick, choose_member, compute_strength, replay_gone
from optimizer.evidence.schedule import StepSettings, TradedSteps
from optimizer.evidence.schedule_searches import StepPick, StepSetup, choose_picks
from optimizer.run.problem import answer, run_alone
from optimizer.schedule import Schedule, plan_steps
from strategy import words as w
from tests.support.judging import make_task
from tests.support.series import draw_waves, make_bars

DIPS = w.strategy(
    "Buys a dip, before the trough and a tenth above it.",
    long=w.crosses_below(w.rsi(w.close, 14), w.gene("level", 40, 36, 44)), stop=w.share(0.4),
    max_hold=w.whole("hold", 30, 26, 34), timeframe="1h",
    account=w.account(1000, w.notional(w.gene("size", 2000, 500, 40000))),
)  # fmt: skip
TASK = make_task(make_bars(1500, 3600 * 10**9, **draw_waves(1500)), spec=DIPS, min_trades=1)


def genomes(*sizes):
    """Members that trade alike, in money of other sizes."""
    encode = TASK.spec.layout.encode
    return np.stack([encode({"level": 37.0, "hold": 34, "size": float(n)}) for n in sizes])


def test_strength_of_the_law():
    """A sum of 6 over squares that sum to 74; without a trade that moved there is none."""
    windows = (np.array([3.0, -4.0]), np.empty(0), np.array([7.0, 0.0]))
    assert compute_strength(windows).value == pytest.approx(6 / math.sqrt(74))
    assert compute_strength([]).why == compute_strength([np.zeros(1)]).why == "no trade moved"


def test_the_strongest_that_stands_is_asked_for():
    """Of equal strength the least size comes first by genome, and the largest were gone."""
    front, engine = genomes(35000, 30000, 1000), TASK.engine()
    is_gone = replay_gone(TASK, front)
    assert [is_gone(member) for member in range(3)] == [True, True, False]
    ask = partial(answer, engine)
    assert run_alone(ask_pick(TASK, engine.windows, front), ask).member == 2
    assert run_alone(ask_pick(TASK, engine.windows, front[:2]), ask) is None
    assert choose_member(np.array([3.0, np.nan, np.nan]), front, is_gone) == 2


def test_a_pick_that_would_be_gone_does_not_stay():
    """By the rule `keep`, which keeps one that is as strong where its account stands."""
    setup = StepSetup(TASK, StepSettings("10d", "20d", 0, anchored=False, pick_by="keep"))
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
    markets, schedule = TASK.markets, Schedule("10d", "20d", 0, anchored=False)
    steps = plan_steps(markets.series, markets.uncut, schedule)
    for size, is_gone in ((1000, False), (35000, True)):
        traded = TradedSteps(TASK, steps, [genomes(size)[0]] * len(steps))
        assert bool(traded.gone) == is_gone
        assert (traded.growth[0] > 1.0) or is_gone
