"""Files of the working folder with names of modules: no process that we start runs them."""

import json
import re
import sys
from importlib.metadata import packages_distributions

import pytest

from optimizer.processes import folders_of_own_modules, safe_variables
from tests.support.commands import run, write_market
from tests.support.own_files import momentum_file
from tests.support.paths import FINDS, ROOT

STARTS = re.compile(
    r"\bsubprocess\.(Popen\b(?!\[)|run\b|call\b|check_\w+|get\w*output)|import subprocess as"
    r"|\bfrom subprocess import (?!(DEVNULL|PIPE)$)|create_subprocess|\bsubprocess_(exec|shell)"
    r"|\bos\.(system|popen|startfile|exec|fork|spawn|posix_spawn)|\bimport os as"
    r"|\bfrom os import .*\b(system|popen|startfile|exec|fork|spawn|posix_spawn)|ProcessPool"
    r"|\b(import|from) (multiprocessing|pty|webbrowser|loky|joblib|pexpect|_posixsubprocess)\b"
    r"|\b((Local|Spec|Subprocess)Cluster|Nanny)(\(| as )",
    re.MULTILINE,
)
"""Text of whatever starts a process."""

PLACES = {
    "optimizer/cluster/dask_client.py": "safe_variables",
    "optimizer/processes.py": "the one way",
    "optimizer/signals/watching.py": "a person's own command",
}
"""Files that start a process, and how it leaves the folder alone."""


def test_every_place_that_starts_a_process_is_listed():
    """A new one must say how it leaves the working folder alone."""
    files = [path for name in ("data", "strategy", "engine", "optimizer")
             for path in (ROOT / name).rglob("*.py")]  # fmt: skip
    found = {str(path.relative_to(ROOT)) for path in files if STARTS.search(path.read_text())}
    assert found == set(PLACES)


MISSING = ("IPython", "_winapi", "cityhash", "colorama", "crick", "cupy", "cython", "cytoolz",
           "gilknocker", "jupyter_server_proxy", "lz4", "mmh3", "msvcrt", "nt", "org", "pynvml",
           "rmm", "setproctitle", "sitecustomize", "snappy", "usercustomize", "winreg", "xxhash",
           "zstandard")  # fmt: skip
"""Modules that libraries look for and do without."""

PYTHONS = ("optimizer", "sitecustomize", "usercustomize")
"""Modules that Python itself looks for before ours begins."""

RECORDER = """
import json, os, sys
file = os.open({0!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def note(words):
    os.write(file, (json.dumps([os.fsdecode(word) for word in words]) + chr(10)).encode())
note(sys.orig_argv)
sys.addaudithook(lambda name, given: note(given[1]) if name == "subprocess.Popen" else None)
"""
"""Notes the words of each process of Python, and of all that these begin."""

SCRIPT = """
from optimizer.__main__ import main
if __name__ == "__main__":
    raise SystemExit(main())
"""
"""As the installed command has it."""

JUDGES = """
import os, sys
from optimizer.evidence.jobs.workers import Pool, Workers
sys.path.append(os.getcwd())
import mine
sys.path.pop()
done = dict(Workers(mine.Doubles().run, 2, Pool()).results(range(4)))
assert {job: double for job, (double, _) in done.items()} == {0: 0, 1: 2, 2: 4, 3: 6}
assert os.getpid() not in {process for _, process in done.values()}
"""

MINE = """
import os
class Doubles:
    def run(self, job):
        return 2 * job, os.getpid()
"""

COMMANDS = """
from optimizer.__main__ import main
for words in {}:
    # Bars are old: a signal of them says so.
    assert main(words.split()) == (6 if "signal" in words else 0), words
"""

RUN = [
    "evolve --data csv:bars.csv --population 8 --generations 1 --min-trades 3 --no-judge",
    "judge latest --folds 0 --null 1 --blocks 0",
    "runs export latest member.py --as backtesting.py --member 0",
    "portfolio latest:0 latest:1",
    "signal latest:0 --on-change true",
    "backtest --data csv:bars.csv --strategy own.py",
]

TRIED = {
    "workers of a cluster": ("doctor --cluster local:1", ["resource_tracker", "spawn_main"]),
    "commands": (COMMANDS.format(RUN), ["true"]),
    "judges": (JUDGES, ["-m optimizer.evidence.jobs.worker"]),
}
"""Command, or program, that begins each of our processes, and words of theirs."""


def write_modules(folder, names):
    """Write modules, every second one a package, each of which leaves its name when it is run."""
    for number, name in enumerate(sorted(names)):
        path = folder / (f"{name}/__init__.py" if number % 2 else f"{name}.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(folder / 'ran')!r}, 'a').write({f'{name} '!r})\n")


def take_ran(folder):
    """Names of modules of the folder that were run since."""
    ran = folder / "ran"
    names = ran.read_text().split() if ran.exists() else []
    ran.unlink(missing_ok=True)
    return names


def check_untouched(ended, folder, tried=()):
    """A process succeeded, and no module of the folder was run but those tried before it began."""
    assert not set(take_ran(folder)).difference(tried)
    assert ended.code == 0, ended.err


@pytest.fixture(scope="module")
def names():
    """Names of all modules of Python, of what is installed, of ours, and of the missing ones."""
    installed = (name for name in packages_distributions() if name.isidentifier())
    return {*sys.stdlib_module_names, *installed, *MISSING, "data", "strategy", "engine"}


@pytest.fixture(scope="module")
def folder(names, tmp_path_factory):
    """A working folder of all of them, and three files of a person."""
    work = tmp_path_factory.mktemp("work")
    write_modules(work, names)
    (work / "own.py").write_text(momentum_file())
    write_market(work / "bars.csv")
    (work / "mine.py").write_text(MINE)
    return work


@pytest.fixture
def script(tmp_path):
    """The installed command."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "optimizer").write_text(SCRIPT)
    return tmp_path / "bin" / "optimizer"


@pytest.mark.slow
@pytest.mark.parametrize("place", TRIED)
def test_no_module_of_the_working_folder_is_run(place, script, folder, tmp_path):
    """Of our own process and of all that it starts, and each is started.

    Nor one of the shared folder of temporary files, where others may have made Dask's.
    """
    words, expected = TRIED[place]
    is_program = "\n" in words
    begun, shared = tmp_path / "begun", tmp_path / "shared"
    (tmp_path / "sitecustomize.py").write_text(RECORDER.format(str(begun)))
    shared.mkdir()
    (shared / "dask-scratch-space").symlink_to(folder)
    env = {"PYTHONPATH": f"{tmp_path}:{FINDS['PYTHONPATH']}", "TMPDIR": str(shared)}
    program = ("-P", "-c", words) if is_program else (script, *words.split())
    check_untouched(run(cwd=folder, program=program, env=env), folder)
    lines = [" ".join(json.loads(line)) for line in begun.read_text().splitlines()]
    for word in expected:
        assert [line for line in lines[1:] if word in line], lines


@pytest.mark.slow
def test_nor_one_that_the_start_of_python_leaves_open(names, script, tmp_path):
    """Where Python looks in the folder first, our program leaves it before it imports anything."""
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "__init__.py").write_text("import sys\nprint(*sys.modules)\n")
    (tmp_path / "plain" / "__main__.py").write_text("")
    start = run(cwd=tmp_path, program=("-m", "plain")).out.split()
    work = tmp_path / "work"
    write_modules(work, names.difference(start, PYTHONS))
    ended = run("strategies", "list", cwd=work, program=("-um", "optimizer"))
    check_untouched(ended, work)
    # PYTHONPATH=$PYTHONPATH:/mine has an empty entry, which is the working folder.
    env = {"PYTHONPATH": f"{FINDS['PYTHONPATH']}:"}
    # What sites import while Python begins looks there too, such as for modules of Windows.
    run(cwd=work, program=(tmp_path / "plain" / "__main__.py",), env=env)
    tried = take_ran(work)
    check_untouched(run("strategies", "list", cwd=work, program=(script,), env=env), work, tried)


@pytest.mark.slow
def test_settings_of_numba_in_the_folder_are_refused(tmp_path):
    """Before it reads them."""
    (tmp_path / ".numba_config.yaml").write_text("num_threads: 0\n")
    refused = run("backtest", cwd=tmp_path)
    assert (refused.code, refused.out) == (2, "")
    assert ".numba_config.yaml, which changes how numba compiles" in refused.error


def test_a_folder_that_others_can_write_is_no_place_for_modules(tmp_path, monkeypatch):
    """A child does not look there; modules that this process has from there are named to it."""
    (tmp_path / "theirs.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("theirs")
    assert str(tmp_path) in safe_variables()["PYTHONPATH"].split(":")
    assert "theirs" not in folders_of_own_modules()
    tmp_path.chmod(0o777)
    assert str(tmp_path) not in safe_variables()["PYTHONPATH"].split(":")
    assert folders_of_own_modules()["theirs"] == str(tmp_path)
