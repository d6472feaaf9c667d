"""Which test sees a fault: each of two tables is planted in a copy of the project, one at a time.

    python -m tests.bench.planted_faults [--only NAME ...] [--room optimizer/store]
        [--processes 16] [--quick | --whole | --check] [--real FOLDER]

What should see it runs until a test fails: the tests of the file, of its room, of commands and
pages that show it, then the slow ones of these; with `--whole` all others, with `--quick` only the
first two. A test counts only if it passes without the fault and fails with it again. With `--check`
each is planted and its files are imported, no more. What TradingView's lists say needs the folder
beside the project that has them.

A line a fault says which test saw it and after how many seconds, or MISSED; all is in
`build/planted_faults.json` too. Each process has a copy of its own with the compiled loops that
this project has; what it compiles stays there.
"""

import argparse
import importlib.util
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from engine.runtime.machine import available_cores
from tests.bench.faults import Fault, engine, optimizer

ROOT = Path(__file__).resolve().parents[2]

OUTCOMES = ROOT / "build" / "planted_faults.json"

FAULTS = (*optimizer.FAULTS, *engine.FAULTS)

LEFT_OUT = (".git", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "build", "runs")
"""Entries of the project that a copy lacks."""

QUICK, SLOW = "not slow and not gpu and not network", "slow and not gpu and not network"

APPLIES = "tests/contract/test_house.py::test_a_planted_fault_stands_once_in_its_file"
"""The test of these tables, which a planted fault fails by itself."""

FLAGS = (
    "-q", "-x", "--tb=no", "-p", "no:cacheprovider", "-p", "no:benchmark", f"--deselect={APPLIES}",
)  # fmt: skip

LIMIT_S = 3600
"""Seconds of one call of the tests; one that takes longer has seen nothing."""

MOST_BROKEN = 5
"""Tests that fail now and then and are passed over before a fault is given up."""

EXTENTS = {
    "quick": "tests of the file and its room alone",
    "whole": "at last all other tests",
    "check": "plant and import, run no test",
}

PAGES = ("test_report_page.py", "test_pages.py")

COMMANDS = {
    "optimizer/store": ("test_cli_runs.py", "test_cli_resume.py", "test_cli_received.py"),
    "optimizer/evidence": ("test_cli_judge.py",),
    "optimizer/agents": ("test_agents.py",),
    "optimizer/nulls": ("test_cli_null.py",),
    "optimizer/goals": ("test_cli_search.py", "test_cli_symbols.py"),
    "optimizer/search": ("test_cli_search.py", "test_cli_resume.py"),
    "optimizer/run": ("test_cli_resume.py", "test_cli_results.py", "test_cli_received.py",
                      "test_cli_search.py"),
    "optimizer/report": ("test_cli_report.py", *PAGES),
    "optimizer/signals": ("test_cli_signal.py",),
    "optimizer/export": ("test_cli_export.py",),
    "optimizer/cluster": ("test_cli_cluster.py", "test_shadowing.py"),
    "optimizer/cli": ("test_cli.py", "test_cli_results.py", "test_cli_runs.py",
                      "test_cli_backtest.py", "test_messages.py"),
    "optimizer/portfolios": ("test_portfolio_page.py", "test_cli_writes.py"),
    "optimizer/forecasts": ("test_cli_forecast.py",),
    "optimizer/viewing": ("test_ui.py", "test_ui_browser.py"),
    "optimizer/trend_scan": ("test_cli_scan.py",),
    "data": ("test_cli_data.py", "test_pages.py"),
}  # fmt: skip
"""Tests of commands and pages that show what a room does, in `tests/contract`."""

BESIDE = {
    "optimizer/store": ("tests/properties/test_run_store.py", "tests/unit/optimizer/run"),
    "optimizer/evidence": ("tests/unit/optimizer/report", "tests/unit/optimizer/signals"),
    "optimizer/evidence/jobs": ("tests/unit/optimizer/evidence",),
    "optimizer/goals": ("tests/properties/test_goals.py",),
    "optimizer/search": ("tests/unit/optimizer/run", "tests/golden/test_fronts.py"),
    "optimizer/run": ("tests/unit/optimizer/evidence", "tests/unit/optimizer/store"),
    "optimizer/portfolios": ("tests/unit/optimizer/report",),
    "optimizer/report": ("tests/unit/optimizer/run/test_frames.py",),
    "engine": ("tests/golden/test_results.py", "tests/parity", "tests/golden", "tests/properties",
               "tests/agreement/test_trade_lists.py"),
    "strategy": ("tests/properties/test_engine_laws.py", "tests/golden/test_results.py",
                 "tests/agreement/test_chart_values.py", "tests/unit/engine/indicators",
                 "tests/unit/optimizer/search", "tests/parity", "tests/golden",
                 "tests/agreement/test_trade_lists.py"),
    "data": ("tests/unit/data", "tests/properties/test_data.py"),
}  # fmt: skip
"""Other tests that see a room, quick ones first; of the engine by the law and by other programs."""


class Outcome(NamedTuple):
    """Outcome of the tests on a copy with a fault."""

    name: str
    room: str
    is_blind: bool
    breaks: str
    test: str  # that saw it; empty where none did
    stage: str  # in which it did, or why there is no answer
    seconds: float


class Copy:
    """A copy of the project with the compiled loops that it has, beside the same shared folder."""

    def __init__(self, folder: Path, real: Path | None) -> None:
        self.path = folder / "project"
        shutil.copytree(ROOT, self.path, ignore=_leave_out, symlinks=True)
        if real is not None:
            (folder / "shared").symlink_to(real)
        folders = (str(self.path), os.environ.get("PYTHONPATH"))
        self._environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, folders))}

    @contextmanager
    def plant(self, fault: Fault) -> Iterator[None]:
        """Have a fault in the copy."""
        files = [self.path / edit.file for edit in fault.edits]
        originals = {file: file.read_bytes() for file in files}
        try:
            for file, (_, before, after) in zip(files, fault.edits, strict=True):
                _write(file, file.read_text(encoding="utf-8").replace(before, after).encode())
            yield
        finally:
            for file, content in originals.items():
                _write(file, content)

    def run(self, *command: str) -> tuple[int, str]:
        """Exit code and output of Python on the copy; -1 where it took too long."""
        words = [sys.executable, *command]
        try:
            done = subprocess.run(words, cwd=self.path, env=self._environment, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, errors="replace",
                                  timeout=LIMIT_S, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return -1, ""
        return done.returncode, done.stdout

    def find_failing(self, places: Sequence[str], mark: str, passed_over: Sequence[str]) -> str:
        """The first test that fails, or why none could say; empty where all pass."""
        there = [place for place in places if (self.path / place.partition("::")[0]).exists()]
        if places and not there:
            return ""
        # A file that cannot be collected, as where a library is missing, is an error of its own.
        left_out = [f"--{'deselect' if '::' in test else 'ignore'}={test}" for test in passed_over]
        base = f"--basetemp={self.path.parent / 'temporary'}"
        code, text = self.run("-m", "pytest", *FLAGS, base, "-m", mark, *left_out, *there)
        if code in (0, 5):
            return ""
        if failed := FAILED.search(text):
            return failed[1]
        return TOO_LONG if code == -1 else f"{ENDED} {code}: {text.strip()[-300:]}"


FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
"""A line of pytest's summary: a test that failed."""

TOO_LONG, ENDED = "took too long", "pytest ended with"


def _leave_out(folder: str, names: list[str]) -> list[str]:
    """Entries of a folder that a copy lacks: compiled Python, but not compiled loops."""
    if Path(folder).name == "__pycache__":
        return [name for name in names if name != "loops"]
    return [name for name in names if name in LEFT_OUT] if Path(folder) == ROOT else []


def _write(file: Path, content: bytes) -> None:
    """Write a file; what Python compiled of it goes, which knows it by its second and length."""
    file.write_bytes(content)
    if file.suffix == ".py":
        Path(importlib.util.cache_from_source(str(file))).unlink(missing_ok=True)


def list_stages(fault: Fault, extent: str) -> Iterator[tuple[str, Sequence[str], str]]:
    """Names, paths and marks of what should see a fault, the quickest first.

    `extent` is ``quick``, ``whole``, or empty for what lies between.
    """
    rooms = [Path(fault.room), *Path(fault.room).parents][:-1]
    room = next(str(place) for place in (Path("tests/unit") / each for each in rooms)
                if (ROOT / place).exists())  # fmt: skip
    beside, shown = (
        next((table[str(each)] for each in rooms if str(each) in table), ())
        for table in (BESIDE, COMMANDS)
    )
    beside = (*beside, *(f"tests/contract/{name}" for name in shown))
    file = fault.edits[0].file
    # Examples of a file are tests too.
    yield "own", (file, f"{room}/test_{Path(file).stem}.py"), QUICK
    stages = [("room", (room,), QUICK), ("beside", beside, QUICK), ("slow", (room, *beside), SLOW)]
    if beside and room != f"tests/unit/{fault.room}" and extent != "quick":
        # The room has no tests of its own: those of its commands are nearer than its whole part's.
        stages = [stages[1], ("slow", (*beside, room), SLOW), stages[0]]
    yield from stages[:1] if extent == "quick" else stages
    if extent == "whole":
        yield "whole", (), f"{QUICK} or {SLOW}"


def try_fault(copy: Copy, fault: Fault, sound: "SoundTests", extent: str) -> Outcome:
    """The first test that sees a fault and passes without it."""
    known = fault.name, fault.room, fault.is_blind, fault.breaks
    began, passed_over = time.perf_counter(), list(sound.broken)
    for stage, places, mark in list_stages(fault, extent):
        while True:
            with copy.plant(fault):
                test = copy.find_failing(places, mark, passed_over)
            seconds = time.perf_counter() - began
            if not test:
                break
            if test.startswith((TOO_LONG, ENDED)):
                return Outcome(*known, "", f"{stage} {test}", seconds)
            if sound.passes(copy, test) and _fails_again(copy, fault, test):
                return Outcome(*known, test, stage, seconds)
            passed_over.append(test)
            if len(set(passed_over) - set(sound.broken)) > MOST_BROKEN:
                return Outcome(*known, "", f"{test} fails now and then", seconds)
    return Outcome(*known, "", "", time.perf_counter() - began)


def _fails_again(copy: Copy, fault: Fault, test: str) -> bool:
    """Whether a test fails by itself too: on a busy machine one may fail by chance."""
    with copy.plant(fault):
        return bool(copy.find_failing((test,), "not gpu", ()))


class SoundTests:
    """Tests that pass without a fault, which many faults ask for."""

    def __init__(self) -> None:
        self._passes: dict[str, bool] = {}
        self._turn = threading.Lock()

    @property
    def broken(self) -> list[str]:
        """Tests that fail without any fault."""
        with self._turn:
            return [test for test, passes in self._passes.items() if not passes]

    def find_broken(self, copy: Copy, processes: int) -> None:
        """Run all tests on a copy without a fault, to know those that fail in one."""
        flags = [flag for flag in FLAGS if flag != "-x"]
        _, text = copy.run("-m", "pytest", *flags, f"-n{processes}", "-m", f"{QUICK} or {SLOW}")
        self._passes |= dict.fromkeys(FAILED.findall(text), False)

    def passes(self, copy: Copy, test: str) -> bool:
        """Whether a test passes on a copy without a fault."""
        with self._turn:
            known = self._passes.get(test)
        if known is None:
            known = not copy.find_failing((test,), "not gpu", ())
            with self._turn:
                self._passes[test] = known
        return known


def check_fault(copy: Copy, fault: Fault) -> Outcome:
    """Whether the files of a planted fault can be imported."""
    began, lines = time.perf_counter(), []
    for edit in fault.edits:
        if edit.file.endswith(".py"):
            module = edit.file.removesuffix(".py").replace("/", ".")
            lines.append(f"importlib.import_module({module!r})")
    with copy.plant(fault):
        code, text = copy.run("-c", "; ".join(["import importlib", *lines]))
    said = "" if code == 0 else (text.strip().splitlines() or [f"ended with {code}"])[-1]
    known = fault.name, fault.room, fault.is_blind, fault.breaks
    return Outcome(*known, "imports" if code == 0 else "", said, time.perf_counter() - began)


def choose_faults(names: Sequence[str], rooms: Sequence[str]) -> list[Fault]:
    """Faults by name and by room, all without either; a part of a room is named like it."""
    known = {fault.name for fault in FAULTS}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"there is no fault {', '.join(unknown)}")
    rooms = [room.strip("/") for room in rooms]
    return [
        fault
        for fault in FAULTS
        if (not names or fault.name in names)
        and (not rooms or any(f"{fault.room}/".startswith(f"{room}/") for room in rooms))
    ]


def require_texts(faults: Sequence[Fault]) -> None:
    """Refuse a fault whose text before is not in its file once."""
    for fault in faults:
        for name, before, _ in fault.edits:
            count = (ROOT / name).read_text(encoding="utf-8").count(before)
            if count != 1:
                raise SystemExit(f"{fault.name}: {name} has {before!r} {count} times, not once")


def print_summary(outcomes: Sequence[Outcome]) -> None:
    """Count by part of the project, and those that nothing saw."""
    for part in dict.fromkeys(outcome.room.partition("/")[0] for outcome in outcomes):
        some = [outcome for outcome in outcomes if outcome.room.partition("/")[0] == part]
        blind = [outcome for outcome in some if outcome.is_blind]
        seen, seen_blind = (sum(bool(one.test) for one in many) for many in (some, blind))
        print(f"{part}: {seen} of {len(some)} seen, {seen_blind} of {len(blind)} drawn blindly")
    for outcome in outcomes:
        if not outcome.test:
            print(f"MISSED {outcome.name} ({outcome.room}): {outcome.breaks} {outcome.stage}")


def main(arguments: list[str] | None = None) -> int:
    """Plant faults, say which test sees each; 1 where one is missed."""
    parser = argparse.ArgumentParser("python -m tests.bench.planted_faults")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--room", nargs="+", default=[], metavar="ROOM")
    parser.add_argument("--processes", type=int, default=available_cores())
    extents = parser.add_mutually_exclusive_group()
    for name, text in EXTENTS.items():
        extents.add_argument(
            f"--{name}", dest="extent", action="store_const", const=name, help=text
        )
    parser.add_argument("--real", type=Path, help="the folder `shared`", default=ROOT / "../shared")
    asked = parser.parse_args(arguments)
    faults = choose_faults(asked.only, asked.room)
    require_texts(faults)
    real = asked.real.resolve() if asked.real.is_dir() else None
    copies: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    sound, outcomes = SoundTests(), []

    def plant(fault: Fault) -> Outcome:
        copy = copies.get()
        try:
            if asked.extent == "check":
                return check_fault(copy, fault)
            return try_fault(copy, fault, sound, asked.extent or "")
        finally:
            copies.put(copy)

    with tempfile.TemporaryDirectory() as folder:
        count = min(asked.processes, len(faults))
        for number in range(count):
            place = Path(folder, str(number))
            place.mkdir()
            copies.put(Copy(place, real))
        if asked.extent == "whole":
            copy = copies.get()
            sound.find_broken(copy, asked.processes)
            copies.put(copy)
        with ThreadPoolExecutor(max(count, 1)) as pool:
            for done in as_completed([pool.submit(plant, fault) for fault in faults]):
                outcomes.append(done.result())
                _print_outcome(outcomes[-1])
                if asked.extent != "check":
                    OUTCOMES.parent.mkdir(exist_ok=True)
                    rows = [outcome._asdict() for outcome in outcomes]
                    OUTCOMES.write_text(json.dumps(rows, indent=1) + "\n")
    if asked.extent != "check":
        print_summary(outcomes)
    return int(not all(outcome.test for outcome in outcomes))


def _print_outcome(outcome: Outcome) -> None:
    seen = f"{outcome.stage} {outcome.test}" if outcome.test else f"MISSED {outcome.stage}"
    where = f"{outcome.room} {outcome.name}"
    print(f"{outcome.seconds:7.1f} s  {where:48}  {seen.strip()}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
