"""The verdict comes first wherever a front is shown; judging goes on, opens and counts."""

import html
import json
from pathlib import Path

import pytest

from optimizer.store import RunStore
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow

SEARCH = [one for one in SMALL if one != "--no-judge"]
QUICK = ("--folds", "2", "--resamples", "19")


@pytest.fixture
def market(tmp_path):
    """A market of 6,000 bars in a file."""
    return write_market(tmp_path / "bars.csv", 6000)


@pytest.fixture
def run(command, market):
    """A run with bars held out, not judged."""
    flags = ("--data", market, *SMALL, "--holdout", "20%", "--json")
    return command("evolve", *flags).json


def find_answer(printed):
    """The last block of what a command printed."""
    return printed.rstrip("\n").rpartition("\n\n")[2].splitlines()


def test_evolve_judges_what_it_found(command, market):
    """The last lines are verdict, pick and next step, the verdict is the first key of JSON."""
    shown = command("evolve", "--data", market, *SEARCH, *QUICK)
    lines = find_answer(shown.out)
    result = command("runs", "show", "latest", "--json").json["result"]
    judged = result["judgement"]
    assert next(iter(result)) == "judgement"
    sentence, _, step = judged["verdict"]["sentence"].partition(" Next: ")
    assert lines[0] == sentence
    assert lines[-2].startswith("Pick: Member ")
    assert lines[-1].startswith(f"Next: {step}")
    assert judged["verdict"]["grade"] in ("not_judged", "too_little", "lost")
    assert judged["cscv"]["blocks"] == 12
    assert len(judged["folds"]["rows"]) == 2
    assert find_answer(command("runs", "show", "latest").out) == lines
    assert "judging: folds" in shown.err


def test_a_run_that_was_never_judged_says_so(command, run):
    """With the command that would, in the terminal and in JSON."""
    shown = find_answer(command("runs", "show", "latest").out)[0]
    assert shown == run["judgement"]["verdict"]["sentence"].partition(" Next: ")[0]
    assert set(run["judgement"]) == {"verdict", "pick"}
    assert shown.startswith(
        ("Not tested for luck yet", "Too few trades to judge", "It loses", "It gains nothing")
    )


def test_judging_goes_on_where_it_was(command, run):
    """What was found out is not found out again; more null searches add to those recorded."""
    once = command("judge", "latest", *QUICK, "--null", 2, "--json").json["judgement"]
    more = command("judge", "latest", "--null", 4, "--json")
    assert more.json["judgement"]["null"]["shuffled"]["run"] == 4
    assert "statistics over all trials" not in more.err
    judgement = more.json["judgement"]
    for part in ("pick", "trials", "sharpe", "cscv", "bootstrap", "robust", "folds", "causal"):
        assert judgement[part] == once[part], part
    kept = once["null"]["shuffled"]["strengths"]
    assert judgement["null"]["shuffled"]["strengths"][:2] == kept
    assert command("judge", "latest", "--null", 4, "--json").json["judgement"] == judgement


def test_resuming_a_judged_run_keeps_its_judgement(command, run):
    """Not to judge it once more is not to forget what was found out."""
    verdict = command("judge", "latest", *QUICK, "--json").json["judgement"]["verdict"]
    for flags in ((), ("--no-judge",), ("--no-judge", "--threads", "1")):
        outcome = command("evolve", "--resume", "latest", *flags, "--no-report", "--json")
        assert outcome.json["judgement"]["verdict"] == verdict, flags
        assert "judging" not in outcome.err, flags


def test_resuming_goes_on_with_a_judge_that_was_killed(command, market, monkeypatch):
    """As far as the run was asked for it; rows that were recorded count."""
    with monkeypatch.context() as patch:
        add = RunStore.add_evidence

        def killed_at_the_judgement(store, name, payload):
            if name == "judgement":
                raise KeyboardInterrupt
            add(store, name, payload)

        patch.setattr(RunStore, "add_evidence", killed_at_the_judgement)
        stopped = command("evolve", "--data", market, *SEARCH, *QUICK, "--quiet")
        assert stopped.code == 130, stopped
    left = command("evolve", "--resume", "latest", "--no-judge", "--json", "--no-report")
    assert left.json["judgement"].keys() == {"verdict", "pick"}
    outcome = command("evolve", "--resume", "latest", "--json", "--no-report")
    assert len(outcome.json["judgement"]["folds"]["rows"]) == 2
    assert "judging: folds 2 of 2" in outcome.err
    again = command("evolve", "--resume", "latest", "--json", "--no-report")
    assert (again.json["judgement"], again.err) == (outcome.json["judgement"], "")


def test_resuming_shows_what_cannot_be_judged_any_more(command, market, monkeypatch):
    """The bars are gone: a note names that, and the front is shown."""
    with monkeypatch.context() as patch:
        patch.setattr("optimizer.cli.judge_progress.judge_after_search", lambda *_, **__: None)
        command("evolve", "--data", market, *SEARCH, *QUICK, "--quiet")
    Path(market.removeprefix("csv:")).unlink()
    outcome = command("evolve", "--resume", "latest", "--json", "--no-report")
    assert outcome.json["judgement"].keys() == {"verdict", "pick"}
    assert "note: the run is not judged: " in outcome.err
    assert command("evolve", "--resume", "latest", "--judge", "--no-report").code == 2


def test_held_out_bars_are_closed_until_they_are_opened(command, run, market, tmp_path):
    """Nothing of them is in a result, a table or an export before; every look is counted."""
    count = len(run["front"])
    assert count
    assert "held_out" not in run["front"][0]
    assert "judge " in command("runs", "show", "latest").out.split("held out, which nobody")[1]
    command("runs", "export", "latest", tmp_path / "closed.csv")
    assert "held_out" not in (tmp_path / "closed.csv").read_text()
    assert "held_out" not in command("backtest", "--run", "latest", "--member", 0, "--json").json

    opened = command("judge", "latest", *QUICK, "--open", "--json").json["judgement"]["held_out"]
    assert (opened["looks"], len(opened["members"])) == (1, count)
    assert len(json.loads(Path("runs/looks.json").read_text())) == 1
    shown = command("runs", "show", "latest", "--json").json["result"]["front"]
    assert [entry["held_out"]["metrics"] for entry in shown] == [
        entry["metrics"] for entry in opened["members"]
    ]
    assert "Held out: bars that the search never saw" in command("runs", "show", "latest").out
    command("runs", "export", "latest", tmp_path / "opened.csv")
    assert "held_out.metrics.trades" in (tmp_path / "opened.csv").read_text()
    member = command("backtest", "--run", "latest", "--member", 0, "--json").json
    assert member["held_out"]["metrics"] == opened["members"][0]["metrics"]

    again = command("judge", "latest", "--open", "--json").json["judgement"]["held_out"]
    assert again["looks"] == 1
    flags = ("--data", market, *SMALL, "--holdout", "20%", "--seed", 2, "--json")
    assert command("evolve", *flags).json["front_hash"] != run["front_hash"]
    other = command("judge", "latest", *QUICK, "--open", "--json").json["judgement"]
    assert (other["held_out"]["looks"], other["searches"]) == (2, 2)


def test_what_cannot_be_judged_is_refused(command, run, market):
    """One line with the reason; a run that is not finished is gone on with first."""
    assert "front has members 0 to" in command("judge", "latest", "--pick", 999).error
    assert "are too short" in command("judge", "latest", "--folds", 200).error
    assert "--blocks must be 0, or an even" in command("judge", "latest", "--blocks", 3).error
    assert "such as 8,2" in command("judge", "latest", "--cpcv", "2,8").error
    assert command("judge", "none").code == 4
    whole = ("--data", market, *SMALL, "--json")
    command("evolve", *whole)
    refused = command("judge", "latest", "--open")
    assert (refused.code, "no bars were held out" in refused.error) == (2, True)


def test_another_member_can_be_judged(command, run):
    """The verdict is about it, and nothing of the strongest is taken for it."""
    last = len(run["front"]) - 1
    named = command("judge", "latest", *QUICK, "--pick", last, "--json").json["judgement"]
    assert named["pick"]["member"] == last
    assert named["pick"]["genes"] == run["front"][last]["genes"]


def test_judging_renews_the_report(command, run):
    """Of the terminal and of Python, where there is one; it follows the newest judgement."""
    path = Path(run["path"])
    command("judge", "latest", "--folds", "0", "--resamples", "19")
    assert not (path / "report.html").exists()
    command("report", "latest")
    before = (path / "report.html").read_text(encoding="utf-8")
    judged = command("judge", "latest", "--null", 1, "--json")
    sentence = judged.json["judgement"]["verdict"]["sentence"]
    renewed = (path / "report.html").read_text(encoding="utf-8")
    assert "searches on shuffled bars" not in before
    # The grade stands above it, and is not repeated.
    assert sentence.partition(": ")[2] in html.unescape(renewed)
    assert "of 1 reached it" in renewed
    assert f"report {path / 'report.html'}" in judged.err
