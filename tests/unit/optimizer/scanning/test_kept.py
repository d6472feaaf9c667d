"""Rows that are kept: gone on from in the same bits, never trusted, never too many."""

import os
import time
from dataclasses import replace

import numpy as np
import pytest

from engine.trends import TrendState
from optimizer.scanning import kept as kept_module
from optimizer.scanning import memory as memory_module
from optimizer.scanning import scan as scan_module
from optimizer.scanning.kept import DamagedError, KeptTrend, KeptTrends, build_row_key, with_told
from optimizer.scanning.question import Question
from tests.support.kill import child, child_keep, kill_after
from tests.support.scanning import DEFAULTS, bits_of, scanned, symbol

BARS = symbol(length=2000)


def kept_trend(bars=5, told=None):
    """A kept row of any content."""
    row = np.linspace(-1.0, 1.0, bars)
    row[:1] = np.nan
    votes = np.arange(6 * bars, dtype=np.int8).reshape(6, bars)
    state = TrendState(bars, np.array([1.0, np.nan, -0.0]))
    return KeptTrend("closes", 10**18, row, votes, state, told or {"0.1 -0.1": ("long", 7)})


@pytest.fixture
def asked(monkeypatch):
    """Begin and end of what the engine was asked to compute."""
    calls, right = [], scan_module.trends

    def trends(closes, *args, states, **kwargs):
        begun = [0 if state is None else state.bars for state in states]
        calls.extend(zip(begun, map(len, closes), strict=True))
        return right(closes, *args, states=states, **kwargs)

    monkeypatch.setattr(scan_module, "trends", trends)
    return calls


@pytest.mark.parametrize("more", [1, 10, 1000])
def test_new_bars_cost_what_they_add(more, asked, tmp_path):
    """Only they are computed, and all bits are those of a scan from nothing."""
    scanned(BARS.until(1000), folder=tmp_path)
    found = scanned(BARS.until(1000 + more), folder=tmp_path, is_all_replayed=True)
    assert asked == [(0, 1000), (1000, 1000 + more)]
    assert bits_of(found) == bits_of(scanned(BARS.until(1000 + more)))
    assert (found.went_on, found.compared, found.notes) == (1, 1, ())


def test_bars_one_by_one_lead_to_the_same_bits(asked, tmp_path):
    """Through every split of the last bars."""
    for bars in range(390, 401):
        found = scanned(symbol().until(bars), folder=tmp_path)
    assert asked[1:] == [(bars - 1, bars) for bars in range(391, 401)]
    assert bits_of(found) == bits_of(scanned(symbol()))


def test_without_new_bars_nothing_is_computed(asked, tmp_path):
    """The same row again, and the file stays as it is."""
    before = scanned(BARS, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    again = scanned(BARS, folder=tmp_path)
    assert asked == [(0, 2000)]
    assert bits_of(again) == bits_of(before)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]


def test_a_corrected_bar_is_noticed(asked, tmp_path):
    """One old close in another last digit: computed from nothing, and said."""
    scanned(BARS.until(1000), folder=tmp_path)
    close = BARS.close.copy()
    close[400] = np.nextafter(close[400], 0.0)
    other = replace(BARS, close=close, low=np.minimum(BARS.low, close)).until(1100)
    found = scanned(other, folder=tmp_path)
    assert asked == [(0, 1000), (0, 1100)]
    (note,) = found.notes
    assert note.startswith("AAA: bars up to 1970-01-11T")
    assert note.endswith("are not those of the last scan, computed from nothing")
    assert bits_of(found) == bits_of(scanned(other))
    assert scanned(other, folder=tmp_path).notes == ()


@pytest.mark.parametrize("place", [0, 40, 100, -1, None], ids=["hash", "said", "row", "end", "cut"])
def test_a_damaged_file_is_noticed(place, tmp_path):
    """One bit anywhere, or a part missing: computed from nothing, said, and kept anew."""
    scanned(BARS.until(1000), folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    if place is None:
        content = content[:-9]
    else:
        content[place] ^= 1
    path.write_bytes(content)
    found = scanned(BARS, folder=tmp_path)
    assert found.notes == ("AAA: the row that was kept is damaged, computed from nothing",)
    assert (found.went_on, bits_of(found)) == (0, bits_of(scanned(BARS)))
    assert scanned(BARS, folder=tmp_path).went_on == 1


def test_a_file_under_the_name_of_another_is_noticed(tmp_path):
    """Its name is part of its hash."""
    store = KeptTrends(tmp_path)
    store.write("one", kept_trend())
    os.rename(tmp_path / "one.trend", tmp_path / "other.trend")
    with pytest.raises(DamagedError):
        store.read("other")


def test_a_kept_row_reads_back_in_every_bit(tmp_path):
    """Unknown values, signs of zeros and what was told among them; what is not there is None."""
    store, kept = KeptTrends(tmp_path / "new"), kept_trend()
    store.write("one", kept)
    found = store.read("one")
    assert store.read("other") is None
    for name in ("row", "votes"):
        assert getattr(found, name).tobytes() == getattr(kept, name).tobytes()
    assert found.state.values.tobytes() == kept.state.values.tobytes()
    assert (found.state.bars, found.votes.shape) == (5, (6, 5))
    assert (found.closes, found.last_ns, found.told) == (kept.closes, kept.last_ns, kept.told)


def test_other_questions_have_rows_of_their_own(asked, tmp_path):
    """Parameters, form, source, timeframe and a later start each decide a row; thresholds not."""
    scanned(symbol(), folder=tmp_path)
    scanned(symbol(), folder=tmp_path, question=Question({}, 0.2, -0.2))
    assert asked == [(0, 400)]
    others = [
        {"question": Question({"ema_len": 27})},
        {"question": Question({}, is_script=True)},
        {"start": "1970-01-02"},
    ]
    for other in others:
        scanned(symbol(), folder=tmp_path, **other)
    scanned(replace(symbol(), source="csv:other"), folder=tmp_path)
    scanned(replace(symbol(), timeframe_ns=60 * 10**9), folder=tmp_path)
    assert [begun for begun, _ in asked] == [0] * 6
    assert len(list(tmp_path.iterdir())) == 6


def test_what_changed_since_the_last_scan_is_said(tmp_path):
    """Both classes and times, by the same thresholds alone."""
    (run,) = scanned(symbol(), history=2).symbols[0].history[:1]
    now = scanned(symbol()).symbols[0]
    before = now.since_bar - 1
    first = scanned(symbol().until(before + 1), folder=tmp_path)
    assert (first.changes, first.compared) == ((), 0)
    wide = Question({}, 1.0, -1.0)
    assert scanned(symbol(), folder=tmp_path, question=wide).compared == 0
    found = scanned(symbol(), folder=tmp_path)
    (change,) = found.changes
    assert (change.symbol, change.was, change.now) == ("AAA", run.class_, now.class_)
    assert (change.was_at, change.since) == (first.symbols[0].last, now.since)
    again = scanned(symbol(), folder=tmp_path)
    assert (again.changes, again.compared) == ((), 1)


def test_a_look_into_the_past_changes_nothing_that_is_kept(tmp_path):
    """The row of today stays, and no class is compared with a later one."""
    scanned(BARS, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    found = scanned(BARS.until(900), folder=tmp_path)
    assert (found.changes, found.compared, found.went_on) == ((), 0, 0)
    assert path.read_bytes() == content


def test_thresholds_beyond_a_few_are_forgotten():
    """The oldest first; what is said again is the newest."""
    told = {}
    for number in [0, *range(kept_module.MOST_TOLD), 0]:
        told = with_told(told, f"{number}", ("long", number))
    assert list(told) == [*map(str, range(1, kept_module.MOST_TOLD)), "0"]
    assert "1" not in with_told(told, "new", ("long", 1))


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    """The scan goes on without; it is said once."""
    (tmp_path / "file").write_text("")
    found = scanned(symbol("A"), symbol("B", seed=2), folder=tmp_path / "file" / "trends")
    (note,) = found.notes
    assert note.startswith("rows cannot be ")
    assert note.endswith(", none are kept")
    assert len(found.symbols) == 2


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    """The old file, and no draft."""
    store = KeptTrends(tmp_path)
    store.write("one", kept_trend())
    monkeypatch.setattr(os, "replace", lambda *args: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        store.write("one", kept_trend(9))
    assert [path.name for path in tmp_path.iterdir()] == ["one.trend"]
    assert store.read("one").state.bars == 5


def test_what_was_used_longest_ago_is_let_go(tmp_path):
    """Down to the bytes that are allowed; drafts of who was killed go once they are old."""
    store = KeptTrends(tmp_path)
    for number in range(4):
        store.write(f"{number}", kept_trend())
        os.utime(tmp_path / f"{number}.trend", (number, number))
    store.read("0")
    size = (tmp_path / "0.trend").stat().st_size
    (tmp_path / "old.part").write_text("")
    (tmp_path / "new.part").write_text("")
    os.utime(tmp_path / "old.part", (0, time.time() - kept_module.STALE_S - 1))
    store.tidy(2 * size)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.trend", "3.trend", "new.part"]


def test_many_symbols_share_a_note(tmp_path):
    """The first of them by name, then how many more."""
    series = [symbol(f"S{number}", 60, number) for number in range(8)]
    scanned(*series, folder=tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
    (note,) = scanned(*series, folder=tmp_path).notes
    assert note.startswith("S0, S1, S2, S3, S4 and 3 more: ")
    assert memory_module.MOST_NAMED == 5


def test_a_key_names_its_version(monkeypatch):
    """Another version does not find what this one kept."""
    before = build_row_key(DEFAULTS.kind.name, DEFAULTS.parameters)
    monkeypatch.setattr(kept_module, "VERSION", kept_module.VERSION + 1)
    assert build_row_key(DEFAULTS.kind.name, DEFAULTS.parameters) != before


@pytest.mark.slow
def test_kill_while_keeping_leaves_whole_files(tmp_path, kills):
    """Two processes write the same names; whoever is killed, each file is one that was written."""
    store = KeptTrends(tmp_path)
    for number in range(kills):
        with child(child_keep, tmp_path) as other, child(child_keep, tmp_path) as process:
            assert other.stdout.readline()
            kill_after(process, 1, 0.05 * (number + 1))
        for key in ("one", "two"):
            found = store.read(key)
            assert len(found.row) == found.votes.shape[1] == found.state.bars
    for draft in tmp_path.glob("*.part"):
        os.utime(draft, (0, 0))
    store.tidy()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.trend", "two.trend"]
