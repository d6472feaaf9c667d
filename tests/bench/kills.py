"""Every writer killed at random: nothing is left over after the next command, and nothing is lost.

    python -m tests.bench.kills [--kills 200] [--writers evolve,judge] [--seed 1]

A command is killed with its process group, as by a crash, at a random moment or before a random
step of writing (a file opened, moved or removed, a folder made); now and then its process alone,
whose children must end, or one of its processes, which it does without. Then the next command of
its kind runs. Both together must leave the files of an unbroken history, hidden ones, caches and
temporary files included; a named output is the old or the new one whole; all that was acknowledged
is there, and a front is that of an unbroken search.
"""

import argparse
import json
import math
import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

import optimizer
from optimizer.__main__ import main as run_command
from optimizer.evidence.jobs import machine
from optimizer.run import indicator_cache
from tests.support.commands import write_market
from tests.support.kill import Case, Command, wait_until
from tests.support.own_files import momentum_file
from tests.support.vendor import running_vendor

SMALL = ("--population", "8", "--generations", "3", "--min-trades", "3", "--threads", "1")
SEARCH = ("evolve", "--data", "csv:bars.csv", "--strategy", "momentum.py", *SMALL, "--seed", "2")
COLUMNS = ("--column-file", "mood=mood.csv", "--column-file", "rate=rate.csv")
STRATEGY = momentum_file(
    '(moved(length("n", 5, 2, 20)) > 0.002) & (column("mood") + column("rate") > 0)'
)
EVIDENCE = ("--null", "2", "--folds", "2", "--resamples", "19")
ALONE_S = 20.0
"""Seconds in which children of a process end that is killed alone."""

MANY = ("--null", "8", "--folds", "4", "--resamples", "19")

JSON = ("--json", "--quiet")
LOCAL = ("--cluster", "local:1", *JSON)
SOUND = {0, 2, 6, 10, 11, 12, 130}
"""Exit codes of commands that were not killed."""


@dataclass
class Writer:
    """A command that writes."""

    command: Command  # it, or a function to be called in its place
    targets: tuple[str, ...] = ()  # files that it replaces
    again: tuple[str, ...] = JSON  # flags with which a run that it began goes on
    share: int = 1  # how often it is killed, beside others
    ends: bool = True  # whether it ends by itself
    has_processes: bool = False  # whether processes of its own may be killed, which it does without


def scan_frame(fill: Callable[[str], str]) -> int:
    """Scan bars in memory by the Python interface, which reads them as a file for a while."""
    optimizer.scan(bars=pd.read_csv("bars.csv"))
    return 0


def patched(module: object, command: tuple[str, ...], **values: object) -> Command:
    """A command under which names of a module have other values."""

    def patch(fill: Callable[[str], str]) -> int:
        for name, value in values.items():
            setattr(module, name, value)
        return run_command([fill(word) for word in command])

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
    "judge by processes": Writer(
        patched(
            machine, ("judge", "BARE", "--data", "csv:bars.csv", *MANY, *JSON),
            PROCESS_S=-1e9,
        ), share=2, has_processes=True,
    ),
    "watch": Writer(("watch", "RUN", "--data", "csv:later.csv", "--json")),
    "signal": Writer(("signal", "RUN", "--data", "csv:later.csv", "--json")),
    "report --out": Writer(("report", "RUN", "--out", "page.html"), ("page.html",)),
    "portfolio": Writer(
        ("portfolio", "RUN", "BARE", "--page", "account.html", "--export", "programs", "--as",
         "vectorbt"), ("account.html",),
    ),
    "export parquet": export("all.parquet", "--what", "individuals"),
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
         "--timeframe", "1h", "--json"), share=2,
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
    "runs tag": Writer(("runs", "tag", "RUN", "good"), ("runs/RUN/labels.json",)),
    "runs delete": Writer(("runs", "delete", "RUN", "--yes"), share=2),
    "bars in memory": Writer(scan_frame),
    "rows of own indicators": Writer(
patched(indicator_cache, ("backtest", *SEARCH[1:5], *COLUMNS), WORTH_S=-1e9)
    ),
    "ui": Writer(("ui",), ends=False),
}  # fmt: skip


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
        if self._ends[0].code not in SOUND:
            raise SystemExit(f"{name} fails unbroken:\n{case.out.read_text()[-2000:]}")

    def kill(self, rng: random.Random) -> None:
        """Kill the writer once or twice, let the next command run, and count what is wrong then."""
        case, where = Case(*self._given), ""
        if self.writer.has_processes and rng.random() < 0.5:
            self._kill_child(case, rng)
            return
        for _ in range(rng.choice((1, 1, 1, 2))):
            is_alone = rng.random() < 0.2
            step = 0 if is_alone or not self.writer.ends or rng.random() < 0.4 else 1
            step *= rng.randint(1, max(self._steps, 1))
            seconds = rng.uniform(0, self._seconds)
            if case.kill(self._choose(case), step, seconds, is_alone=is_alone):
                break
            where = f"at step {step} of {self._steps}" if step else f"after {seconds:.3f} s"
            self.kills += 1
            self._check_killed(case, f"{where}, alone" if is_alone else where)
        if where:
            self._check_next(case, f"{where}, after the next")

    def _kill_child(self, case: Case, rng: random.Random) -> None:
        """Kill one process of the writer, which goes on; and see that it ends as ever."""
        seconds = rng.uniform(0, self._seconds)
        code = case.kill_child(self.writer.command, seconds, rng)
        if code is None:
            return
        self.kills += 1
        where = f"after {seconds:.3f} s, one of its processes"
        if (end := self._read_end(case, code)) != self._ends[0]:
            self._find("lost", f"{where}: another end, {end.code}, {end.said[:300]}")
        self._check_killed(case, where)

    def _check_killed(self, case: Case, where: str) -> None:
        if not wait_until(lambda: not case.list_children(), ALONE_S):
            self._find("left", f"{where}: children live on")
            for pid in case.list_children():
                os.kill(pid, signal.SIGKILL)
        self._check_contents(case, where)

    def _check_next(self, case: Case, where: str) -> None:
        end = self._go_on(case)
        # Ctrl-C right behind the address ends a page as one before it does.
        if end.code not in {whole.code for whole in self._ends} and (
            self.writer.ends or end.code != 130
        ):
            self._find("lost", f"{where}: code {end.code}, {case.out.read_text()[-300:]}")
        if end.said not in [whole.said for whole in self._ends]:
            self._find("lost", f"{where}: another result, {end.said[:300]}")
        if end.files not in [whole.files for whole in self._ends]:
            more, less = end.files - self._ends[0].files, self._ends[0].files - end.files
            self._find("left", f"{where}: too many {sorted(more)}, too few {sorted(less)}")
        self._check_contents(case, where)
        has_searched = self.name.startswith(("evolve", "judge", "watch"))
        if has_searched and case.run(("runs", "verify", case.list_runs()[-1].name)):
            self._find("lost", f"{where}: {case.out.read_text()[-300:]}")

    def _choose(self, case: Case) -> Command:
        """The next command of the kind."""
        new = [run.name for run in case.list_runs() if run not in self._base_runs]
        if self.name.startswith("evolve") and new:
            return ("evolve", "--resume", new[-1], *self.writer.again)
        return self.writer.command

    def _go_on(self, case: Case) -> "End":
        return self._read_end(case, case.run(self._choose(case), ends=self.writer.ends))

    def _read_end(self, case: Case, code: int) -> "End":
        self._outputs.append(case.read(self.writer.targets))
        return End(code, read_result(case.out.read_text()), case.list_files())

    def _check_contents(self, case: Case, where: str) -> None:
        """Outputs are old or new, and records of runs are sound."""
        for number, content in enumerate(case.read(self.writer.targets)):
            if content not in [outputs[number] for outputs in self._outputs[:3]]:
                self._find("lost", f"{where}: {self.writer.targets[number]} is neither old nor new")
        for loss in case.find_losses():
            self._find("lost", f"{where}: {loss}")

    def _find(self, kind: str, text: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        self.findings.append(f"{self.name}, killed {text}")


class End(NamedTuple):
    """What a command left."""

    code: int
    said: str
    files: Counter[str]


def read_result(said: str) -> str:
    """Front, bars and judgement of what a command printed as JSON; empty for other commands."""
    try:
        result = json.JSONDecoder().raw_decode(said[said.index("{") :])[0]
    except ValueError:
        return ""
    judgement = result.get("judgement") or {}
    verdict = (judgement.get("verdict") or {}).get("grade")
    found = (result.get("front_hash"), result.get("hash"), verdict, judgement.get("null"))
    return json.dumps(found)


def make_base(folder: Path, url: str, named: Sequence[str]) -> dict[str, str]:
    """Write the markets, runs and older outputs that writers find; names of runs by word."""
    case = Case(None, folder, {})
    settings = folder / "home" / "CONFIG" / "exhaustion-optimizer" / "vendors.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[polygon]\nurl = "{url}"\ncalls_per_minute = 100000\n')
    (folder / "momentum.py").write_text(STRATEGY)
    for name in ("mood", "rate"):
        (folder / f"{name}.csv").write_text("known_at,value\n1970-01-01 00:00:00,1\n")
    write_bars(folder, 4)
    writers = [WRITERS[name] for name in named if WRITERS[name].targets]
    for writer in writers:
        if "RUN" not in writer.command:
            case.run(writer.command)
    write_bars(folder, 3)
    case.run((*SEARCH, *COLUMNS, "--no-judge", "--threads", "2"))
    (bare,) = case.list_runs()
    case.names = {"RUN": bare.name, "BARE": bare.name}
    for writer in writers:
        if "RUN" in writer.command:
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
    """The address of a vendor, in a process with threads of its own."""
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
            names = make_base(place / "base", url, named)
            print(f"{'writer':24} kills left lost")
            for name in named:
                attempts = Attempts(name, place / "base", place, names)
                due = math.ceil(asked.kills * WRITERS[name].share / shares)
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
