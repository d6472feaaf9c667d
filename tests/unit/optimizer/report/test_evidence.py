"""What a report and Python say of a judgement: order, words, charts, nothing that is not known."""

import shutil
from dataclasses import replace

import pytest

from optimizer import load_run
from optimizer.evidence.judgement import weigh_evidence
from optimizer.evidence.power import PowerRecord, PowerRow
from optimizer.report import gallery
from optimizer.report.facts import summarize
from optimizer.report.schedule import list_fold_cells
from optimizer.report.summary import select
from tests.support.judged import judgement, record_judgement


def list_evidence(run):
    """Sentences of the evidence of a run, by what they are about."""
    return {row.label: row.value for row in select(summarize(run), "evidence")}


@pytest.fixture
def judge_run(example_run, tmp_path):
    """Gives a run with a judgement of a grade, as it was recorded."""

    def make_run(grade, **changes):
        path = tmp_path / grade
        shutil.copytree(example_run, path)
        recorded = record_judgement(path, replace(judgement(grade), **changes))
        return load_run(str(path)), recorded

    return make_run


def test_a_run_that_was_never_judged_names_the_command(example_run):
    """There is no judgement."""
    run = load_run(example_run)
    assert (run.judgement, run.verdict.grade) == (None, "not_judged")
    assert f"python -m optimizer judge {example_run} --null 299" in repr(run)
    assert not list_evidence(run)


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


def test_what_is_undefined_says_why(judge_run):
    """In rows and in folds; nowhere stands a number that is none."""
    run, _ = judge_run("holds")
    rows, folds = list_evidence(run), list_fold_cells(run.judgement.folds.rows)
    assert "undefined (no candidate was feasible)" in rows["late entries"]
    assert folds[1][4:] == ("undefined: no candidate was feasible",) * 2
    assert folds[0][1:3] == ("2020-01-01 to 2020-03-01", "2020-04-01 to 2020-06-01")
    message = " ".join([*rows.values(), *(cell for row in folds for cell in row)])
    assert "None" not in message
    assert "nan" not in message


def test_what_was_not_asked_for_is_named(judge_run):
    """Folds, look-ahead and held-out bars have a row for it."""
    run, _ = judge_run("not_judged", folds=None, causal=None)
    rows = list_evidence(run)
    assert {"folds", "look-ahead", "held-out bars"} <= rows.keys()
    run.result = replace(run.result, data=replace(run.result.data, held_out_bars=2))
    rows = list_evidence(run)
    assert "--open" in rows["held-out bars"]


def test_luck_names_the_search_that_could_be_blind(judge_run):
    """How to find out, or the sentence where that was measured; nothing of other verdicts."""
    run, _ = judge_run("luck")
    rows = list_evidence(run)
    assert f"python -m optimizer power {run.path}" in rows["power"]
    row = PowerRow(0.4, strength=4.0, markets=20, found=18)
    measured = PowerRecord("32 x 10", 299, "none", 40.0, 2.0, 0.5, (row,))
    run.judgement = replace(run.judgement, power=measured)
    rows = list_evidence(run)
    assert rows["power"] == measured.describe()
    curve, counted = gallery.Charts(run).power().data
    # Half are found of edges half as strong.
    assert (0.2, 0.5) in zip(curve["x"], curve["y"], strict=True)
    assert (*counted["x"], *counted["y"]) == (0.4, 0.9)
    run, _ = judge_run("weak")
    assert "power" not in list_evidence(run)
