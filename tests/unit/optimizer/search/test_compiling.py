"""Loops that another process compiles: when it does, and that they are all that a search needs."""

import os
import subprocess
import sys

import pytest

from optimizer.search import compiling

SEARCHES = """
from numba.core import event
from optimizer.search.evolution import evolve
from tests.support.searches import Analytic, HalfForbidden, float_layout, int_layout, settings
from tests.support.searches import Zdt1

with event.install_recorder("numba:compile") as compiled:
    list(evolve(HalfForbidden(float_layout(3), 3), settings(600, 3, archive=50, elite=0.5)))
    list(evolve(Zdt1(float_layout(4)), settings(40, 3, islands=2, migration=1, archive=9)))
    list(evolve(Analytic(int_layout((0, 9), (0, 9), ordered=True), 4), settings(40, 3)))
print(len(compiled.buffer))
"""


class Started:
    """A process that was started, and is not."""

    def __init__(self, command, **given):
        self.command, self.given = command, given

    def kill(self):
        """Nothing to end."""


@pytest.mark.parametrize(
    ("is_missing", "cores", "count"), [(True, 2, 1), (True, 1, 0), (False, 2, 0)]
)
def test_another_process_compiles_once_where_it_helps(monkeypatch, is_missing, cores, count):
    """When loops are missing and there is a core to spare."""
    started = []
    monkeypatch.setattr(compiling, "is_missing", lambda loop: is_missing)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(cores))
    monkeypatch.setattr(
        subprocess, "Popen", lambda *given, **named: started.append(Started(*given, **named))
        or started[-1],
    )  # fmt: skip
    compiling.compile_in_background.cache_clear()
    compiling.compile_in_background()
    compiling.compile_in_background()
    compiling.compile_in_background.cache_clear()
    assert count == len(started)
    assert all(process.command[0] == sys.executable for process in started)


@pytest.mark.slow
def test_no_loop_is_left_to_compile(tmp_path):
    """With few objectives or many, islands, an archive that is full, and many individuals."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = []
    for code in ("from optimizer.search.first_run import main; main()", SEARCHES):
        command = [sys.executable, "-c", code]
        found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        said.append(found.stdout)
    assert said == ["", "0\n"]
