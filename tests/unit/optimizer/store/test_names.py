"""Run ids: what is legal, and that nothing leads out of the runs directory."""

from datetime import UTC, datetime

import pytest

from optimizer.errors import StoreError
from optimizer.store import new_run_id, run_path, validate_run_id


def test_new_ids_are_legal_and_name_the_moment_in_utc():
    """An id starts with its UTC moment, ends in six hex digits, and passes its own check."""
    run_id = new_run_id(datetime(2026, 11, 21, 9, 30, 15, tzinfo=UTC))
    assert run_id.startswith("20261121-093015-")
    assert len(run_id) == 22
    assert int(run_id[-6:], 16) >= 0
    assert validate_run_id(run_id) == run_id
    assert validate_run_id(new_run_id())


def test_two_ids_of_one_moment_differ():
    """Runs that start in the same second do not share a name."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert len({new_run_id(now) for _ in range(20)}) > 1


@pytest.mark.parametrize("legal", ["a", "7", "walk-forward_1.2", "x" * 64])
def test_legal_ids_pass(legal):
    """Letters, digits, dots, underscores and hyphens are fine."""
    assert validate_run_id(legal) == legal


PATHS = ["", ".", "..", "../x", "/abs", "a/b", "a\\b", "a..b", "-x", ".x", "x.", "a:b", "a\0b"]
WORDS = ["x" * 65, "a b", "a\n", "é", "latest", "Latest"]


@pytest.mark.parametrize("illegal", [*PATHS, *WORDS])
def test_illegal_ids_are_refused(illegal, tmp_path):
    """Anything that could be a path, an option or a surprise is refused, saying what is legal."""
    with pytest.raises(StoreError, match="is not legal: use 1 to 64 letters"):
        validate_run_id(illegal)
    with pytest.raises(StoreError):
        run_path(tmp_path, illegal)


def test_links_out_of_the_runs_directory_are_refused(tmp_path):
    """A symbolic link with a legal name is not followed to another place."""
    (tmp_path / "runs").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs" / "innocent").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="link that leads out"):
        run_path(tmp_path / "runs", "innocent")


def test_runs_directory_may_itself_be_a_link(tmp_path):
    """Where the runs live is the user's choice; only what is inside is checked."""
    (tmp_path / "real").mkdir()
    (tmp_path / "runs").symlink_to(tmp_path / "real")
    assert run_path(tmp_path / "runs", "a") == tmp_path / "runs" / "a"
