"""bench --whole: whole runs as a person waits for them, from command to end.

Each case is a process of its own, ``python -m optimizer evolve ... --json``. Engine and reference
are compared before anything is timed, and the certificate of every timed run must be green. Each
table is kept, so that the next one is printed beside it.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from platformdirs import user_cache_path
from rich.table import Table

from data import Bars
from data.checks import COLUMNS, FIRST_NS
from data.files import working_folder
from engine.replay.certificate import certify
from engine.runtime.compiling.cache_dirs import APP
from engine.runtime.machine import describe_processor
from optimizer.atomic_write import write_whole
from optimizer.cli.bench_calls import VERIFIED_INDIVIDUALS, extend_bars
from optimizer.cli.console import facts_table, plain_table, print_json, stderr, stdout
from optimizer.config.run_config import resolve_config
from optimizer.errors import ConfigError, OptimizerError
from optimizer.processes import begin
from optimizer.run.task import prepare
from optimizer.store.result import RunResult, refuse_red

NULL_KINDS = ("shuffled", "mirrored")

LAST_TABLE = "bench-whole.json"
"""File in the user's cache that holds the last time of each case on each device."""

OFFSET_BARS = 997
"""Bars by which the symbols of a case differ in where they begin."""

LARGE = 100e9
"""Individual-bars from which on a case is left out on a CPU unless it is asked for by name."""


@dataclass(frozen=True)
class Case:
    """One whole run."""

    name: str
    population: int
    generations: int  # after the initial one
    bars: int = 0  # bars of each symbol; the sample as it is when 0
    symbols: int = 1
    null: int = 0  # null searches of each kind in its judgement, none of which is left out

    @property
    def flags(self) -> list[str]:
        """Arguments of `evolve` beside bars and device."""
        sizes = ["--population", str(self.population), "--generations", str(self.generations)]
        null = ["--null", str(self.null), "--stop-after", str(self.null)] if self.null else []
        return [*sizes, *null]

    def work(self, sample_bars: int) -> float:
        """Individual-bars of the search and of null searches."""
        bars = (self.bars or sample_bars) * self.symbols
        return float(self.population * (self.generations + 1) * bars * (1 + 2 * self.null))


CASES = (
    Case("64x3", 64, 3),
    Case("512x100", 512, 100),
    Case("512x100+398", 512, 100, null=199),
    Case("512x4000", 512, 4_000),
    Case("4096x1000", 4_096, 1_000),
    Case("32768x300", 32_768, 300),
    Case("1x2000000", 1_024, 40, 2_000_000),
    Case("20x200000", 1_024, 40, 200_000, 20),
)
"""The runs of the project's own table of targets."""


@dataclass(frozen=True)
class WholeTime:
    """Times of a case."""

    case: str
    wall_s: float  # from the start of the process to its end
    search_s: float  # of it, the search with polish
    certificate_s: float  # of it, the replay by the reference
    judgement_s: float  # of it, the judgement
    null_searches: int  # that the judgement made
    members: int
    front_hash: str  # of the front, so that two machines can be compared
    device: str  # where it ran, with the reason


def time_whole_runs(device: str, wanted: str, *, as_json: bool) -> None:
    """Verify, run the cases one after another, and print them beside the last table.

    `wanted` names cases with commas; ``all`` stands for those that suit the device.
    """
    task = prepare(resolve_config(None, {"device": device}))
    engine = task.engine()
    refuse_red(certify(engine, task.random_individuals(VERIFIED_INDIVIDUALS)))
    cases = _select_cases(wanted, engine.device, task.markets.n_bars)
    before = _read_last()
    times: list[WholeTime] = []
    for timed in _time_cases(cases, task.markets.series[0], device):
        times.append(timed)
        stderr().say(f"{timed.case}: {timed.wall_s:.1f} s on {timed.device}")
    _keep_last(device, times, before)
    if as_json:
        machine = describe_processor()
        print_json({"machine": machine, "runs": [asdict(timed) for timed in times]})
        return
    stdout().print(_table(times, before.get(device, {})))
    stdout().print()
    stdout().print(facts_table({"processor": describe_processor(), "device": engine.device}))


def _select_cases(wanted: str, device: str, sample_bars: int) -> list[Case]:
    if wanted == "all":
        return [case for case in CASES if device != "cpu" or case.work(sample_bars) < LARGE]
    known = {case.name: case for case in CASES}
    names = wanted.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ConfigError(f"--whole '{unknown[0]}' is unknown; known: all, {', '.join(known)}")
    return [known[name] for name in names]


def _time_cases(cases: Sequence[Case], sample: Bars, device: str) -> Iterator[WholeTime]:
    """Run the cases, each with its own folder of runs."""
    with working_folder("bench") as folder:
        for case in cases:
            data = _write_case_bars(case, sample, folder)
            yield _run(case, [*data, "--device", device, "--runs", f"{folder}/{case.name}"])


def _write_case_bars(case: Case, sample: Bars, folder: Path) -> list[str]:
    """Flags that name a case's bars; long series are the sample end to end, written as files.

    They begin with the first day that files may name and have no gaps: 2,000,000 bars of a quarter
    of an hour are 57 years, and bars a year or more ahead of the clock are refused.
    """
    if not case.bars:
        return []
    target = folder / f"bars-{case.name}"
    target.mkdir()
    times = FIRST_NS + sample.timeframe_ns * np.arange(case.bars)
    for number in range(case.symbols):
        # Each symbol begins at another place of the sample.
        bars = extend_bars(sample, case.bars + OFFSET_BARS * number)
        columns = {name: getattr(bars, name)[: case.bars] for name in COLUMNS}
        columns["timestamp"] = times.astype("datetime64[ns]")
        pq.write_table(pa.table(columns), target / f"S{number:02d}.parquet")
    return ["--data", str(target)]


def _run(case: Case, flags: Sequence[str]) -> WholeTime:
    """Time one process from its start to its end."""
    fixed = ("evolve", "--json", "--quiet", "--no-report")
    began = time.perf_counter()
    with begin("optimizer", *fixed, *case.flags, *flags, stdout=PIPE, stderr=PIPE) as process:
        out, err = process.communicate()
    wall_s = time.perf_counter() - began
    if process.returncode:
        raise OptimizerError(f"case {case.name} failed: {err.decode().strip().splitlines()[-1]}")
    printed = json.loads(out)
    result, null = RunResult.read(printed), printed["judgement"].get("null") or {}
    refuse_red(result.certificate)
    return WholeTime(
        case=case.name,
        wall_s=wall_s,
        search_s=result.timing.search_s,
        certificate_s=result.timing.certificate_s,
        judgement_s=printed["judgement_s"],
        null_searches=sum(null[kind]["run"] for kind in NULL_KINDS if null.get(kind)),
        members=len(result.front),
        front_hash=result.front_hash,
        device=f"{result.device.name} ({result.device.why})",
    )


def _last_file() -> Path:
    return Path(user_cache_path(APP)) / LAST_TABLE


def _read_last() -> dict[str, dict[str, float]]:
    """Seconds of the last run by device and case; empty where nothing readable was kept."""
    try:
        kept = json.loads(_last_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def _keep_last(
    device: str, times: Sequence[WholeTime], before: dict[str, dict[str, float]]
) -> None:
    """Remember the times of this device's cases beside those of other devices and cases."""
    of_device = {**before.get(device, {}), **{timed.case: timed.wall_s for timed in times}}
    _last_file().parent.mkdir(parents=True, exist_ok=True)
    write_whole(_last_file(), json.dumps({**before, device: of_device}, indent=1))


def _table(times: Sequence[WholeTime], before: dict[str, float]) -> Table:
    numbers = ("all s", "last time s", "search s", "certificate s", "judgement s",
               "null searches", "members")  # fmt: skip
    table = plain_table("run", *numbers, "front", right=numbers)
    for timed in times:
        last = before.get(timed.case)
        before_s = "" if last is None else f"{last:.1f}"
        parts = (timed.search_s, timed.certificate_s, timed.judgement_s)
        phases = (f"{seconds:.1f}" for seconds in parts)
        ends = (f"{timed.null_searches:,}", f"{timed.members:,}", timed.front_hash[:12])
        table.add_row(timed.case, f"{timed.wall_s:.1f}", before_s, *phases, *ends)
    return table
