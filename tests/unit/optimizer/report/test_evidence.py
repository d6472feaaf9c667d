"""What a report and Python say of a judgement: order, words, charts, nothing that is not known."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from optimizer import load_run
from optimizer.errors import ConfigError
from optimizer.evidence.null import NullRecord
from optimizer.grades import GRADES
from optimizer.judging.sentences import weigh_evidence
from optimizer.report.charts.judged import null_strengths, strength_at_costs
from optimizer.report.evidence import build_answer
from tests.support.judged import judgement, null_kind, record_judgement


@pytest.fixture
def judge_run(example_run, tmp_path):
    """Gives a run with a judgement of a grade, as it was recorded."""

    def make_run(grade, **changes):
        path = tmp_path / grade
        shutil.copytree(example_run, path)
        recorded = record_judgement(path, replace(judgement(grade), **changes))
        return load_run(str(path)), recorded

    return make_run


@pytest.mark.parametrize("grade", GRADES)
def test_a_run_begins_with_its_verdict(judge_run, grade):
    """Python has the recorded judgement, and shows its sentence first, on what market it was."""
    run, recorded = judge_run(grade)
    assert run.judgement == recorded
    assert run.verdict.grade == grade
    assert repr(run).startswith(recorded.verdict.sentence + "\nRun(")


def test_a_run_that_was_never_judged_names_the_command(example_run):
    """There is no judgement."""
    run = load_run(example_run)
    assert (run.judgement, run.verdict.grade) == (None, "not_judged")
    assert f"python -m optimizer judge {example_run} --null 199" in repr(run)
    assert build_answer(run).evidence == ()


def test_a_run_that_is_not_finished_names_the_way_to_resume(example_run):
    """It cannot be judged, so another command is named."""
    run = load_run(example_run)
    run.result = None
    assert f"evolve --resume {example_run} goes on with it." in run.verdict.sentence


def test_what_disagrees_comes_first():
    """Against an edge where the verdict is for one, for an edge where it is luck."""
    for grade, side in (("weak", "against"), ("luck", "for")):
        graded = judgement(grade)
        rows = weigh_evidence(replace(graded, verdict=replace(graded.verdict, grade=grade)))
        sides = [row.speaks == side for row in rows]
        assert any(sides)
        assert sides == sorted(sides, reverse=True)


def test_a_p_of_one_in_a_hundred_speaks_for_an_edge():
    """As the verdict takes it, exactly: 1 of 199 on mirrored bars; passed checks say nothing."""
    sides = {row.about: row.speaks for row in weigh_evidence(judgement("holds"))}
    assert sides["shuffled bars"] == sides["mirrored bars"] == "for"
    assert sides["sharpe a day"] == sides["late entries"] == "against"
    assert sides["neighbours"] == sides["halves"] == ""


@pytest.mark.parametrize(
    ("searches", "sentence", "speaks"),
    [
        (1, "", ""),
        (2, "2 searches on these bars: p x 2 = ", "against"),
    ],
)
def test_a_first_search_speaks_against_nothing(searches, sentence, speaks):
    """However large its p is, which has a row of its own; a second one makes it count twice."""
    null = NullRecord(199, "day", null_kind(20), None)
    judged = replace(judgement("luck"), null=null, searches=searches)
    assert float(judged.null.p) > 0.05
    (row,) = [row for row in weigh_evidence(judged) if row.about == "searches"]
    assert (row.sentence.startswith(sentence), row.speaks) == (True, speaks)


def test_what_is_undefined_says_why(judge_run):
    """In rows and in folds; nowhere stands a number that is none."""
    run, _ = judge_run("holds")
    answer = build_answer(run)
    rows = {row.about: row.sentence for row in answer.evidence}
    assert "undefined (nobody was feasible)" in rows["late entries"]
    assert answer.folds[1][4:] == ("undefined: nobody was feasible",) * 2
    assert answer.folds[0][1:3] == ("2020-01-01 to 2020-03-01", "2020-04-01 to 2020-06-01")
    message = " ".join([*rows.values(), *(cell for row in answer.folds for cell in row)])
    assert "None" not in message
    assert "nan" not in message


def test_what_was_not_asked_for_is_named(judge_run):
    """Folds, look-ahead and held-out bars have a row for it."""
    run, _ = judge_run("not_judged", folds=None, causal=None)
    rows = {row.about: row.sentence for row in build_answer(run).evidence}
    assert {"folds", "look-ahead", "held-out bars"} <= rows.keys()
    run.header = replace(run.header, held_out=([3, 5],))
    rows = {row.about: row.sentence for row in build_answer(run).evidence}
    assert "--open looks at them" in rows["held-out bars"]


def test_every_null_search_is_in_the_histogram():
    """Counts of both kinds add up to the fronts that have a strength; the pick has a mark."""
    chart = null_strengths(NullRecord(199, "day", null_kind(6), null_kind(0, run=99)), 3.0)
    shuffled, mirrored, pick = chart.data
    assert (shuffled["y"].sum(), mirrored["y"].sum()) == (198, 98)
    assert pick["x"].tolist() == [3.0, 3.0]
    assert "6 of 199" in chart.alt


@pytest.mark.parametrize("own", [None, 3.0])
def test_a_histogram_of_empty_fronts_is_one(own):
    """Nothing was found anywhere, perhaps not by the pick either."""
    empty = replace(null_kind(0, run=3), strengths=(None,) * 3)
    chart = null_strengths(NullRecord(3, "day", empty), own)
    assert chart.data[0]["y"].sum() == 0
    assert chart.figure().layout.title.text


@pytest.mark.parametrize(("even", "is_marked"), [(30.0, True), (300.0, False), (-3.0, False)])
def test_where_nothing_is_left_is_marked(even, is_marked):
    """At three times the charge; not where it lies outside, nor where it loses before costs."""
    robust = replace(judgement().robust, break_even_bp=even)
    chart = strength_at_costs(robust)
    assert [shape["x0"] for shape in chart.layout.get("shapes", ())] == [3.0] * is_marked
    assert np.array_equal(chart.data[0]["y"], [cost.strength for cost in robust.costs])
    assert ("loses before costs" in chart.alt) == (even < 0)


def test_charts_of_evidence_need_some(example_run, judge_run):
    """They are figures of plotly, and refused with the remedy where the run was not judged."""
    run, _ = judge_run("holds")
    assert len(run.plot.null().data) == 3
    assert run.plot.at_costs().layout.title.text == "the pick at other costs"
    for ask in (load_run(example_run).plot.null, load_run(example_run).plot.at_costs):
        with pytest.raises(ConfigError, match="judge it first"):
            ask()
