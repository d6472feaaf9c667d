"""The verdict comes first wherever a front is shown; judging goes on, opens and counts."""

import html
import json
from pathlib import Path

import pytest

from optimizer.store import RunStore
from tests.support.commands import SMALL

pytestmark = pytest.mark.slow

SEARCH = [one for one in SMALL if one != "--no-judge"]
QUICK = ("--folds", "2", "--train", "1", "--resamples", "19")


@pytest.fixture
def run(command, recordings):
    """A run with bars held out, not judged."""
    return recordings.copy("held out")


def test_evolve_judges_and_every_command_shows_it(command, recordings):
    """The last lines are verdict, pick and next step, the verdict is the first key of JSON."""
    recorded = recordings.copy("noise")
    shown = command("runs", "show", "latest").out
    result = command("runs", "show", "latest", "--json").json["result"]
    judged = result["judgement"]
    assert next(iter(result)) == next(iter(recorded)) == "judgement"
    assert judged == recorded["judgement"]
    lines = shown.rstrip("\n").rpartition("\n\n")[2].splitlines()
    sentence, _, step = judged["verdict"]["sentence"].partition(" Next: ")
    assert lines[0] == sentence
    assert [line for line in lines if line.startswith(f"Pick: Member {judged['pick']['member']}")]
    assert lines[-1].startswith(f"Next: {step}")
    assert judged["verdict"]["grade"] in ("not_judged", "too_little", "lost", "luck")
    assert (judged["cscv"]["blocks"], len(judged["folds"]["rows"])) == (12, 2)
    # All evaluations and the different ones among them are counted.
    tried, whole = judged["trials"]["evaluated"], result["evaluated"]
    assert whole == result["timing"]["evaluated"] >= tried > 0
    (counted,) = (fact["value"] for fact in result["summary"] if fact["label"] == "Tried")
    assert counted in shown


def test_judging_goes_on_where_it_was(command, run):
    """What was found out is not found out again; null searches add up; the report is renewed."""
    page = Path(run["path"]) / "report.html"
    once = command("judge", "latest", *QUICK, "--null", 1, "--json").json["judgement"]
    assert not page.exists()
    command("report", "latest")
    before = page.read_text(encoding="utf-8")
    more = command("judge", "latest", "--null", 2, "--json")
    judgement = more.json["judgement"]
    assert judgement["null"]["shuffled"]["run"] == 2
    assert "statistics over all trials" not in more.err
    for part in ("pick", "trials", "sharpe", "cscv", "bootstrap", "robust", "folds", "causal"):
        assert judgement[part] == once[part], part
    kept = once["null"]["shuffled"]["strengths"]
    assert judgement["null"]["shuffled"]["strengths"][:1] == kept
    renewed = html.unescape(page.read_text(encoding="utf-8"))
    assert "of 2 reached it" in renewed
    assert "of 2 reached it" not in before
    assert command("judge", "latest", "--null", 2, "--json").json["judgement"] == judgement
    # Not to judge it once more is not to forget what was found out.
    for flags in ((), ("--no-judge", "--threads", "1")):
        again = command("evolve", "--resume", "latest", *flags, "--no-report", "--json")
        assert again.json["judgement"]["verdict"] == judgement["verdict"], flags
        assert "judging" not in again.err, flags


def test_resuming_goes_on_with_a_judge_that_was_killed(command, market, monkeypatch, tmp_path):
    """As far as the run was asked for it; without its bars a note says that it is not judged."""
    bars = tmp_path / "bars.csv"
    bars.write_text(Path(market.removeprefix("csv:")).read_text())
    with monkeypatch.context() as patch:
        add = RunStore.add_evidence

        def killed_at_the_judgement(store, name, payload):
            if name == "judgement":
                raise KeyboardInterrupt
            add(store, name, payload)

        patch.setattr(RunStore, "add_evidence", killed_at_the_judgement)
        stopped = command("evolve", "--data", bars, *SEARCH, *QUICK, "--quiet")
        assert stopped.code == 130, stopped
    resume = ("evolve", "--resume", "latest", "--no-report", "--json")
    gone = bars.rename("elsewhere.csv")
    shown = command(*resume)
    assert shown.json["judgement"].keys() == {"expected", "verdict", "pick"}
    assert "note: the run is not judged" in shown.err
    assert command(*resume, "--judge").code == 2
    gone.rename(bars)
    assert command(*resume, "--no-judge").json["judgement"].keys() == {
        "expected",
        "verdict",
        "pick",
    }
    outcome = command(*resume)
    assert len(outcome.json["judgement"]["folds"]["rows"]) == 2
    assert "judging: folds 2 of 2" in outcome.err
    again = command(*resume)
    assert (again.json["judgement"], again.err) == (outcome.json["judgement"], "")


def test_held_out_bars_are_closed_until_they_are_opened(command, run, tmp_path):
    """Nothing of them is in a result, a table or an export before; every look is counted."""
    member = ("backtest", "latest", "--member", 0, "--json")
    count = len(run["front"])
    assert "held_out" not in run["front"][0]
    assert "judge " in command("runs", "show", "latest").out.split("held out, which nobody")[1]
    command("runs", "export", "latest", tmp_path / "closed.csv")
    assert "held_out" not in (tmp_path / "closed.csv").read_text()
    assert "held_out" not in command(*member).json
    # Named as other bars they would be looked at uncounted.
    assert "held_out" not in command(*member, "--data", "bars.csv").json
    assert "--open" in command(*member, "--start", "1970-01-05").error

    opened = command("judge", "latest", *QUICK, "--open", "--json").json["judgement"]["held_out"]
    assert (opened["looks"], len(opened["members"])) == (1, count)
    assert len(json.loads(Path("runs/looks.json").read_text())) == 1
    shown = command("runs", "show", "latest", "--json").json["result"]["front"]
    assert [entry["held_out"]["metrics"] for entry in shown] == [
        entry["metrics"] for entry in opened["members"]
    ]
    assert "Held out: " in command("runs", "show", "latest").out
    command("runs", "export", "latest", tmp_path / "opened.csv")
    assert "held_out.metrics.trades" in (tmp_path / "opened.csv").read_text()
    assert command(*member).json["held_out"]["metrics"] == opened["members"][0]["metrics"]

    again = command("judge", "latest", "--open", "--json").json["judgement"]["held_out"]
    assert again["looks"] == 1
    flags = ("--data", "bars.csv", *SMALL, "--holdout", "20%", "--seed", 2, "--json")
    assert command("evolve", *flags).json["front_hash"] != run["front_hash"]
    other = command("judge", "latest", *QUICK, "--open", "--json").json["judgement"]
    assert (other["held_out"]["looks"], other["searches"]) == (2, 2)
