"""A few kills of a few writers; `python -m tests.bench.kills` kills all of them 200 times."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

SOME = "evolve,runs delete"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_writers_leave_nothing_and_lose_nothing(kills):
    """Hidden and temporary files included, once the next command of the kind has run."""
    command = (sys.executable, "-m", "tests.bench.kills", "--kills", kills, "--writers", SOME)
    ended = subprocess.run(list(map(str, command)), cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
