"""Which runs there are: every state of a run has its line, and a name finds exactly one."""

import shutil

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore, RunSummary, find_run, list_runs, run_path, validate_run_id
from optimizer.store.listing import DATABASE
from tests.support.recording import HEADER, fill, make_generation


def record(runs_dir, run_id, day=1, count=0, result=None):
    """A closed run, created on a day of November."""
    created = {"created_at": f"2026-11-{day:02}T00:00:00+00:00"}
    with RunStore.create(runs_dir, run_id, HEADER | created) as store:
        fill(store, count)
        if result is not None:
            store.finish(result)
    return runs_dir / run_id


def test_every_state_has_its_line_oldest_first(tmp_path):
    """Finished, interrupted, running, damaged; other files and folders are no runs."""
    assert list_runs(tmp_path / "absent") == []
    record(tmp_path, "zeta", day=1, count=2, result={"front": [1, 2, 3]})
    record(tmp_path, "alpha", day=2)
    (record(tmp_path, "20261103-000000-aaaaaa", day=3) / DATABASE).write_bytes(b"")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    RunStore.create(tmp_path, "odd", {"strategy": 5, "generations": "many"}).close()
    with RunStore.create(tmp_path, "beta", HEADER) as store:
        store.record(make_generation(0))
        store.flush()
        runs = list_runs(tmp_path)
    assert [(run.id, run.status, run.generations, bool(run.damaged)) for run in runs] == [
        ("zeta", "finished", 2, False),
        ("alpha", "interrupted", 0, False),
        ("odd", "interrupted", 0, False),
        ("20261103-000000-aaaaaa", "damaged", 0, True),
        ("beta", "running", 1, False),
    ]
    assert runs[0] == RunSummary(
        id="zeta",
        path=tmp_path / "zeta",
        status="finished",
        created_at="2026-11-01T00:00:00+00:00",
        strategy="seller_exhaustion",
        data="sample",
        generations=2,
        planned=50,
        front_size=3,
        number=1,
    )
    assert (runs[2].strategy, runs[2].planned, runs[2].created_at) == (None, None, None)
    with pytest.raises(StoreError, match=r"notes.txt cannot be read"):
        list_runs(tmp_path / "notes.txt")


@pytest.mark.parametrize(
    ("name", "run_id"),
    [
        ("latest", "20261102-bbb"),
        ("LATEST", "20261102-bbb"),
        ("20261102-b", "20261102-bbb"),
        ("20261102-aa", "20261102-aa"),
        ("20261102-a", "begins more than one run: 20261102-aa"),
        ("absent", "there are 20261102-aa, 20261102-aaa, 20261102-bbb"),
        ("..", "there are"),
    ],
)
def test_a_name_finds_one_run_or_says_which_there_are(tmp_path, name, run_id):
    """The newest, an id, the beginning of one id; an id wins over being a beginning."""
    with pytest.raises(StoreError, match="there are no runs at all"):
        find_run(tmp_path, name)
    for day, created in enumerate(("20261102-aaa", "20261102-aa", "20261102-bbb"), start=1):
        record(tmp_path, created, day=day)
    if " " in run_id or run_id == "there are":
        with pytest.raises(StoreError) as error:
            find_run(tmp_path, name)
        assert all(word in str(error.value) for word in run_id.replace(",", "").split())
    else:
        assert find_run(tmp_path, name) == tmp_path / run_id


def test_a_clock_that_was_set_back_changes_no_order(tmp_path):
    """Runs are counted: the newest is the one that was created last, whatever its id."""
    for run_id, day in (("20261120-000000-aaaaaa", 20), ("20261105-000000-bbbbbb", 5)):
        record(tmp_path, run_id, day=day)
    assert find_run(tmp_path, "latest").name == "20261105-000000-bbbbbb"
    shutil.rmtree(tmp_path / "20261120-000000-aaaaaa")
    record(tmp_path, "20261101-000000-cccccc", day=1)
    assert [run.id[:8] for run in list_runs(tmp_path)] == ["20261105", "20261101"]


@pytest.mark.parametrize(
    "illegal", ["", "..", "../x", "/abs", "a\\b", "-x", "x.", "a:b", "x" * 65, "a\n", "é", "Latest"]
)
def test_a_path_an_option_or_a_surprise_is_no_id(illegal, tmp_path):
    """It never becomes a folder."""
    for call in (lambda: validate_run_id(illegal), lambda: run_path(tmp_path, illegal)):
        with pytest.raises(StoreError, match="64 letters"):
            call()


def test_nothing_leads_out_of_the_folder_of_runs(tmp_path):
    """A link inside is not followed; the folder itself may be one."""
    for name in ("runs", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "runs" / "innocent").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "linked").symlink_to(tmp_path / "runs")
    with pytest.raises(StoreError, match="leads out"):
        run_path(tmp_path / "runs", "innocent")
    assert run_path(tmp_path / "linked", "a") == tmp_path / "linked" / "a"
