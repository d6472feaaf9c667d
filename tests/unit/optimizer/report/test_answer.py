"""The first screen of a report: numbers of the pick, its equity, folds as one account."""

import shutil

import numpy as np
import pytest

from optimizer import load_run
from optimizer.cli.result import print_answer
from optimizer.evidence.judge import judge_run
from optimizer.evidence.plan import Plan
from optimizer.formatting import fraction, metric
from optimizer.grades import GRADES
from optimizer.report import gallery
from optimizer.report.facts import summarize
from optimizer.report.model import build_page_data, choose_members
from optimizer.report.page import page_html
from optimizer.report.schedule import stitched_curve
from optimizer.report.summary import CANNOT_KNOW, describe_outcome, select, shorten_verdict
from tests.support.judged import judgement, record_judgement
from tests.support.runs import record_run


@pytest.fixture(scope="module")
def folded_run(tmp_path_factory):
    """A run on the sample that was searched again in folds."""
    path = record_run(tmp_path_factory.mktemp("runs"), population=24, generations=4)
    judge_run(path, Plan(folds=3, train=2), {}, lambda *_: None)
    return load_run(str(path))


def test_tiles_hold_the_numbers_of_the_pick(folded_run):
    """As the table of its metrics has them; gains and losses differ in colour."""
    member = folded_run.members[folded_run.pick.member]
    tiles = {fact.label: fact for fact in select(summarize(folded_run), "figure")}
    assert tiles["Return a year"].value == metric("cagr", member.metrics["cagr"])
    assert tiles["Deepest drawdown"].value == fraction(member.objectives["max_drawdown"])
    assert tiles["Trades"].value == metric("trades", member.metrics["trades"])
    own, hold = member.objectives["total_return"], member.metrics["hold_at_equal_volatility"]
    assert tiles["Against buy and hold"].value == f"{100 * (own - hold):+,.1f}"
    drawn = folded_run.plot.answer().data[0]
    assert drawn.name == "buy and hold, at equal volatility"
    assert drawn.y[-1] - 1.0 == pytest.approx(hold, rel=1e-12)
    expected = folded_run.expected
    assert tiles["Expected"].value == expected.headline
    assert tiles["Expected"].note.endswith(f"; {expected.year.headline}, {expected.year.range}")
    assert folded_run.front["expected_r"].dropna().tolist() == [expected.mean]
    assert tiles["Return a year"].tone == ("gain" if member.metrics["cagr"] > 0 else "loss")


def test_folds_are_stitched_to_one_account(folded_run):
    """Trades of each fold's pick in its own test, in the order of time, from 1."""
    curve = stitched_curve(folded_run)
    folds = folded_run.judgement.folds
    assert len(curve.value) == 1 + folds.trades
    fraction_at_risk = folded_run.task.costs.risk_fraction
    r = np.diff(curve.value) / curve.value[:-1] / fraction_at_risk
    assert r.mean() == pytest.approx(folds.mean_r, rel=1e-9)
    assert (np.diff(curve.time_ns) >= 0).all()
    chart = gallery.Charts(folded_run).folds()
    assert len(chart.layout["shapes"]) == len(folds.rows)


@pytest.mark.parametrize("grade", GRADES)
def test_the_answer_says_grade_reason_and_next_step_apart(example_run, tmp_path, grade, capsys):
    """None of them is repeated; what is expected stands on the page as in the terminal."""
    shutil.copytree(example_run, tmp_path / grade)
    record_judgement(tmp_path / grade, judgement(grade))
    run = load_run(str(tmp_path / grade))
    facts = summarize(run)
    print_answer(run.result, run.judgement)
    told = capsys.readouterr().out
    compared = describe_outcome(run.result, run.judgement)
    expected = select(facts, "expected")
    unknown = "not known yet" if expected else "-"
    known = unknown if run.expected is None else run.expected.headline
    assert compared["expected of it"] == known
    assert ("Expected: " in told) == (run.expected is not None) == bool(expected)
    if run.expected is not None:
        assert run.expected.describe() in " ".join(told.split())
        assert expected[0].note == CANNOT_KNOW
    ((verdict,), (step,)) = select(facts, "verdict"), select(facts, "next")
    assert step.value
    assert step.value not in verdict.value
    assert not shorten_verdict(verdict).lower().startswith(verdict.label.lower())
    assert "RUN" not in step.value
    assert "simulated" not in verdict.value
    assert verdict.note


def test_a_member_beyond_those_that_a_page_names_is_named_too(folded_run, monkeypatch):
    """Who is asked for stands in the table and is shown, whatever its number."""
    monkeypatch.setattr("optimizer.report.model.MOST_MEMBERS", 2)
    last = len(folded_run.members) - 1
    chosen = choose_members(folded_run, last)
    assert {0, 1, folded_run.pick.member, last} <= {*chosen.named}
    data = build_page_data(folded_run, chosen)
    assert tuple(data["members"]) == chosen.named
    assert data["first"] == last
    assert last in data["details"]
    assert f'<tr data-member="{last}"' in page_html(folded_run, last)
