"""What a kill leaves behind at each step of writing: the files as they are just then."""

import shutil
from contextlib import suppress

import pytest

from optimizer.store import RunStore
from optimizer.store import writer as writer_module
from optimizer.store.lock import OWNER, OwnerLock
from tests.support.recording import (
    HEADER,
    assert_same_generation,
    assert_sound,
    make_generation,
)

pytestmark = pytest.mark.slow

RUN = "run-1"
GENERATIONS = 6


class Camera:
    """Copies a run's files at every step of its writer.

    Args:
        run: Directory of the run.
        album: Where copies are put.
        monkeypatch: Pytest's.
    """

    def __init__(self, run, album, monkeypatch):
        self.safe = -1
        self.shots = []
        self._run = run
        self._album = album
        open_writer, note = writer_module.open_writer, OwnerLock.note

        def trace_call(path, journal):
            connection = open_writer(path, journal)
            connection.set_trace_callback(self.shoot)
            return connection

        def note_commit(lock, committed, **more):
            self.shoot()
            note(lock, committed, **more)
            self.shoot()

        monkeypatch.setattr(writer_module, "open_writer", trace_call)
        monkeypatch.setattr(OwnerLock, "note", note_commit)

    def shoot(self, _statement=""):
        """Copy all files, and remember what had been acknowledged."""
        place = self._album / str(len(self.shots)) / RUN
        place.mkdir(parents=True)
        # The owner's note first: it may be older than the rows, never newer.
        for name in [OWNER, *(p.name for p in self._run.iterdir() if p.name != OWNER)]:
            with suppress(FileNotFoundError):
                shutil.copyfile(self._run / name, place / name)
        self.shots.append((place, self.safe))


@pytest.mark.parametrize("journal", ["wal", "delete"])
@pytest.mark.parametrize(
    "options",
    [{}, {"keep": "front"}, {"keep": "last"}, {"budget": 1500}],
    ids=["all", "front", "last", "budget"],
)
def test_a_kill_at_any_step_of_writing_loses_nothing(tmp_path, monkeypatch, options, journal):
    """Each copy opens with all that was acknowledged, and goes on to the same end."""
    with monkeypatch.context() as patched:
        camera = Camera(tmp_path / RUN, tmp_path / "album", patched)
        with RunStore.create(tmp_path, RUN, HEADER, journal=journal, **options) as store:
            for number in range(GENERATIONS):
                store.record(make_generation(number))
                store.flush()
                camera.safe = number
            store.finish({"front": []})
    assert len(camera.shots) > 4 * GENERATIONS
    for place, safe in camera.shots:
        with RunStore.open(place, writable=True) as store:
            last = store.last_generation()
            newest = -1 if last is None else last.number
            assert newest >= safe
            if last is not None:
                assert_same_generation(make_generation(newest), last)
            assert store.warnings == ()
            for number in range(newest + 1, GENERATIONS):
                store.record(make_generation(number))
            store.finish({"front": []})
        with RunStore.open(place) as store:
            assert_sound(store, GENERATIONS - 1)
