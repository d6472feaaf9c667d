"""Recorded runs, each made once a session by the command line and copied for every test."""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import shutil
from pathlib import Path

from optimizer.__main__ import main
from tests.support.commands import SMALL, write_market
from tests.support.own_files import momentum_file

SEARCH = tuple(flag for flag in SMALL if flag != "--no-judge")

BRIEFLY = ("--folds", "2", "--resamples", "19", "--null", "19")
"""A judgement that takes a blink: folds, resamples and null searches, a few of each."""


def _write_noise(folder, length=3000):
    return write_market(folder / "bars.csv", length)


def _write_symbols(folder):
    """Three markets, the third a hundred times as dear."""
    (folder / "symbols").mkdir()
    for seed, (name, length) in enumerate({"AAA": 3000, "BBB": 2000, "CCC": 2600}.items()):
        path = folder / "symbols" / f"{name}.csv"
        write_market(path, length, seed=seed, tick=0.01 if seed < 2 else 0.0001)
    return f"csv:{folder / 'symbols'}"


def _write_own(folder):
    (folder / "momentum.py").write_text(momentum_file())
    return _write_noise(folder)


RUNS = {
    "noise": (_write_noise, (*SEARCH, *BRIEFLY, "--train", "1")),
    "symbols": (
        _write_symbols,
        ("--objectives", "sum_r,max_drawdown", *SMALL, "--min-trades", "1", "--max-positions", "2"),
    ),
    "held out": (_write_noise, (*SMALL, "--holdout", "20%")),
    "schedule": (
        lambda folder: _write_noise(folder, 5000),
        (*SEARCH, "--every", "10d", "--train", "20d", "--purge", "0", *BRIEFLY),
    ),
    "own file": (_write_own, ("--strategy", "momentum.py:MOMENTUM", *SMALL)),
}
"""By name: what writes the market, and the flags of evolve.

``noise``: nothing to find, judged. ``symbols``: three of them in one account of two
positions. ``held out``: a fifth of the bars, unopened. ``schedule``: searched again every 10 days,
judged. ``own file``: a strategy with an indicator of its own. The others are not judged."""


class Recordings:
    """Finished runs.

    Args:
        place: A folder that all processes of this session share.
    """

    def __init__(self, place):
        self._place = Path(place)
        self._place.mkdir(exist_ok=True)

    def copy(self, *name):
        """Copy a run and the files that it was made of here; gives what evolve printed.

        Args:
            name: Of one of `RUNS`, with other flags on its market if any follow; or the flags of
                one on the market of ``noise``.
        """
        folder, result = self.record(*name)
        shutil.copytree(folder, Path(), dirs_exist_ok=True)
        return result

    def record(self, *name):
        """The folder of a run, which no test may change, and what evolve printed."""
        folder = self._place / hashlib.sha256(repr(name).encode()).hexdigest()
        printed = self._place / f"{folder.name}.json"
        with open(self._place / f"{folder.name}.lock", "w") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            if not printed.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                printed.write_text(_evolve(folder, name))
        return folder, json.loads(printed.read_text())


def _evolve(folder, name):
    write, flags = RUNS.get(name[0], (_write_noise, name))
    flags = name[1:] if name[0] in RUNS and name[1:] else flags
    data = write(folder).replace(f"{folder}{os.sep}", "")
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        assert main(["evolve", "--data", data, *flags, "--json", "--quiet"]) == 0
    return printed.getvalue()
