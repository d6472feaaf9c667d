"""From a judgement to its verdict: which facts it takes, of whom it speaks, what it announces."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from optimizer.evidence.holdout import HeldOutRecord
from optimizer.evidence.judgement import Judgement
from optimizer.evidence.schedule import ScheduleRecord
from optimizer.evidence.sentences import weigh_evidence
from optimizer.evidence.verdict import Verdict
from optimizer.evidence.weighing import (
    add_verdict,
    derive_member_verdict,
    find_pick,
    list_untested,
)
from optimizer.grades import GRADES
from optimizer.store import RunStore
from optimizer.store.answers import RunAnswer
from optimizer.store.result import load_result
from tests.support.evidence import make_planted_market
from tests.support.judged import fold, judgement
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


def test_a_fold_names_the_symbols_that_it_does_not_test():
    """A symbol without a bar in a test cannot speak for the pick's trades there."""
    rows = [fold(0.2, ""), fold(0.1, "")]
    rows = [
        replace(row, untested=names) for row, names in zip(rows, (("B", "C"), ("B",)), strict=True)
    ]
    with_symbols = judgement()
    with_symbols = replace(
        with_symbols,
        pick=replace(with_symbols.pick, trades_by_symbol={"A": 80, "B": 20, "C": 20}),
        folds=replace(with_symbols.folds, rows=tuple(rows)),
    )
    assert list_untested(with_symbols) == ("B",)
    few = replace(with_symbols.pick, trades_by_symbol={"A": 181, "B": 20})
    assert list_untested(replace(with_symbols, pick=few)) == ()
    sentence = {row.about: row.sentence for row in weigh_evidence(with_symbols)}["folds"]
    assert "B is tested in 0 of them." in sentence
    assert "C is tested in 1 of them." in sentence
