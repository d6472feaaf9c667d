"""Trust by digest: what was begun here or allowed, also by an earlier process, and nothing else."""

from types import SimpleNamespace

import pytest

from optimizer.run import trust

BEGUN, ALLOWED, STRANGE = (SimpleNamespace(payload=name) for name in (b"begun", b"given", b"other"))


@pytest.fixture(autouse=True)
def forget(tmp_path, monkeypatch):
    """A user who trusts nothing; called, another process of the same user."""

    def end_process():
        monkeypatch.setattr(trust, "_SESSION", {})

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    end_process()
    return end_process


def test_strangers_files_are_not_read_and_their_code_is_not_run(forget):
    """Each run by its header, each file by its text; a line that is removed revokes."""
    trust.remember_begun(BEGUN.payload, "mine")
    trust.remember_trusted(ALLOWED, None)
    for _ in range(2):
        runs = (BEGUN, ALLOWED, STRANGE)
        assert [trust.may_read_files(run) for run in runs] == [True, True, False]
        assert [trust.is_begun_here(run) for run in runs] == [True, False, False]
        assert [trust.may_run_code(text) for text in ("mine", "theirs", "")] == [True, False, False]
        forget()
    lines = trust.trust_file().read_text().splitlines()
    trust.trust_file().write_text("\n".join(line for line in lines if "begun" not in line))
    assert not trust.may_read_files(BEGUN)
    assert trust.may_read_files(ALLOWED)


def test_the_oldest_runs_are_forgotten_and_no_code_is(monkeypatch, forget):
    """The newest are remembered, as many as there is room for."""
    monkeypatch.setattr(trust, "MOST_RUNS", 2)
    for number in range(4):
        trust.remember_begun(b"%d" % number, f"text {number}")
    forget()
    runs = [SimpleNamespace(payload=b"%d" % number) for number in range(4)]
    assert [trust.is_begun_here(run) for run in runs] == [False, False, True, True]
    assert all(trust.may_run_code(f"text {number}") for number in range(4))
