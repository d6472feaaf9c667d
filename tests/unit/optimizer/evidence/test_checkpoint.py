"""Rows of evidence are found by their settings and their number, in whatever order they came."""

from dataclasses import replace

from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.null import NullSearch, NullSettings
from optimizer.evidence.schedule import NullScheduleSettings
from optimizer.store import RunStore
from tests.support.recording import HEADER, make_generation

SCHEDULE = NullScheduleSettings("30d", "182d", 96, False, "strength", "day", "shuffled")


def test_rows_are_known_by_their_settings_and_their_number(tmp_path):
    """Those of another kind or rhythm are not; of equal numbers the newest counts."""
    settings = NullSettings("day", "shuffled")
    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
        store.finish({"front": []})
        rows = Checkpoint(store, settings, NullSearch)
        for number, strength in ((2, 1.0), (1, 2.0), (2, 3.0)):
            rows.add(NullSearch(number, 4, strength))
        store.flush()
        known = {1: NullSearch(1, 4, 2.0), 2: NullSearch(2, 4, 3.0)}
        assert rows.known == Checkpoint(store, settings, NullSearch).known == known
        for other in (replace(settings, kind="mirrored"), replace(settings, null_keep="week"),
                      SCHEDULE):  # fmt: skip
            assert Checkpoint(store, other, NullSearch).known == {}
