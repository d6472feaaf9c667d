"""Limits, settings and names around a command: one line names them, and nothing is a defect."""

import os
import resource
import shutil

import pytest

from tests.support.commands import SMALL, run


def limit_memory():
    """Give a process too little address space for compiled loops."""
    resource.setrlimit(resource.RLIMIT_AS, (1_200_000_000, 1_200_000_000))


def limit_files():
    """Give a process fewer files than a run needs, beside those that Python has open."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("surroundings", "name"),
    [
        ({"env": {"NUMBA_DISABLE_JIT": "1"}}, "NUMBA_DISABLE_JIT"),
        ({"env": {"NUMBA_NUM_THREADS": "abc"}}, "NUMBA_NUM_THREADS"),
        ({"preexec_fn": limit_memory}, "ulimit -v"),
        ({"preexec_fn": limit_files}, "ulimit -n"),
    ],
    ids=["setting", "threads", "memory", "files"],
)
def test_a_setting_or_limit_that_forbids_a_search_is_named(tmp_path, market, surroundings, name):
    """Before a run begins, and nothing hangs; files may end later, when a library opens one."""
    refused = run("evolve", "--data", market, *SMALL, cwd=tmp_path, **surroundings)
    assert (refused.code in (2, 4), refused.out) == (True, ""), refused.err
    assert name in refused.err.splitlines()[-1]
    assert "defect" not in refused.err
    assert name == "ulimit -n" or not list(tmp_path.glob("runs/*"))


FOLDERS = {
    "signs": '  it\'s\na "🐢"\x1b[2J\tn'.ljust(250, "n"),
    "bytes": os.fsdecode(b"caf\xe9"),
}
"""A name of any signs, as long as one may be, and one that is no text."""


@pytest.fixture(params=FOLDERS.values(), ids=FOLDERS)
def odd_folder(request, command, market, tmp_path, monkeypatch):
    """A working folder of any name, with bars."""
    folder = tmp_path / request.param
    folder.mkdir()
    monkeypatch.chdir(folder)
    shutil.copy(market.removeprefix("csv:"), "bars.csv")
    return folder


def search(command, folder, *words):
    """Search; where it is refused nothing was written, else the run is whole."""
    before = sorted(folder.rglob("*"))
    outcome = command("evolve", *SMALL, *words)
    is_text = str(folder).encode(errors="replace").decode() == str(folder)
    if not is_text and any(str(folder) in word for word in words):
        assert outcome.code == 2
        assert "UTF-8" in outcome.error
        assert sorted(folder.rglob("*")) == before
    else:
        assert (outcome.code, outcome.err.count("Traceback")) == (0, 0)


def test_a_folder_of_any_name_is_worked_in(command, odd_folder):
    """Or a search is refused before anything is written, where no record can hold the name."""
    search(command, odd_folder, "--data", "csv:bars.csv")
    run = str(next((odd_folder / "runs").glob("2*")))
    search(command, odd_folder, "--data", f"csv:{odd_folder / 'bars.csv'}")
    search(command, odd_folder, "--data", "csv:bars.csv", "--runs", str(odd_folder / "other"))
    search(command, odd_folder, "--data", "csv:bars.csv", "--warm-start", run)
    before = command("runs", "show", run, "--json").json
    outcome = command("evolve", "--resume", run, "--generations", "3", "--no-judge")
    if outcome.code:
        assert "UTF-8" in outcome.error
        assert command("runs", "show", run, "--json").json == before
    for words in (
        ("judge", run, "--null", "0", "--folds", "0", "--blocks", "0"),
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
