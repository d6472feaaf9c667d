"""The house: imports come from here, registries are whole, what is banned is absent."""

import re
from pathlib import Path

import pytest
import typer

import data
import engine
import optimizer
import strategy
from data import PROVIDERS
from engine.devices import BACKENDS, load_backend, why_absent
from engine.indicators.cpu.rows import LOOPS, SOURCES
from optimizer.cli.app import app
from optimizer.goals.objectives import OBJECTIVES
from strategy import STRATEGIES
from strategy.indicator_registry import COMPUTED_COLUMNS, KINDS
from tests.bench.planted_faults import FAULTS, require_texts
from tests.support.commands import SHIPPED
from tests.support.paths import ROOT

PACKAGES = (data, strategy, engine, optimizer)


def source_files():
    """Every Python file of the packages."""
    return [path for p in PACKAGES for path in sorted(Path(p.__file__).parent.rglob("*.py"))]


def test_packages_come_from_this_repository():
    """Any installed package could own such plain names; these are ours."""
    assert all(Path(package.__file__).is_relative_to(ROOT) for package in PACKAGES)


def test_registries_name_their_members():
    """A key is the name of its entry."""
    for registry in (STRATEGIES, KINDS, PROVIDERS, OBJECTIVES):
        assert {name: entry.name for name, entry in registry.items()} == {n: n for n in registry}


def test_every_rule_file_and_every_backend_is_registered_by_its_name():
    """A strategy without a name is no strategy."""
    files = {p.stem for p in (ROOT / "strategy" / "rules").glob("*.py")} - {"__init__"}
    assert files <= set(SHIPPED)
    present = [name for name in BACKENDS if not why_absent(name)]
    assert [load_backend(name).name for name in present] == present


BANNED = {
    "pickle": r"\b(import|from) +(pickle|dill|joblib|shelve|marshal)\b|allow_pickle=True",
    "torch.load": r"\btorch\.load\(",
    "fast-math": r"fastmath",
    "global random state": r"np\.random\.(seed|rand|randn|normal|uniform)\(|^import random$",
    "eval": r"(?<![\w.])(eval|exec)\(",
}


ALLOWED = {
    "pickle": [
        "engine/runtime/compiling/loops.py",
        "optimizer/cluster/jobs.py",
        "optimizer/evidence/jobs/worker.py",
        "optimizer/evidence/jobs/workers.py",
    ],
    "eval": ["strategy/files.py"],
}
"""Pickles go between a process and those that it began, over pipes that no other can write to,
and within a cluster, whose members run each other's programs anyhow; and machine code of loops is
one, as numba has it, in a folder of code that is run.
A person's own file is run, as Python runs it; never the text that a record holds."""


@pytest.mark.parametrize("what", BANNED)
def test_what_is_banned_is_absent(what):
    """None of it is anywhere in the packages."""
    pattern = re.compile(BANNED[what], re.MULTILINE)
    paths = [str(p.relative_to(ROOT)) for p in source_files() if pattern.search(p.read_text())]
    assert paths == ALLOWED.get(what, [])


def test_hosts_are_spoken_to_in_two_files():
    """Everything else would work with another library."""
    pattern = re.compile(r"^ *(import|from) +(distributed|dask)\b", re.MULTILINE)
    paths = [str(p.relative_to(ROOT)) for p in source_files() if pattern.search(p.read_text())]
    assert paths == ["optimizer/cluster/dask_client.py"]


def test_a_planted_fault_stands_once_in_its_file():
    """What moves a line moves the fault that is made of it."""
    require_texts(FAULTS)


def test_files_stay_readable():
    """No file of the packages is longer than 600 lines."""
    long = {str(p.relative_to(ROOT)): n for p in source_files() if (n := _lines(p)) > 600}
    assert long == {}


def test_readme_names_every_command_and_every_package():
    """What exists can be found from the first page."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = typer.main.get_command(app).commands
    assert [name for name in sorted(commands) if f"`{name}" not in text] == []
    assert [p.__name__ for p in PACKAGES if f"{p.__name__}/" not in text] == []


def test_every_source_is_stated_in_the_law():
    """engine/README.md names rows with loops of their own; all others stand in files of theirs."""
    text = (ROOT / "engine" / "README.md").read_text(encoding="utf-8")
    derived = [name for name in SOURCES if name in COMPUTED_COLUMNS]
    assert [name for name in (*derived, *LOOPS) if f"`{name}" not in text] == []


def _lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())
