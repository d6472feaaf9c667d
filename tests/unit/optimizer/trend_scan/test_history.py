"""Classes that are kept: compared with those of the same question, never trusted or too many."""

import os
from dataclasses import replace

import numpy as np
import pytest

from data.files import name_draft
from optimizer.trend_scan import history as memory_module
from optimizer.trend_scan.history import build_key, with_told
from optimizer.trend_scan.params import ScanParams
from tests.support.scanning import DEFAULTS, list_bits, scan_markets, symbol

BARS = symbol(length=2000)


def test_without_new_bars_the_file_stays_as_it_is(tmp_path):
    """The same rows and classes again."""
    before = scan_markets(BARS, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    again = scan_markets(BARS, folder=tmp_path)
    assert list_bits(again) == list_bits(before)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [content]


def test_a_corrected_bar_is_noticed(tmp_path):
    """One old close in another last digit is noted, once."""
    scan_markets(BARS.until(1000), folder=tmp_path)
    close = BARS.close.copy()
    close[400] = np.nextafter(close[400], 0.0)
    other = replace(BARS, close=close, low=np.minimum(BARS.low, close)).until(1100)
    scan = scan_markets(other, folder=tmp_path)
    (note,) = scan.notes
    assert note.startswith("AAA: bars up to 1970-01-11T")
    assert note.endswith("are not those of the last scan")
    assert (scan.compared, list_bits(scan)) == (1, list_bits(scan_markets(other)))
    assert scan_markets(other, folder=tmp_path).notes == ()


@pytest.mark.parametrize("place", [0, 40, -1, None], ids=["hash", "said", "end", "cut"])
def test_a_damaged_file_is_noticed(place, tmp_path):
    """One bit anywhere, or a part missing: noted, and kept anew."""
    scan_markets(BARS.until(1000), folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    if place is None:
        content = content[:-9]
    else:
        content[place] ^= 1
    path.write_bytes(content)
    scan = scan_markets(BARS, folder=tmp_path)
    assert scan.notes == ("AAA: the class that was kept is damaged, so that no change is seen",)
    assert scan.compared == 0
    assert scan_markets(BARS, folder=tmp_path).compared == 1


def test_a_file_under_the_name_of_another_is_noticed(tmp_path):
    """It names its key."""
    scan_markets(symbol("ONE"), folder=tmp_path)
    (one,) = tmp_path.iterdir()
    scan_markets(symbol("TWO"), folder=tmp_path)
    (two,) = set(tmp_path.iterdir()) - {one}
    os.replace(one, two)
    (note,) = scan_markets(symbol("TWO"), folder=tmp_path).notes
    assert note.startswith("TWO: the class that was kept is damaged")


def test_other_questions_have_classes_of_their_own(tmp_path):
    """Parameters, form, source, timeframe and a later start each decide a file; thresholds not."""
    scan_markets(symbol(), folder=tmp_path)
    scan_markets(symbol(), folder=tmp_path, question=ScanParams({}, 0.2, -0.2))
    assert len(list(tmp_path.iterdir())) == 1
    others = [
        {"question": ScanParams({"ema_len": 27})},
        {"question": ScanParams({}, is_script=True)},
        {"start": "1970-01-02"},
    ]
    for other in others:
        assert scan_markets(symbol(), folder=tmp_path, **other).compared == 0
    for other in ({"source": "csv:other"}, {"timeframe_ns": 60 * 10**9}):
        assert scan_markets(replace(symbol(), **other), folder=tmp_path).compared == 0
    assert len(list(tmp_path.iterdir())) == 6


def test_what_changed_since_the_last_scan_is_said(tmp_path):
    """Both classes and times, by the same thresholds alone."""
    (run,) = scan_markets(symbol(), history=2).symbols[0].history[:1]
    now = scan_markets(symbol()).symbols[0]
    before = now.since_bar - 1
    first = scan_markets(symbol().until(before + 1), folder=tmp_path)
    assert (first.changes, first.compared) == ((), 0)
    wide = ScanParams({}, 1.0, -1.0)
    assert scan_markets(symbol(), folder=tmp_path, question=wide).compared == 0
    scan = scan_markets(symbol(), folder=tmp_path)
    (change,) = scan.changes
    assert (change.symbol, change.was, change.now) == ("AAA", run.class_, now.class_)
    assert (change.was_at, change.since) == (first.symbols[0].last, now.since)
    again = scan_markets(symbol(), folder=tmp_path)
    assert (again.changes, again.compared) == ((), 1)


def test_a_look_into_the_past_changes_nothing_that_is_kept(tmp_path):
    """The class of today stays, and none is compared with a later one."""
    scan_markets(BARS, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    scan = scan_markets(BARS.until(900), folder=tmp_path)
    assert (scan.changes, scan.compared) == ((), 0)
    assert path.read_bytes() == content


def test_bars_before_1970_are_remembered(tmp_path):
    """Their times are below zero."""
    old = replace(symbol(), timestamp=symbol().timestamp - 10**18)
    assert [scan_markets(old, folder=tmp_path).compared for _ in range(2)] == [0, 1]


def test_thresholds_beyond_a_few_are_forgotten():
    """The oldest first; a repeated one is the newest."""
    fields = {}
    for number in [0, *range(memory_module.MOST_TOLD), 0]:
        fields = with_told(fields, f"{number}", ("long", number))
    assert list(fields) == [*map(str, range(1, memory_module.MOST_TOLD)), "0"]
    assert "1" not in with_told(fields, "new", ("long", 1))


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    """The scan goes on without, with one note."""
    (tmp_path / "file").write_text("")
    scan = scan_markets(symbol("A"), symbol("B", seed=2), folder=tmp_path / "file" / "trends")
    (note,) = scan.notes
    assert note.startswith("classes cannot be ")
    assert note.endswith(", none are kept")
    assert len(scan.symbols) == 2


def test_rows_of_former_versions_are_let_go(tmp_path, monkeypatch):
    """They count as what was used longest ago; drafts of who was killed go too."""
    (tmp_path / "former.trend").write_bytes(bytes(100_000))
    os.utime(tmp_path / "former.trend", (0, 0))
    (tmp_path / name_draft("one.trend")).write_text("")
    monkeypatch.setattr(memory_module, "MOST_BYTES", 50_000)
    scan_markets(symbol(), folder=tmp_path)
    (path,) = tmp_path.iterdir()
    assert path.stat().st_size < 1000


def test_many_symbols_share_a_note(tmp_path):
    """The first of them by name, then how many more."""
    series = [symbol(f"S{number}", 60, number) for number in range(8)]
    scan_markets(*series, folder=tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"")
    (note,) = scan_markets(*series, folder=tmp_path).notes
    assert note.startswith("S0, S1, S2, S3, S4 and 3 more: ")
    assert memory_module.MOST_NAMED == 5


def test_a_key_names_its_version(monkeypatch):
    """Another version does not find what this one kept."""
    before = build_key(DEFAULTS.kind.name, DEFAULTS.parameters)
    monkeypatch.setattr(memory_module, "VERSION", memory_module.VERSION + 1)
    assert build_key(DEFAULTS.kind.name, DEFAULTS.parameters) != before
