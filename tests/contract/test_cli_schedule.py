"""evolve --every, judge --schedule: steps, verdict and evidence, and half a schedule refused."""

import json

import pytest

from optimizer import load_run
from tests.support.commands import SMALL, write_market

SEARCH = [word for word in SMALL if word != "--no-judge"]


@pytest.mark.slow
def test_a_schedule_is_searched_and_told(command, tmp_path):
    """Evolve with --every has what judge --schedule finds: steps, turnover, the first pick kept."""
    market = write_market(tmp_path / "bars.csv", 5000)
    schedule = ("--every", "10d", "--train", "20d", "--purge", "0")
    shown = command("evolve", "--data", market, *SEARCH, *schedule, "--resamples", "19")
    assert shown.code == 0
    assert "judging: steps of the schedule" in shown.err
    made = command("runs", "show", "latest", "--json").json["result"]["judgement"]["schedule"]
    assert (made["every"], made["train"], made["purge"]) == ("10d", "20d", 0)
    assert len(made["rows"]) > 2
    judged = command(
        "judge", "latest", "--schedule", "10d,20d", "--purge", "0", "--resamples", "19"
    )
    assert "Searched again every 10 days on the 20 days before" in judged.out
    assert "The pick changed at" in judged.out
    assert "keeping the first pick" in judged.out
    again = command("runs", "show", "latest", "--json").json["result"]["judgement"]["schedule"]
    assert json.dumps(again) == json.dumps(made)
    assert command("runs", "verify", "latest").code == 0
    exported = ("runs", "export", "latest", "steps.py", "--as", "vectorbt", "--schedule")
    assert command(*exported).code == 0
    text = (tmp_path / "steps.py").read_text(encoding="utf-8")
    assert text == load_run("latest").schedule_program("vectorbt")
    assert text.count("    Step(") == len(made["rows"])
    assert f"next due {made['next_date']}" in text.replace("\n# ", " ")
    assert "leave out --member" in command(*exported, "--member", "0").error


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--every", "30d"), "--every 30d needs how long each search looks back"),
        (("--train", "180d"), "--train 180d is a duration, which --every asks for"),
        (("--schedule", "30d"), "--schedule '30d' must look like 30d,180d"),
        (
            ("--schedule", "30x,180d"),
            "--every must be a duration such as 30d, of at most",
        ),
        (("--train", "0"), "--train must be a whole number from 1 to 1,000, or a duration"),
        (("--schedule", "30d,9000d"), "--train 9000d leaves no bar to trade"),
    ],
)
def test_half_a_schedule_is_refused(command, recordings, flags, words):
    """In a line that names what is missing."""
    recordings.copy(*SMALL)
    outcome = command("judge", "latest", *flags)
    assert outcome.code == 2
    assert words in outcome.error


def test_evolve_refuses_half_a_schedule_before_it_searches(command, tmp_path):
    """No run is begun."""
    market = write_market(tmp_path / "bars.csv", 3000)
    outcome = command("evolve", "--data", market, *SEARCH, "--every", "30d")
    assert outcome.code == 2
    assert "--every 30d needs" in outcome.error
    late = command("evolve", "--data", market, *SEARCH, "--every", "30d", "--train", "900d")
    assert "--train 900d leaves no bar to trade" in late.error
    assert not (tmp_path / "runs").exists()
