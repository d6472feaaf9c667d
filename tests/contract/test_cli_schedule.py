"""evolve --every, judge --schedule: steps, verdict and evidence, and half a schedule refused."""

import pytest

from optimizer import load_run
from tests.support.commands import SMALL

SEARCH = [word for word in SMALL if word != "--no-judge"]


@pytest.mark.slow
def test_a_schedule_is_searched_and_told(command, recordings, tmp_path):
    """Evolve with --every has what judge --schedule finds: steps, turnover, the first pick kept."""
    made = recordings.copy("schedule")["judgement"]["schedule"]
    assert (made["every"], made["train"], made["purge"]) == ("10d", "20d", 0)
    assert len(made["rows"]) > 2
    flags = ("--schedule", "10d,20d", "--purge", "0", "--resamples", "19", "--null", "19")
    judged = command("judge", "latest", *flags)
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


@pytest.mark.parametrize(
    ("flags", "word"), [((), "--every 30d"), (("--train", "900d"), "--train 900d")]
)
def test_evolve_refuses_half_a_schedule_before_it_searches(command, market, tmp_path, flags, word):
    """No run is begun."""
    outcome = command("evolve", "--data", market, *SEARCH, "--every", "30d", *flags)
    assert outcome.code == 2
    assert word in outcome.error
    assert not (tmp_path / "runs").exists()
