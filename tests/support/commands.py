"""Commands run as a person runs them, on small markets, and what came of it."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

import typer.main

from data.files import INPUTS
from optimizer.__main__ import main
from strategy import STRATEGIES
from tests.support.paths import FINDS, ROOT
from tests.support.series import csv_text
from tests.support.worlds import make_bars

# A process of a person makes the tree of commands once. Here many commands run in one process, and
# making it would take longer than most of them.
typer.main.get_command = cache(typer.main.get_command)

SHIPPED = dict(STRATEGIES)
"""Before any test brings strategies of its own."""

COLUMNS = ("timestamp", "open", "high", "low", "close", "volume")
SMALL = (
    "--population", "8", "--generations", "2", "--min-trades", "3", "--no-report", "--no-judge",
)  # fmt: skip
"""A search that takes a blink."""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int  # exit code
    out: str  # standard output
    err: str  # standard error

    @property
    def json(self):
        """Standard output as strict JSON."""
        return json.loads(self.out, parse_constant=_refuse)

    @property
    def error(self):
        """The one line of the error, without its beginning."""
        lines = self.err.splitlines()
        assert lines, "nothing on stderr"
        assert lines[-1].startswith("error: "), self.err
        assert not [line for line in lines[:-1] if not line.startswith("note: ")], self.err
        return lines[-1].removeprefix("error: ")


class Commands:
    """Runs commands within this process.

    Args:
        capsys: Pytest's capture of both streams.
    """

    def __init__(self, capsys):
        self._capsys = capsys
        self.outcomes = []

    def __call__(self, *arguments):
        """Run one command; arguments are turned into text."""
        self._capsys.readouterr()
        # A person's command is a process, which has read nothing yet and knows what ships.
        INPUTS.clear()
        STRATEGIES.clear()
        STRATEGIES.update(SHIPPED)
        code = main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        self.outcomes.append(Outcome(code, captured.out, captured.err))
        return self.outcomes[-1]

    def succeed(self, *arguments):
        """Run one command, which must end with exit code 0."""
        outcome = self(*arguments)
        assert outcome.code == 0, (arguments, outcome.err)
        return outcome

    def refuse(self, code, *arguments):
        """The one line of the error of a command, which must end with an exit code."""
        outcome = self(*arguments)
        assert outcome.code == code, (arguments, outcome.err)
        return outcome.error


def start(*arguments, cwd, program=("-m", "optimizer"), **options):
    """Start a command, or another program, as a process of its own."""
    return subprocess.Popen(
        [sys.executable, *map(str, (*program, *arguments))],
        cwd=cwd,
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=options.pop("stderr", subprocess.PIPE),
        text=True,
        env={**os.environ, **FINDS, **options.pop("env", {})},
        **options,
    )


def run(*arguments, cwd, **options):
    """Run a command as a process of its own, to its end."""
    with start(*arguments, cwd=cwd, **options) as process:
        out, err = process.communicate(timeout=480)
    return Outcome(process.returncode, out or "", err or "")


def printed(program, *arguments, cwd=ROOT, **options):
    """Output of a program of Python, which must succeed."""
    ended = run(*arguments, cwd=cwd, program=("-c", program), **options)
    assert ended.code == 0, ended.err[-3000:]
    return ended.out


def read_csv(path):
    """Rows of a CSV file, each a dict of texts."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_market(path, length=3000, *, seed=3, **changes):
    """Write a market of `make_bars` as CSV and give its spec."""
    path.write_text(csv_text(market_columns(seed, length, **{"jump": 0.05, **changes})))
    return f"csv:{path}"


def market_columns(seed, length, **changes):
    """The columns of a market of `make_bars`, a day later: no file has times of 1970-01-01."""
    bars = make_bars(seed, length, **changes)
    columns = {name: getattr(bars, name) for name in COLUMNS}
    return {**columns, "timestamp": columns["timestamp"] + 86_400 * 10**9}


def _refuse(constant):
    raise AssertionError(f"{constant} is not JSON")
