"""The quick tests in fresh environments: Pythons with the newest and the lowest versions allowed.

    python -m tests.bench.versions python3.11 python3.14 [--lowest] [--with torch==2.13.* ...]

For each Python an environment is made in a folder that is removed, this checkout and what its tests
import are installed into it, and the tests of `make fast` run. `--lowest` takes the lowest numpy,
pandas, torch and numba of `pyproject.toml`, and `--with` others; both are constraints of pip. Each
line is a row of the table in docs/howto/machines.md.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]

REQUIRED = (".[calendars,cluster,gpu]", "hypothesis", "polars", "pytest", "pytest-timeout",
            "pytest-xdist", "scipy")  # fmt: skip
"""Without tools of `dev`, which refuse the lowest versions."""

VARIED = ("numpy", "pandas", "torch", "numba")

ROOMS = ("strategy", "engine", *(f"optimizer/{room}" for room in
         ("evidence", "store", "search", "goals", "run", "config")))  # fmt: skip

SHOWN = f"""
import platform
from importlib.metadata import version
print(platform.python_version(), *map(version, {VARIED}), sep=" | ")
"""


def list_lowest() -> list[str]:
    """The lowest version of each varied package, its newest patch."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = (re.match(r"(\w+)>=([\d.]+)", text) for text in project["dependencies"])
    return [f"{one[1]}=={one[2]}.*" for one in bounds if one and one[1] in VARIED]


def try_python(python: str, constraints: Sequence[str], processes: int) -> str:
    """Row of a Python: versions, and the last line of its tests."""
    with TemporaryDirectory() as folder:
        made, fixed = Path(folder) / "environment", Path(folder) / "constraints.txt"
        fixed.write_text("\n".join(constraints))
        own = str(made / "bin" / "python")
        subprocess.run([python, "-m", "venv", made], check=True)
        install = [own, "-m", "pip", "install", "--quiet", "-c", fixed, "--editable", *REQUIRED]
        subprocess.run(install, cwd=ROOT, check=True)
        shown = subprocess.run([own, "-c", SHOWN], check=True, capture_output=True, text=True)
        tests = [own, "-m", "pytest", "-q", "-n", str(processes), "-m", "not slow and not gpu",
                 *(f"tests/unit/{room}" for room in ROOMS)]  # fmt: skip
        ended = subprocess.run(tests, cwd=ROOT, capture_output=True, text=True)
    sys.stderr.write(ended.stdout)
    return f"| {shown.stdout.strip()} | {ended.stdout.strip().splitlines()[-1]} |"


def main() -> None:
    """Try each Python."""
    parser = argparse.ArgumentParser("python -m tests.bench.versions")
    parser.add_argument("pythons", nargs="+", help="commands or paths of interpreters")
    parser.add_argument("--lowest", action="store_true")
    parser.add_argument("--with", dest="constraints", nargs="*", default=[])
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    constraints = [*(list_lowest() if asked.lowest else ()), *asked.constraints]
    for python in asked.pythons:
        print(try_python(python, constraints, asked.processes), flush=True)


if __name__ == "__main__":
    main()
