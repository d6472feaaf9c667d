"""What people do by accident ends in one line: files of our names, long names, early signals."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.support.commands import SMALL, start, write_market
from tests.support.paths import FINDS

pytestmark = pytest.mark.slow

LONG = "a" * 300
NAMED = [
    "evolve --data csv:{}.csv",
    "evolve --config {}",
    "evolve --runs {}",
    "evolve --strategy {}",
    "evolve --warm-start {}",
    "evolve --warm-start {}.json",
    "evolve --resume {}",
    "evolve --resume x/{}",
    "evolve --objectives {}",
    "runs show {}",
    "runs list --runs {}",
    "runs delete x/{}",
    "report {}",
    "backtest --genes {}",
    "backtest --run {} --member 1",
    "backtest --trades {}.csv",
    "backtest --trades x/{}/y.csv",
    "data list --cache {}",
    "data show {}",
    "data import bars.csv --into {}",
]


@pytest.mark.parametrize("length", [300, 5000])
@pytest.mark.parametrize("flags", NAMED)
def test_names_that_no_file_has_are_refused(command, tmp_path, flags, length):
    """One short line, and never a defect of ours."""
    market = write_market(tmp_path / "bars.csv")
    words = flags.format("a" * length).split()
    if words[0] in ("evolve", "backtest") and "--data" not in words and "run" not in flags:
        words += ["--data", market]
    outcome = command(*words)
    assert outcome.code in (2, 4), outcome
    assert "defect" not in outcome.error
    assert len(outcome.error) < 700, outcome.error


@pytest.mark.parametrize("wait", [0.1, 0.2, 0.3, 0.5])
def test_an_early_signal_leaves_no_traceback(tmp_path, wait):
    """While libraries are loaded there is no handler yet."""
    ready = tmp_path / "ready"
    # Python's own beginning is none of ours: the signal comes after it.
    beginning = f"import time; open({str(ready)!r}, 'w').close(); __import__('runpy')"
    (tmp_path / "sitecustomize.py").write_text(beginning)
    # So long that it has not ended when a busy machine sends the signal late.
    flags = [*SMALL, "--generations", "100000"]
    env = {"PYTHONPATH": f"{tmp_path}:{FINDS['PYTHONPATH']}"}
    with start("evolve", *flags, cwd=tmp_path, env=env) as process:
        while not ready.exists():
            time.sleep(0.005)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    assert process.returncode in (130, -signal.SIGINT), err


def test_a_hang_up_that_is_ignored_ends_nothing(tmp_path):
    """As with nohup."""
    flags = ("evolve", "--data", write_market(tmp_path / "bars.csv"), *SMALL)
    command = [sys.executable, "-m", "optimizer", *map(str, flags)]
    with subprocess.Popen(
        ["nohup", *command],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **FINDS},
    ) as process:
        assert process.stderr is not None
        while "generation " not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=120)
    assert process.returncode == 0
