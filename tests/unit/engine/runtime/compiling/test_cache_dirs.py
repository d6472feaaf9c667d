"""Compiled code on disk: where it lies, and many runs that keep theirs at once."""

import os
from subprocess import PIPE

import pytest

from engine.errors import DeviceError
from engine.runtime.compiling import cache_dirs
from tests.support.commands import run, start
from tests.support.paths import ROOT

MANY_VERSIONS = """
import sys
import time
import numpy as np
from engine.runtime.compiling.loops import LoopCache
from tests.support import doubling

honest = LoopCache._remove_old

def slowly(self):
    time.sleep(0.5)
    honest(self)

LoopCache._remove_old = slowly
print("ready", flush=True)
sys.stdin.read()
for kind in map(np.dtype, sys.argv[1:]):
    found = doubling.double_values(np.arange(5, dtype=kind))
    assert found.dtype == kind and found.tolist() == [0, 2, 4, 6, 8], found
print(sum(doubling.double_values.stats.cache_hits.values()))
"""

KINDS = ("float64", "float64", "int32", "int8")

ONE_KERNEL = """
import sys
from engine.runtime.compiling.cache_dirs import keep_kernels
keep_kernels()
from tests.unit.engine.cuda.test_code import KERNELS, OPTIONS, compile_kernel
print("ready", flush=True)
sys.stdin.read()
assert "fma" not in compile_kernel(*KERNELS["code"], OPTIONS)
"""


@pytest.fixture
def fresh(monkeypatch):
    """Folders are chosen anew; nothing that a person set is left."""
    for name in ("NUMBA_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME"):
        monkeypatch.delenv(name, raising=False)
    for choose in (cache_dirs.loops_folder, cache_dirs.kernels_folder):
        choose.cache_clear()
    yield monkeypatch
    for choose in (cache_dirs.loops_folder, cache_dirs.kernels_folder):
        choose.cache_clear()


@pytest.fixture
def closed_package(fresh, tmp_path):
    """A package that cannot be written, and a user's cache and temporary folder of a test."""
    (tmp_path / "file").write_text("no folder can be made below a file")
    fresh.setattr(cache_dirs, "user_cache_path", lambda app: tmp_path / "home" / app)
    fresh.setattr(cache_dirs.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    return tmp_path


def close_home(folder):
    """Make the user's cache impossible too."""
    (folder / "home").write_text("")


def start_process(program, environment, *arguments):
    """A process that waits for its start."""
    program = ("-c", program)
    process = start(*arguments, cwd=ROOT, program=program, env=environment, stdin=PIPE)
    assert process.stdout.readline() == "ready\n"
    return process


def all_at_once(program, environment, arguments):
    """What processes say that go on in the same moment."""
    processes = [start_process(program, environment, *each) for each in arguments]
    for process in processes:
        process.stdin.close()
    messages = [process.stdout.read() for process in processes]
    for process in processes:
        process.stdout.close()
        process.stderr.close()
        assert process.wait() == 0
    return messages


def test_loops_are_kept_where_a_person_says(fresh, tmp_path):
    """Before anything else, and the folder is made."""
    fresh.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    assert cache_dirs.loops_folder() == tmp_path / "mine"
    assert (tmp_path / "mine").is_dir()


def test_a_folder_that_others_can_write_is_passed_over(closed_package, fresh):
    """They would leave code there that we run; it makes no difference who named it."""
    places = [closed_package / "mine", closed_package / "room" / "__pycache__"]
    for place in places:
        place.mkdir(parents=True)
        place.chmod(0o777)
    for name in ("NUMBA_CACHE_DIR", "TRITON_CACHE_DIR"):
        fresh.setenv(name, str(places[0]))
    kept = closed_package / "home" / cache_dirs.APP / "loops"
    assert cache_dirs.loops_folder(closed_package / "room") == kept
    with pytest.raises(DeviceError, match="or others can write it too"):
        cache_dirs.kernels_folder()


def test_loops_are_kept_beside_the_package(fresh):
    """Where it can be written, an upgrade that removes it removes them too."""
    assert cache_dirs.loops_folder() == cache_dirs.ENGINE / "__pycache__"


def test_without_a_writable_package_the_user_has_a_folder(closed_package):
    """One for both compilers; without a home among temporary files, closed to others."""
    assert (
        cache_dirs.loops_folder(closed_package / "file")
        == closed_package / "home" / cache_dirs.APP / "loops"
    )
    assert cache_dirs.kernels_folder() == closed_package / "home" / cache_dirs.APP / "kernels"


def test_without_a_home_there_is_a_private_temporary_folder(closed_package):
    """Code is run from there: no other user may write it."""
    close_home(closed_package)
    private = closed_package / "tmp" / f"{cache_dirs.APP}-{os.getuid()}"
    assert cache_dirs.loops_folder(closed_package / "file") == private / "loops"
    assert cache_dirs.kernels_folder() == private / "kernels"
    assert private.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("how", ["open", "linked"])
def test_a_temporary_folder_that_others_can_write_is_not_trusted(closed_package, how):
    """A name that anybody can take first: loops stay in memory then, kernels are refused."""
    close_home(closed_package)
    private = closed_package / "tmp" / f"{cache_dirs.APP}-{os.getuid()}"
    if how == "open":
        private.mkdir()
        private.chmod(0o777)
    else:
        (closed_package / "theirs").mkdir()
        private.symlink_to(closed_package / "theirs")
    assert cache_dirs.loops_folder(closed_package / "file") is None
    with pytest.raises(DeviceError, match="no folder for compiled kernels"):
        cache_dirs.kernels_folder()


@pytest.mark.parametrize("name", ["TRITON_CACHE_DIR", "TRITON_HOME"])
def test_kernels_are_kept_where_a_person_says(closed_package, fresh, name):
    """Or nowhere: a folder that was named is taken or refused, never replaced."""
    fresh.setenv(name, str(closed_package / "mine"))
    below = "" if name == "TRITON_CACHE_DIR" else "/.triton/cache"
    assert str(cache_dirs.kernels_folder()) == f"{closed_package}/mine{below}"
    cache_dirs.kernels_folder.cache_clear()
    fresh.setenv(name, str(closed_package / "file" / "mine"))
    with pytest.raises(DeviceError, match=f"which {name} names: it cannot be written"):
        cache_dirs.kernels_folder()


@pytest.mark.slow
def test_versions_of_a_loop_that_are_kept_at_once_stay_apart(tmp_path):
    """Who compiles a loop for another type at the same moment has a place of his own for it."""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
    all_at_once(MANY_VERSIONS, environment, [(kind,) for kind in KINDS])
    different = set(KINDS)
    assert all_at_once(MANY_VERSIONS, environment, [different]) == [f"{len(different)}\n"]


@pytest.mark.slow
def test_an_engine_works_where_nothing_can_be_kept(tmp_path):
    """It compiles in memory, without a note."""
    program = (
        "from pathlib import Path\n"
        "from engine.runtime.compiling import cache_dirs\n"
        "cache_dirs.loops_folder = lambda room: None\n"
        "import numpy\n"
        "from tests.support.doubling import double_values\n"
        "assert double_values(numpy.ones(2)).tolist() == [2.0, 2.0]\n"
        "assert type(double_values._cache).__name__ == 'NullCache'\n"
    )
    ended = run(cwd=ROOT, program=("-c", program))
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.slow
def test_kernels_that_are_declare_loop_once_are_whole(tmp_path):
    """Processes that compile one kernel at one moment all get it, and leave one copy."""
    pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    all_at_once(ONE_KERNEL, {"TRITON_CACHE_DIR": str(tmp_path)}, [(), ()])
    assert len(list(tmp_path.rglob("code_kernel.ptx"))) == 1
    assert not list(tmp_path.rglob("tmp.pid_*"))


def test_no_room_for_temporary_files_is_no_end(fresh, tmp_path):
    """On a full disk what was compiled before is still read, where Python keeps its own code."""

    def refuse():
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    fresh.setattr(cache_dirs.tempfile, "gettempdir", refuse)
    room = tmp_path / "room"
    room.mkdir()
    assert cache_dirs.loops_folder(room) == room / "__pycache__"
    fresh.setattr(cache_dirs, "user_cache_path", lambda app: tmp_path / "file" / app)
    (tmp_path / "file").write_text("no folder can be made below a file")
    assert cache_dirs.loops_folder(tmp_path / "file") is None
    with pytest.raises(DeviceError, match="TRITON_CACHE_DIR"):
        cache_dirs.kernels_folder()
