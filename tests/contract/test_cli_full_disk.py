"""A full disk ends every command alike, whatever it writes: exit code 4 and a line that helps."""

import errno
import gzip
import os
from pathlib import Path

import pytest

from data.errors import describe_unwritten
from tests.support.commands import SMALL, run
from tests.support.limits import limit_file_size

pytestmark = pytest.mark.slow

FULL = "No space left on device; free some space, or name another place"
COMPLETES = {
    "_OPTIMIZER_COMPLETE": "complete_bash",
    "COMP_WORDS": "optimizer ev",
    "COMP_CWORD": "1",
}

PRINTS = (
    "--version",
    "--help",
    "evolve --help",
    "--show-completion bash",
    "",
    "strategies list",
    "data show {market} --json",
    "backtest --data {market}",
    f"evolve --data {{market}} {' '.join(SMALL)}",
)
"""Commands that print; without words, as a shell calls what completes them."""


@pytest.mark.parametrize("full", [("stdout",), ("stderr",), ("stdout", "stderr")], ids="-".join)
@pytest.mark.parametrize("asked", PRINTS)
def test_a_full_disk_under_a_stream(tmp_path, market, asked, full):
    """What nobody can read of stdout is an error; notes and progress end nothing."""
    with open("/dev/full", "w") as device:
        ended = run(
            *asked.format(market=market).split(),
            cwd=tmp_path,
            env={"PYTHONUNBUFFERED": "", **({} if asked else COMPLETES)},
            **dict.fromkeys(full, device),
        )
    assert ended.code == (4 if "stdout" in full else 0)
    if full == ("stdout",):
        assert ended.err.splitlines()[-1] == f"error: the output cannot be written: {FULL}"
        assert len(ended.err.splitlines()) == 1 or asked.startswith("evolve --data")


WRITES = {
    "backtest --data csv:bars.csv --set vol_z_min=0.5 --trades a": "a",
    "backtest --data csv:bars.csv --plot a.html": "a.html",
    "scan --data csv:bars.csv --csv a": "a",
    "scan --data csv:bars.csv --parquet a": "a",
    "scan --data csv:bars.csv --plot bars=a.html": "a.html",
    "report latest --out a": "a",
    "report latest": "report.html",
    "runs export latest a.csv": "a.csv",
    "runs export latest a.json": "a.json",
    "runs export latest a.parquet": "a.parquet",
    "runs export latest a.journal": "a.journal",
    "runs export latest a.py --as vectorbt --member 0": "a.py",
    "runs tag latest word": "labels.json",
    "runs note latest words": "labels.json",
    "portfolio latest --report a": "a",
    "portfolio latest --export a --as vectorbt": "a/",
    "forecast fit --data csv:bars.csv --model ridge --train 500 --out a.parquet": "a.parquet",
    "data import csv:bars.csv --into kept": "kept/bars.parquet",
    "data show csv:bars.csv.gz": "a temporary file",
    "strategies new idea": "idea.py",
    f"evolve --data csv:bars.csv {' '.join(SMALL)}": "runs/",
    "judge latest --folds 0 --blocks 0": "run.sqlite",
}
"""Commands that write, and what their error names."""


@pytest.mark.parametrize("asked", WRITES)
def test_a_full_disk_under_a_file(command, recordings, monkeypatch, asked):
    """The line names the file and what to do; what was there stays, and no draft is left."""
    recordings.copy(*SMALL)
    monkeypatch.setattr("data.providers.text_source.SPOOLED_BYTES", 1000)
    Path("bars.csv.gz").write_bytes(gzip.compress(Path("bars.csv").read_bytes()))
    with limit_file_size(20):
        ended = command(*asked.split())
    assert ended.code == 4, ended.err
    said = ended.err.splitlines()[-1]
    assert said.startswith("error: ")
    assert WRITES[asked] in said
    assert "raise ulimit -f" in said
    assert not list(Path().rglob("*.part"))


def test_a_full_disk_under_a_cache(command, vendor):
    """Pages that came are drafts, parts are whole: both are named by the flag of their folder."""
    for most in (0, 1000):
        with limit_file_size(most):
            ended = command("data", "fetch", "polygon:X:ADAUSD", "--from", "2024-01-01")
        assert ended.code == 4
        assert "File too large); --cache names another folder" in ended.error


def test_a_link_to_a_full_disk_is_named(command, market):
    """By the name that was given."""
    Path("a.csv").symlink_to("/dev/full")
    ended = command("backtest", "--data", market, "--trades", "a.csv")
    assert (ended.code, ended.error) == (4, f"a.csv cannot be written: {FULL}")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_all_errors_of_a_full_disk_are_alike(command, market, monkeypatch, number):
    """Whatever the system calls it."""

    def fail(source, target):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "replace", fail)
    ended = command("backtest", "--data", market, "--trades", "a.csv")
    assert (ended.code, ended.error) == (
        4,
        describe_unwritten("a.csv", OSError(number, os.strerror(number))),
    )
