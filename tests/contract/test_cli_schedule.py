"""evolve --every, judge --every: steps, verdict and evidence, and half a schedule refused."""

import pytest

from optimizer import load_run


@pytest.mark.slow
def test_a_schedule_is_searched_and_told(command, recordings, tmp_path):
    """Evolve with --every has what judge --every finds: steps, turnover, the first pick kept."""
    made = recordings.copy("schedule")["judgement"]["schedule"]
    assert (made["every"], made["train"], made["purge"]) == ("10d", "20d", 0)
    assert len(made["rows"]) > 2
    flags = (
        "--every",
        "10d",
        "--train",
        "20d",
        "--purge",
        "0",
        "--resamples",
        "19",
        "--null",
        "19",
    )
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
