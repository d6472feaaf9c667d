"""Whether every recorded figure of a judged run is equal, however the run was made.

    python -m tests.bench.verdicts FOLDER [--seeds 3] [--forms cpu,killed] [--former PROJECT ...]
    python -m tests.bench.verdicts FOLDER --settings "--plateau 2 --generations 30"

Each series of the folder, with each strategy and seed, is searched, certified, and judged with
folds, combinatorial splits and 199 null searches of a kind, which end early as ever. A plain run
has one thread; others have two processes, waves of 1, 7 and 32 searches in step, folds beside the
run, a GPU, programs that are killed and gone on with, or that of another folder, such as an older
version. `--settings` changes all of them: searches that a rule ends leave their wave one by one.
One line a case; figures that differ are named, and the program ends with 1. Which null
searches end beyond those that count is chance: they are compared where two forms made them.
"""

import argparse
import hashlib
import io
import json
import random
import re
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL
from subprocess import DEVNULL, PIPE, Popen, run
from typing import Any, NamedTuple
from unittest.mock import patch

from engine.runtime.gpus import why_no_cuda
from engine.runtime.machine import available_cores
from optimizer.__main__ import main as run_command
from optimizer.judging.asking import AskingWorkers
from optimizer.judging.concurrent_folds import FEWEST_CORES
from optimizer.judging.executors import ThisMachine
from optimizer.judging.folds import FoldSetup
from optimizer.judging.workers import Executor, Workers

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = (sys.executable, "-m", "optimizer")
STRATEGIES = ("seller_exhaustion", "tests/support/examples.py:RSI_PULLBACK")
SETTINGS = (
    "--population 16 --generations 4 --polish 64 --min-trades 5 --fee-bp 1 --slippage-bp 1 "
    "--null 199 --folds 4 --cpcv 4,2 --embargo 200 --dedupe"
)
COLUMNS = "number, summary, genomes, objectives, violations, failures, lineage, state"

NO_FIGURES = re.compile(
    r"result\.(run|path|resumed|timing|device|data\.spec|certificate\.(device|\w*versions?))\b"
    r"|generation/\d+\.summary\.seconds"
)
"""Where, when and by which version a run was made."""

Figures = dict[str, str]
"""Each as JSON, by its record and field."""


class Form(NamedTuple):
    """A way to make a run; the program chooses processes and searches in step where they are 0."""

    name: str
    device: str = "cpu"
    threads: int = 1
    processes: int = 0
    wave: int = 0
    kills: int = 0
    project: Path = ROOT


PLAIN = Form("plain")


def list_forms(device: str) -> list[Form]:
    """All forms on a device but the plain one."""
    waves = [(7, 1), (7, 2), (32, 1), (32, 2), (1, 1)]
    forms = [Form(f"{device} waves of {w} by {n}", device, n, n, w) for w, n in waves]
    forms += [Form(f"{device} processes", device, 2, 2), Form(f"{device} as chosen", device, 2)]
    forms += [Form(f"{device} killed", device, 2, kills=2)]
    beside = [Form(f"{device} beside", device, FEWEST_CORES)]
    return forms + beside if available_cores() >= FEWEST_CORES else forms


def read_figures(database: Path) -> Figures:
    """Figures of a run; columns of a generation by their digests."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = [("result", *row) for row in connection.execute("SELECT payload FROM result")]
        rows += connection.execute("SELECT name, payload FROM evidence ORDER BY id")
        records = [(name, json.loads(payload)) for name, payload in rows]
        payloads: dict[str, Any] = {_name_row(*record): record[1] for record in records}
        for number, summary, *blobs in connection.execute(f"SELECT {COLUMNS} FROM generation"):
            digests = [blob and hashlib.sha256(blob).hexdigest() for blob in blobs]
            payloads[f"generation/{number}"] = {"summary": json.loads(summary), "digests": digests}
    return dict(_iter_figures("", payloads))


def _name_row(name: str, row: dict[str, Any]) -> str:
    """A row of evidence by its settings and its number, such as ``null/day/shuffled/17``."""
    settings = row.get("settings")
    return "/".join(map(str, (name, *settings.values(), row["number"]))) if settings else name


def _iter_figures(name: str, value: object) -> Iterator[tuple[str, str]]:
    if NO_FIGURES.match(name):
        return
    if not isinstance(value, dict | list) or not value:
        yield name, json.dumps(value)
        return
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _iter_figures(f"{name}.{key}" if name else key, part)


def is_spare(name: str, figures: Figures) -> bool:
    """Whether a figure is of a null search beyond those that count."""
    null = re.match(r"null/\w+/(\w+)/(\d+)\.", name)
    return bool(null) and int(null[2]) > int(figures.get(f"judgement.null.{null[1]}.run", "0"))


def list_differences(expected: Figures, found: Figures) -> list[str]:
    """Names of the figures that differ, with both values."""
    return [
        f"{name}: {expected.get(name)}, {found.get(name)}"
        for name in sorted(expected.keys() | found.keys())
        if expected.get(name) != found.get(name)
        and ((name in expected and name in found) or not is_spare(name, expected))
    ]


@contextmanager
def fix_executors(form: Form) -> Iterator[None]:
    """Let judgements of this process use so many processes and waves of such a size."""

    def executor(machine, setup, jobs, *, first=None, engine=None, used=None) -> Executor:
        if form.wave:
            own = replace(setup, engine=engine) if isinstance(setup, FoldSetup) else setup
            return AskingWorkers(own, form.processes, form.wave, machine._pool)
        config = setup.task.config.model_copy(update={"device": "cpu", "threads": 1})
        alone = replace(setup, task=replace(setup.task, config=config))
        return Workers(alone, form.processes, machine._pool)

    chosen = executor if form.processes else ThisMachine.executor
    with patch.object(ThisMachine, "executor", chosen):
        yield


def make_run(case: tuple[str, ...], form: Form, rows: int = 0) -> tuple[Figures, list[int]]:
    """Figures of a run, and how often it was killed in search and judgement, of so many rows."""
    killed, draw = [0, 0], random.Random(str(case))
    with tempfile.TemporaryDirectory() as folder:
        runs, quiet = Path(folder), ["--runs", folder, "--quiet", "--no-report"]
        command = ["evolve", *SETTINGS.split(), *quiet, *case]
        command += ["--device", form.device, "--threads", str(form.threads)]
        if form.device != "cpu" and form.threads < FEWEST_CORES:
            # Several programs share a GPU; with a limit no folds begin beside the run.
            command += ["--memory", "1GB"]
        for number in range(form.kills):
            # The first as soon as there is a run, the others once so much of it is recorded.
            after = draw.randrange(1, rows) if number else -1
            was_searched = kill_run(command, runs, after, draw.uniform(0, 0.4))
            command = ["evolve", "--resume", "latest", *quiet]
            if was_searched is None:
                break
            killed[was_searched] += 1
        if form.kills or form.project != ROOT:
            whole = [*PROGRAM, *command]
            done = run(whole, cwd=form.project, stdout=DEVNULL, stderr=PIPE, text=True)
            code, errors = done.returncode, done.stderr
        else:
            with fix_executors(form), redirect_stdout(io.StringIO()) as text, redirect_stderr(text):
                code, errors = run_command(command), text.getvalue()
        if code:
            raise RuntimeError(f"ended with {code}: {errors[-500:]}")
        (database,) = runs.glob("*/run.sqlite")
        return read_figures(database), killed


def kill_run(command: Sequence[str], runs: Path, rows: int, seconds: float) -> bool | None:
    """Kill a program; whether its search had ended, or None where the program had."""
    process = Popen([*PROGRAM, *command], cwd=ROOT, stdout=DEVNULL, stderr=DEVNULL)
    while process.poll() is None and count_rows(runs, "generation", "result", "evidence") <= rows:
        time.sleep(0.01)
    time.sleep(seconds)
    process.kill()
    return count_rows(runs, "result") > 0 if process.wait() == -SIGKILL else None


def count_rows(runs: Path, *tables: str) -> int:
    """Rows of tables of the one run of a folder, and -1 without one that can be read."""
    counts = "+".join(f"(SELECT COUNT(*) FROM {table})" for table in tables)
    for database in runs.glob("*/run.sqlite"):
        # A reader that may not write can meet the writer's files half made.
        with (
            suppress(sqlite3.OperationalError),
            closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection,
        ):
            return int(connection.execute(f"SELECT {counts}").fetchone()[0])
    return -1


def leave_newer(expected: Figures, found: Figures, form: Form) -> Figures:
    """Figures without those that a former version has in no record."""
    fields = {name.rpartition(".")[2] for name in (found if form.project != ROOT else expected)}
    return {name: text for name, text in expected.items() if name.rpartition(".")[2] in fields}


def compare_forms(name: str, runs: Mapping[Form, Future[Any]]) -> Counter[str]:
    """Compare all forms of a case with the first, and print it."""
    expected, total = Figures(), Counter(runs=len(runs))
    for form, future in runs.items():
        try:
            figures, killed = future.result()
            different = list_differences(leave_newer(expected, figures, form) or figures, figures)
        except RuntimeError as error:
            figures, killed, different = {}, [0, 0], [str(error).strip()]
        total.update(dict(zip(("kills in search", "kills in judgement"), killed, strict=True)))
        total["figures compared"] += len(expected.keys() & figures.keys())
        total["differences"] += len(different)
        print(*(f"{name}, {form.name}: {line}\n" for line in different[:5]), sep="", end="")
        expected = figures | expected
    decided = sorted(item for item in expected.items() if not is_spare(item[0], expected))
    digest = hashlib.sha256(json.dumps(decided).encode()).hexdigest()[:12]
    grade = expected.get("judgement.verdict.grade")
    counted = ", ".join(f"{count} {what}" for what, count in total.items())
    print(f"{name}: {digest}, {len(decided)} figures, {grade}; {counted}", flush=True)
    return total


def main() -> None:
    """Make all runs, compare, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.verdicts")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--forms", default="cpu,cuda")
    parser.add_argument("--former", type=Path, nargs="*", default=[])
    parser.add_argument("--settings", default="")
    parser.add_argument("--at-once", type=int, default=available_cores())
    asked = parser.parse_args()
    forms = list_forms("cpu") + ([] if why_no_cuda() else list_forms("cuda"))
    forms = [form for form in forms if any(word in form.name for word in asked.forms.split(","))]
    forms += [Form(str(path), project=path.resolve()) for path in asked.former]
    series, seeds = sorted(asked.folder.glob("*.parquet")), map(str, range(1, asked.seeds + 1))
    total = Counter[str]()
    with ProcessPoolExecutor(asked.at_once, mp_context=get_context("spawn")) as pool:
        begin, runs = partial(pool.submit, make_run), {}
        for seed, path, strategy in product(seeds, series, STRATEGIES):
            case = ("--data", f"parquet:{path.resolve()}", "--strategy", strategy, "--seed", seed)
            case += tuple(asked.settings.split())
            runs[case] = {PLAIN: begin(case, PLAIN)}
        for case, of_case in runs.items():
            rows = len({name.partition(".")[0] for name in of_case[PLAIN].result()[0]})
            of_case |= {form: begin(case, form, rows) for form in forms}
        for case, of_case in runs.items():
            name = " ".join(re.split(r"[/:]", word)[-1] for word in case[1::2])
            total.update(compare_forms(name, of_case), cases=1)
    print(", ".join(f"{count} {what}" for what, count in total.items()))
    sys.exit(total["differences"] > 0)


if __name__ == "__main__":
    main()
