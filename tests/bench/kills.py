"""Every writer killed at random: nothing is left over after the next command, and nothing is lost.

    python -m tests.bench.kills [--kills 200] [--writers evolve,judge] [--seed 1]

A command is killed with its process group, as by a crash, at a random moment or before a random
step of writing (a file opened, moved or removed, a folder made); now and then its process alone,
whose children must end. Then the next command of its kind runs. Both together must leave the files
of an unbroken history, hidden ones, caches and temporary files included; a named output is the old
or the new one whole; all that was acknowledged is there, and a front is that of an unbroken search.
"""

import argparse
import atexit
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import optimizer
from optimizer.__main__ import main as run_command
from optimizer.run import indicator_cache, markets
from optimizer.store import RunStore
from tests.support.commands import write_market
from tests.support.own_files import momentum_file
from tests.support.vendor import KEY, running_vendor

MARK = "KILLS_CASE"
"""Variable by which children of a killed process are known."""

STEPS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect")
"""Audit events before which a process is killed, where they are about files that it may write."""

DRAWN = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}|[0-9a-f]{16,64}|-\d{10,}")
"""In names: what each run of a command draws or hashes anew."""

CLOCK = re.compile(rb'"(datetime_\w+|worker_id)":"[^"]*"')
"""In a study: what Optuna draws or reads from the clock."""

SMALL = ("--population", "8", "--generations", "3", "--min-trades", "3", "--threads", "1")
SEARCH = ("evolve", "--data", "csv:bars.csv", "--strategy", "momentum.py", *SMALL, "--seed", "2")
COLUMNS = ("--column-file", "mood=mood.csv", "--column-file", "rate=rate.csv")
STRATEGY = momentum_file(
    '(moved(length("n", 5, 2, 20)) > 0.002) & (column("mood") + column("rate") > 0)'
)
EVIDENCE = ("--null", "2", "--folds", "2")
JSON = ("--json", "--quiet")
LOCAL = ("--cluster", "local:1", *JSON)
HOMES = ("CONFIG", "CACHE", "DATA", "STATE")
LAST_S, ALONE_S = 120.0, 20.0
"""Seconds after which a command hangs, and in which children of a killed one end."""

SOUND = {0, 2, 6, 10, 11, 12, 130}
"""Exit codes of commands that were not killed."""

Command = tuple[str, ...] | Callable[[], int]


@dataclass
class Writer:
    """A command that writes.

    Args:
        command: It, or a function to be called in its place.
        targets: Files that it replaces.
        again: Flags with which a run that it began goes on.
        share: How often it is killed, beside others.
        ends: Whether it ends by itself.
    """

    command: Command
    targets: tuple[str, ...] = ()
    again: tuple[str, ...] = JSON
    share: int = 1
    ends: bool = True


def scan_frame() -> int:
    """Scan bars in memory by the Python interface, which reads them as a file for a while."""
    optimizer.scan(bars=pd.read_csv("bars.csv"))
    return 0


def patched(module: object, name: str, value: object, command: tuple[str, ...]) -> Command:
    """A command under which a constant of a module is another one."""

    def patch() -> int:
        setattr(module, name, value)
        return run_command(list(command))

    return patch


def export(target: str, *more: str) -> Writer:
    """Writer of an export of the first run."""
    return Writer(("runs", "export", "RUN", target, *more), (target,))


WRITERS = {
    "evolve": Writer((*SEARCH, *COLUMNS, *EVIDENCE, *JSON), share=4),
    "evolve --every": Writer((*SEARCH, *COLUMNS, "--every", "3d", "--train", "5d", *JSON), share=2),
    "evolve --cluster": Writer(
        ("evolve", "--data", "csv:bars.csv", "--strategy", "donchian_breakout", *SMALL, *LOCAL),
        again=LOCAL,
    ),
    "judge": Writer(("judge", "BARE", "--data", "csv:bars.csv", *EVIDENCE, *JSON), share=2),
    "watch": Writer(("watch", "RUN", "--data", "csv:later.csv", "--json")),
    "signal": Writer(("signal", "RUN", "--data", "csv:later.csv", "--json")),
    "report": Writer(("report", "RUN"), ("runs/RUN/report.html",)),
    "report --out": Writer(("report", "RUN", "--out", "page.html"), ("page.html",)),
    "portfolio": Writer(
        ("portfolio", "RUN", "BARE", "--report", "account.html", "--export", "programs", "--as",
         "vectorbt"), ("account.html",),
    ),
    "export csv": export("front.csv"),
    "export json": export("points.json", "--what", "points"),
    "export parquet": export("all.parquet", "--what", "individuals"),
    "export generations": export("steps.csv", "--what", "generations"),
    "export journal": export("study.journal"),
    "export script": export("script.py", "--as", "vectorbt"),
    "backtest": Writer(
        ("backtest", "RUN", "--trades", "trades.csv", "--plot", "plot.html", "--json"),
        ("trades.csv", "plot.html"),
    ),
    "data import": Writer(
        ("data", "import", "bars.csv", "later.csv", "--into", "bars", "--replace"),
        ("bars/bars.parquet", "bars/later.parquet"),
    ),
    "data fetch": Writer(
        ("data", "fetch", "polygon:X:ADAUSD", "--from", "2024-01-01", "--to", "2024-04-01",
         "--timeframe", "1h"), share=2,
    ),
    "forecast fit": Writer(
        ("forecast", "fit", "--model", "ridge", "--data", "csv:bars.csv", "--train", "400",
         "--refit", "300", "--window", "8", "--out", "forecasts/a.parquet"),
        ("forecasts/a.parquet",),
    ),
    "scan": Writer(
        ("scan", "--data", "csv:bars.csv", "--data", "csv:later.csv", "--csv", "scan.csv"),
        ("scan.csv",),
    ),
    "strategies new": Writer(("strategies", "new", "idea")),
    "runs tag": Writer(("runs", "tag", "RUN", "good"), ("runs/RUN/labels.json",)),
    "runs note": Writer(("runs", "note", "RUN", "as it should be"), ("runs/RUN/labels.json",)),
    "runs delete": Writer(("runs", "delete", "RUN", "--yes"), share=2),
    "bars in memory": Writer(scan_frame),
    "rows of own indicators": Writer(
        patched(indicator_cache, "WORTH_S", -1e9, (*SEARCH, *COLUMNS, "--no-judge", "--no-report"))
    ),
    "mapped bars": Writer(
        patched(markets, "free_host_bytes", lambda: 0, ("backtest", "--data", "csv:bars.csv"))
    ),
    "ui": Writer(("ui",), ends=False),
}  # fmt: skip


class Case:
    """A copy of the base, in which commands run and are killed.

    Args:
        base: A folder to copy; None for an empty one.
        root: The copy.
        names: Of runs, by the word that stands for each in commands.
    """

    def __init__(self, base: Path | None, root: Path, names: dict[str, str]) -> None:
        self.root, self.names = root, names
        self.out, self.count = root.with_suffix(".out"), root.with_suffix(".steps")
        shutil.rmtree(root, ignore_errors=True)
        if base is None:
            (root / "tmp").mkdir(parents=True)
        else:
            shutil.copytree(base, root)

    def fill(self, text: str) -> str:
        """A text with the names of runs in place of their words."""
        for word, name in self.names.items():
            text = text.replace(word, name)
        return text

    def begin(self, command: Command, step: int = 0) -> int:
        """Begin a command in a process group of its own, to be killed at a step; its id."""
        self.out.write_text("")
        if pid := os.fork():
            return pid
        code = 70
        try:
            os.setsid()
            code = self._become(command, step)
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdout.flush()
            os._exit(code)

    def _become(self, command: Command, step: int) -> int:
        os.chdir(self.root)
        output = os.open(self.out, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.environ.update({f"XDG_{name}_HOME": f"{self.root}/home/{name}" for name in HOMES})
        os.environ.update(TMPDIR=f"{self.root}/tmp", POLYGON_API_KEY=KEY, **{MARK: str(self.root)})
        tempfile.tempdir = None
        steps = Steps(self.root, step)
        sys.addaudithook(steps)
        try:
            if callable(command):
                return command()
            return run_command([self.fill(part) for part in command])
        finally:
            atexit._run_exitfuncs()
            self.count.write_text(str(steps.done))

    def run(self, command: Command, *, ends: bool = True) -> int:
        """Run a command to its end, or until it says where its page is; its exit code."""
        pid = self.begin(command)
        if not ends:
            wait_until(lambda: "http" in self.out.read_text(), LAST_S)
            os.kill(pid, signal.SIGINT)
        return self.wait(pid)

    def wait(self, pid: int) -> int:
        """The exit code of a process; it is killed when it hangs."""
        ends: list[int] = []

        def has_ended() -> bool:
            ended, status = os.waitpid(pid, os.WNOHANG)
            ends.extend([os.waitstatus_to_exitcode(status)] * bool(ended))
            return bool(ended)

        if not wait_until(has_ended, LAST_S):
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        return ends[0] if ends else -1

    def kill(self, command: Command, step: int, seconds: float, *, is_alone: bool) -> bool:
        """Begin a command and kill it at a step, or after some time; whether it had ended."""
        pid = self.begin(command, step)
        if not step:
            time.sleep(seconds)
            (os.kill if is_alone else os.killpg)(pid, signal.SIGKILL)
        return self.wait(pid) != -signal.SIGKILL

    def list_children(self) -> list[int]:
        """Processes alive that a command of this case began."""
        mark, found = f"{MARK}={self.root}\0".encode(), []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (process / "environ").read_bytes():
                    found.append(int(process.name))
        return found

    def list_files(self) -> Counter[str]:
        """Names of all files and folders, without what is drawn anew each time."""
        paths = (str(path.relative_to(self.root)) for path in self.root.rglob("*"))
        return Counter(DRAWN.sub("#", path) for path in paths)

    def read(self, targets: tuple[str, ...]) -> list[bytes]:
        """Content of named outputs; empty where there is none."""
        paths = [self.root / self.fill(target) for target in targets]
        return [CLOCK.sub(b"", path.read_bytes()) if path.is_file() else b"" for path in paths]

    def list_runs(self) -> list[Path]:
        """Folders of runs."""
        return sorted(path for path in (self.root / "runs").glob("[!.]*") if path.is_dir())

    def find_losses(self) -> Iterator[str]:
        """Find what is wrong with records of runs."""
        for path in self.list_runs():
            with RunStore.open(path) as store:
                yield from (*store.verify(), *store.warnings)


class Steps:
    """Audit hook that counts steps of writing below a folder, and kills its group before the last.

    Args:
        root: The folder.
        last: Step before which all is killed; 0 for none.
    """

    def __init__(self, root: Path, last: int) -> None:
        self.root, self.last, self.done = f"{root}/", last, 0

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        """Look at an event of Python's."""
        if event not in STEPS or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        flags = arguments[2] if event == "open" else os.O_CREAT
        is_write = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        if is_write and os.path.abspath(os.fsdecode(arguments[0])).startswith(self.root):
            self.done += 1
            if self.done == self.last:
                os.killpg(0, signal.SIGKILL)


class Attempts:
    """One writer, unbroken and killed.

    Args:
        name: Of the writer.
        base: What it finds.
        place: Where copies are made.
        names: Of runs, by word.
    """

    def __init__(self, name: str, base: Path, place: Path, names: dict[str, str]) -> None:
        self.name, self.writer = name, WRITERS[name]
        self._given = base, place / "case", names
        self.kills = self.left = self.lost = 0
        self.findings: list[str] = []
        case = Case(*self._given)
        self._base_runs = case.list_runs()
        self._outputs = [case.read(self.writer.targets)]
        began = time.monotonic()
        self._ends = [self._go_on(case)]
        self._seconds, self._steps = time.monotonic() - began, int(case.count.read_text())
        self._ends.append(self._go_on(case))
        if bad := {end.code for end in self._ends} - SOUND:
            raise SystemExit(f"{name} ends with {bad} unbroken:\n{case.out.read_text()[-2000:]}")

    def kill(self, rng: random.Random) -> None:
        """Kill the writer once, let the next command run, and count what is wrong then."""
        case, is_alone = Case(*self._given), rng.random() < 0.2
        step = 0 if is_alone or not self.writer.ends or rng.random() < 0.4 else 1
        step *= rng.randint(1, max(self._steps, 1))
        if case.kill(self.writer.command, step, rng.uniform(0, self._seconds), is_alone=is_alone):
            return
        self.kills += 1
        where = f"at step {step} of {self._steps}" if step else "alone" if is_alone else "in time"
        if not wait_until(lambda: not case.list_children(), ALONE_S):
            self._find("left", f"{where}: children live on")
            for pid in case.list_children():
                os.kill(pid, signal.SIGKILL)
        self._check_outputs(case, where)
        losses = [*case.find_losses()]
        end = self._go_on(case)
        losses += case.find_losses()
        if end.code not in {whole.code for whole in self._ends}:
            losses.append(f"exit code {end.code}: {case.out.read_text()[-300:]}")
        if end.said not in [whole.said for whole in self._ends]:
            losses.append(f"another result: {end.said[:300]}")
        for loss in losses:
            self._find("lost", f"{where}: {loss}")
        if end.files not in [whole.files for whole in self._ends]:
            more, less = end.files - self._ends[0].files, self._ends[0].files - end.files
            self._find("left", f"{where}: too many {sorted(more)}, too few {sorted(less)}")
        self._check_outputs(case, f"{where}, after the next")

    def _go_on(self, case: Case) -> "End":
        """Run the next command of the kind."""
        command, runs = self.writer.command, case.list_runs()
        new = [run.name for run in runs if run not in self._base_runs]
        if self.name.startswith("evolve") and new:
            command = ("evolve", "--resume", new[-1], *self.writer.again)
        elif self.name == "runs delete" and case.root / case.fill("runs/RUN") not in runs:
            command = ("runs", "delete", "BARE", "--yes")
        code = case.run(command, ends=self.writer.ends)
        self._outputs.append(case.read(self.writer.targets))
        return End(code, read_result(case.out.read_text()), case.list_files())

    def _check_outputs(self, case: Case, where: str) -> None:
        for number, content in enumerate(case.read(self.writer.targets)):
            if content not in [outputs[number] for outputs in self._outputs[:3]]:
                self._find("lost", f"{where}: {self.writer.targets[number]} is neither old nor new")

    def _find(self, kind: str, text: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        self.findings.append(f"{self.name}, killed {text}")


class End(NamedTuple):
    """What a command left."""

    code: int
    said: str
    files: Counter[str]


def wait_until(is_so: Callable[[], object], seconds: float) -> bool:
    """Wait, at most so long, until something is so; whether it is."""
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def read_result(said: str) -> str:
    """The front and the judgement of what a command printed as JSON; empty for other commands."""
    try:
        result = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]
    except ValueError:
        return ""
    judgement = result.get("judgement") or {}
    verdict = (judgement.get("verdict") or {}).get("grade")
    return json.dumps([result.get("front_hash"), verdict, judgement.get("null")])


def make_base(folder: Path, url: str) -> dict[str, str]:
    """Write the markets, runs and older outputs that writers find; names of runs by word."""
    case = Case(None, folder, {})
    settings = folder / "home" / "CONFIG" / "exhaustion-optimizer" / "vendors.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[polygon]\nurl = "{url}"\ncalls_per_minute = 100000\n')
    (folder / "momentum.py").write_text(STRATEGY)
    for name in ("mood", "rate"):
        (folder / f"{name}.csv").write_text("known_at,value\n1970-01-01 00:00:00,1\n")
    write_bars(folder, 4)
    for name in ("data import", "forecast fit", "scan"):
        case.run(WRITERS[name].command)
    write_bars(folder, 3)
    case.run((*SEARCH, *COLUMNS, "--no-judge"))
    (bare,) = case.list_runs()
    case.names = {"RUN": bare.name, "BARE": bare.name}
    for writer in WRITERS.values():
        if writer.targets and "RUN" in writer.command:
            case.run(writer.command)
    case.run((*SEARCH, *COLUMNS, *EVIDENCE, "--generations", "4"))
    (run,) = {*case.list_runs()} - {bare}
    case.names["RUN"] = run.name
    return case.names


def write_bars(folder: Path, seed: int) -> None:
    """Write a market, and as another file the same with later bars."""
    write_market(folder / "later.csv", 1400, seed=seed)
    lines = (folder / "later.csv").read_text().splitlines(keepends=True)
    (folder / "bars.csv").write_text("".join(lines[:1201]))


@contextmanager
def vendor_beside() -> Iterator[str]:
    """A vendor of bars in a process of its own, whose threads are not there when commands begin."""
    read, write = os.pipe()
    if not (pid := os.fork()):
        with running_vendor() as vendor:
            os.write(write, f"{vendor.url}\n".encode())
            signal.pause()
    with open(read) as said:
        try:
            yield said.readline().strip()
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def main() -> int:
    """Kill writers, and print a table; 1 where anything was left or lost."""
    # Else the pace of the machine decides which rows are kept.
    indicator_cache.WORTH_S = 1e9
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="of all writers together")
    parser.add_argument("--writers", default=",".join(WRITERS), help="names, with commas")
    parser.add_argument("--seed", type=int, default=1, help="of moments")
    asked = parser.parse_args()
    rng, done = random.Random(asked.seed), list[Attempts]()
    named = asked.writers.split(",")
    shares = sum(WRITERS[name].share for name in named)
    place = Path(tempfile.mkdtemp(prefix="kills-"))
    try:
        with vendor_beside() as url:
            names = make_base(place / "base", url)
            print(f"{'writer':24} kills left lost")
            for number, name in enumerate(named):
                attempts = Attempts(name, place / "base", place, names)
                behind = sum(WRITERS[each].share for each in named[: number + 1])
                due = round(asked.kills * behind / shares) - sum(one.kills for one in done)
                while attempts.kills < due:
                    attempts.kill(rng)
                done.append(attempts)
                print(
                    f"{name:24} {attempts.kills:5} {attempts.left:4} {attempts.lost:4}", flush=True
                )
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(*(text for attempts in done for text in attempts.findings), sep="\n")
    return int(any(attempts.findings for attempts in done))


if __name__ == "__main__":
    raise SystemExit(main())
