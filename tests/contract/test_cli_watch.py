"""watch: evidence and limit in a line, an exit code, and what there is nothing to watch by."""

import pytest

from tests.support.commands import SMALL
from tests.support.signals import OFTEN, grow

NOW = ("--now", "2030-01-01")


@pytest.mark.slow
def test_trades_since_are_watched(command, recordings):
    """The line is printed, recorded and listed; JSON has its numbers."""
    grow(2600)
    search = ("evolve", "--data", "csv:bars.csv", *OFTEN, *SMALL)
    assert command(*search, "--quiet").code == 0
    assert command("judge", "latest", "--folds", "4", "--blocks", "0", "--quiet").code == 0
    grow(4000)
    assert not command("watch", "latest", *NOW).err
    grow(2600)
    assert command("report", "latest").code == 0
    grow(4000)
    outcome = command("watch", "latest", *NOW)
    line = outcome.out.splitlines()[0]
    assert "trades since, " in line
    assert "an alarm needs 20" in line
    run = command("watch", "latest", *NOW, "--json")
    assert run.code == outcome.code == (12 if run.json["drift"]["alarm_at"] else 0)
    assert run.json["sentence"] == line
    assert f"drift: {line}" in command("runs", "list").out
    assert "note: the report shows this once" in outcome.err
    grow(2600)
    assert not command("watch", "latest", *NOW).err
    assert command("runs", "verify", "latest").code == 0


def test_a_run_without_unseen_trades_is_refused(command, recordings):
    """In a line that names what there is and what is needed."""
    recordings.copy(*SMALL)
    outcome = command("watch", "latest", *NOW)
    assert outcome.code == 2
    assert "0 of held-out bars, 0 of folds, 30 are needed" in outcome.error
