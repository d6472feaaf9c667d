"""Which runs there are: every state of a run has its line, and a name finds exactly one."""

import shutil

import pytest

from optimizer.errors import StoreError
from optimizer.store import RunStore, RunSummary, find_run, list_runs
from optimizer.store.listing import DATABASE
from tests.support.recording import HEADER, make_generation


def record(runs_dir, run_id, day=1, count=2, result=None, header=HEADER):
    """A closed run, created on a day of November."""
    created = {"created_at": f"2026-11-{day:02}T00:00:00+00:00"}
    with RunStore.create(runs_dir, run_id, header | created) as store:
        for number in range(count):
            store.record(make_generation(number))
        if result is not None:
            store.finish(result)
    return runs_dir / run_id


def test_every_state_has_its_line_oldest_first(tmp_path):
    """Finished, interrupted, running, damaged; other files and folders are no runs."""
    record(tmp_path, "zeta", day=1, result={"front": [1, 2, 3]})
    record(tmp_path, "alpha", day=2, count=0)
    (record(tmp_path, "20261103-000000-aaaaaa", day=3) / DATABASE).write_bytes(b"")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder").mkdir()
    created = {"created_at": "2026-11-04T00:00:00+00:00"}
    with RunStore.create(tmp_path, "beta", HEADER | created) as store:
        store.record(make_generation(0))
        store.flush()
        runs = list_runs(tmp_path)
    assert [(run.id, run.status, run.generations) for run in runs] == [
        ("zeta", "finished", 2),
        ("alpha", "interrupted", 0),
        ("20261103-000000-aaaaaa", "damaged", 0),
        ("beta", "running", 1),
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
    assert [bool(run.damaged) for run in runs] == [False, False, True, False]
    assert "not the database of a run" in runs[2].damaged


def test_there_are_no_runs_where_there_is_no_directory(tmp_path):
    """A runs directory that was never made is empty."""
    assert list_runs(tmp_path / "absent") == []


def test_runs_directory_that_is_a_file_is_an_error(tmp_path):
    """One clear line, no traceback of the operating system."""
    (tmp_path / "runs").write_text("x")
    with pytest.raises(StoreError, match=r"runs cannot be read"):
        list_runs(tmp_path / "runs")


def test_header_of_another_shape_leaves_fields_empty(tmp_path):
    """A run whose header holds other things is listed all the same."""
    with RunStore.create(tmp_path, "odd", {"strategy": 5, "generations": "many"}):
        pass
    (run,) = list_runs(tmp_path)
    assert (run.strategy, run.planned, run.created_at, run.damaged) == (
        None,
        None,
        None,
        "",
    )


@pytest.mark.parametrize(
    ("name", "run_id"),
    [
        ("latest", "20261102-bbb"),
        ("LATEST", "20261102-bbb"),
        ("20261102-bbb", "20261102-bbb"),
        ("20261102-a", "20261102-aaa"),
        ("2026", None),
        ("20261102-aa", "20261102-aa"),
    ],
)
def test_a_name_finds_one_run(tmp_path, name, run_id):
    """The newest, an id, the beginning of one id; an id wins over being a beginning."""
    for day, created in enumerate(("20261102-aaa", "20261102-aa", "20261102-bbb"), start=1):
        record(tmp_path, created, day=day)
    if name == "20261102-a":
        shutil.rmtree(tmp_path / "20261102-aa")
    if run_id is None:
        with pytest.raises(StoreError, match="begins more than one run: 20261102-aaa"):
            find_run(tmp_path, name)
    else:
        assert find_run(tmp_path, name) == tmp_path / run_id


def test_a_path_finds_its_run_wherever_it_is(tmp_path):
    """A directory outside the runs directory, or its database, can be named."""
    run = record(tmp_path / "elsewhere", "copy")
    for name in (str(run), str(run / DATABASE), str(run) + "/"):
        assert find_run(tmp_path / "runs", name) == run
    with pytest.raises(StoreError, match="nothing is not a run"):
        find_run(tmp_path, str(tmp_path / "nothing"))


@pytest.mark.parametrize("name", ["latest", "absent", "..", "", "-x", "a b"])
def test_a_name_that_finds_nothing_is_an_error(tmp_path, name):
    """The message names a run as missing, and those that there are."""
    with pytest.raises(StoreError, match="there are no runs at all"):
        find_run(tmp_path, name)
    record(tmp_path, "only")
    if name != "latest":
        with pytest.raises(StoreError, match="there are only"):
            find_run(tmp_path, name)


def test_a_clock_that_was_set_back_changes_no_order(tmp_path):
    """Runs are counted: the newest is the one that was created last, whatever its id."""
    for run_id, day in (("20261120-000000-aaaaaa", 20), ("20261105-000000-bbbbbb", 5)):
        record(tmp_path, run_id, day=day)
    assert find_run(tmp_path, "latest").name == "20261105-000000-bbbbbb"
    shutil.rmtree(tmp_path / "20261120-000000-aaaaaa")
    record(tmp_path, "20261101-000000-cccccc", day=1)
    assert [run.id[:8] for run in list_runs(tmp_path)] == ["20261105", "20261101"]


def test_a_run_whose_number_cannot_be_read_has_its_place_by_time(tmp_path):
    """It stands behind the runs that were created before it."""
    names = [f"2026110{day}-000000-aaaaaa" for day in (1, 2, 3)]
    for day, run_id in enumerate(names, start=1):
        record(tmp_path, run_id, day=day)
    (tmp_path / names[1] / DATABASE).write_bytes(b"")
    assert [run.id for run in list_runs(tmp_path)] == names


def test_runs_of_older_versions_come_first(tmp_path, monkeypatch):
    """They have no number, and were created before any run that has one."""
    monkeypatch.setattr("optimizer.store.store.find_next_number", lambda runs_dir: None)
    record(tmp_path, "older", day=20)
    monkeypatch.undo()
    record(tmp_path, "newer", day=1)
    assert find_run(tmp_path, "latest").name == "newer"


def test_many_runs_are_not_all_told(tmp_path):
    """A message names the newest five and how many more there are."""
    for day in range(1, 8):
        record(tmp_path, f"run-{day}", day=day, count=0)
    with pytest.raises(StoreError, match="there are run-3, run-4, run-5, run-6, run-7 and 2 more"):
        find_run(tmp_path, "absent")
