"""From a judgement to its verdict and answer; rows that none states, with the flags to go on."""

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from optimizer.evidence.folds import FoldSettings, PathSettings, PathsRecord
from optimizer.evidence.holdout import HeldOutRecord, LookSettings
from optimizer.evidence.judgement import (
    QUESTIONS,
    Judgement,
    add_verdict,
    derive_member_verdict,
    describe_expected,
    expect_member,
    find_pick,
    list_unstated,
    weigh_evidence,
)
from optimizer.evidence.null import DEFAULT_SEARCHES, NullRecord, NullSettings
from optimizer.evidence.schedule import NullScheduleSettings, ScheduleRecord, StepSettings
from optimizer.evidence.verdict import Verdict
from optimizer.grades import GRADES
from optimizer.store import RunStore
from optimizer.store.caveats import RunAnswer
from optimizer.store.result import load_result
from tests.support.evidence import make_planted_market
from tests.support.judged import fold, judgement, null_kind
from tests.support.judging import recorded_run

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


def test_the_answer_is_that_of_the_pick(result):
    """Recorded with the result, and with a judgement of the member that it names."""
    pick = find_pick(result, None)
    metrics = result.front[pick.member].metrics
    growth, fall = metrics["cagr"], metrics["max_drawdown"]
    own = RunAnswer(pick.strength, metrics["total_return"], pick.trades, growth, fall)
    assert result.answer == own
    other = (pick.member + 1) % len(result.front)
    named = replace(BEST, pick=replace(BEST.pick, member=other, strength=1.25, trades=77))
    answer, metrics = judge_by_hand(named, result).answer, result.front[other].metrics
    assert (answer.strength, answer.trades) == (1.25, 77)
    assert (answer.total_return, answer.cagr) == (metrics["total_return"], metrics["cagr"])


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


FOLDS = FoldSettings(2, 3, 4, anchored=False)
STEPS = StepSettings("30d", "182d", 96, anchored=False, pick_by="strength")
NEAR = replace(STEPS, pick_by="near")
KEEP = replace(STEPS, pick_by="keep")
STEP_SETTINGS, KEEP_SETTINGS = vars(STEPS).values(), vars(KEEP).values()
NULL = NullRecord(299, "day", replace(null_kind(0), run=50, stopped=False))
JUDGED = replace(
    judgement(), null=NULL, cpcv=PathsRecord(6, (), None, None, None),
    schedule=SimpleNamespace(settings=KEEP, null=NULL),
)  # fmt: skip
DATES = "--every 30d --train 182d --purge 96"

LEFT = [
    (NullSettings("day", "shuffled"), 51, "51 searches on shuffled bars",
     "--null-keep day --null 299"),
    (NullSettings("week", "shuffled"), 1, "1 search on shuffled bars",
     "--null-keep week --null 299"),
    (replace(FOLDS, anchored=True), 1, "1 fold", "--folds 2 --train 3 --purge 4 --anchored"),
    (replace(FOLDS, purge=5), 2, "2 folds", "--folds 2 --train 3 --purge 5"),
    (PathSettings("5,1", 4, 8), 3, "3 combinatorial splits", "--cpcv 5,1 --purge 4 --embargo 8"),
    (NEAR, 2, "2 steps", f"{DATES} --pick-by near"),
    (replace(STEPS, anchored=True), 1, "1 step", f"{DATES} --anchored --pick-by strength"),
    (NullScheduleSettings(*KEEP_SETTINGS, "day", "shuffled"), 51, "51 schedules on shuffled bars",
     f"{DATES} --pick-by keep --null-keep day --null 299"),
    (NullScheduleSettings(*STEP_SETTINGS, "day", "mirrored"), 1, "1 schedule on mirrored bars",
     f"{DATES} --pick-by strength --null-keep day --null 299"),
    (LookSettings(), 1, "1 look at held-out bars", "--open"),
]  # fmt: skip

STATED = [
    (NullSettings("day", "shuffled"), 50), (NullSettings("day", "mirrored"), 1), (FOLDS, 2),
    (PathSettings("4,2", 4, 8), 6), (STEPS, 5),
    (NullScheduleSettings(*KEEP_SETTINGS, "day", "shuffled"), 50),
]  # fmt: skip


def list_rows(settings, count):
    """So many rows as they are recorded, with names in order."""
    recorded = dict(sorted(settings.payload().items()))
    return [(settings.question, {"settings": recorded, "number": k + 1}) for k in range(count)]


@pytest.mark.parametrize(("settings", "count", "words", "flags"), LEFT)
def test_rows_that_no_judgement_states_are_said_with_the_flags_that_go_on(
    settings, count, words, flags
):
    """Those of other settings than the judged ones, and those beyond the number that counted."""
    rows = [("judgement", {}), *list_rows(settings, count)]
    assert list_unstated(rows, [JUDGED]) == list_unstated(rows, []) == [(words, flags)]


def test_rows_that_a_judgement_states_are_not_said():
    """Each question asks its own part; what is left is said in the order of its beginning."""
    stated = [row for settings, count in STATED for row in list_rows(settings, count)]
    assert list_unstated(stated, [JUDGED]) == []
    names = [QUESTIONS[settings.question] for settings, _ in STATED]
    assert [*dict.fromkeys(names), LookSettings] == [*QUESTIONS.values()]
    opened = replace(JUDGED, held_out=SimpleNamespace())
    assert list_unstated(list_rows(LookSettings(), 1), [JUDGED, opened]) == []
    left = list_unstated([*list_rows(NEAR, 1), *stated, *list_rows(FOLDS, 1)], [judgement()])
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
