"""A finished run judged from end to end: grades, verdict, what is counted, the ledger."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from optimizer.errors import ConfigError, OptimizerError, StoreError
from optimizer.evidence import judge
from optimizer.evidence.betting import tally
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.folds import CPCV, FOLD, PathsRecord
from optimizer.evidence.holdout import HeldOutRecord
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judged_run import Plan
from optimizer.evidence.judgement import (
    QUESTIONS,
    Judgement,
    add_verdict,
    derive_member_verdict,
    describe_expected,
    expect_member,
    find_pick,
    list_unstated,
    read_judgement,
    weigh_evidence,
)
from optimizer.evidence.ledger import build_ledger, count_believed
from optimizer.evidence.null import (
    DEFAULT_SEARCHES,
    NULL,
    NullJob,
    NullRecord,
    NullSearch,
    NullSetup,
)
from optimizer.evidence.schedule import NULL_SCHEDULE, STEP, ScheduleRecord, StepSettings
from optimizer.evidence.verdict import Verdict
from optimizer.formatting import GRADES
from optimizer.run.purposes import JUDGE, restore_task
from optimizer.run.runner import on_other_bars
from optimizer.store import RunStore
from optimizer.store.caveats import OPENED
from optimizer.store.listing import RunSummary, delete_run, list_runs
from optimizer.store.result import load_result
from optimizer.store.searches import SEARCHES, hash_goals, list_noted
from tests.support.evidence import make_planted_market
from tests.support.judged import fold, judgement, null_kind
from tests.support.judging import judge_briefly, recorded_run
from tests.support.recording import HEADER, make_generation

NOISE = make_planted_market(7, 2500, 0)


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


CONFIRMS = {"trades": 40, "closing_days": 25, "mean_r": 0.1, "strength": 2.0, "psr": 0.99}
BEST = replace(judgement(), schedule=None)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Of a run that was not judged, whose front has several members."""
    bars = make_planted_market(7, 6000, 8)
    path = recorded_run(tmp_path_factory.mktemp("run"), bars, min_trades=40)
    with RunStore.open(path) as store:
        return load_result(store)


def judge_by_hand(judged, result, *, is_warm_started=False):
    """A judgement made by hand, with what follows from it."""
    facts = {"seconds": 1.0, "is_warm_started": is_warm_started}
    return add_verdict(judged, result, Path("run"), **facts)


def grade(judged, result, **facts):
    """The grade that follows."""
    return judge_by_hand(judged, result, **facts).verdict.grade


def test_a_run_that_was_moved_names_its_own_place(result):
    """In the next step of its judgement, also where the path has blanks."""
    judged = judge_by_hand(judgement("not_judged"), result)
    row = judged.payload()
    store = SimpleNamespace(evidence=[("judgement", row)], path=Path("my runs/a"))
    sentence = read_judgement(store).verdict.sentence
    assert "judge run --null 299 (about 1 s)." in judged.verdict.sentence
    assert sentence == judged.verdict.sentence.replace("judge run", "judge 'my runs/a'")


@pytest.mark.parametrize("name", GRADES)
def test_each_grade_follows_from_its_evidence(result, name):
    """Of a judgement that was made by hand for it."""
    assert grade(judgement(name), result) == name


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"folds": None, "held_out": HeldOutRecord(looks=4, **CONFIRMS)}, "robust"),
        ({"folds": None, "held_out": HeldOutRecord(looks=6, **CONFIRMS)}, "weak"),
        ({"searches": 11}, "weak"),
        ({"fits": 3}, "weak"),
    ],
)
def test_looks_searches_and_fits_count(result, changes, expected):
    """As the record has them."""
    assert grade(replace(BEST, **changes), result) == expected
    assert grade(BEST, result, is_warm_started=True) == "weak"
    wrong = replace(result, certificate=replace(result.certificate, mismatches=2))
    assert grade(BEST, wrong) == "invalid"


def make_schedule(gone=""):
    """Record of a schedule of three steps, from 2023 on."""
    return ScheduleRecord(
        every="30d", train="180d", anchored=False, purge=0, pick_by="strength",
        rows=(SimpleNamespace(genes={"n": 1}, date="2023-01-01T00:00"),) * 3,
        next_date="2024-02-01", equity=1.21, max_drawdown=0.1, over_border=0, turnover=0.1,
        changed=0.5, first_mean_r=0.1, first_equity=1.0, gain=0.0, gain_p=0.5, mismatches=0,
        null=BEST.null, gone=gone, **CONFIRMS,
    )  # fmt: skip


@pytest.mark.parametrize(("gone", "expected"), [("", "holds"), ("2024-01-01 03:00", "invalid")])
def test_a_schedule_is_graded_by_its_own_account(result, gone, expected):
    """By its stitched trades, unless the account stood at nothing."""
    assert grade(replace(BEST, schedule=make_schedule(gone)), result) == expected


def test_the_answer_is_of_a_member_whose_account_stands_and_of_all_its_trades(result):
    """Windows together, where the metric is a mean over them."""
    pick = find_pick(result, None).member
    front = [*result.front]
    front[pick] = replace(front[pick], gone="2024-01-01 03:00")
    changed = replace(result, answer=None, front=tuple(front))
    second = changed.strongest
    assert second not in (None, pick)
    front[second] = replace(front[second], by_window={"trades": (30.0, 50.0)})
    answer = replace(changed, front=tuple(front)).add_answer().answer
    assert (answer.strength, answer.trades) == (front[second].metrics["strength"], 80)
    assert answer.total_return == front[second].metrics["total_return"]
    gone = tuple(replace(member, gone="2024-01-01 03:00") for member in front)
    assert replace(changed, front=gone).add_answer().answer is None


def test_the_answer_of_a_schedule_is_that_of_the_account_of_all_steps(result):
    """Its growth a year counts from the first step to the last searched bar."""
    (window,) = result.data.windows
    later = {"start": window.end, "end": window.end + 9, "last": "2030-01-01T00:00"}
    windows = (
        replace(window, last="2024-12-31T12:00"),
        replace(window, sample="held out", **later),
    )
    longer = replace(result, data=replace(result.data, windows=windows))
    answer = judge_by_hand(replace(BEST, schedule=make_schedule()), longer).answer
    assert (answer.strength, answer.trades, answer.max_drawdown) == (2.0, 40, 0.1)
    assert (answer.total_return, answer.cagr) == pytest.approx((0.21, 0.1))
    brief = replace(windows[0], last="2023-01-20T23:00")
    short = replace(result, data=replace(result.data, windows=(brief,)))
    answer = judge_by_hand(replace(BEST, schedule=make_schedule()), short).answer
    assert answer.cagr is None


def test_a_member_that_is_no_pick_has_no_good_verdict(result):
    """The verdict of its run is of another, or of a way of searching; what speaks against stays."""
    good, bad = (
        Judgement(verdict=Verdict(*parts)) for parts in (("robust", "Held."), ("luck", "Luck."))
    )
    pick = find_pick(result, good).member
    other = int(pick == 0)
    assert derive_member_verdict(result, good, pick) == good.verdict
    unjudged = derive_member_verdict(result, good, other)
    assert (unjudged.grade, f"member {pick} " in unjudged.sentence) == ("not_judged", True)
    assert derive_member_verdict(result, bad, other).grade == "luck"
    members = [replace(member, gone="2024-01-01 03:00") for member in result.front]
    gone = derive_member_verdict(replace(result, front=tuple(members)), good, other)
    assert gone.grade == "invalid"
    assert "2024-01-01 03:00" in gone.sentence


def test_a_symbol_that_no_fold_tests_is_not_confirmed_by_them(result):
    """One with a tenth of the pick's trades: no bar of a test speaks for these."""
    folds = replace(BEST.folds, rows=tuple(replace(fold(0.2, ""), untested=names)
                                           for names in (("B", "C"), ("B",))))  # fmt: skip
    pick = replace(BEST.pick, trades_by_symbol={"A": 80, "B": 20, "C": 20})
    verdict = judge_by_hand(replace(BEST, pick=pick, folds=folds), result).verdict
    assert (verdict.grade, "no fold tests B, where" in verdict.sentence) == ("weak", True)
    few = replace(pick, trades_by_symbol={"A": 181, "B": 20})
    assert grade(replace(BEST, pick=few, folds=folds), result) == "robust"
    sentence = {row.about: row.sentence for row in weigh_evidence(replace(BEST, folds=folds))}
    assert "B is tested in 0 of them. C is tested in 1 of them." in sentence["folds"]


FOLDS = {"anchored": False, "folds": len(BEST.folds.rows), "purge": 4, "train": 3}
STEPS = {"anchored": False, "every": "30d", "pick_by": "strength", "purge": 96, "train": "182d"}
KEEP = {**STEPS, "pick_by": "keep"}
SHUFFLED, MIRRORED = ({"kind": kind, "null_keep": "day"} for kind in ("shuffled", "mirrored"))
PATHS = {"cpcv": "4,2", "embargo": 8, "purge": 4}
NULLS = NullRecord(299, "day", replace(null_kind(0), run=50, stopped=False))
JUDGED = replace(
    judgement(), null=NULLS, cpcv=PathsRecord(6, (), None, None, None),
    schedule=SimpleNamespace(settings=StepSettings(**KEEP), null=NULLS),
)  # fmt: skip

LEFT = [
    (NULL, SHUFFLED, 51, "51 searches on shuffled bars", "--null-keep day --null 299"),
    (NULL, {**SHUFFLED, "null_keep": "week"}, 1, "1 search on shuffled bars",
     "--null-keep week --null 299"),
    (FOLD, {**FOLDS, "anchored": True}, 1, "1 fold", "--anchored --folds 2 --purge 4 --train 3"),
    (FOLD, {**FOLDS, "purge": 5}, 2, "2 folds", "--folds 2 --purge 5 --train 3"),
    (CPCV, {**PATHS, "cpcv": "5,1"}, 3, "3 combinatorial splits",
     "--cpcv 5,1 --embargo 8 --purge 4"),
    (STEP, {**STEPS, "pick_by": "near"}, 2, "2 steps",
     "--every 30d --pick-by near --purge 96 --train 182d"),
    (STEP, {**STEPS, "anchored": True}, 1, "1 step",
     "--anchored --every 30d --pick-by strength --purge 96 --train 182d"),
    (NULL_SCHEDULE, {**KEEP, **SHUFFLED}, 51, "51 schedules on shuffled bars",
     "--every 30d --pick-by keep --purge 96 --train 182d --null-keep day --null 299"),
    (NULL_SCHEDULE, {**STEPS, **MIRRORED}, 1, "1 schedule on mirrored bars",
     "--every 30d --pick-by strength --purge 96 --train 182d --null-keep day --null 299"),
    (OPENED, {}, 1, "1 look at held-out bars", "--open"),
]  # fmt: skip

STATED = [
    (NULL, SHUFFLED, 50), (NULL, MIRRORED, 1), (FOLD, FOLDS, 2), (CPCV, PATHS, 6),
    (STEP, STEPS, 5), (NULL_SCHEDULE, {**KEEP, **SHUFFLED}, 50),
]  # fmt: skip


def list_rows(question, settings, count):
    """So many rows as they are recorded."""
    return [(question, {"settings": settings, "number": k + 1}) for k in range(count)]


@pytest.mark.parametrize(("question", "settings", "count", "words", "flags"), LEFT)
def test_rows_that_no_judgement_states_are_said_with_the_flags_that_go_on(
    question, settings, count, words, flags
):
    """Those of other settings than the judged ones, and those beyond the number that counted."""
    rows = [("judgement", {}), *list_rows(question, settings, count)]
    assert list_unstated(rows, [JUDGED]) == list_unstated(rows, []) == [(words, flags)]


def test_rows_that_a_judgement_states_are_not_said():
    """Each question asks its own part; what is left is said in the order of its beginning."""
    stated = [row for rows in STATED for row in list_rows(*rows)]
    assert list_unstated(stated, [JUDGED]) == []
    assert [*dict.fromkeys(name for name, *_ in STATED), OPENED] == [*QUESTIONS]
    opened = replace(JUDGED, held_out=SimpleNamespace())
    assert list_unstated(list_rows(OPENED, {}, 1), [JUDGED, opened]) == []
    near = list_rows(STEP, {**STEPS, "pick_by": "near"}, 1)
    left = list_unstated([*near, *stated, *list_rows(FOLD, FOLDS, 1)], [judgement()])
    assert [words for words, _ in left] == [
        "1 step", "6 combinatorial splits", "5 steps", "50 schedules on shuffled bars",
    ]  # fmt: skip


def test_pick_and_members_are_expected_to_earn_less_than_is_shown(result):
    """By the same null searches; the pick's own is recorded."""
    judged = judge_by_hand(judgement(), result)
    found = [value for value in judged.null.shuffled.strengths if value is not None]
    assert judged.expected == expect_member(result, judged, 0)
    assert judged.expected.nulls == len(found)
    assert judged.answer.expected == judged.expected.mean
    assert judged.expected.mean < judged.pick.mean_r
    assert judged.answer.expected_cagr == judged.expected.year.mean
    metrics = result.front[1].metrics
    other = expect_member(result, judged, 1)
    assert (other.shown, other.nulls) == (metrics["mean_r"], len(found))
    less = metrics["trades_per_year"] * 0.01 * (other.mean - other.shown)
    assert other.year.shown == metrics["cagr"]
    assert other.year.mean == pytest.approx((1 + metrics["cagr"]) * math.exp(less) - 1, rel=1e-12)
    assert describe_expected(result, judged, 1) == other.describe()


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (None, "not known yet; python -m optimizer judge {} --null {} finds out."),
        (replace(judgement(), null=None), "0.25 R a trade, "),
        (judgement("invalid"), ""),
        (judgement("too_little"), ""),
    ],
)
def test_expectation_is_told_with_its_source_or_how_to_find_it_out(result, made, told):
    """And not at all of what is no result."""
    judged = made and judge_by_hand(made, result)
    sentence = describe_expected(result, judged, 0)
    assert sentence.startswith(told.format(result.path, DEFAULT_SEARCHES))
    assert bool(sentence) == bool(told)


def test_rows_are_known_by_their_settings_and_their_number(tmp_path):
    """Those of another kind or rhythm are not; of equal numbers the newest counts."""
    settings = {"null_keep": "day", "kind": "shuffled"}
    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
        store.finish({"front": []})
        rows = Checkpoint(store, NULL, settings, NullSearch)
        for number, strength in ((2, 1.0), (1, 2.0), (2, 3.0)):
            rows.add(NullSearch(number, 4, strength))
        store.flush()
        known = {1: NullSearch(1, 4, 2.0), 2: NullSearch(2, 4, 3.0)}
        assert rows.known == Checkpoint(store, NULL, settings, NullSearch).known == known
        for other in ({**settings, "kind": "mirrored"}, {**settings, "null_keep": "week"}):
            assert Checkpoint(store, NULL, other, NullSearch).known == {}
        assert Checkpoint(store, NULL_SCHEDULE, settings, NullSearch).known == {}


SHORT_NOISE = make_planted_market(7, 900, 0)


def run(name, question, wealth=None):
    """A run of a list."""
    return RunSummary(id=name, path=Path(name), status="finished", question=question, wealth=wealth)


def test_believed_by_the_law():
    """The largest number of greatest e-values that are all great enough for it."""
    assert count_believed([150, 40, 3, 0.5, 0.1]) == 2
    assert count_believed([120, *[0.5] * 11]) == 1
    assert count_believed([110, *[0.5] * 11]) == 0
    assert count_believed([]) == 0
    # Ten of a hundred, each of 100, carry each other.
    assert count_believed([100.0] * 10 + [0.0] * 90) == 10
    assert count_believed([100.0] * 9 + [0.0] * 91) == 0


def test_seeds_of_a_question_are_one_search():
    """Their e-value is the mean, with 0 for one that was not judged."""
    runs = [run("a", "one", 110.0), run("b", "one"), run("c", "two", 60.0), run("d", None)]
    ledger = build_ledger(runs, ["one", "gone"], runs[0])
    assert (ledger.searches, ledger.removed, ledger.believed) == (4, 1, 2)
    assert (ledger.wealth, ledger.is_believed, ledger.needed) == (55.0, True, 20.0)
    assert not build_ledger(runs, [], runs[3]).is_believed
    assert build_ledger(runs, [], runs[0], fits=9).believed == 0


def test_goals_that_were_tried_on_the_same_bars_are_counted():
    """Each set once, whatever its seeds; those on other bars are another question."""
    tried = [("a", "one"), ("a", "one"), ("a", "two"), ("b", "three")]
    runs = [replace(run(f"{n}", f"{n}"), goals=goals) for n, goals in enumerate(tried)]
    assert "2 sets of goals were tried" in build_ledger(runs, [], runs[0]).describe()
    assert "sets of goals" not in build_ledger(runs, [], runs[3]).describe()
    bars = {"data_hash": "x", "windows": []}
    named = [{"identity": {**bars, "goals": {"objectives": [goal]}}} for goal in ("calm", "sharpe")]
    assert hash_goals(named[0]) != hash_goals(named[1])


def test_removed_runs_are_not_forgotten(tmp_path):
    """A folder knows the questions that were begun in it; a lost list is refused by its name."""
    first = recorded_run(tmp_path, SHORT_NOISE, generations=1)
    recorded_run(tmp_path, SHORT_NOISE, generations=1, seed=2)
    second = recorded_run(tmp_path, SHORT_NOISE, generations=1, population=20)
    folder = second.parent
    assert len(list_noted(folder)) == 2
    shutil.rmtree(second)
    ledger = judge_briefly(first).ledger
    assert (ledger.searches, ledger.removed) == (2, 1)
    assert "Of 2 searches in this folder, 1 of them removed," in ledger.describe()
    assert {one.question for one in list_runs(folder)} < set(list_noted(folder))
    other = tmp_path / "other"
    shutil.copytree(first, other / "copied")
    delete_run(other / "copied")
    assert list_noted(other) == list_noted(folder)[:1]
    (folder / SEARCHES).write_text("{}")
    with pytest.raises(StoreError, match=SEARCHES):
        judge_briefly(first)


def test_streams_of_searches_are_believed_rightly():
    """200 runs, 20 with an edge: at most a tenth is false, and more are found than by p alone."""
    random, false, found, by_p = np.random.default_rng(3), [], [], []
    for _ in range(10):
        chances = np.where(np.arange(200) < 20, 0.0, random.random(200))
        counts = [tally(0.5, random.random(299) < chance, 299) for chance in chances]
        wealths = np.array([counted.wealth for counted in counts])
        believed = np.argsort(-wealths)[: count_believed(wealths)]
        false.append((believed >= 20).sum() / max(len(believed), 1))
        found.append((believed < 20).sum())
        by_p.append(sum(counted.p * len(counts) <= 0.05 for counted in counts))
    assert np.mean(false) <= 0.1
    assert np.mean(found) > np.mean(by_p) + 10
