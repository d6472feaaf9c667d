"""A schedule: steps that find what they find alone, rules, kills, and the same on null markets."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from optimizer.evidence.folds import FoldSetup
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judged_run import Plan
from optimizer.evidence.judgement import read_judgement
from optimizer.evidence.null import NullJob
from optimizer.evidence.returns import list_days
from optimizer.evidence.schedule import StepSettings, TradedSteps
from optimizer.evidence.schedule_searches import NullScheduleSetup, StepSetup, choose_picks
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


@pytest.fixture(scope="module")
def setup():
    """Steps on a planted market, with an engine that serves them all."""
    task = make_task(BARS, polish=8)
    return StepSetup(task, SETTINGS, engine=task.engine())


def by_rule(setup, pick_by):
    """The same setup by another rule."""
    return replace(setup, settings=replace(SETTINGS, pick_by=pick_by))


def search_all(setup):
    """Picks of all steps, searched in step."""
    picks = dict(setup.run_in_step(range(len(setup.steps))))
    return [picks[number] for number in range(len(picks))]


@pytest.fixture(scope="module")
def found(setup):
    """What each step's search found, all in step."""
    return search_all(setup)


def test_steps_in_step_find_what_each_finds_alone(setup, found):
    """On bars that end with its training, as a fold does; by the rule ``near`` another member."""
    near = by_rule(setup, "near")
    picks = search_all(near)
    for rule, known in ((setup, found), (near, picks)):
        alone = replace(rule, engine=None)
        assert [alone.run(number) for number in range(len(setup.steps))] == known
        assert choose_picks(rule, known) == tuple(known)
    assert sum(pick.genome is not None for pick in found) >= 4
    folds = FoldSetup(setup.task, [Split(step.train, (), ()) for step in setup.steps])
    assert [folds.run(pick.number).genome for pick in found] == [pick.genome for pick in found]
    assert any(a.genome != b.genome for a, b in zip(picks, found, strict=True))
    for pick, strongest in zip(picks, found, strict=True):
        assert pick.genome is None or pick.strength <= strongest.strength
    assert near.settings.searched != setup.settings.searched


def test_the_pick_before_stays_while_it_is_half_as_strong(setup, found):
    """By the rule ``keep``, where the greatest strength is above 0."""
    keeping = by_rule(setup, "keep")
    assert keeping.settings.searched == setup.settings.searched
    kept = choose_picks(keeping, found)
    assert kept[0] == found[0]
    for before, pick, strongest in zip(kept, kept[1:], found[1:], strict=False):
        if before.genome is None or strongest.genome is None:
            continue
        again = setup.measure_strength(pick.number, np.array(before.genome))
        stays = strongest.strength > 0 and again >= 0.5 * strongest.strength
        expected = (before.genome, again) if stays else (strongest.genome, strongest.strength)
        assert (pick.number, pick.genome, pick.strength) == (strongest.number, *expected)
    assert any(a.genome != b.genome for a, b in zip(kept, found, strict=True))


def test_a_null_schedule_is_the_schedule_on_another_market(setup, found, monkeypatch):
    """On bars that are shuffled into themselves it finds what the real one finds."""
    null = NullScheduleSetup(setup.task, "none", settings=SETTINGS)
    first, again, other = (null.run(NullJob("shuffled", number)) for number in (1, 1, 2))
    assert first == again
    assert other.strength != first.strength
    monkeypatch.setattr(type(null.markets), "shuffle_market", lambda self, number: (BARS,))
    same, traded = null.run(NullJob("shuffled", 1)), setup.trade(found)
    assert (same.strength, same.trades) == (traded.strength.value, traded.measure().trades)


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


@pytest.fixture(scope="module")
def made(run):
    """The schedule that it was judged by."""
    with RunStore.open(run) as store:
        return read_judgement(store).schedule


def test_a_judged_schedule_is_recorded_whole(run, made, setup, found):
    """Its steps are those of the same task in memory, its null has rows of its own."""
    encode = setup.task.spec.layout.encode
    genomes = [tuple(encode(row.genes).tolist()) if row.genes else None for row in made.rows]
    assert genomes == [pick.genome for pick in found]
    assert [row.strength for row in made.rows] == [pick.strength for pick in found]
    assert sum(row.trades for row in made.rows) == made.trades
    assert (made.mismatches, made.null.shuffled.run) == (0, 3)
    null = {**vars(SETTINGS), "null_keep": made.null.keep, "kind": "shuffled"}
    with RunStore.open(run) as store:
        judgement, rows = read_judgement(store), store.evidence
    for name, settings, numbers in (
        ("schedule", vars(SETTINGS), [*range(len(found))]), ("null schedule", null, [1, 2, 3]),
    ):  # fmt: skip
        own = [row["number"] for n, row in rows if n == name and row["settings"] == settings]
        assert sorted(own) == numbers
    assert (judgement.null, judgement.folds) == (None, None)
    assert judgement.verdict.grade in ("too_little", "not_judged", "lost")


def test_what_searching_again_gained_follows_from_its_trades(made, setup, found):
    """R a day more than the first pick kept for ever; a step's day beside one of its training."""
    first = next(pick for pick in found if pick.genome is not None)
    kept = [replace(pick, genome=first.genome if pick.number >= first.number else None)
            for pick in found]  # fmt: skip
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
        ledgers = setup.engine.on(step.train).trades(np.array(pick.genome))
        day = sum(ledger.r.sum() for ledger in ledgers) / len(list_days([BARS], step.train))
        own = row.trades * row.mean_r / len(list_days([BARS], [Window(0, step.borders[0], end)]))
        assert row.efficiency == (None if day <= 0 else pytest.approx(own / day, rel=1e-9))
        compared += day > 0
    assert compared > 1


@pytest.mark.parametrize("part", ["steps of the schedule", "schedules on shuffled bars"])
def test_a_judge_that_was_stopped_resumes(made, searched, tmp_path, part):
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
    assert judge_run(path, plan, {}, lambda progress: None).schedule == made


def test_a_search_that_sees_later_bars_is_told(setup, found):
    """The middle and the last step pick otherwise on bars that end at their date.

    The engine that knows all bars is not asked.
    """
    apart = replace(setup, engine="none that answers")
    assert apart.count_mismatches(found) == 0
    assert apart.count_mismatches([replace(pick, genome=(1.0,)) for pick in found]) == 2


def test_trades_sized_from_cash_make_one_account_of_all_steps():
    """Equal genes in all steps: its equity and fall are those of one window, in every bit."""
    task, genome = make_task(BARS, spec=SIZED), SIZED.layout.defaults
    steps = StepSetup(task, SETTINGS).steps
    traded = TradedSteps(task, steps, [genome] * len(steps))
    stitched = traded.stitched
    reference = compiled_reference(task.spec, stitched.series, stitched.windows, task.costs)
    (sums,) = reference.accumulators(genome)
    assert sums[ACCUMULATOR_INDEX["trades"]] > 30
    expected = [sums[ACCUMULATOR_INDEX[name]].item() for name in ("equity", "max_drawdown")]
    assert [*traded.growth] == expected


def test_fewest_trades_are_those_of_the_bars_that_the_run_searched(setup):
    """As many a bar, however far the schedule goes on."""
    fewest = [
        replace(setup, n_bars=n_bars).build_task(1).config.min_trades
        for n_bars in (None, len(BARS), len(BARS) // 2)
    ]
    assert fewest == [4, 4, 8]
