"""What surrounds a command, such as limits, settings and libraries that print, in one line."""

import errno
import os
import re
import resource
import shutil
from pathlib import Path

import pytest

from data.errors import SourceError
from optimizer.cli.limits import explain_limit
from tests.support.commands import SMALL, run, start
from tests.support.limits import limit_file_size

PRINTS = """import os, sys
from optimizer.__main__ import main
from optimizer.run import markets
load = markets.load_series

def load_and_print(*arguments, **more):
    print("a library says hello")
    os.system("echo a program says hello")
    os.write(1, b"a library in C says hello\\n")
    return load(*arguments, **more)

markets.load_series = load_and_print
sys.exit(main())
"""


@pytest.mark.slow
def test_stdout_holds_json_alone(tmp_path, market):
    """Every print of a library ends on stderr."""
    shown = run("data", "show", market, "--json", cwd=tmp_path, program=("-c", PRINTS))
    assert shown.code == 0, shown.err
    assert shown.json["bars"] > 0
    assert shown.err.count("says hello") == 3


@pytest.mark.slow
def test_without_json_nothing_is_moved(tmp_path, market):
    """Words for people may stand among others."""
    shown = run("data", "show", market, cwd=tmp_path, program=("-c", PRINTS))
    assert (shown.code, shown.out.count("says hello")) == (0, 3)


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "json"])
def test_a_reader_that_goes_away_is_no_error(tmp_path, market, form):
    """The command ends as one whose pipe was closed, without a traceback."""
    with start("data", "show", market, *form, cwd=tmp_path) as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, "")


def limit_memory():
    """Give a process too little address space for compiled loops."""
    resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000, 1_200_000_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("surroundings", "message"),
    [
        ({"env": {"NUMBA_DISABLE_JIT": "1"}}, "NUMBA_DISABLE_JIT is set, and without its compiler"),
        ({"env": {"NUMBA_NUM_THREADS": "0"}}, "numba cannot be used with NUMBA_NUM_THREADS as set"),
        ({"env": {"NUMBA_NUM_THREADS": "abc"}}, "NUMBA_NUM_THREADS as set: unset it (Environment"),
        ({"env": {"NUMBA_OPT": "9x"}}, "numba cannot be used with NUMBA_OPT as set: unset it"),
        ({"preexec_fn": limit_memory}, "ulimit -v allows this process 1,200 MB, and compiled"),
    ],
    ids=["setting", "threads", "words", "option", "memory"],
)
def test_what_forbids_compiling_is_named(tmp_path, market, surroundings, message):
    """Before anything is recorded; it is no defect of ours, and nothing hangs."""
    refused = run("evolve", "--data", market, *SMALL, cwd=tmp_path, **surroundings)
    assert (refused.code, refused.out) == (2, "")
    assert message in refused.error
    assert not list(Path(tmp_path).glob("runs/*"))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("can't start new thread"), "no further thread .*ulimit -u allows 7: raise"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u allows 7"),
        (SourceError("x: Failed to launch worker thread: Resource"), "ulimit -u allows 7"),
        (MemoryError("Unable to allocate 9 TiB"), "not enough memory .*9 TiB"),
        (ImportError("a.so: failed to map segment from shared object"), "ulimit -v allows 7 MB"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "ulimit -v allows 7 MB: raise it"),
        (OSError("Could not find/load shared object file 'a.so'"), "ulimit -v allows 7 MB: raise"),
        (OSError(errno.EMFILE, "Too many open files"), "no further file open .*ulimit -n allows 7"),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found in []"), "TMPDIR"),
        (ValueError("anything else"), None),
        (OSError(errno.ENOENT, "No such file"), None),
    ],
)
def test_an_error_of_a_limit_names_it(monkeypatch, error, message):
    """In any library's words; other errors are none."""
    limits = {
        resource.RLIMIT_NPROC: (7, 7),
        resource.RLIMIT_AS: (7_000_000, 7_000_000),
        resource.RLIMIT_NOFILE: (7, 7),
    }
    monkeypatch.setattr(resource, "getrlimit", limits.get)
    explained = explain_limit(error)
    assert explained is None if message is None else re.search(message, explained)


def test_a_folder_that_is_gone_is_named(monkeypatch, tmp_path):
    """Libraries ask where they are, and fail on the answer."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        Path().absolute()
    assert "is gone: change into one" in explain_limit(caught.value)


@pytest.mark.slow
def test_a_judge_on_a_full_disk_names_the_way_to_resume(command, market):
    """The command that it names ends what was begun, with what was found out kept."""
    assert command("evolve", "--data", market, *SMALL, "--seed", "3").code == 0
    asked = ("judge", "latest", "--folds", "0", "--blocks", "0", "--null", "30", "--json")
    with limit_file_size(60_000):
        full = command(*asked)
    assert (full.code, full.out) == (4, "")
    assert "could not be written" in full.err
    words = full.err.split("go on with: python -m optimizer ")[1].split()
    again = command(*words, "--json")
    assert again.code == 0, again.err
    assert again.json["judgement"]["null"]["shuffled"]["run"] > 0


def limit_files():
    """Give a process fewer files than a run needs, beside those that Python has open."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))


@pytest.mark.slow
def test_too_few_files_are_named(tmp_path, market):
    """Also where SQLite's error is only that it cannot open one."""
    refused = run("evolve", "--data", market, *SMALL, cwd=tmp_path, preexec_fn=limit_files)
    assert refused.code in (2, 4)
    assert "ulimit -n" in refused.err.splitlines()[-1]


@pytest.mark.parametrize(("kind", "is_told"), [(ValueError, True), (ImportError, False)])
@pytest.mark.parametrize(
    ("name", "setting"), [("numba", "NUMBA_NUM_THREADS"), ("numpy", "SOURCE_DATE_EPOCH")]
)
def test_a_setting_is_named_where_it_may_be_the_cause(
    monkeypatch, tmp_path, kind, is_told, name, setting
):
    """While a library is imported; not where a part of that library is missing."""
    monkeypatch.setenv(setting, "0")
    library = tmp_path / name / "__init__.py"
    library.parent.mkdir()
    code = compile(f"raise {kind.__name__}('no')", library, "exec")
    with pytest.raises(kind) as caught:
        exec(code)
    explained = explain_limit(caught.value)
    assert (explained is not None) == is_told
    assert not is_told or setting in explained


IDEA = """from strategy.words import *
IDEA = strategy(
    "Buys strength.",
    long=close > sma(close, length("n", 20, 5, 50)),
    stop=share(gene("stop", 0.03, 0.01, 0.2)),
    target=r_multiple(2),
    max_hold=20,
)
"""

FOLDERS = {
    "line": "a\nline",
    "escape": "an\x1b[2J\tescape",
    "quotes": '  it\'s "🐢" ',
    "long": "n" * 255,
    "bytes": os.fsdecode(b"caf\xe9"),
}


@pytest.fixture(params=FOLDERS.values(), ids=FOLDERS)
def odd_folder(request, command, market, tmp_path, monkeypatch):
    """A working folder of any name, with a strategy's file and bars."""
    folder = tmp_path / request.param
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("idea.py").write_text(IDEA)
    shutil.copy(market.removeprefix("csv:"), "bars.csv")
    return folder


def search(command, folder, *words):
    """Search; where it is refused nothing was written, else the run is whole."""
    before = sorted(folder.rglob("*"))
    outcome = command("evolve", *SMALL, *words)
    if not is_text(str(folder)) and any(str(folder) in word or "idea" in word for word in words):
        assert outcome.code == 2
        assert "is no text in UTF-8" in outcome.error
        assert sorted(folder.rglob("*")) == before
    else:
        assert (outcome.code, outcome.err.count("Traceback")) == (0, 0)


def is_text(name):
    """Whether a name is text in UTF-8."""
    return name.encode(errors="replace").decode() == name


def test_a_folder_of_any_name_is_worked_in(command, odd_folder):
    """Or a search is refused before anything is written, where no record can hold the name."""
    search(command, odd_folder, "--data", "csv:bars.csv")
    run = str(next((odd_folder / "runs").glob("2*")))
    search(command, odd_folder, "--data", "csv:bars.csv", "--strategy", "idea.py")
    search(command, odd_folder, "--data", f"csv:{odd_folder / 'bars.csv'}")
    search(command, odd_folder, "--data", "csv:bars.csv", "--runs", str(odd_folder / "other"))
    search(command, odd_folder, "--data", "csv:bars.csv", "--warm-start", run)
    resume = ("--resume", run, "--generations", "3", "--no-judge")
    before = command("runs", "show", run, "--json").json
    outcome = command("evolve", *resume)
    if outcome.code:
        assert "is no text in UTF-8" in outcome.error
        assert command("runs", "show", run, "--json").json == before
    for words in (
        ("judge", run, "--null", "0", "--folds", "0", "--blocks", "0"),
        ("report", run),
        ("report", run, "--out", str(odd_folder / "page.html")),
        ("backtest", "--run", run, "--member", "0", "--trades", str(odd_folder / "trades.csv")),
        ("runs", "export", run, str(odd_folder / "x.journal")),
        ("runs", "verify", run),
        ("data", "check", f"csv:{odd_folder / 'bars.csv'}"),
        ("portfolio", f"{run}:0"),
    ):
        outcome = command(*words)
        assert outcome.code == 0, outcome.err
    assert not [run["damaged"] for run in command("runs", "list", "--json").json if run["damaged"]]
