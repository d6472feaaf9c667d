"""Compiled loops on disk: nothing stale, half or of anybody else ever runs."""

import inspect
import json
import os
import shutil
from contextlib import closing

import pytest

from engine.errors import DeviceError
from engine.runtime.compiling import cache_dirs
from tests.support.forking import Forking

FILES = {
    "values.py": "STEP = 2.0",
    "words.py": "def speak(): return 'nothing that a loop needs'",
    "deep.py": """
        from engine.runtime.compiling.loops import compiled_part
        from own.values import STEP

        @compiled_part
        def deep(x):
            return x * STEP
    """,
    "top.py": """
        import own.deep
        from engine.runtime.compiling.loops import compiled_loop

        @compiled_loop
        def calls(x):
            return own.deep.deep(x) + 1.0
    """,
    "aside.py": """
        from engine.runtime.compiling.loops import compiled_loop
        from own import words

        @compiled_loop
        def lowest(prices):
            return prices[0]
    """,
    "records.py": """
        from typing import NamedTuple

        class Prices(NamedTuple):
            low: float
            high: float
    """,
}

START = """
import json, os, resource, signal, sys, time
from numba.core.event import Listener, register
from engine.runtime.compiling import loops, module_digest
# A process of its own: what it was forked from imported none of the package.
module_digest.BEGAN_NS = time.time_ns()

class Compiled(Listener):
    names = []
    def on_start(self, event):
        self.names.append(event.data["dispatcher"].py_func.__name__)
    def on_end(self, event):
        pass

register("numba:compile", Compiled())
"""

ASK = """
from own.top import calls
from own.aside import lowest
from own.records import Prices
found = [calls(3.0), lowest(Prices(5.0, 9.0))]
print(json.dumps([found, sorted(Compiled.names)]))
"""

FOUND = [7.0, 5.0]

ALL = ["calls", "deep", "lowest"]

EDITS = (
    ("values.py", "2.0", "3.0", [10.0, 5.0], ["calls", "deep"]),
    ("top.py", "+ 1.0", "+ 4.0", [13.0, 5.0], ["calls", "deep"]),
    ("deep.py", "x * STEP", "x / STEP", [5.0, 5.0], ["calls", "deep"]),
    ("words.py", "nothing", "a thing", [5.0, 5.0], ["lowest"]),
    ("records.py", "low: float\n    high", "high: float\n    low", [5.0, 5.0], ["lowest"]),
    ("records.py", "class", "# A remark.\nclass", [5.0, 5.0], []),
)
"""An edit after the other, what is found after it, and loops and their parts compiled anew."""

LIKE_A_FULL_DISK = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
sys.dont_write_bytecode = True
"""

LIKE_ANOTHER_USER = """
import ctypes
# Root without its rights, so that the modes of folders count.
ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)())
"""

KILLED = {
    "compiling": "Compiled.on_start = lambda self, event: os.kill(os.getpid(), signal.SIGKILL)",
    "writing": """
from pathlib import Path
def write_half(self, content):
    with open(self, "wb") as file:
        file.write(content[:len(content) // 2])
    os.kill(os.getpid(), signal.SIGKILL)
Path.write_bytes = write_half
""",
}


def write_package(folder):
    """The package of loops."""
    (folder / "own").mkdir()
    (folder / "own" / "__init__.py").write_text("")
    for name, text in FILES.items():
        (folder / "own" / name).write_text(inspect.cleandoc(text) + "\n")


def edit(folder, name, before, after):
    """Change one place of a file."""
    file = folder / "own" / name
    text = file.read_text()
    assert text.count(before) == 1, before
    file.write_text(text.replace(before, after))


def list_kept(folder):
    """Files of compiled loops, and drafts of such."""
    names = os.listdir(folder / "own" / "__pycache__" / "loops")
    return [name for name in names if not name.startswith(".")], [
        name for name in names if name.startswith(".")
    ]


@pytest.fixture(scope="module")
def ask():
    """What a program prints in a folder, by default what its loops find and which it compiled."""
    # What a first compilation loads as well.
    compiler = "import engine.runtime.compiling.loops, numba; numba.njit(lambda x: x + 1.0)(1.0)"
    # Loops are kept beside their package.
    variables = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    with closing(Forking(compiler, variables)) as began:
        yield lambda folder, code=ASK: json.loads(began.run(folder, START + code))


@pytest.fixture(scope="module")
def kept(ask, tmp_path_factory):
    """A package whose loops were compiled by another process."""
    folder = tmp_path_factory.mktemp("kept")
    write_package(folder)
    assert ask(folder) == [FOUND, ALL]
    return folder


@pytest.fixture
def package(tmp_path):
    """A package none of whose loops was compiled yet."""
    write_package(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_an_edit_compiles_what_imports_it_and_nothing_else(ask, kept, tmp_path):
    """A loop's own module, one that is imported by way of another, fields of what is handed in."""
    folder = shutil.copytree(kept, tmp_path / "edited")
    assert ask(folder) == [FOUND, []]
    for name, before, after, found, compiled in EDITS:
        edit(folder, name, before, after)
        assert ask(folder) == [found, compiled], (name, after)


@pytest.mark.slow
def test_the_order_of_imports_does_not_matter(ask, kept):
    """What was compiled in one order is found in another."""
    assert ask(kept, "from own.records import Prices\nimport own.aside\n" + ASK) == [FOUND, []]


@pytest.mark.slow
def test_a_source_that_changed_meanwhile_leaves_nothing_behind(ask, package):
    """It is not what was imported: the loop runs as it was, and the next process has the new."""
    late = "from own import values\n" + "open(values.__file__, 'w').write('STEP = 5.0')\n"
    assert ask(package, late + ASK) == [FOUND, ALL]
    assert ask(package) == [[16.0, 5.0], ["calls", "deep"]]


@pytest.mark.slow
def test_twelve_processes_at_once_compile_each_loop_once(ask, package):
    """All of them find the same, and leave nothing half behind."""
    code = f"""
import contextlib, io
texts = [os.pipe() for _ in range(12)]
for _, write in texts:
    if not os.fork():
        with contextlib.redirect_stdout(open(write, "w")):
            exec({ASK!r})
            sys.stdout.flush()
        os._exit(0)
    os.close(write)
print(json.dumps([json.loads(open(read).read()) for read, _ in texts]))
"""
    answers = ask(package, code)
    assert [found for found, _ in answers] == [FOUND] * 12
    assert sorted(name for _, names in answers for name in names) == ALL
    assert [len(names) for names in list_kept(package)] == [2, 0]


@pytest.mark.slow
@pytest.mark.parametrize("moment", KILLED)
def test_a_process_that_is_killed_leaves_the_next_one_free(ask, package, moment):
    """It neither waits for the dead one nor reads half a file, and nothing is left over."""
    child = f"if not os.fork():\n    exec({KILLED[moment] + ASK!r})\n"
    assert ask(package, child + "print(os.waitstatus_to_exitcode(os.wait()[1]))") == -9
    assert list_kept(package)[1]
    assert ask(package) == [FOUND, ALL]
    assert [len(names) for names in list_kept(package)] == [2, 0]


@pytest.mark.slow
def test_a_full_disk_keeps_nothing_and_stops_nothing(ask, package):
    """Loops run, and the next process with room keeps them."""
    assert ask(package, LIKE_A_FULL_DISK + ASK) == [FOUND, ALL]
    assert list_kept(package) == ([], [])
    assert ask(package) == [FOUND, ALL]
    assert ask(package) == [FOUND, []]


@pytest.mark.slow
def test_loops_in_a_folder_that_is_only_read_are_compiled_and_not_kept(ask, package):
    """Nothing is written elsewhere in their place."""
    loops = package / "own" / "__pycache__" / "loops"
    loops.mkdir(parents=True)
    loops.chmod(0o500)
    assert ask(package, LIKE_ANOTHER_USER + ASK) == [FOUND, ALL]
    loops.chmod(0o700)
    assert list_kept(package) == ([], [])


@pytest.mark.slow
def test_a_loop_of_a_function_that_makes_it_is_not_kept(ask, package):
    """Its module does not say what it has taken along."""
    edit(package, "values.py", "STEP = 2.0", inspect.cleandoc("""
        from engine.runtime.compiling.loops import compiled_loop

        def adding(number):
            @compiled_loop
            def added(x):
                return x + number
            return added
    """))  # fmt: skip
    code = "from own.values import adding\nprint(json.dumps([adding({})(1.0), Compiled.names]))"
    assert ask(package, code.format(2.0)) == [3.0, ["added"]]
    assert ask(package, code.format(5.0)) == [6.0, ["added"]]


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
    with pytest.raises(DeviceError, match="others"):
        cache_dirs.kernels_folder()


@pytest.mark.parametrize("how", ["open", "linked"])
def test_a_temporary_folder_that_others_can_write_is_not_trusted(closed_package, how):
    """A name that anybody can take first: loops stay in memory then, kernels are refused."""
    (closed_package / "home").write_text("")
    private = closed_package / "tmp" / f"{cache_dirs.APP}-{os.getuid()}"
    if how == "open":
        private.mkdir()
        private.chmod(0o777)
    else:
        (closed_package / "theirs").mkdir()
        private.symlink_to(closed_package / "theirs")
    assert cache_dirs.loops_folder(closed_package / "file") is None
    with pytest.raises(DeviceError, match="TRITON_CACHE_DIR"):
        cache_dirs.kernels_folder()
