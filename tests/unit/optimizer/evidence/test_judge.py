"""A finished run judged from end to end: grades, what stays, is counted, and is refused."""

import json
import shutil
from dataclasses import replace

import pytest

from optimizer.errors import ConfigError, OptimizerError
from optimizer.evidence import judge
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judgement import Judgement
from optimizer.evidence.null import NullJob, NullSetup
from optimizer.evidence.plan import Plan
from optimizer.run.purposes import JUDGE, restore_task
from optimizer.run.search import on_other_bars
from optimizer.store import RunStore
from optimizer.store.reader import Reader
from optimizer.store.result import load_result
from tests.support.evidence import make_planted_market
from tests.support.judging import judge_briefly, recorded_run

NOISE = make_planted_market(7, 2500, 0)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """A run on noise, copied by each test that judges it."""
    folder = tmp_path_factory.mktemp("noise")
    return recorded_run(folder, NOISE, population=48, min_trades=30, holdout="25%")


@pytest.fixture
def path(noise, tmp_path):
    """A copy of the run on noise that was never judged."""
    return shutil.copytree(noise, tmp_path / "runs" / noise.name)


def read_result(path):
    """The result of a run."""
    with RunStore.open(path) as store:
        return load_result(store)


def judge_by(path, settings=None, just=None, **plan):
    """A judgement by a plan, with settings and whatever a search just left."""
    return judge_run(path, Plan(**plan), settings or {}, lambda progress: None, just)


def test_noise_is_called_luck_and_everybody_says_the_same(path, tmp_path):
    """Two judges of copies of one run write the same rows, bit for bit, by one thread or two."""
    other = shutil.copytree(path, tmp_path / "elsewhere" / path.name)
    plan = {
        "null": 299, "folds": 3, "train": 2, "cpcv": "4,2", "purge": 8,
        "embargo": 8, "blocks": 4, "causal": True,
    }  # fmt: skip
    first, again = (
        judge_by(run, {"threads": threads}, **plan) for threads, run in ((1, path), (2, other))
    )
    assert first.verdict.grade == "luck"
    assert first.payload() == again.payload()
    assert Judgement.read(json.loads(json.dumps(first.payload()))) == first
    assert first.causal.mismatches == 0
    shuffled = first.null.shuffled
    assert (shuffled.stopped, shuffled.strength.at_least) == (True, 2)
    assert shuffled.strength.p == 1 / shuffled.wealth
    assert first.null.mirrored is None
    assert (len(first.folds.rows), len(first.cpcv.paths)) == (3, 3)
    assert first.trials.judged >= first.trials.used > 0


def test_parts_stay_until_another_member_is_the_pick(path):
    """What was found out of one pick does not hold for another; null searches do."""
    null = {"null": 9, "causal": False}
    first = judge_briefly(path, **null)
    assert judge_briefly(path).null == first.null
    # Nor is one that was made left out where fewer are asked for.
    assert judge_briefly(path, **{**null, "null": 3}).null == first.null
    count = len(read_result(path).front)
    other = (first.pick.member + 1) % count
    assert judge_briefly(path, pick=other).null is None
    named = judge_briefly(path, pick=other, **null)
    assert (named.pick.member, named.null) == (other, first.null)
    for number in (count, -1):
        with pytest.raises(ConfigError, match=f"0 to {count - 1}"):
            judge_briefly(path, pick=number)


def test_searches_on_these_bars_are_counted(tmp_path):
    """Distinct fronts beside the run that searched a bar of its; copies and others are none."""
    first, second = "2020-02-11", "2020-02-21"
    path = recorded_run(tmp_path, NOISE, generations=1, end=first)
    assert judge_briefly(path).searches == 1
    recorded_run(tmp_path, NOISE, generations=1, end=second)
    copy = shutil.copytree(path, path.parent / "copy")
    recorded_run(tmp_path, NOISE, generations=1, start=first, end="2020-03-30")
    recorded_run(tmp_path, replace(NOISE, symbol="OTHER"), generations=1, end=second)
    assert judge_briefly(path).searches == 2
    # What was counted once stays counted, wherever the run is.
    shutil.rmtree(copy)
    assert judge_briefly(shutil.copytree(path, tmp_path / "elsewhere" / "copy")).searches == 2


def test_runs_of_the_folder_are_opened_once(tmp_path, monkeypatch):
    """However much is asked of them."""
    other = recorded_run(tmp_path, NOISE, generations=1, end="2020-02-11")
    path = recorded_run(tmp_path, NOISE, generations=1, seed=2)
    opened, begin = [], Reader.__init__

    def note(reader, folder):
        opened.append(folder)
        begin(reader, folder)

    monkeypatch.setattr(Reader, "__init__", note)
    assert judge_briefly(path).searches == 2
    assert opened.count(other) == 1


def test_a_warm_start_is_repeated_with_its_guests(tmp_path, monkeypatch):
    """They have to be there still, and the same; the verdict knows of them."""
    noted, add_verdict = [], judge.add_verdict

    def note(*facts, is_warm_started, **more):
        noted.append(is_warm_started)
        return add_verdict(*facts, is_warm_started=is_warm_started, **more)

    monkeypatch.setattr(judge, "add_verdict", note)
    bars = NOISE.until(1000)
    first = recorded_run(tmp_path, bars, generations=1)
    second = recorded_run(tmp_path, bars, warm_start=first.name, seed=2, generations=1)
    assert judge_briefly(second, blocks=4, null=2, causal=False).trials.evaluated > 0
    judge_briefly(first)
    assert noted == [True, False]
    shutil.rmtree(first)
    with pytest.raises(OptimizerError):
        judge_briefly(second, blocks=4)
    recorded_run(tmp_path, bars, seed=5, generations=1).rename(first)
    with pytest.raises(ConfigError, match="other candidates"):
        judge_briefly(second, blocks=4)


@pytest.mark.parametrize(
    ("settings", "stopped_by", "reached", "repeated"),
    [
        # A clock's end is repeated by its generations, a rule's end by the rule.
        ({"generations": 6, "max_seconds": 1e-6}, "max_seconds", 0, 0),
        ({"generations": 30, "plateau": 2, "population": 8}, "plateau", None, 30),
    ],
    ids=["clock", "plateau"],
)
def test_searches_are_repeated_by_the_rules_of_the_run(
    tmp_path, settings, stopped_by, reached, repeated
):
    """On null markets, and for its trials."""
    path = recorded_run(tmp_path, NOISE.until(1000), **settings)
    result = read_result(path)
    assert result.stopped_by == stopped_by
    assert reached in (None, result.generation)
    judgement = judge_briefly(path, null=2, blocks=4, causal=False)
    with RunStore.open(path) as store:
        task = restore_task(store, JUDGE, {})
    again = on_other_bars(task, task.markets.series, task.markets.windows, generations=repeated)
    setup = NullSetup(again, "auto")
    alone = [setup.run(NullJob("shuffled", number)).strength for number in (1, 2)]
    assert list(judgement.null.shuffled.strengths) == alone
    assert judgement.trials.evaluated > 0


def test_a_planted_edge_is_weak_until_folds_confirm_it(tmp_path):
    """Null searches alone prove nothing elsewhere."""
    path = recorded_run(tmp_path, make_planted_market(3, 4000, 20), min_trades=30)
    weak = judge_briefly(path, null=142, causal=False)
    assert weak.verdict.grade == "weak"
    assert [kind.run for kind in (weak.null.shuffled, weak.null.mirrored)] == [142, 142]
    assert weak.ledger.is_believed
    holds = judge_briefly(path, folds=4, train=2)
    assert holds.null == weak.null
    assert holds.verdict.grade in ("holds", "robust")
    assert "Searching this way held" in holds.verdict.sentence
