"""Rows that an interrupted judge left: found by their settings, and said with the flags."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.folds import FoldSettings, PathSettings, PathsRecord
from optimizer.evidence.holdout import LookSettings
from optimizer.evidence.judgement import QUESTIONS, list_unstated
from optimizer.evidence.null import NullRecord, NullSearch, NullSettings
from optimizer.evidence.schedule import NullScheduleSettings, StepSettings
from optimizer.store import RunStore
from tests.support.judged import judgement, null_kind
from tests.support.recording import HEADER, make_generation

FOLDS = FoldSettings(2, 3, 4, anchored=False)
STEPS = StepSettings("30d", "182d", 96, anchored=False, pick_by="strength")
NEAR = replace(STEPS, pick_by="near")
KEEP = replace(STEPS, pick_by="keep")
STEP_SETTINGS, KEEP_SETTINGS = vars(STEPS).values(), vars(KEEP).values()
NULL = NullRecord(199, "day", replace(null_kind(0), run=50))
JUDGED = replace(
    judgement(), null=NULL, cpcv=PathsRecord(6, (), None, None, None),
    schedule=SimpleNamespace(settings=KEEP, null=NULL),
)  # fmt: skip
DATES = "--every 30d --train 182d --purge 96"

LEFT = [
    (NullSettings("day", "shuffled"), 51, "51 searches on shuffled bars",
     "--null-keep day --null 199"),
    (NullSettings("week", "shuffled"), 1, "1 search on shuffled bars",
     "--null-keep week --null 199"),
    (replace(FOLDS, anchored=True), 1, "1 fold", "--folds 2 --train 3 --purge 4 --anchored"),
    (replace(FOLDS, purge=5), 2, "2 folds", "--folds 2 --train 3 --purge 5"),
    (PathSettings("5,1", 4, 8), 3, "3 combinatorial splits", "--cpcv 5,1 --purge 4 --embargo 8"),
    (NEAR, 2, "2 steps", f"{DATES} --pick-by near"),
    (replace(STEPS, anchored=True), 1, "1 step", f"{DATES} --anchored --pick-by strength"),
    (NullScheduleSettings(*KEEP_SETTINGS, "day", "shuffled"), 51, "51 schedules on shuffled bars",
     f"{DATES} --pick-by keep --null-keep day --null 199"),
    (NullScheduleSettings(*STEP_SETTINGS, "day", "mirrored"), 1, "1 schedule on mirrored bars",
     f"{DATES} --pick-by strength --null-keep day --null 199"),
    (LookSettings(), 1, "1 look at held-out bars", "--open"),
]  # fmt: skip

STATED = [
    (NullSettings("day", "shuffled"), 50),
    (NullSettings("day", "mirrored"), 1),
    (FOLDS, 2),
    (PathSettings("4,2", 4, 8), 6),
    (STEPS, 5),
    (NullScheduleSettings(*KEEP_SETTINGS, "day", "shuffled"), 50),
]


def list_rows(settings, count):
    """So many rows as they are recorded, with names in order."""
    recorded = dict(sorted(settings.payload().items()))
    return [(settings.question, {"settings": recorded, "number": k + 1}) for k in range(count)]


@pytest.mark.parametrize(("settings", "count", "words", "flags"), LEFT)
def test_rows_that_no_judgement_states_are_said_with_the_flags_that_go_on(
    settings, count, words, flags
):
    """Those of other settings than the judged ones, and those beyond the number that counted."""
    rows = [("judgement", {}), *list_rows(settings, count)]
    assert list_unstated(rows, [JUDGED]) == list_unstated(rows, []) == [(words, flags)]


def test_rows_that_a_judgement_states_are_not_said():
    """Each question asks its own part; what is left is said in the order of its beginning."""
    stated = [row for settings, count in STATED for row in list_rows(settings, count)]
    assert list_unstated(stated, [JUDGED]) == []
    names = [QUESTIONS[settings.question] for settings, _ in STATED]
    assert [*dict.fromkeys(names), LookSettings] == [*QUESTIONS.values()]
    opened = replace(JUDGED, held_out=SimpleNamespace())
    assert list_unstated(list_rows(LookSettings(), 1), [JUDGED, opened]) == []
    left = list_unstated([*list_rows(NEAR, 1), *stated, *list_rows(FOLDS, 1)], [judgement()])
    assert [words for words, _ in left] == [
        "1 step", "6 combinatorial splits", "5 steps", "50 schedules on shuffled bars",
    ]  # fmt: skip


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
                      NullScheduleSettings(*STEP_SETTINGS, "day", "shuffled")):  # fmt: skip
            assert Checkpoint(store, other, NullSearch).known == {}
