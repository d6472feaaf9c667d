"""Whole runs as a person waits for them, from command to end.

    python -m tests.bench.whole [all | CASE,CASE,...] [--device cuda]

Each case is a process of its own, ``python -m optimizer evolve ... --json``. Engine and reference
are compared before anything is timed, and the certificate of every timed run must be green. Each
case is printed as a line of JSON.
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from data.checks import COLUMNS, FIRST_NS
from engine.replay.certificate import certify
from optimizer.config.run_config import resolve_config
from optimizer.processes import begin
from optimizer.run.task import prepare
from optimizer.store.result import RunResult, refuse_red
from tests.bench.calls import VERIFIED_INDIVIDUALS, extend_bars

NULL_KINDS = ("shuffled", "mirrored")

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
    def flags(self):
        """Arguments of `evolve` beside bars and device."""
        sizes = ["--population", str(self.population), "--generations", str(self.generations)]
        null = ["--null", str(self.null)] if self.null else []
        return [*sizes, *null]

    def count_work(self, sample_bars):
        """Individual-bars of the search and of null searches."""
        bars = (self.bars or sample_bars) * self.symbols
        return self.population * (self.generations + 1) * bars * (1 + 2 * self.null)


CASES = (
    Case("64x3", 64, 3), Case("512x100", 512, 100), Case("512x100+398", 512, 100, null=199),
    Case("512x4000", 512, 4_000), Case("4096x1000", 4_096, 1_000), Case("32768x300", 32_768, 300),
    Case("1x2000000", 1_024, 40, 2_000_000), Case("20x200000", 1_024, 40, 200_000, 20),
)  # fmt: skip
"""The runs of the project's own table of targets."""


def write_bars(case, sample, folder):
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


def time_run(case, flags):
    """Times of one process from its start to its end, in seconds."""
    fixed = ("evolve", "--json", "--quiet", "--no-report")
    began = time.perf_counter()
    with begin("optimizer", *fixed, *case.flags, *flags, stdout=PIPE) as process:
        printed = json.load(process.stdout)
    wall_s = time.perf_counter() - began
    result, null = RunResult.read(printed), printed["judgement"].get("null") or {}
    refuse_red(result.certificate)
    return {
        "case": case.name,
        "wall_s": wall_s,
        "search_s": result.timing.search_s,
        "certificate_s": result.timing.certificate_s,
        "judgement_s": printed["judgement_s"],
        "null_searches": sum(null[kind]["run"] for kind in NULL_KINDS if null.get(kind)),
        "members": len(result.front),
        "front_hash": result.front_hash,
        "device": f"{result.device.name} ({result.device.why})",
    }


def main(argv=None):
    """Verify, then run the cases one after another."""
    known = {case.name: case for case in CASES}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="?", default="all", help=f"all, or of {', '.join(known)}")
    parser.add_argument("--device", default="auto", help="as of evolve")
    asked = parser.parse_args(argv)
    task = prepare(resolve_config(None, {"device": asked.device}))
    engine = task.engine()
    refuse_red(certify(engine, task.random_individuals(VERIFIED_INDIVIDUALS)))
    if asked.cases == "all":
        n_bars = task.markets.n_bars
        cases = [c for c in CASES if engine.device != "cpu" or c.count_work(n_bars) < LARGE]
    else:
        cases = [known[name] for name in asked.cases.split(",")]
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        for case in cases:
            data = write_bars(case, task.markets.series[0], folder)
            runs = ("--device", asked.device, "--runs", f"{folder}/{case.name}")
            print(json.dumps(time_run(case, [*data, *runs])), flush=True)


if __name__ == "__main__":
    main()
