"""The verdict comes first; schedules, one answer and the power of a search, as commands."""

import html
import json
from pathlib import Path

import pytest

import optimizer
from optimizer import load_run
from optimizer.evidence import power_searches
from optimizer.store import RunStore
from tests.support.commands import SMALL, write_market

pytestmark = pytest.mark.slow

SEARCH = [one for one in SMALL if one != "--no-judge"]
QUICK = ("--folds", "2", "--train", "1", "--resamples", "19")


def test_evolve_judges_and_every_command_shows_it(command, noise):
    """The last lines are verdict, pick and next step, the verdict is the first key of JSON."""
    shown = command("runs", "show", "latest").out
    result = command("runs", "show", "latest", "--json").json["result"]
    judged = result["judgement"]
    assert next(iter(result)) == next(iter(noise)) == "judgement"
    assert judged == noise["judgement"]
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


def test_judging_goes_on_where_it_was(command, held_out):
    """What was found out is not found out again; null searches add up; the report is renewed."""
    page = Path(held_out["path"]) / "report.html"
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
        assert command("evolve", "--data", bars, *SEARCH, *QUICK, "--quiet").code == 130
    resume = ("evolve", "--resume", "latest", "--no-report", "--json")
    gone = bars.rename("elsewhere.csv")
    shown, not_judged = command(*resume), {"expected", "verdict", "pick"}
    assert shown.json["judgement"].keys() == not_judged
    assert "note: the run is not judged" in shown.err
    assert command(*resume, "--judge").code == 2
    gone.rename(bars)
    assert command(*resume, "--no-judge").json["judgement"].keys() == not_judged
    outcome = command(*resume)
    assert len(outcome.json["judgement"]["folds"]["rows"]) == 2
    assert "judging: folds 2 of 2" in outcome.err
    again = command(*resume)
    assert (again.json["judgement"], again.err) == (outcome.json["judgement"], "")


def test_held_out_bars_are_closed_until_they_are_opened(command, held_out, tmp_path):
    """Nothing of them is in a result, a table or an export before; every look is counted."""
    member = ("backtest", "latest", "--member", 0, "--json")
    count = len(held_out["front"])
    assert "held_out" not in held_out["front"][0]
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
    assert command("evolve", *flags).json["front_hash"] != held_out["front_hash"]
    other = command("judge", "latest", *QUICK, "--open", "--json").json["judgement"]
    assert (other["held_out"]["looks"], other["searches"]) == (2, 2)


def test_a_member_is_tried_on_other_bars_and_at_other_costs(command, noise):
    """Its genes are the run's, its numbers those of the same genes given by hand."""
    front = noise["front"]
    strengths = [one["metrics"]["strength"] for one in front]
    assert noise["judgement"]["pick"]["member"] == strengths.index(max(strengths))
    write_market(Path("other.csv"), seed=7)
    member, genes = ("backtest", "latest", "--member", 0, "--json"), front[0]["genes"]
    given = [f"--set={name}={value!r}" for name, value in genes.items()]
    for flags in (("--data", "other.csv"), ("--data", "other.csv", "--fee-bp", 9), ("--fee-bp", 9)):
        result = command(*member, *flags).json
        bars = flags if "--data" in flags else ("--data", "bars.csv", *flags)
        assert result["metrics"] == command("backtest", *bars, *given, "--json").json["metrics"]
        assert result["genes"] == genes
    assert result["metrics"] != front[0]["metrics"]
    assert command(*member, "--data", "bars.csv").json["metrics"] == front[0]["metrics"]


def test_genes_explain_the_same_everywhere(command, market, noise):
    """In the terminal, in JSON and in Python, with the method."""
    assert "feasible trials" in command("runs", "show", "latest", "--importance").error
    flags = ("--population", 64, "--generations", 3, "--min-trades", 1, "--no-report", "--no-judge")
    name = command("evolve", "--data", market, *flags, "--json").json["run"]
    result = command("runs", "show", name, "--importance", "--json").json
    frame = optimizer.load_run(name).importance("max_drawdown")
    shares = result["objectives"]["max_drawdown"]
    assert (result["run"], list(shares["genes"])) == (name, list(frame.index))
    assert [gene["alone"] for gene in shares["genes"].values()] == frame["alone"].tolist()
    assert shares["noise"]["beyond"] == frame["beyond_noise"].iloc[0]
    out = " ".join(command("runs", "show", name, "--importance").out.split())
    assert all(gene in out for gene in frame.index)
    assert f"{result['trials']} feasible trials" in out
    assert result["method"] in out


def test_a_schedule_is_searched_and_told(command, recordings, tmp_path):
    """Evolve with --every has what judge --every finds: steps, turnover, the first pick kept."""
    made = recordings.copy("schedule")["judgement"]["schedule"]
    assert (made["every"], made["train"], made["purge"]) == ("10d", "20d", 0)
    assert len(made["rows"]) > 2
    flags = "--every 10d --train 20d --purge 0 --resamples 19 --null 19"
    judged = command("judge", "latest", *flags.split())
    assert "every 10 days" in judged.out
    again = command("runs", "show", "latest", "--json").json["result"]["judgement"]["schedule"]
    assert again == made
    assert command("runs", "verify", "latest").code == 0
    exported = ("runs", "export", "latest", "steps.py", "--as", "vectorbt", "--schedule")
    assert command(*exported).code == 0
    text = (tmp_path / "steps.py").read_text(encoding="utf-8")
    assert text == load_run("latest").schedule_program("vectorbt")
    assert text.count("    Step(") == len(made["rows"])
    assert f"next due {made['next_date']}" in text.replace("\n# ", " ")
    assert "--member" in command(*exported, "--member", "0").error


PLANNED = [flag for flag in SMALL if not flag.startswith("--no-")]
RUN = (*PLANNED, "--no-report", "--null", "1", "--folds", "0", "--blocks", "0", "--quiet")
BEGIN = "With these bars, this strategy and 8 x 2 "


@pytest.fixture
def bars(monkeypatch, tmp_path):
    """Bars on which a random candidate trades thirty times; two edges, 20 null searches."""
    monkeypatch.setattr(power_searches, "EDGES", (0.2, 0.4))
    monkeypatch.setattr(power_searches, "MARKETS", 2)
    monkeypatch.setattr(power_searches, "DEFAULT_SEARCHES", 20)
    return write_market(tmp_path / "bars.csv", 9000)


def test_power_is_measured_once_and_shown(command, bars):
    """An estimate first; what is recorded is not searched again; the verdict's evidence has it."""
    assert command("evolve", "--data", bars, *RUN).code == 0
    first = command.succeed("power", "latest")
    note, *_ = first.err.splitlines()
    assert note.startswith("19 searches without an edge and at most 4 with a planted one, ")
    assert "power: edges of 0.2 R" in first.err
    *rows, sentence = first.out.splitlines()
    assert sentence.startswith(BEGIN)
    again = command("power", "latest", "--json", "--quiet")
    assert again.err == ""
    power = again.json["power"]
    assert power.pop("sentence") == sentence
    said = [f"edge of {row['edge']:g} R: {row['found']} of 2 found" for row in power["rows"]]
    assert rows == said
    assert load_run().power().describe() == sentence
    assert load_run().plot.power().layout.title.text == "planted edges that are found"
    shown = command("runs", "show", "latest", "--json").json["result"]["judgement"]
    assert shown["power"] == power
    # The next judge keeps it.
    judged = command("judge", "latest", "--null", 0, "--folds", 0)
    assert sentence in " ".join(judged.out.split())
    other = command("power", "latest", "--generations", 3)
    assert other.code == 2
    assert "--generations: run " in other.err


def test_power_is_measured_before_a_search(command, bars, monkeypatch):
    """What was stopped is gone on with; the folder of runs counts no search for it."""
    asked = ("power", "--data", bars, *PLANNED)
    with monkeypatch.context() as patched:
        patched.setattr(power_searches, "fit_curve", _stop)
        stopped = command(*asked)
    assert stopped.code != 0
    assert "stopped; searches are recorded, the same command goes on" in stopped.err
    again = command(*asked)
    note, *_ = again.err.splitlines()
    assert note.startswith("0 searches without an edge and at most 0 with a planted one, ")
    *rows, sentence = again.out.splitlines()
    assert len(rows) == 2
    assert sentence.startswith(BEGIN)
    told = command(*asked, "--json").json
    assert (told["run"], told["power"]["sentence"]) == (None, sentence)
    assert command("runs", "list", "--json").json == []
    # A longer search is measured anew.
    other = command(*asked, "--generations", 3)
    assert other.err.startswith("20 searches without an edge")


def _stop(*arguments):
    raise KeyboardInterrupt
