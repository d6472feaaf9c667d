"""A finished run judged from end to end: grades, what stays, is counted, and is refused."""

import gc
import json
import os
import shutil
import sqlite3
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from engine.batch import Engine
from optimizer.config.run_config import make_config
from optimizer.errors import ConfigError, OptimizerError, StoreError
from optimizer.judging import judge, repeated
from optimizer.judging.holdout import LOOKS
from optimizer.judging.judge import judge_run
from optimizer.judging.judgement import Judgement, read_judgement
from optimizer.judging.null import NullJob, NullSetup
from optimizer.judging.plan import Plan
from optimizer.run.header import recorded_task
from optimizer.run.problem import JustSearched
from optimizer.run.runner import Observer, start_run
from optimizer.run.search import on_other_bars
from optimizer.run.task import Task
from optimizer.store import RunStore
from optimizer.store.files import DATABASE
from optimizer.store.result import load_result
from tests.support.evidence import make_planted_market
from tests.support.judging import SMALL, judge_briefly, recorded_run, write_bars

NOISE = make_planted_market(7, 2500, 0)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """A run on noise, a quarter of it held out; copied by each test that judges it."""
    folder = tmp_path_factory.mktemp("noise")
    return recorded_run(folder, NOISE, population=48, min_trades=30, holdout="25%")


@pytest.fixture
def path(noise, tmp_path):
    """A copy of the run on noise that was never judged."""
    return shutil.copytree(noise, tmp_path / "runs" / noise.name)


def changed_result(monkeypatch, **changes):
    """Let judges read another result than was recorded."""
    read = repeated.load_result
    monkeypatch.setattr(repeated, "load_result", lambda store: replace(read(store), **changes))


def test_a_judge_who_does_little_says_what_is_missing(path):
    """The pick and its checks are there; the sentence names the command."""
    judgement = judge_briefly(path)
    assert judgement.verdict.grade == "not_judged"
    assert f"python -m optimizer judge {path} --null 199 (about" in judgement.verdict.sentence
    with RunStore.open(path) as store:
        assert read_judgement(store) == judgement
        result = load_result(store)
    assert judgement.pick.genes == result.front[judgement.pick.member].genes
    strengths = [member.metrics["strength"] for member in result.front]
    assert judgement.pick.strength == pytest.approx(max(strengths), rel=1e-9)
    assert (judgement.null, judgement.folds, judgement.trials, judgement.searches) == (
        None,
        None,
        None,
        1,
    )


def test_noise_is_called_luck_and_everybody_says_the_same(path, tmp_path):
    """Two judges of copies of one run write the same rows, bit for bit."""
    other = shutil.copytree(path, tmp_path / "elsewhere" / path.name)
    plan = Plan(
        null=99,
        stop_after=2,
        folds=3,
        train=2,
        cpcv="4,2",
        purge=8,
        embargo=8,
        blocks=4,
        causal=True,
    )
    judgements = [judge_run(run, plan, {}, lambda *progress: None) for run in (path, other)]
    assert judgements[0].verdict.grade == "luck"
    assert judgements[0].payload() == judgements[1].payload()
    assert Judgement.read(json.loads(json.dumps(judgements[0].payload()))) == judgements[0]
    assert judgements[0].causal.mismatches == 0
    shuffled = judgements[0].null.shuffled
    assert (shuffled.stopped, shuffled.strength.at_least) == (True, 2)
    assert shuffled.strength.p == 2 / shuffled.run
    assert judgements[0].null.mirrored is None
    assert len(judgements[0].folds.rows) == 3
    assert len(judgements[0].cpcv.paths) == 3
    assert judgements[0].trials.judged >= judgements[0].trials.used > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_no_pool_of_a_judgement_has_more_threads_than_asked_for(threads, path, monkeypatch):
    """Of eight cores, one or two: also for orders of trades, resamples, halves and days."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    begin, sizes = ThreadPoolExecutor.__init__, {}

    def begin_counted(pool, max_workers, thread_name_prefix=""):
        sizes[thread_name_prefix] = max_workers
        begin(pool, max_workers, thread_name_prefix)

    monkeypatch.setattr(ThreadPoolExecutor, "__init__", begin_counted)
    plan = Plan(null=1, folds=0, blocks=4, causal=True)
    judgement = judge_run(path, plan, {"threads": threads}, lambda *progress: None)
    assert judgement.cscv.pbo is not None
    assert judgement.bootstrap.spa_p is not None
    assert {"", "days", "orders"} <= set(sizes)
    assert max(sizes.values()) == threads


def test_folds_that_do_not_fit_are_noted_or_refused(path):
    """A note where they were not named, beside everything else; an error where they were."""
    judgement = judge_briefly(path, folds=30, is_lenient=True)
    assert judgement.folds is None
    assert judgement.robust is not None
    (note,) = judgement.notes
    assert note.startswith("no folds: 30 folds after 3 groups of training: 33 groups")
    with pytest.raises(ConfigError, match="33 groups"):
        judge_briefly(path, folds=30)


def test_parts_stay_until_another_member_is_the_pick(path):
    """What was found out of one pick does not hold for another; null searches do."""
    first = judge_briefly(path, null=9, stop_after=9)
    again = judge_briefly(path)
    assert again.null == first.null
    other = (first.pick.member + 1) % len(recorded_front(path))
    assert other != first.pick.member
    assert judge_briefly(path, pick=other).null is None
    named = judge_briefly(path, pick=other, null=9, stop_after=9)
    assert (named.pick.member, named.null) == (other, first.null)
    for number in (len(recorded_front(path)), -1):
        with pytest.raises(ConfigError, match="the front has members 0 to"):
            judge_briefly(path, pick=number)


def recorded_front(path):
    """Members of a recorded run."""
    with RunStore.open(path) as store:
        return load_result(store).front


def test_held_out_bars_are_opened_once_and_counted(path, noise):
    """The look is written down; the same front is no new one, another front is."""
    first = judge_briefly(path, is_open=True)
    assert (first.held_out.looks, len(first.held_out.members)) == (1, len(recorded_front(path)))
    looks = path.parent / LOOKS
    (look,) = json.loads(looks.read_text())
    assert judge_briefly(path, is_open=True).held_out.looks == 1
    elsewhere = [{**bars, "symbol": "OTHER"} for bars in look["bars"]]
    later = [{**bars, "first": "2999", "last": "3000"} for bars in look["bars"]]
    looks.write_text(json.dumps([{"front": "x", "bars": elsewhere}, {"front": "y", "bars": later}]))
    assert judge_briefly(path, is_open=True).held_out.looks == 1
    looks.write_text(json.dumps([look, {**look, "front": "another"}]))
    assert judge_briefly(path, is_open=True).held_out.looks == 2
    looks.write_text("[")
    with pytest.raises(StoreError, match="it counts looks, restore it"):
        judge_briefly(path, is_open=True)
    assert not (noise.parent / LOOKS).exists()


def test_who_is_named_after_a_look_is_not_confirmed_by_it(path):
    """The pick is named before unseen bars are looked at."""
    first = judge_briefly(path, is_open=True)
    other = (first.pick.member + 1) % len(recorded_front(path))
    assert other != first.pick.member
    with pytest.raises(ConfigError, match=f"opened with member {first.pick.member} as the pick"):
        judge_briefly(path, is_open=True, pick=other)
    assert judge_briefly(path, pick=other).held_out is None
    assert judge_briefly(path, is_open=True).held_out == first.held_out


def test_searches_on_these_bars_are_counted(tmp_path):
    """Distinct fronts beside the run that searched a bar of its; copies and others are none."""
    first, second = "2020-02-11", "2020-02-21"
    path = recorded_run(tmp_path, NOISE, generations=1, end=first)
    assert judge_briefly(path).searches == 1
    recorded_run(tmp_path, NOISE, generations=1, end=second)
    assert judge_briefly(path).searches == 2
    copy = shutil.copytree(path, path.parent / "copy")
    assert judge_briefly(path).searches == 2
    # What was counted once stays counted, wherever the run is.
    assert judge_briefly(shutil.copytree(copy, tmp_path / "elsewhere" / "copy")).searches == 2
    recorded_run(tmp_path, NOISE, generations=1, start=first, end="2020-03-30")
    recorded_run(tmp_path, replace(NOISE, symbol="OTHER"), generations=1, end=second)
    assert judge_briefly(path).searches == 2


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"min_trades": 1500}, "Too few trades to judge: the front is empty."),
        ({"min_trades": 5}, "Too few trades to judge: "),
    ],
    ids=["empty_front", "few_trades"],
)
def test_too_little_is_said_before_anything_else(tmp_path, settings, sentence):
    """Also where null searches are asked for."""
    path = recorded_run(tmp_path, NOISE.until(700), **settings)
    judgement = judge_briefly(path, null=3)
    assert judgement.verdict.grade == "too_little"
    assert judgement.verdict.sentence.startswith(sentence)
    assert (judgement.pick is None) == (settings["min_trades"] == 1500)


def test_a_red_certificate_and_a_look_ahead_end_all_trust(path, monkeypatch):
    """Whatever the other evidence."""
    certificate = replace(read_result(path).certificate, mismatches=2)
    changed_result(monkeypatch, certificate=certificate)
    judgement = judge_briefly(path)
    assert judgement.verdict.grade == "invalid"
    assert "disagree" in judgement.verdict.sentence


def read_result(path):
    """The result of a run."""
    with RunStore.open(path) as store:
        return load_result(store)


def test_an_edited_row_of_evidence_is_refused(path):
    """By the next judge, and by the verdict's reader."""
    judge_briefly(path, null=2)
    with closing(sqlite3.connect(path / DATABASE)) as connection, connection:
        edited = """replace(payload, '"run":2', '"run":3')"""
        statement = f"UPDATE evidence SET payload = CAST({edited} AS BLOB)"
        connection.execute(f"{statement} WHERE name = 'judgement'")
    with pytest.raises(StoreError, match="of the evidence does not follow"):
        judge_briefly(path)
    with RunStore.open(path) as store, pytest.raises(StoreError, match="does not follow"):
        read_judgement(store)


def test_a_search_that_finds_another_front_is_refused(path, monkeypatch):
    """It was made by another version, or its result was changed."""
    changed_result(monkeypatch, front_hash="0" * 64)
    with pytest.raises(StoreError, match="it was not made by this version"):
        judge_briefly(path, blocks=4)


def test_a_search_just_made_is_not_repeated_for_trials_too_many_to_keep(path, monkeypatch):
    """To the byte: what fits is found again, and what does not is not searched for."""
    result = read_result(path)
    n_bytes = result.evaluated * (len(result.front[0].genes) + 1) * 8
    monkeypatch.setattr("optimizer.run.problem.MOST_TRIAL_BYTES", n_bytes)
    plan = Plan(folds=0, blocks=4)
    judgement = judge_run(path, plan, {}, lambda *progress: None, JustSearched())
    assert judgement.trials.evaluated > 0
    monkeypatch.setattr("optimizer.run.problem.MOST_TRIAL_BYTES", n_bytes - 1)
    repeated = judge_run(path, plan, {}, lambda *progress: None)
    assert repeated.trials.evaluated == 0
    monkeypatch.setattr(judge, "search", lambda *_, **__: pytest.fail("searched again"))
    without = judge_run(path, plan, {}, lambda *progress: None, JustSearched())
    assert replace(without, verdict=repeated.verdict) == repeated


class Listener(Observer):
    """Keeps what a search leaves."""

    def on_search_end(self, found):
        """The search is over."""
        self.just = found


@pytest.mark.parametrize("parts", [1, 2], ids=["whole", "in parts"])
def test_the_engine_that_searched_is_used_again(tmp_path, monkeypatch, parts):
    """With the same judgement as a new engine's; one of other bars is not."""
    data = write_bars(tmp_path / "planted.csv", make_planted_market(7, 1500, 8))
    settings = {**SMALL, "data": [data], "runs": str(tmp_path / "runs"), "holdout": "20%"}
    listener, plan = Listener(), Plan(folds=0, blocks=4)
    config = make_config({**settings, "parts": parts}, where="test")
    path = Path(start_run(config, listener, lambda: False).path)
    copies = [Path(shutil.copytree(path, tmp_path / name)) for name in ("new", "other")]
    of_others = replace_bars(listener.just.engine)
    with monkeypatch.context() as patched:
        patched.setattr(Task, "engine", lambda *_: pytest.fail("a new engine"))
        judgement = judge_run(path, plan, {}, lambda *progress: None, listener.just)
    assert listener.just.engine is None, "it is kept beside those that come after it"
    expected = judge_run(copies[0], plan, {}, lambda *progress: None)
    other = judge_run(copies[1], plan, {}, lambda *progress: None, JustSearched(None, of_others))
    assert replace(judgement, verdict=None) == replace(expected, verdict=None)
    assert replace(other, verdict=None) == replace(expected, verdict=None)


def test_nothing_lies_beside_engines_of_folds(tmp_path, monkeypatch):
    """The run's own is let go of, where it has no place for the rows of all bars."""
    runs = [
        recorded_run(tmp_path, NOISE.until(1000), runs=str(tmp_path / name), memory=memory)
        for name, memory in (("small", "1MB"), ("large", "100MB"))
    ]
    made, init = [], Engine.__init__

    def init_noted(self, spec, series, *given, **settings):
        gc.collect()
        beside = sum(backend() is not None for _, _, backend in made)
        init(self, spec, series, *given, **settings)
        made.append((len(series[0]), beside, weakref.ref(self._backend)))

    monkeypatch.setattr(Engine, "__init__", init_noted)
    small, large = (judge_briefly(run, folds=3, train=3, purge=8) for run in runs)
    assert [made for made in made if made[0] < 1000]
    assert all(beside == 0 for n_bars, beside, _ in made if n_bars < 1000)
    assert small.folds == large.folds


def replace_bars(engine):
    """The same engine on bars of which the last is missing."""
    series = [bars.until(len(bars) - 1) for bars in engine.series]
    windows = [replace(window, end=min(window.end, len(series[0]))) for window in engine.windows]
    return Engine(engine.spec, series, windows, engine.costs, device="cpu")


def test_neither_is_one_that_was_made_in_python(tmp_path, monkeypatch):
    """As on the command line."""
    monkeypatch.setattr("optimizer.run.problem.MOST_TRIAL_BYTES", 0)
    monkeypatch.setattr(judge, "search", lambda *_, **__: pytest.fail("searched again"))
    run = recorded_run(tmp_path, NOISE.until(1000), judge=None, folds=0)
    with RunStore.open(run) as store:
        assert read_judgement(store).trials.evaluated == 0


def test_a_run_that_is_not_finished_is_refused(path, monkeypatch):
    """With the command that goes on with it."""
    monkeypatch.setattr(repeated, "load_result", lambda store: None)
    with pytest.raises(StoreError, match="is not finished: go on with python -m optimizer evolve"):
        judge_briefly(path)


def test_a_warm_start_is_repeated_and_never_more_than_weak(tmp_path):
    """Its guests have to be there still."""
    bars = NOISE.until(1000)
    first = recorded_run(tmp_path, bars, generations=1)
    second = recorded_run(tmp_path, bars, warm_start=first.name, seed=2, generations=1)
    judgement = judge_briefly(second, blocks=4, null=2)
    assert judgement.trials.evaluated > 0
    shutil.rmtree(first)
    with pytest.raises(OptimizerError):
        judge_briefly(second, blocks=4)
    third = recorded_run(tmp_path, bars, seed=5, generations=1)
    third.rename(first)
    with pytest.raises(ConfigError, match="began with other candidates"):
        judge_briefly(second, blocks=4)


@pytest.mark.parametrize(
    ("settings", "stopped_by", "reached", "repeated"),
    [
        ({"generations": 6, "max_seconds": 1e-6}, "max_seconds", 0, 0),
        ({"generations": 30, "plateau": 2, "population": 8}, "plateau", None, 30),
        ({"generations": 30, "max_evaluations": 40}, "max_evaluations", None, 30),
        ({"generations": 2}, "generations", 2, 2),
        (
            {"search": "lattice", "steps": {"max_hold": 9, "reward_r": 1.0}},
            "generations",
            None,
            None,
        ),
    ],
    ids=["clock", "plateau", "evaluations", "generations", "lattice"],
)
def test_searches_are_repeated_by_the_rules_of_the_run(
    tmp_path, settings, stopped_by, reached, repeated
):
    """A clock's end is repeated by its generations, a rule's end by the rule."""
    path = recorded_run(tmp_path, NOISE.until(1000), **settings)
    result = read_result(path)
    assert result.stopped_by == stopped_by
    assert reached in (None, result.generation)
    assert repeated is None or repeated >= result.generation
    judgement = judge_briefly(path, null=2, blocks=4)
    with RunStore.open(path) as store:
        task = recorded_task(store, {})
    planned = {} if repeated is None else {"generations": repeated}
    again = on_other_bars(task, task.markets.series, task.markets.windows, **planned)
    setup = NullSetup(again, "auto")
    alone = [setup.run(NullJob("shuffled", number)).strength for number in (1, 2)]
    assert list(judgement.null.shuffled.strengths) == alone
    assert judgement.trials.evaluated > 0


def test_one_thread_judges_as_several_do(path, tmp_path):
    """All in one process."""
    other = shutil.copytree(path, tmp_path / "elsewhere" / path.name)
    plan = Plan(null=4, folds=3, train=2, blocks=4)
    judgements = [
        judge_run(run, plan, {"threads": threads}, lambda *progress: None)
        for run, threads in ((path, 1), (other, 2))
    ]
    without = [replace(run, verdict=judgements[0].verdict) for run in judgements]
    assert without[0] == without[1]


def test_a_planted_edge_is_weak_until_folds_confirm_it(tmp_path):
    """Null searches alone prove nothing elsewhere."""
    path = recorded_run(tmp_path, make_planted_market(3, 4000, 20), min_trades=30, holdout="25%")
    weak = judge_briefly(path, null=99, stop_after=1)
    assert weak.verdict.grade == "weak"
    assert "there are neither folds nor held-out bars" in weak.verdict.sentence
    assert [kind.strength.p for kind in (weak.null.shuffled, weak.null.mirrored)] == [0.01, 0.01]
    holds = judge_briefly(path, folds=4, train=2)
    assert holds.null == weak.null
    assert holds.verdict.grade in ("holds", "robust")
    assert holds.verdict.sentence.startswith(
        "Searching this way held on bars the search had not seen: "
    )
