"""Commands that are printed do what they say when they are pasted, whatever a folder is called."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import SMALL
from tests.support.forging import interrupt

pytestmark = pytest.mark.slow

HOSTILE = Path('-it\'s "my" $(touch pwned) `id`\n\\x\u00e4')

PRINTED = {
    "evolve --data csv:{at}/bars.csv --holdout 20% --runs {at}/more": ("looked at: ", 0),
    "runs show {run}": ("looked at: ", 0),
    "runs show {at}/stopped": ("go on with: ", 0),
    "runs export {run} {at}/a.journal": ("look at it: ", None),
    "signal {run}": ("opened it: ", None),
    "data import csv:{at}/bars.csv --into {at}/kept": ("use them with ", None),
    "strategies new {at}/idea": ("check it: ", 0),
}
"""Commands, the mark before what they print to copy, and the exit code of that, where it runs."""


@pytest.fixture
def place(recordings, command):
    """A folder of a hostile name that holds bars, a finished run and one that was stopped."""
    HOSTILE.mkdir()
    made = recordings.copy("held out")
    shutil.copy("bars.csv", HOSTILE)
    shutil.copytree(made["path"], HOSTILE / "stopped")
    os.rename(made["path"], HOSTILE / made["run"])
    interrupt(HOSTILE / "stopped")
    return {"at": f"./{HOSTILE}", "run": f"./{HOSTILE / made['run']}"}


def paste(text):
    """Words that bash makes of a text, which does nothing else."""
    shown = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], capture_output=True)
    assert shown.stderr == b""
    return [os.fsdecode(word) for word in shown.stdout.split(b"\0")[:-1]]


@pytest.mark.parametrize("asked", PRINTED)
def test_what_is_printed_can_be_pasted(command, place, asked):
    """Its words name the folder, none is taken for a flag, and the command ends well."""
    mark, code = PRINTED[asked]
    more = SMALL if asked.startswith("evolve") else ()
    outcome = command(*(word.format(**place) for word in asked.split()), *more)
    printed = outcome.out + outcome.err
    assert mark in printed, printed
    words = paste(printed.partition(mark)[2].partition("\n")[0])
    (named,) = [word for word in words if str(HOSTILE) in word]
    assert Path(named).parts[0] == str(HOSTILE)
    assert words[0] != "python" or not named.startswith("-")
    if code is not None:
        assert words[:3] == ["python", "-m", "optimizer"]
        again = command(*words[3:])
        assert again.code == code, again.err
    assert not Path("pwned").exists()
    if "strategies" in asked:
        # The head of the file says how to check and search it.
        for line in (HOSTILE / "idea.py").read_text().splitlines()[2:4]:
            assert f"{place['at']}/idea.py" in paste(line.partition(":")[2])
