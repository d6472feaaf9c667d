"""The run store: record, read, label, list and remove runs, and nothing of anybody else."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from data.files import name_draft
from optimizer.__main__ import main
from optimizer.errors import ConfigError, StoreError
from optimizer.search.generation import Population
from optimizer.store import (
    RunStore,
    RunSummary,
    delete_run,
    find_run,
    list_foreign_files,
    list_runs,
    run_path,
    validate_run_id,
)
from optimizer.store.files import COLUMN_FOLDER, LABELS, NAMES, OWNER, REPORT, OwnerLock
from optimizer.store.labels import MARK, Labels, change_labels, read_labels
from optimizer.store.listing import DATABASE, begin_draft
from optimizer.store.rows import front_population
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_same_population,
    assert_sound,
    fill,
    find_damage,
    make_generation,
)

RUN = "run-1"


@pytest.fixture
def store(tmp_path):
    """A run that this process owns, without generations."""
    with RunStore.create(tmp_path, RUN, HEADER) as opened:
        yield opened


def test_what_is_read_is_what_was_recorded(store):
    """Every bit of each generation, NaN included, its counts, and the header."""
    fill(store, 5)
    for number, summary in enumerate(store.generations()):
        expected = make_generation(number)
        assert_same_generation(expected, store.generation(number))
        front = len(front_population(expected.population))
        assert (summary.number, summary.individuals, summary.front) == (number, 6, front)
        assert (summary.rejected, summary.seconds) == (expected.rejected, expected.seconds)
        assert summary.kept == "whole"
    assert_sound(store, 4)
    assert (store.header, store.run_id, store.status) == (HEADER, RUN, "running")
    for number in (-1, 5):
        with pytest.raises(StoreError, match="only 5 generations"):
            store.generation(number)


def test_strange_floats_keep_their_bits(store):
    """Minus zero, infinities, the smallest number and NaN with a payload."""
    values = np.array([-0.0, np.inf, -np.inf, 5e-324, np.nan, 1e308])
    values = np.append(values, np.array([0x7FF8000000000123], np.uint64).view(np.float64))
    codes = np.arange(7, dtype=np.int16) - 3
    population = Population(values[:, None], values[:, None], np.ones(7), codes)
    store.record(replace(make_generation(0), population=population))
    store.flush()
    assert_same_population(population, store.last_generation().population)


def _change_columns(generation):
    return replace(generation, population=replace(generation.population, violations=np.zeros(5)))


@pytest.mark.parametrize(
    ("generation", "word"),
    [
        (make_generation(2), "the next to record is 1"),
        (make_generation(1, genes=3), r"\(3, 2\) genes and objectives"),
        (_change_columns(make_generation(1)), "differ in length"),
        (replace(make_generation(1), seconds=float("nan")), "seconds is not a finite"),
    ],
    ids=["gap", "shape", "columns", "NaN"],
)
def test_no_other_generation_follows(store, generation, word):
    """It is refused at the call, and the run goes on with the right one."""
    fill(store, 1)
    with pytest.raises(StoreError, match=word):
        store.record(generation)
    fill(store, 1, start=1)
    assert_sound(store, 1)


def test_a_run_is_finished_copied_and_gone_on_with(store, tmp_path):
    """A closed run is one plain file; more generations make its result untrue."""
    fill(store, 2)
    for wrong in ({"front": [{"sharpe": float("inf")}]}, {"front": {1, 2}}):
        with pytest.raises(StoreError, match=r"front\[0\].sharpe|set"):
            store.finish(wrong)
    assert (store.result, store.status) == (None, "running")
    store.finish({"front": [{"genes": np.float64(0.1)}], "hash": "ab"})
    store.close()
    store.close()
    with pytest.raises(StoreError, match="not open for writing"):
        store.record(make_generation(2))
    assert sorted(path.name for path in store.path.iterdir()) == ["owner.lock", DATABASE]
    shutil.copytree(store.path, tmp_path / "copy")
    with RunStore.open(tmp_path / "copy", writable=True) as copy:
        assert (copy.run_id, copy.status) == ("copy", "finished")
        fill(copy, 1, start=2)
        assert (copy.result, copy.status, copy.verify()) == (None, "running", [])
    with RunStore.open(tmp_path / "copy") as copy:
        assert copy.status == "interrupted"
        assert_sound(copy, 2)
    with RunStore.open(store.path) as read:
        assert read.result == {"front": [{"genes": 0.1}], "hash": "ab"}
        assert (read.status, read.verify()) == ("finished", [])


@pytest.mark.parametrize(
    ("run_id", "options", "word"), [(RUN, {}, "exists"), ("b", {"keep": "some"}, "'some'")]
)
def test_a_run_that_cannot_begin_leaves_nothing(store, tmp_path, run_id, options, word):
    """Its name is taken, or an option has a word that nobody knows."""
    with pytest.raises(StoreError, match=word):
        RunStore.create(tmp_path, run_id, HEADER, **options)
    assert [path.name for path in tmp_path.iterdir()] == [RUN]


ESCAPE, TURN, HALF = "\x1b[2J", "\u202e", "\udcff"
WRONG_TAGS = (
    "", " ", "two words", "-x", ".x", "a\nb", "a\0", f"a{ESCAPE}", f"a{TURN}", HALF, "x" * 33,
)  # fmt: skip
WRONG_NOTES = (ESCAPE, f"a{TURN}b", HALF, "a\0b", "\u200b", "x" * 1001, "x" * 3_000_000)


@pytest.fixture
def run(tmp_path):
    """A closed run."""
    with RunStore.create(tmp_path / "runs", "run", HEADER) as store:
        fill(store, 2)
    return store.path


def test_labels_are_kept_as_they_were_given(run):
    """Tags in their order, each once in whatever case; a change of one leaves the rest."""
    assert read_labels(run) == Labels()
    change_labels(run, add=["Baseline", "btc-2024", "BASELINE"], note=" wide\n\tstops \U0001f98a ")
    assert read_labels(run) == Labels(("Baseline", "btc-2024"), "wide stops \U0001f98a")
    change_labels(run, add=["ünïcode"], remove=["baseline"])
    assert read_labels(run) == Labels(("btc-2024", "ünïcode"), "wide stops \U0001f98a")
    with pytest.raises(ConfigError, match="btc-2024"):
        change_labels(run, remove=["base"])
    change_labels(run, note="another")
    assert read_labels(run) == Labels(("btc-2024", "ünïcode"), "another")
    change_labels(run, remove=["btc-2024", "ünïcode"], note="")
    assert not (run / LABELS).exists()
    assert read_labels(run) == Labels()


@pytest.mark.parametrize(
    "given",
    [*({"add": ["good", text]} for text in WRONG_TAGS), *({"note": text} for text in WRONG_NOTES)],
    ids=lambda given: ascii(given)[:30],
)
def test_labels_that_a_terminal_obeys_are_refused(run, given):
    """A tag is a word, a note a line; nothing is written, and the error can be printed."""
    with pytest.raises(ConfigError) as error:
        change_labels(run, **given)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 300
    assert not (run / LABELS).exists()


def as_file(**fields):
    """Content of a file of labels with other fields."""
    return json.dumps({**MARK, "tags": [], "note": "", **fields}).encode()


DAMAGE = {
    "empty": b"", "another file": b'{"cat": 0, "dog": 1}', "deep": b"[" * 60_000,
    "escapes": as_file(note=ESCAPE), "no word": as_file(tags=["a\nb"]),
    "no note": as_file(note=None), "megabytes": as_file() + b" " * 2_000_000,
}  # fmt: skip


@pytest.mark.parametrize("content", DAMAGE.values(), ids=DAMAGE)
def test_a_file_from_elsewhere_is_not_shown_replaced_or_removed(run, content):
    """The run is read all the same."""
    (run / LABELS).write_bytes(content)
    with pytest.raises(StoreError, match=LABELS):
        change_labels(run, add=["tag"])
    (summary,) = list_runs(run.parent)
    assert (summary.status, summary.tags, summary.note) == ("interrupted", (), "")
    assert LABELS in summary.damaged
    assert list_foreign_files(run) == [run / LABELS]
    delete_run(run)
    assert (run / LABELS).read_bytes() == content


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["link", "link to nothing", "pipe"])
def test_nothing_but_a_plain_file_is_read_or_written(run, tmp_path, kind):
    """Neither followed nor waited for."""
    target, theirs = tmp_path / "precious", as_file(tags=["theirs"])
    if kind == "pipe":
        os.mkfifo(run / LABELS)
    else:
        (run / LABELS).symlink_to(target)
    if kind == "link":
        target.write_bytes(theirs)
    with pytest.raises(StoreError, match="no plain file"):
        change_labels(run, add=["tag"])
    assert list_runs(run.parent)[0].tags == ()
    assert (target.read_bytes() if target.exists() else None) == (
        theirs if kind == "link" else None
    )


def test_a_run_that_is_being_recorded_can_be_labelled_by_many(tmp_path):
    """Its owner goes on, a list shows both, and processes take turns."""
    with RunStore.create(tmp_path, "run", HEADER) as store:
        fill(store, 1)
        threads = [
            Thread(target=change_labels, args=[store.path], kwargs={"add": [tag]})
            for tag in ("t1", "t2", "t3", "t4")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (summary,) = list_runs(tmp_path)
        assert (summary.status, sorted(summary.tags)) == ("running", ["t1", "t2", "t3", "t4"])
        store.record(make_generation(1))
    assert find_damage(store.path) == []


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


PAGE = '<meta http-equiv="Content-Security-Policy" content=""><link rel="icon" href="data:,">'
OWN = (
    f"{COLUMN_FOLDER}/rate.csv", f"{COLUMN_FOLDER}/{name_draft('rate.csv')}", name_draft(REPORT),
    name_draft(LABELS), name_draft(DATABASE),
)  # fmt: skip


@pytest.fixture
def full_run(tmp_path):
    """A closed run with all kinds of files that a run has."""
    header = {**HEADER, "command": {"column_file": ["rate=elsewhere/rates.csv@60"]}}
    with RunStore.create(tmp_path / "runs", "run", header) as store:
        fill(store, 2)
    change_labels(store.path, add=["mine"])
    for name in OWN:
        write(store.path / name)
    (store.path / REPORT).write_text(PAGE)
    return store.path


def write(path):
    """A file of a person's own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine")


def list_files(folder):
    """Names of all files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("kept", [[DATABASE], [DATABASE, OWNER]], ids=["database", "both"])
def test_a_folder_with_other_things_keeps_them(full_run, tmp_path, kept):
    """A run's file that was copied into a project takes nothing of the project along."""
    project = tmp_path / "project"
    mine = ["paper.tex", "src/main.py", "columns/rate.txt/deep", "columns/own.csv", "rows/a.row"]
    mine.append(LABELS)
    for name in [*mine, REPORT, ".notes.7.part"]:
        write(project / name)
    for name in kept:
        shutil.copy(full_run / name, project)
    delete_run(find_run(tmp_path, str(project)))
    assert list_files(project) == sorted([*mine, REPORT, ".notes.7.part"])
    assert (full_run / DATABASE).exists()


def test_a_run_goes_whole_and_leaves_others(full_run):
    """A database that was copied into the folder of all runs is removed alone."""
    assert list_foreign_files(full_run) == []
    shutil.copy(full_run / DATABASE, full_run.parent)
    delete_run(full_run.parent)
    assert [path.name for path in full_run.parent.iterdir()] == ["run"]
    assert find_damage(full_run) == []
    delete_run(full_run)
    assert list(full_run.parent.iterdir()) == []


def test_a_folder_without_a_run_is_not_removed(tmp_path):
    """A database of another program has that name by chance."""
    for name in NAMES:
        write(tmp_path / name)
    with pytest.raises(StoreError, match="nothing was removed"):
        delete_run(tmp_path)
    assert len(list_files(tmp_path)) == len(NAMES)


@pytest.mark.parametrize("text", [".", "sub/.."])
def test_a_run_is_removed_by_any_path_but_a_link(full_run, monkeypatch, text):
    """The folder that the path means goes, and no other."""
    other = shutil.copytree(full_run, full_run.with_name("other"))
    (full_run.parent / "link").symlink_to(full_run)
    with pytest.raises(StoreError, match="not followed"):
        delete_run(full_run.parent / "link")
    monkeypatch.chdir(full_run)
    if text == "sub/..":
        (full_run / "sub").mkdir()
    delete_run(Path(text))
    left = [] if text != "sub/.." else ["sub"]
    assert [path.name for path in full_run.parent.glob("run/*")] == left
    assert find_damage(other) == []


def test_a_damaged_run_is_removed(full_run):
    """Its owner's note marks it as one; copies that nothing names any more stay."""
    (full_run / DATABASE).write_bytes(b"")
    delete_run(full_run)
    assert list_files(full_run) == sorted(name for name in OWN if name.startswith(COLUMN_FOLDER))


@pytest.mark.parametrize("steps", [0, 5, 8])
def test_a_removal_that_is_killed_is_swept(full_run, monkeypatch, steps):
    """Whatever file it had come to: by the next run that begins, or the same command again."""
    RunStore.create(full_run.parent, "other", HEADER).close()
    unlink, left = Path.unlink, iter(range(steps))

    def unlink_some(path, missing_ok=False):
        if next(left, None) is None:
            raise KeyboardInterrupt
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink_some)
    with pytest.raises(KeyboardInterrupt):
        delete_run(full_run)
    monkeypatch.undo()
    assert len(list(full_run.parent.iterdir())) == 2
    if steps % 2:
        RunStore.create(full_run.parent, "next", HEADER).close()
    else:
        assert main(["runs", "delete", "run", "--runs", str(full_run.parent), "--yes"]) == 4
    assert [path.name for path in full_run.parent.iterdir() if path.name[0] == "."] == []


def test_drafts_of_runs_never_begun_are_swept(tmp_path):
    """One without an owner goes at once, with a note; an owned and a foreign one stay."""
    begin_draft(tmp_path, "killed")[1].release()
    owned, lock = begin_draft(tmp_path, "owned")
    for name in (".new-foreign-0a1b2c", ".other"):
        (tmp_path / name).mkdir()
        OwnerLock.acquire(tmp_path / name).release()
    with RunStore.create(tmp_path, "run", HEADER) as store:
        assert store.warnings == ("removed what 1 interrupted starts of runs had left",)
    lock.release()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".new-foreign-0a1b2c", ".other", owned.name, "run"}


def test_a_folder_of_a_person_is_no_draft(tmp_path):
    """Named like one, also with files of a run in it, it stays."""
    runs = tmp_path / "runs"
    mine, more, sub = (runs / name_draft(name) for name in ("mine", "more", "sub"))
    for folder in (mine, more, sub, runs / ".new-x-0a1b2c"):
        write(folder / "notes.txt")
    OwnerLock.acquire(more).release()
    (sub / "columns").mkdir()
    before = list_files(runs)
    with RunStore.create(runs, "run", HEADER) as store:
        assert store.warnings == ()
    assert set(before) <= set(list_files(runs))
