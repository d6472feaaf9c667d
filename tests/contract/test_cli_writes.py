"""Full disks, folders of others, limits, settings, money: one line says so; nothing is lost."""

import ctypes
import errno
import gzip
import os
import resource
import shutil
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from tests.support.commands import SMALL, run
from tests.support.recording import quick_directory
from tests.support.signals import OFTEN, grow

pytestmark = pytest.mark.slow


@contextmanager
def limit_file_size(size):
    """Let no file grow beyond a size, as a full disk does."""
    before, heard = resource.getrlimit(resource.RLIMIT_FSIZE), signal.getsignal(signal.SIGXFSZ)
    # Python keeps compiled modules that such a disk cut, and fails on them from then on.
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, heard)
        sys.dont_write_bytecode = False


STREAMS = [
    ("strategies list", ("stdout", "stderr")),
    ("data show {market} --json", ("stdout",)),
    (f"evolve --data {{market}} {' '.join(SMALL)}", ("stderr",)),
]
"""Commands that print, and which streams are full."""


@pytest.mark.parametrize(("asked", "full"), STREAMS)
def test_a_full_disk_under_a_stream(tmp_path, market, asked, full):
    """Nobody can read stdout, which is an error; notes and progress end nothing."""
    with open("/dev/full", "w") as device:
        ended = run(
            *asked.format(market=market).split(),
            cwd=tmp_path,
            env={"PYTHONUNBUFFERED": ""},
            **dict.fromkeys(full, device),
        )
    assert ended.code == (4 if "stdout" in full else 0)
    if full == ("stdout",):
        (line,) = ended.err.splitlines()
        assert line.startswith("error: ")
        assert os.strerror(errno.ENOSPC) in line


WRITES = {
    "backtest --data csv:bars.csv --set vol_z_min=0.5 --trades a": "a",
    "scan --data csv:bars.csv --parquet a": "a",
    "report latest": "report.html",
    "runs export latest a.csv": "a.csv",
    "runs export latest a.parquet": "a.parquet",
    "runs export latest a.journal": "a.journal",
    "runs tag latest word": "labels.json",
    "portfolio latest --export a --as vectorbt": "a/",
    "data import csv:bars.csv --into kept": "kept/bars.parquet",
    "data show csv:bars.csv.gz": "a temporary file",
    "strategies new idea": "idea.py",
    f"evolve --data csv:bars.csv {' '.join(SMALL)}": "runs/",
}
"""Commands that write, and the name in their error."""


def test_a_full_disk_under_a_file(command, noise, monkeypatch):
    """The line names the file and the limit; what was there stays, and no draft is left."""
    monkeypatch.setattr("data.providers.source_file.SPOOLED_BYTES", 1000)
    Path("bars.csv.gz").write_bytes(gzip.compress(Path("bars.csv").read_bytes()))
    for asked, name in WRITES.items():
        with limit_file_size(20):
            ended = command(*asked.split())
        assert ended.code == 4, (asked, ended.err)
        said = ended.err.splitlines()[-1]
        assert said.startswith("error: "), asked
        assert name in said
        assert "ulimit -f" in said
        assert not list(Path().rglob("*.part")), asked
    assert command("runs", "verify", "latest", "--individuals", "0").code == 0


MAY_WRITE_ALL = 1 << 1
"""Capability of root that permissions do not bind; without it root is as others."""

LONGER = ("--generations", "3", "--json", "--quiet", "--no-report", "--no-judge")

OF_A_RUN_THAT_IS_READ = {
    "runs list": 0,
    "runs show latest": 0,
    "runs verify latest": 0,
    "runs export latest front.csv": 0,
    "runs tag latest good": 2,
    "runs delete latest --yes": 4,
    "backtest --run latest": 0,
    "report latest": 2,
    "report latest --out page.html": 0,
    "judge latest --quiet": 4,
    "evolve --resume latest --generations 3": 4,
    "evolve --data csv:bars.csv --generations 1": 4,
    "signal latest --now 2030-01-01": 6,
    "watch latest --now 2030-01-01": 0,
}
"""Commands on a run that may only be read, with exit code."""


@contextmanager
def somebody_else(*folders):
    """Be a user who may read these folders and not write into them."""
    for folder in folders:
        folder.chmod(0o555)
    libc, header = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0)
    before, without = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    for sets in (before, without):
        assert libc.capget(header, sets) == 0
    without[0] &= ~MAY_WRITE_ALL
    assert libc.capset(header, without) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0
        for folder in folders:
            folder.chmod(0o755)


def test_a_run_of_somebody_else_is_read_or_refused_in_a_line(command, monkeypatch):
    """Nothing of it changes; a copy of it resumes, and runs in another place are refused."""
    with quick_directory() as place:
        place.chmod(0o755)
        monkeypatch.chdir(place)
        grow(2600)
        own = command("evolve", "--data", "csv:bars.csv", *OFTEN, *SMALL, "--json", "--quiet").json
        run = place / own["path"]
        assert command("judge", "latest", "--folds", "4", "--blocks", "0", "--quiet").code == 0
        before = {path.name: path.read_bytes() for path in run.iterdir()}
        for name in before:
            (run / name).chmod(0o444)
        with somebody_else(run.parent, run):
            for asked, code in OF_A_RUN_THAT_IS_READ.items():
                if asked.startswith("watch"):
                    grow(4000)
                outcome = command(*asked.split())
                assert outcome.code == code, (asked, outcome)
                assert "Traceback" not in outcome.err
                refused = code in (2, 4) or asked.startswith("watch")
                assert ("annot be written" in outcome.err) == refused, (asked, outcome.err)
        assert {path.name: path.read_bytes() for path in run.iterdir()} == before
        shutil.copytree(run, place / "copy")
        for path in (place / "copy", *(place / "copy").iterdir()):
            path.chmod(0o777)
        grow(2600)
        with somebody_else(run):
            again = command("evolve", "--resume", "./copy", *LONGER).json
        assert (again["generation"], Path(again["path"]).name) == (3, "copy")
        with somebody_else(place):
            flags = (*SMALL, *LONGER, "--runs", "others")
            outcome = command("evolve", "--data", "csv:bars.csv", *flags)
        assert (outcome.code, outcome.out) == (4, "")
        assert not (place / "others").exists()


def limit_memory():
    """Give a process too little address space for compiled loops."""
    resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000, 1_200_000_000))


def limit_files():
    """Give a process fewer files than a run needs, beside those that Python has open."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))


@pytest.mark.parametrize(
    ("surroundings", "name"),
    [
        ({"env": {"NUMBA_DISABLE_JIT": "1"}}, "NUMBA_DISABLE_JIT"),
        ({"env": {"NUMBA_NUM_THREADS": "abc"}}, "NUMBA_NUM_THREADS"),
        ({"preexec_fn": limit_memory}, "ulimit -v"),
        ({"preexec_fn": limit_files}, "ulimit -n"),
    ],
    ids=["setting", "threads", "memory", "files"],
)
def test_a_setting_or_limit_that_forbids_a_search_is_named(tmp_path, market, surroundings, name):
    """Before a run begins, and nothing hangs; files may end later, when a library opens one."""
    refused = run("evolve", "--data", market, *SMALL, cwd=tmp_path, **surroundings)
    assert (refused.code in (2, 4), refused.out) == (True, ""), refused.err
    assert name in refused.err.splitlines()[-1]
    assert "defect" not in refused.err
    assert name == "ulimit -n" or not list(tmp_path.glob("runs/*"))


IDEAS = """from strategy.words import *
BOTH = {"long": close > ema(close, length("n", 20, 5, 60)), "short": close < lag(low, 2)}
LATE = {"long": minute_of_day() > 1080, "stop": share(0.5)}
PAYS = strategy("Pays.", **BOTH, stop=share(0.02), funding=funding(payments("fund")))
LARGE = strategy("Large.", **BOTH, stop=share(0.02), account=account(1000, equity_share(20)))
SMALL = strategy("Small.", **BOTH, stop=share(0.02), account=account(1000, risk(0.01)))
DAYS = strategy("Days.", **LATE, session=session_exit(1015))
EVENINGS = strategy("Evenings.", **LATE, session=session_exit(1015, begins=1080))
"""


@pytest.fixture
def ask(command, market, tmp_path):
    """Run a command with an idea, with a file of payments every eight hours."""
    (tmp_path / "ideas.py").write_text(IDEAS)
    times = pd.date_range("1970-01-01 08:00:00.011", periods=90, freq="8h", tz="UTC")
    rows = [f"{time.isoformat()},{0.0001 * (k % 7)}" for k, time in enumerate(times)]
    (tmp_path / "fund.csv").write_text("\n".join(["known_at,value", *rows, ""]))

    def run(name, idea, *more):
        file = ("--column-file", "fund=fund.csv") if idea == "PAYS" else ()
        return command(name, "--data", market, "--strategy", f"ideas.py:{idea}", *file, *more)

    return run


def test_a_search_by_payments_is_certified_verified_and_sees_no_later_one(ask, command, tmp_path):
    """A payment that changes within a bar, where no close shows it, is another run's data."""
    found = ask("evolve", "PAYS", *SMALL, "--json")
    assert found.json["certificate"]["mismatches"] == 0, found.err
    assert "0 mismatches" in command("runs", "verify", "latest").out
    judged = command("judge", "latest", "--json", "--folds", "0", "--null", "1")
    assert judged.json["judgement"]["causal"]["mismatches"] == 0
    (copy,) = tmp_path.glob("runs/*/columns/fund.csv")
    (tmp_path / "fund.csv").unlink()
    text = copy.read_text().replace("T08:00:00.011", "T08:05:00.011")
    copy.write_text(text)
    assert command("evolve", "--resume", "latest", "--generations", "9").code == 4


@pytest.mark.parametrize(
    ("idea", "change", "more", "word", "trust"),
    [
        ("PAYS", ("0.0006", "0.6"), (), "0.6 at 1970-01-03T", "--trust-rates"),
        ("LARGE", None, (), "20 times", "--trust-leverage"),
        ("SMALL", None, ("--risk-fraction", "0.01"), "--risk-fraction 0.01", ""),
    ],
)
def test_money_that_is_likely_a_slip_is_refused(ask, tmp_path, idea, change, more, word, trust):
    """Before a search and a backtest, unless a flag says that it is meant; nothing is written."""
    if change:
        file = tmp_path / "fund.csv"
        assert change[0] in file.read_text()
        file.write_text(file.read_text().replace(*change))
    for name, flags in (("evolve", SMALL), ("backtest", ())):
        refused = ask(name, idea, *flags, *more)
        assert refused.code == 2, refused.err
        assert word in refused.error
        assert trust in refused.error
        assert not Path("runs").exists()
    assert not trust or ask("backtest", idea, trust).code == 0


@pytest.mark.parametrize(("idea", "is_said"), [("DAYS", True), ("EVENINGS", False)])
def test_trades_that_leave_at_once_are_said_with_the_way_to_begin_a_session(ask, idea, is_said):
    """Where they are more than one in ten."""
    shown = ask("backtest", idea)
    assert shown.code == 0, shown.err
    assert ("begins=1080" in shown.out) == is_said
