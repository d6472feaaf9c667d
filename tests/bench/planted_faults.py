"""Which suite catches a wrong rule: each is planted in a copy of the project, and all are run.

    python -m tests.bench.planted_faults [--processes 2] [--real FOLDER]

A fault is planted in the loops of a CPU alone, as a slip of an optimization, and in the
law as well, as a wrong reading of it, which no comparison of both can see. What TradingView's lists
say needs the folder beside the project that has them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from engine.runtime.machine import available_cores

ROOT = Path(__file__).resolve().parents[2]

PARTS = ("data", "strategy", "engine", "optimizer", "tests", "pyproject.toml", "conftest.py")
"""What a copy has."""


class Edit(NamedTuple):
    """Text of a file in place of another one."""

    file: str
    before: str
    after: str


class Fault(NamedTuple):
    """A wrong rule, as it is planted in the loops of a CPU, and in the law."""

    stage: str
    rule: str
    loops: tuple[Edit, ...]
    law: tuple[Edit, ...]


FAULTS = (
    Fault(
        "indicators", "a z-score leaves the mean out",
        (Edit("engine/indicators/cpu/rows.py", "(x - mean) / root", "x / root"),),
        (Edit("strategy/indicators/rolling.py", "(values[t] - means[t]) /", "values[t] /"),),
    ),
    Fault(
        "conditions", "`>` holds where both are equal",
        (Edit("engine/conditions/cpu/expression_vm.py", "if relation < 2 else", "if False else"),),
        (Edit("strategy/signals.py", '">": np.greater,', '">": np.greater_equal,'),),
    ),
    Fault(
        "positions", "an entry is a bar late",
        (
            Edit("engine/positions/cpu/both_sides.py", "bar + 1 + asks", "bar + 2 + asks"),
            Edit("engine/positions/cpu/chain.py", "t + 1 + exits", "t + 2 + exits"),
            Edit("engine/positions/cpu/orders.py", "t + 1 + asks", "t + 2 + asks"),
            Edit("engine/positions/cpu/order_bars.py", "t + 1 + delay", "t + 2 + delay"),
        ),
        (
            Edit("engine/positions/reference_orders.py", "j - 1 - world", "j - 2 - world"),
            Edit("engine/positions/reference_orders.py", "t + 1 + world", "t + 2 + world"),
        ),
    ),
    Fault(
        "positions", "an open at the stop is no gap",
        (
            Edit("engine/positions/cpu/exits.py", "gap = price <= stop", "gap = price < stop"),
            Edit("engine/positions/cpu/order_exits.py", "opened <= stop if", "opened < stop if"),
        ),
        (
            Edit(
                "engine/positions/reference_exits.py",
                "if side * opened <= side * at.stop", "if side * opened < side * at.stop",
            ),
        ),
    ),
    Fault(
        "positions", "costs are paid at the exit alone",
        (
            Edit("engine/positions/cpu/both_sides.py", "* (at.entry + price)", "* price"),
            Edit("engine/positions/cpu/chain.py", "* (entry + price)", "* price"),
            Edit("engine/positions/cpu/ordered.py", "* (at.entry + price)", "* price"),
        ),
        (Edit("engine/positions/reference_trades.py", "* (at.entry + leave)", "* leave"),),
    ),
    Fault(
        "accounts", "a drawdown is measured from the start",
        (
            Edit(
                "engine/accounts/cpu/folding.py",
                "(out[PEAK_EQUITY] - out[EQUITY]) / out[PEAK_EQUITY]", "1.0 - out[EQUITY]",
            ),
        ),
        (
            Edit(
                "engine/accounts/reference.py", "(peak - worth) / peak", "1.0 - worth / stake.cash"
            ),
        ),
    ),
)  # fmt: skip

SUITES: dict[str, Sequence[str]] = {
    "hand-made": (
        "-m", "pytest", "tests/unit/engine/positions/test_positions.py",
        "tests/unit/engine/positions/test_rules.py", "tests/unit/engine/accounts/test_account.py",
        "tests/unit/strategy/indicators",
    ),
    "goldens": ("-m", "pytest", "tests/golden/test_golden.py"),
    "parity": (
        "-m", "pytest", "tests/parity/test_language.py", "tests/parity/test_positions.py",
        "tests/parity/test_stages.py",
    ),
    "TradingView": ("-m", "pytest", "tests/agreement/test_trade_lists.py"),
    "certificate": (
        "-m", "optimizer", "parity", "--engine", "cpu", "--individuals", "60", "--strategy",
        "mean_reversion",
    ),
}  # fmt: skip
"""What runs in a copy, by the name that the table has."""

FLAGS = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:benchmark")

LIMIT_S = 240
"""Seconds of a suite; one that takes longer has caught nothing."""


def plant(edits: Sequence[Edit], folder: Path) -> None:
    """Plant edits in a copy; each must be there."""
    for file, before, after in edits:
        path = folder / file
        text = path.read_text()
        if before not in text:
            raise SystemExit(f"{file} has no {before!r} any more: this list is out of date")
        path.write_text(text.replace(before, after))


def copy_project(folder: Path, real: Path | None) -> Path:
    """A copy of the project, beside the same shared folder."""
    copy = folder / "project"
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, copy / part)
    if real is not None:
        (folder / "shared").symlink_to(real)
    return copy


def run_suites(edits: Sequence[Edit], real: Path | None) -> dict[str, str]:
    """Outcome of each suite on a copy with these edits."""
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_project(Path(folder), real)
        plant(edits, copy)
        return {name: run_suite(copy, command) for name, command in SUITES.items()}


def run_suite(copy: Path, command: Sequence[str]) -> str:
    """Whether a suite fails in a copy: ``caught``, ``passed``, or ``skipped``."""
    flags = FLAGS if "pytest" in command else ()
    places = os.environ | {"NUMBA_CACHE_DIR": str(copy / "loops"), "PYTHONPATH": os.pathsep.join(
        [str(copy), *filter(None, [os.environ.get("PYTHONPATH")])])}  # fmt: skip
    try:
        done = subprocess.run([sys.executable, *command, *flags], cwd=copy, env=places,
                              capture_output=True, text=True, timeout=LIMIT_S)  # fmt: skip
    except subprocess.TimeoutExpired:
        return "took too long"
    if done.returncode == 0:
        is_empty = "pytest" in command and " passed" not in done.stdout
        return "skipped" if is_empty else "passed"
    return "caught"


def main(arguments: list[str] | None = None) -> None:
    """Plant each fault, and print who catches it; without any nothing may be caught."""
    parser = argparse.ArgumentParser("python -m tests.bench.planted_faults")
    parser.add_argument("--processes", type=int, default=available_cores())
    parser.add_argument("--real", type=Path, help="the folder `shared`", default=ROOT / "../shared")
    asked = parser.parse_args(arguments)
    real = asked.real.resolve() if asked.real.is_dir() else None
    jobs = [("", "none", ())]
    for stage, rule, loops, law in FAULTS:
        jobs += [(stage, rule, loops), (stage, f"{rule}; in the law too", loops + law)]
    print("| stage | wrong rule |", " | ".join(SUITES), "|")
    print("| --- | --- |", " | ".join("---" for _ in SUITES), "|")
    with ThreadPoolExecutor(asked.processes) as pool:
        outcomes = pool.map(lambda job: run_suites(job[2], real), jobs)
        for (stage, rule, _), outcome in zip(jobs, outcomes, strict=True):
            print(f"| {stage} | {rule} |", " | ".join(outcome.values()), "|", flush=True)


if __name__ == "__main__":
    main()
