"""A schedule: steps that find what they find alone, rules, kills, and the same on null markets."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from optimizer.evidence.folds import FoldSetup
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judgement import read_judgement
from optimizer.evidence.null import NullJob
from optimizer.evidence.plan import Plan
from optimizer.evidence.returns import list_days
from optimizer.evidence.schedule import StepSettings, TradedSteps
from optimizer.evidence.schedule_searches import (
    NullScheduleSetup,
    StepSetup,
    choose_picks,
)
from optimizer.evidence.splits import Split
from optimizer.store import RunStore
from strategy import words as w
from tests.support.evidence import make_planted_market
from tests.support.judging import judge_briefly, make_task, recorded_run
from tests.support.references import compiled_reference

CLIMBS = w.close > w.ema(w.close, w.length("span", 5, 2, 30))
PARTS = {"stop": w.share(w.gene("stop", 0.02, 0.005, 0.05)), "target": w.r_multiple(1)}

SIZED = w.strategy(
    "Rises, with so much of its cash.", long=CLIMBS, **PARTS, market=w.market(lot="0.1"),
    account=w.account(10_000, w.risk(w.gene("part", 0.05, 0.01, 0.2)), leverage=2), name="sized",
)  # fmt: skip

BARS = make_planted_market(7, 2400, 8)
SETTINGS = StepSettings("14d", "40d", 24, anchored=False, pick_by="strength")
PLAN = {"every": "14d", "train": "40d", "purge": 24, "null": 3, "resamples": 99}


def search_all(setup):
    """Picks of all steps, searched in step."""
    picks = dict(setup.run_in_step(range(len(setup.steps))))
    return [picks[number] for number in range(len(picks))]


@pytest.fixture(scope="module")
def setup():
    """Steps on a planted market, with an engine that serves them all."""
    task = make_task(BARS, polish=8)
    return StepSetup(task, SETTINGS, engine=task.engine())


@pytest.fixture(scope="module")
def found(setup):
    """What each step's search found, all in step."""
    return search_all(setup)


def test_steps_in_step_find_what_each_finds_alone(setup, found):
    """On an engine of its own, and on bars that end with its training."""
    assert len(found) == len(setup.steps) == 5
    assert sum(pick.genome is not None for pick in found) >= 4
    alone = replace(setup, engine=None)
    for pick in found:
        assert alone.run(pick.number) == pick
    splits = [Split(step.train, (), ()) for step in setup.steps]
    folds = FoldSetup(setup.task, splits)
    assert [folds.run(pick.number).genome for pick in found] == [pick.genome for pick in found]


def test_the_one_of_the_strongest_neighbours_is_picked(setup, found):
    """By the rule ``near``, among the members of the same front; alone and in step."""
    near = replace(setup, settings=replace(SETTINGS, pick_by="near"))
    picks = search_all(near)
    assert [near.run(pick.number) for pick in picks] == picks
    assert any(a.genome != b.genome for a, b in zip(picks, found, strict=True))
    for pick, strongest in zip(picks, found, strict=True):
        assert pick.genome is None or pick.strength <= strongest.strength
    assert choose_picks(near, picks) == tuple(picks)
    assert near.settings.searched != setup.settings.searched


def test_the_pick_before_stays_while_it_is_half_as_strong(setup, found):
    """By the rule ``keep``, where the greatest strength is above 0."""
    assert choose_picks(setup, found) == tuple(found)
    keeping = replace(setup, settings=replace(SETTINGS, pick_by="keep"))
    assert keeping.settings.searched == setup.settings.searched
    kept = choose_picks(keeping, found)
    assert kept[0] == found[0]
    for before, pick, strongest in zip(kept, kept[1:], found[1:], strict=False):
        if before.genome is None or strongest.genome is None:
            continue
        again = setup.measure_strength(pick.number, np.array(before.genome))
        stays = strongest.strength > 0 and again >= 0.5 * strongest.strength
        expected = (before.genome, again) if stays else (strongest.genome, strongest.strength)
        assert (pick.genome, pick.strength) == expected
        assert pick.number == strongest.number
    assert any(a.genome != b.genome for a, b in zip(kept, found, strict=True))


def test_a_null_schedule_is_the_schedule_on_another_market(setup, monkeypatch):
    """On bars that are shuffled into themselves it finds what the real one finds."""
    null = NullScheduleSetup(setup.task, SETTINGS, "none")
    first, again = (null.run(NullJob("shuffled", 1)) for _ in range(2))
    assert first == again
    assert null.run(NullJob("shuffled", 2)).strength != first.strength
    monkeypatch.setattr(type(null.markets), "shuffle_market", lambda self, number: (BARS,))
    same = null.run(NullJob("shuffled", 1))
    traded = setup.trade(search_all(setup))
    assert same.strength == traded.strength.value
    assert same.trades == traded.measure().trades


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A recorded run that is not judged."""
    return recorded_run(tmp_path_factory.mktemp("schedule"), BARS, polish=8)


@pytest.fixture(scope="module")
def run(searched, tmp_path_factory):
    """The same, judged by a schedule with few null ones."""
    path = shutil.copytree(searched, tmp_path_factory.mktemp("judged") / searched.name)
    judge_briefly(path, causal=False, **PLAN)
    return path


def test_a_judged_schedule_is_recorded_whole(run, setup, found):
    """Its steps are those of the same task in memory, its null has rows of its own."""
    with RunStore.open(run) as store:
        judgement, rows = read_judgement(store), store.evidence
    made = judgement.schedule
    assert len(made.rows) == len(found)
    layout = setup.task.spec.layout
    for row, pick in zip(made.rows, found, strict=True):
        genome = None if not row.genes else tuple(layout.encode(row.genes).tolist())
        assert (genome, row.strength) == (pick.genome, pick.strength)
    assert sum(row.trades for row in made.rows) == made.trades
    assert made.mismatches == 0
    assert made.null.shuffled.run == 3
    assert judgement.null is None
    assert judgement.folds is None
    dates = {"every": "14d", "train": "40d", "purge": 24, "anchored": False}
    steps = {**dates, "pick_by": "strength"}
    own = [row["number"] for name, row in rows if name == "schedule"]
    assert own == [*range(len(found))]
    assert {row["settings"] == steps for name, row in rows if name == "schedule"} == {True}
    null = {**steps, "null_keep": made.null.keep, "kind": "shuffled"}
    shuffled = [row for name, row in rows if name == "null schedule" and row["settings"] == null]
    assert sorted(row["number"] for row in shuffled) == [1, 2, 3]
    assert judgement.verdict.grade in ("too_little", "not_judged", "lost")


def test_what_searching_again_gained_follows_from_its_trades(run, setup, found):
    """R a day more than the first pick kept for ever; a step's day beside one of its training."""
    with RunStore.open(run) as store:
        made = read_judgement(store).schedule
    engine = setup.task.engine()
    first = next(pick for pick in found if pick.genome is not None)
    kept = [
        replace(pick, genome=first.genome) if pick.number >= first.number else pick
        for pick in found
    ]
    again, never = (setup.trade(picks).stitched for picks in (found, kept))
    sums = [sum(ledger.r.sum() for ledger in each.ledgers) for each in (again, never)]
    assert sums[0] != sums[1]
    n_days = len(list_days(again.series, again.windows))
    assert made.gain == pytest.approx((sums[0] - sums[1]) / n_days, rel=1e-9)
    ends = [*(step.borders[0] for step in setup.steps), len(BARS)][1:]
    compared = 0
    for row, pick, step, end in zip(made.rows, found, setup.steps, ends, strict=True):
        if pick.genome is None or not row.trades:
            continue
        trained = sum(
            ledger.r.sum() for ledger in engine.on(step.train).trades(np.array(pick.genome))
        )
        day = trained / len(list_days([BARS], step.train))
        own = row.trades * row.mean_r / len(list_days([BARS], [Window(0, step.borders[0], end)]))
        assert row.efficiency == (None if day <= 0 else pytest.approx(own / day, rel=1e-9))
        compared += day > 0
    assert compared > 1


@pytest.mark.parametrize("part", ["steps of the schedule", "schedules on shuffled bars"])
def test_a_judge_that_was_stopped_resumes(run, searched, tmp_path, part):
    """Steps and null schedules are kept as they end, and the record is that of one go."""
    path = shutil.copytree(searched, tmp_path / searched.name)
    plan = Plan(**PLAN, folds=0, blocks=0, causal=False)

    def stop(progress):
        if (progress.phase, progress.done) == (f"judging: {part}", 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge_run(path, plan, {}, stop)
    with RunStore.open(path) as store:
        names = [name for name, _ in store.evidence]
        assert read_judgement(store) is None
    assert names.count("null schedule" if "shuffled" in part else "schedule") == 2
    again = judge_run(path, plan, {}, lambda *payload: None)
    with RunStore.open(run) as store:
        assert again.schedule == read_judgement(store).schedule


def test_a_search_that_sees_later_bars_is_told(setup, found):
    """Its steps pick otherwise on bars that end at their date, and the result is invalid."""
    assert setup.count_mismatches(found) == 0
    forged = [replace(pick, genome=(1.0,)) for pick in found]
    assert setup.count_mismatches(forged) == 2


def test_trades_sized_from_cash_make_one_account_of_all_steps():
    """Equal genes in all steps: its equity and fall are those of one window, in every bit."""
    task = make_task(BARS, spec=SIZED)
    setup = StepSetup(task, SETTINGS, engine=task.engine())
    genome = task.spec.layout.defaults
    traded = TradedSteps(task, setup.steps, [genome] * len(setup.steps))
    stitched = traded.stitched
    reference = compiled_reference(task.spec, stitched.series, stitched.windows, task.costs)
    (sums,) = reference.accumulators(genome)
    assert sums[ACCUMULATOR_INDEX["trades"]] > 30
    expected = [sums[ACCUMULATOR_INDEX[name]].item() for name in ("equity", "max_drawdown")]
    assert [*traded.growth] == expected
