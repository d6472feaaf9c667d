"""A changed run: nothing is shown as certified that the search did not record."""

import json
import shutil
import sqlite3
from contextlib import closing

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore
from optimizer.store.files import DATABASE
from optimizer.store.payload import encode, sha256
from tests.support.commands import Commands
from tests.support.forging import change
from tests.support.runs import record_run


@pytest.fixture(scope="module")
def run_path(tmp_path_factory):
    """A finished run, polished."""
    return record_run(tmp_path_factory.mktemp("runs"), polish=50)


@pytest.fixture
def run(run_path, tmp_path):
    """A copy of it."""
    return shutil.copytree(run_path, tmp_path / "runs" / run_path.name)


@pytest.fixture
def command(capsys):
    """Runs a command."""
    return Commands(capsys)


def edit(run, part, value, *, is_linked):
    """Give every member another value, with its digest; with its link too where asked."""
    with closing(sqlite3.connect(run / DATABASE)) as connection, connection:
        (payload,) = connection.execute("SELECT payload FROM result").fetchone()
        (tail,) = connection.execute(
            "SELECT chain FROM generation ORDER BY number DESC LIMIT 1"
        ).fetchone()
        result = json.loads(payload)
        for member in result["front"]:
            member[part] = dict.fromkeys(member[part], value)
        payload = encode(result, what="the result")
        connection.execute("UPDATE result SET payload = ?, sha256 = ?", (payload, sha256(payload)))
        if is_linked:
            connection.execute("UPDATE result SET chain = ?", (sha256(tail, payload),))


def uses(run, tmp_path):
    """Every command that shows what a run found."""
    runs = ("--runs", run.parent)
    return [
        ("runs", "show", run.name, *runs),
        ("runs", "show", run.name, "--json", *runs),
        ("runs", "export", run.name, tmp_path / "front.csv", *runs),
        ("runs", "export", run.name, tmp_path / "front.json", *runs),
        ("runs", "export", run.name, tmp_path / "front.journal", *runs),
        ("runs", "verify", run.name, *runs),
        ("report", run.name, *runs),
        ("evolve", "--resume", run.name, *runs),
    ]


@pytest.mark.parametrize("is_linked", [False, True], ids=["digest", "digest and link"])
def test_changed_objectives_are_nowhere_shown(run, tmp_path, command, is_linked):
    """The result does not follow from what was recorded, so no command shows it."""
    edit(run, "objectives", 99.0, is_linked=is_linked)
    for use in uses(run, tmp_path):
        outcome = command(*use)
        assert outcome.code == 4, outcome
        assert outcome.out == "" or "verify" in use, use
        assert "changed afterwards" in outcome.err or "does not follow" in outcome.err, use
    assert not list(tmp_path.glob("front.*"))


def test_changed_metrics_are_nowhere_shown(run, tmp_path, command):
    """Figures beside the objectives hang on the same link."""
    edit(run, "metrics", 99.0, is_linked=False)
    for use in uses(run, tmp_path)[:4]:
        assert "changed afterwards" in command(*use).error, use


def test_verify_judges_figures_anew(run, command):
    """Who can make every digest anew still cannot make a strategy earn it."""
    edit(run, "metrics", 99.0, is_linked=True)
    outcome = command("runs", "verify", run)
    assert outcome.code == 4
    assert "member 0 does not reach what the result says of it: recorded" in outcome.error


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        (["ALTER TABLE result RENAME TO kept", "CREATE VIEW result AS SELECT * FROM kept"], "view"),
        (["CREATE TRIGGER t AFTER INSERT ON generation BEGIN DELETE FROM result; END"], "trigger"),
        (["CREATE TABLE more (x)"], "table 'more'"),
    ],
)
@pytest.mark.parametrize("writable", [False, True], ids=["reader", "owner"])
def test_a_schema_that_is_not_ours_is_refused(run, statements, named, writable):
    """A view or a trigger shows or writes something else than what was recorded."""
    for statement in statements:
        change(run, statement)
    with pytest.raises(StoreError, match=rf"does not hold the tables of a run alone .*{named}"):
        RunStore.open(run, writable=writable)


def test_a_run_that_nobody_changed_is_shown(run, tmp_path, command):
    """Every command takes it."""
    for use in uses(run, tmp_path):
        assert command(*use).code == 0, use
