"""Looks at held-out bars are counted wherever a run goes, by all that is known of them."""

import json
import shutil
from pathlib import Path
from threading import Thread

import pytest

from optimizer.errors import ConfigError, StoreError
from optimizer.evidence import holdout
from optimizer.evidence.holdout import LOOKS, list_bar_ranges, record_looks
from optimizer.evidence.judgement import read_judgement
from optimizer.evidence.out_of_sample import measure_out_of_sample
from optimizer.evidence.statistic import Around
from optimizer.run.purposes import JUDGE, restore_task
from optimizer.store import RunStore
from optimizer.store.result import WindowDescription, load_result
from optimizer.verify import check_run
from tests.support.evidence import make_planted_market
from tests.support.judging import judge_briefly, recorded_run, trade_recorded_steps


@pytest.fixture
def path(recordings, tmp_path, monkeypatch):
    """A run with a fifth held out, in a folder of its own."""
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    recordings.copy("held out")
    (path,) = Path("runs").resolve().glob("*-*-*")
    return path


def count(path, **plan):
    """Looks after one more."""
    return judge_briefly(path, is_open=True, **plan).held_out.looks


def read_result(path):
    """The result of a run."""
    with RunStore.open(path) as store:
        return load_result(store)


def test_fronts_that_saw_a_bar_are_counted(path):
    """The same front is no new look; neither is one of another symbol or of later bars."""
    assert count(path) == 1
    looks = path.parent / LOOKS
    (look,) = json.loads(looks.read_text())
    elsewhere = [{**bars, "symbol": "OTHER"} for bars in look["bars"]]
    later = [{**bars, "first": "2999", "last": "3000"} for bars in look["bars"]]
    looks.write_text(json.dumps([{"front": "x", "bars": elsewhere}, {"front": "y", "bars": later}]))
    assert count(path) == 1
    looks.write_text(json.dumps([look, {**look, "front": "another"}]))
    assert count(path) == 2


@pytest.mark.parametrize("is_first", [True, False], ids=["first look", "another one since"])
def test_a_copy_counts_the_looks_that_it_knows(path, tmp_path, is_first):
    """Into a folder without a list of looks, a run brings those that were counted before."""
    looks = path.parent / LOOKS
    if not is_first:
        count(path)
    bars = list_bar_ranges(part for part in read_result(path).data.windows if part.is_held_out)
    bars = [part.payload() for part in bars]
    looks.write_text(json.dumps([{"content": "", "bars": bars, "front": "another"}]))
    assert count(path) == 2
    copy = shutil.copytree(path, tmp_path / "elsewhere" / "copy")
    assert count(copy) == 2
    listed = json.loads((copy.parent / LOOKS).read_text())
    assert {part["front"] for part in listed} == {"another", read_result(path).front_hash}
    looks.unlink()
    assert count(path) == 2


@pytest.mark.parametrize("text", ["[", '[{"front": "a", "bars": 5}]', "{}", "[]" + 1000 * " "])
def test_a_list_that_is_none_of_looks_is_refused(path, text, monkeypatch):
    """A folder of runs from elsewhere brings its list as well, of any size."""
    monkeypatch.setattr(holdout, "LARGEST_BYTES", 1000)
    (path.parent / LOOKS).write_text(text)
    with pytest.raises(StoreError, match=r"looks\.json"):
        count(path)


def test_who_is_named_after_a_look_is_not_confirmed_by_it(path):
    """Of the same front on the same bars, whichever copy was looked at first."""
    copy = shutil.copytree(path, path.parent / "copy")
    first = judge_briefly(copy, is_open=True)
    other = (first.pick.member + 1) % len(read_result(path).front)
    assert other != first.pick.member
    for gone in (False, True):
        if gone:
            shutil.rmtree(copy)
        with pytest.raises(ConfigError, match=f"member {first.pick.member} as the pick"):
            count(path, pick=other)
    assert judge_briefly(path, pick=other).held_out is None
    assert judge_briefly(path, is_open=True).held_out == first.held_out


def test_two_who_look_at_once_are_both_counted(tmp_path, monkeypatch):
    """A look that comes while another is written down waits, and none takes the other's place."""
    window = WindowDescription(
        symbol="X", sample="held_out", start=0, end=9, first="2020", last="2021", bars=9
    )
    counts, read = [], holdout._read_looks

    def look(front):
        counts.append(record_looks(tmp_path, [window], "content", {front: set()}))

    second = Thread(target=look, args=["second"])

    def read_while_another_looks(path):
        noted = read(path)
        if not second.ident:
            second.start()
            second.join(0.2)
        return noted

    monkeypatch.setattr(holdout, "_read_looks", read_while_another_looks)
    look("first")
    second.join()
    assert sorted(map(sorted, counts), key=len) == [["first"], ["first", "second"]]
    noted = json.loads((tmp_path / LOOKS).read_text())
    assert sorted(entry["front"] for entry in noted) == ["first", "second"]


def test_a_schedule_goes_on_over_held_out_bars(tmp_path):
    """The trades there are those of one ledger over all steps, in one look that is verified."""
    plan = {"every": "10d", "train": "30d", "purge": 0, "resamples": 19, "causal": False}
    path = recorded_run(tmp_path, make_planted_market(7, 2400, 8), polish=8, holdout="30%")
    before = judge_briefly(path, **plan)
    assert before.held_out is None
    opened = judge_briefly(path, is_open=True, **plan)
    with RunStore.open(path) as store:
        rows = [row for name, row in store.evidence if name == "schedule"]
        task = restore_task(store, JUDGE, {})
        assert read_judgement(store).held_out == opened.held_out
        assert check_run(store, {}, 2).problems == ()
    ledger, borders = trade_recorded_steps(path, task, task.markets.series[0], "10d", "30d")
    assert len(rows) == len(borders) > len(before.schedule.rows)
    (held_out,) = task.markets.held_out
    inside = ledger.keep(ledger.signal_bar >= held_out.start)
    expected = measure_out_of_sample([inside], task.markets.series, [held_out])
    record = opened.held_out
    assert (record.by_steps, record.looks) == (True, 1)
    assert (record.trades, record.mean_r) == (expected.trades, expected.mean_r.value)
    assert record.trades > 3
    assert opened.schedule == before.schedule
    assert judge_briefly(path, is_open=True, **plan).held_out == record
    with RunStore.open(path) as store:
        # All steps were recorded: to open them again searched nothing.
        assert [row for name, row in store.evidence if name == "schedule"] == rows
    (row,) = record.list_rows(Around())
    assert row.sentence.startswith("The schedule goes on")
