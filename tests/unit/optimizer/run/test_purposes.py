"""Bars, code and limits of a record, by the purpose for which its task is restored."""

from contextlib import suppress

import pytest

from optimizer.errors import ConfigError, StoreError
from optimizer.run import record as record_module
from optimizer.run.purposes import (
    COMBINE,
    JUDGE,
    REPLAY,
    RESUME,
    SHOW,
    SIGNAL,
    VERIFY,
    restore_task,
)
from optimizer.store import RunStore
from optimizer.store.caveats import OPENED
from optimizer.store.listing import list_run_folders
from tests.support.commands import write_market

pytestmark = pytest.mark.usefixtures("begun_here")

PURPOSES = {
    "judge": JUDGE, "verify": VERIFY, "show": SHOW, "combine": COMBINE, "replay": REPLAY,
    "signal": SIGNAL, "resume": RESUME,
}  # fmt: skip
CHEAP = {"fee_bp": 1.0}
OTHERS = {"data": "csv:other/bars.csv"}


@pytest.fixture
def run(recordings, tmp_path, monkeypatch):
    """A copy of a run that held out a fifth of 3,000 bars, beside another market."""
    monkeypatch.chdir(tmp_path)
    recordings.copy("held out")
    (tmp_path / "other").mkdir()
    write_market(tmp_path / "other" / "bars.csv", 3000, seed=5)
    (path,) = list_run_folders(tmp_path / "runs")
    return path


def list_windows(run, purpose, flags):
    """Role and length of each window of the restored task."""
    with RunStore.open(run) as store:
        task = restore_task(store, purpose, flags)
    return [(window.role, len(window)) for window in task.markets.all_windows]


SEARCHED, HELD_OUT, WHOLE = ("search", 2400), ("held_out", 600), ("search", 3000)


@pytest.mark.parametrize(
    ("name", "flags", "closed", "opened"),
    [
        ("judge", {}, [SEARCHED, HELD_OUT], [SEARCHED, HELD_OUT]),
        ("resume", {}, [SEARCHED, HELD_OUT], [SEARCHED, HELD_OUT]),
        ("verify", {}, [SEARCHED], [SEARCHED]),
        ("combine", {}, [SEARCHED], [SEARCHED]),
        ("show", {}, [SEARCHED], [SEARCHED, HELD_OUT]),
        ("replay", {}, [SEARCHED], [SEARCHED, HELD_OUT]),
        ("replay", CHEAP, [SEARCHED], [SEARCHED, HELD_OUT]),
        ("replay", OTHERS, None, [WHOLE]),
        ("signal", {}, [WHOLE], [WHOLE]),
        ("signal", OTHERS, [WHOLE], [WHOLE]),
    ],
    ids=str,
)
def test_a_purpose_has_bars_of_its_own(run, name, flags, closed, opened):
    """Held-out ones once they were opened, always or never; other bars of the same times never."""
    if closed is None:
        with pytest.raises(ConfigError, match="nobody has opened them"):
            list_windows(run, PURPOSES[name], flags)
    else:
        assert list_windows(run, PURPOSES[name], flags) == closed
    with RunStore.open(run, writable=True) as store:
        store.add_evidence(OPENED, {})
        store.flush()
    assert list_windows(run, PURPOSES[name], flags) == opened


def is_refused(run, purpose, flags):
    """Whether members would not be judged as they were."""
    with RunStore.open(run) as store, suppress(StoreError):
        restore_task(store, purpose, flags)
        return False
    return True


@pytest.mark.parametrize(
    ("flags", "free"),
    [
        (CHEAP, {"replay"}),
        (OTHERS, {"signal"}),
        ({"holdout": "10%"}, {"signal"}),
        ({"seed": 3, "population": 12}, {"judge", "verify", "show", "combine", "replay", "signal"}),
        ({"min_trades": 7}, set()),
    ],
    ids=lambda value: str(sorted(value)),
)
def test_a_purpose_asks_that_its_parts_are_as_recorded(run, flags, free):
    """Costs, bars, windows, the search and goals; what goes on is compared with its start."""
    asked = {name: PURPOSES[name] for name in PURPOSES if name != "resume"}
    if flags.keys() & {"data", "holdout"}:
        # Bars that were held out are refused first.
        del asked["replay"]
    assert {name for name in asked if not is_refused(run, asked[name], flags)} == free


def test_another_law_is_refused_by_all(run, monkeypatch):
    """Whatever the purpose: equal genes would trade otherwise."""
    monkeypatch.setattr(record_module, "ENGINE_VERSION", record_module.ENGINE_VERSION + 1)
    others = (purpose for name, purpose in PURPOSES.items() if name != "resume")
    assert all(is_refused(run, purpose, {}) for purpose in others)
    assert is_refused(run, REPLAY, CHEAP)


def test_a_search_goes_on_to_the_generations_it_was_last_asked_for(run):
    """Every other purpose has those that the run began with."""
    with RunStore.open(run, writable=True) as store:
        began = restore_task(store, JUDGE, {}).config.generations
        store.note_resumption((), began + 5)
        assert restore_task(store, RESUME, {}).config.generations == began + 5
        assert restore_task(store, JUDGE, {}).config.generations == began
