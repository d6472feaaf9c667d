"""A judgement states all that its rows hold, and one that was interrupted is marked as such."""

import shutil

import pytest

from optimizer.judging.judge import judge_run
from optimizer.judging.judgement import Judgement, read_judgement
from optimizer.judging.plan import Plan
from optimizer.judging.verdict import add_verdict
from optimizer.store import RunStore
from optimizer.store.result import load_result
from optimizer.verifying.check import check_run
from tests.support.commands import Commands
from tests.support.evidence import make_planted_market
from tests.support.forging import drop_evidence, forge
from tests.support.judging import judge_briefly, recorded_run

pytestmark = pytest.mark.slow

EVIDENCE = {"folds": 2, "train": 1, "blocks": 4, "cpcv": "4,1", "purge": 8, "embargo": 8}
NULL = {"null": 6, "stop_after": 9, "causal": True}


@pytest.fixture(scope="module")
def searched_run(tmp_path_factory):
    """A run that was not judged."""
    bars = make_planted_market(7, 1200, 0)
    return recorded_run(tmp_path_factory.mktemp("searched"), bars, holdout="25%", generations=6)


@pytest.fixture(scope="module")
def honest(searched_run, tmp_path_factory):
    """The same with all kinds of evidence."""
    path = shutil.copytree(searched_run, tmp_path_factory.mktemp("judged") / "run")
    judge_briefly(path, **EVIDENCE, **NULL, is_open=True)
    return path


@pytest.fixture
def run(searched_run, tmp_path):
    """A copy of the run without evidence."""
    return shutil.copytree(searched_run, tmp_path / "run")


@pytest.fixture
def judged_run(honest, tmp_path):
    """A copy of the run with evidence."""
    return shutil.copytree(honest, tmp_path / "run")


def find(run, individuals=0):
    """What is found out about a run, by default by its record alone."""
    with RunStore.open(run) as store:
        return check_run(store, {}, individuals)


def forge_judgement(run, change, number=-1):
    """Change a judgement of a run, and give it the verdict that follows from it then."""
    with RunStore.open(run) as store:
        result = load_result(store)
        rows = [name for name, _ in store.evidence]
    places = [place for place, name in enumerate(rows, 1) if name == "judgement"]

    def reconsider(payload):
        change(payload)
        verdict = add_verdict(
            Judgement.read(payload), result, run, seconds=0.0, is_warm_started=False
        )
        payload.clear()
        payload.update(verdict.payload())

    forge(run, "evidence", reconsider, number=places[number])


PARTS = (
    "pick", "null", "folds", "cpcv", "trials", "sharpe", "cscv", "bootstrap", "robust", "causal",
    "held_out",
)  # fmt: skip


def test_an_honest_judgement_states_all_of_its_rows(honest):
    """By its record alone, and by its bars."""
    for individuals in (0, 3):
        problems = find(honest, individuals)
        assert (problems.problems, problems.unchecked, problems.unfinished) == ((), (), ())


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_is_left_out_is_found(judged_run, part):
    """Digests and verdict made anew, without any bars."""
    forge_judgement(judged_run, lambda payload: payload.pop(part))
    problems = find(judged_run)
    assert any(part in line or "says nothing of" in line for line in problems.problems), problems


def test_a_judgement_without_a_verdict_is_refused(judged_run, capsys):
    """In one line."""
    forge(judged_run, "evidence", lambda payload: payload.pop("verdict"), name="judgement")
    outcome = Commands(capsys)("runs", "verify", judged_run)
    assert (outcome.code, "verdict" in outcome.error) == (4, True)


def test_several_parts_that_are_left_out_are_found(judged_run):
    """Null searches together with what goes with them, as if they had never been asked for."""

    def change(payload):
        for part in ("null", "causal", "held_out"):
            payload.pop(part)

    forge_judgement(judged_run, change)
    message = "; ".join(find(judged_run).problems)
    assert "says nothing of 6 searches on shuffled bars" in message
    assert "says nothing of 1 look at held-out bars" in message


@pytest.mark.parametrize("rows", ["null/%/shuffled/%", "fold/%", "cpcv/%", "opened", "judgement"])
def test_rows_that_are_left_out_are_found(judged_run, rows):
    """A statement without its rows, and rows without their statement."""
    drop_evidence(judged_run, rows)
    assert not find(judged_run, 3).is_whole
    assert find(judged_run, 3).problems or rows == "judgement"


def test_null_searches_are_counted_by_their_rows_alone(judged_run):
    """The better p of the first three is none, whatever the verdict; no bars are needed for it."""

    def change(payload):
        shuffled = payload["null"]["shuffled"]
        shuffled["run"], shuffled["strengths"] = 3, shuffled["strengths"][:3]

    forge_judgement(judged_run, change)
    assert "judgement.null.shuffled.run: recorded 3, it follows 6" in find(judged_run).problems


def test_a_later_judgement_leaves_out_nothing_of_the_last(judged_run):
    """Of the same pick; rows are stated by the one before."""
    judge_briefly(judged_run)
    assert find(judged_run).problems == ()
    forge_judgement(judged_run, lambda payload: payload.pop("null"))
    assert any(line.startswith("judgement.null is left out") for line in find(judged_run).problems)


class KilledError(Exception):
    """A judge that is killed."""


def judge_until(run, part, done, **plan):
    """Judge a run until so many of a part are done."""

    def watch(now, number, *_):
        if now == part and number >= done:
            raise KilledError

    with pytest.raises(KilledError):
        judge_run(run, Plan(**{"folds": 0, "blocks": 0, **plan}), {}, watch)


def test_an_interrupted_judging_is_noted_with_the_command_to_resume(run, capsys):
    """It is not whole and not damaged; the command makes it whole."""
    judge_until(run, "searches on shuffled bars", 3, **NULL)
    problems = find(run, 3)
    assert (problems.problems, problems.unchecked, problems.is_whole) == ((), (), False)
    (line,) = problems.unfinished
    assert line.startswith("3 searches on shuffled bars are in no judgement, go on with: ")
    command = Commands(capsys)
    outcome = command("runs", "verify", run)
    assert (outcome.code, "is not judged to the end: 3 searches on" in outcome.error) == (4, True)
    assert command("runs", "verify", run, "--json").json["unfinished"] == [line]
    words = line.partition("python -m optimizer ")[2].replace("199", "6").split()
    assert command(*words, "--folds", "0", "--blocks", "0").code == 0
    assert find(run, 3).is_whole


@pytest.mark.parametrize(
    ("part", "done", "plan"),
    [
        ("folds", 1, {"folds": 2, "train": 1, "purge": 8}),
        ("combinatorial splits", 2, {"cpcv": "4,1", "purge": 8, "embargo": 8}),
    ],
)
def test_every_part_goes_on_with_its_own_command(run, capsys, part, done, plan):
    """With the settings that stand in the names of its rows."""
    judge_until(run, part, done, **plan)
    (line,) = find(run).unfinished
    words = line.partition("python -m optimizer ")[2].split()
    assert Commands(capsys)(*words, "--blocks", "0").code == 0
    assert find(run, 3).is_whole


def test_what_was_interrupted_and_not_asked_for_again_is_noted(run):
    """The next judgement states it, so that it is not taken for a forged one."""
    judge_until(run, "searches on shuffled bars", 3, **NULL)
    (note,) = judge_briefly(run).notes
    assert note.startswith("not judged to the end: 3 searches on shuffled bars, which judge --null")
    problems = find(run, 3)
    assert (problems.problems, len(problems.unfinished)) == ((), 1)
    forge(run, "evidence", lambda payload: payload.update(notes=[]), name="judgement")
    assert "says nothing of 3 searches on shuffled bars" in find(run).problems[0]
    judge_briefly(run, **NULL)
    assert find(run, 3).is_whole


def test_more_searches_that_were_interrupted_are_noted(run):
    """Where fewer are stated already, which stay."""
    judge_briefly(run, null=2, stop_after=9)
    judge_until(run, "searches on shuffled bars", 4, **NULL)
    assert find(run).unfinished
    again = judge_briefly(run)
    assert (again.null.shuffled.run, len(again.notes)) == (2, 1)
    problems = find(run, 3)
    assert (problems.problems, len(problems.unfinished)) == ((), 1)


def test_fewer_searches_leave_out_none_that_were_made(run):
    """What was found out counts, whatever is asked for now."""
    first = judge_briefly(run, **NULL)
    again = judge_briefly(run, null=2, stop_after=9)
    assert again.null == first.null
    with RunStore.open(run) as store:
        assert read_judgement(store).null.shuffled.run == 6
    assert find(run, 3).is_whole
