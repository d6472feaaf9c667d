"""Files of the working folder with names of modules: no process that we start runs them."""

import ast

import pytest

from tests.support.commands import SMALL, run
from tests.support.paths import ROOT

STARTS = {"Popen", "run", "call", "check_call", "check_output", "execve", "execv", "fork", "system",
          "LocalCluster", "Nanny", "ProcessPoolExecutor", "get_context", "posix_spawn"}  # fmt: skip
"""Names of functions that start a process."""

PLACES = {
    "optimizer/cli/bench_whole.py": "python_command",
    "optimizer/cli/restart.py": "the command of this process, which has left the folder",
    "optimizer/cluster/local_workers.py": "PYTHONSAFEPATH",
    "optimizer/judging/workers.py": "python_command",
    "optimizer/search/compiling.py": "python_command",
    "optimizer/signals/messages.py": "a person's own command",
    "strategy/watched.py": "-I -S",
}
"""Files that start a process, and why it leaves the folder alone."""

LIBRARIES = ("asyncio", "bisect", "cloudpickle", "dask", "data", "datetime", "deap", "decimal",
             "distributed", "engine", "heapq", "json", "logging", "msgpack", "multiprocessing",
             "numba", "numpy", "pandas", "pickle", "psutil", "pyarrow", "queue", "random", "signal",
             "socket", "strategy", "struct", "subprocess", "tempfile", "threading", "torch",
             "tornado", "uuid", "weakref", "yaml")  # fmt: skip
"""Modules that one process or another imports while it begins."""


@pytest.fixture
def folder(tmp_path):
    """A working folder in which each of these modules leaves its name when it is run."""
    work = tmp_path / "work"
    work.mkdir()
    for name in LIBRARIES:
        line = f"open({str(tmp_path / 'ran')!r}, 'a').write('{name} ')\n"
        (work / f"{name}.py").write_text(line)
    return work


def starts_process(tree, imported):
    """Whether a module calls a function that starts a process."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    for call in calls:
        if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name):
            if call.value.id in {"subprocess", "os", "multiprocessing"} and call.attr in STARTS:
                return True
        elif isinstance(call, ast.Name) and call.id in STARTS & imported:
            return True
    return False


def test_every_place_that_starts_a_process_is_listed():
    """A new one must say how it leaves the working folder alone."""
    found = set()
    for package in ("data", "strategy", "engine", "optimizer"):
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text())
            froms = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
            imported = {alias.name for node in froms for alias in node.names}
            if starts_process(tree, imported):
                found.add(str(path.relative_to(ROOT)))
    assert found == set(PLACES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("doctor", "--cluster", "local:2"),
        ("evolve", "--data", "sample", *(flag for flag in SMALL if flag != "--no-judge"),
         "--folds", "2", "--null", "2", "--resamples", "19"),
    ],
    ids=["workers of a cluster", "a judged search"],
)  # fmt: skip
def test_no_module_of_the_working_folder_is_run(command, folder, tmp_path):
    """Of our own process and of all that it starts."""
    ended = run(*command, cwd=folder)
    assert ended.code == 0, ended.err
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
