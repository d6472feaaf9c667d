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

BARS = symbol(length=600)


def read_all(folder):
    """Contents of a folder's files by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_second_scan_and_one_of_the_past_leave_the_file_as_it_is(tmp_path):
    """The same rows again, and none is compared with a later one."""
    before = scan_markets(BARS, folder=tmp_path)
    kept = read_all(tmp_path)
    again = scan_markets(BARS, folder=tmp_path)
    assert (again.compared, list_bits(again)) == (1, list_bits(before))
    past = scan_markets(BARS.until(300), folder=tmp_path)
    assert (past.changes, past.compared) == ((), 0)
    assert read_all(tmp_path) == kept


def test_a_corrected_bar_is_noted_once(tmp_path):
    """One old close in another last digit."""
    scan_markets(BARS.until(400), folder=tmp_path)
    close = BARS.close.copy()
    close[200] = np.nextafter(close[200], 0.0)
    other = replace(BARS, close=close, low=np.minimum(BARS.low, close)).until(500)
    scan = scan_markets(other, folder=tmp_path)
    (note,) = scan.notes
    assert note.startswith("AAA: ")
    assert (scan.compared, list_bits(scan)) == (1, list_bits(scan_markets(other)))
    assert scan_markets(other, folder=tmp_path).notes == ()


def turn_bit(place):
    """A damage of one bit."""
    return lambda content: content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    "damage",
    [turn_bit(0), turn_bit(40), turn_bit(-2), lambda content: content[:-9], lambda _: b""],
    ids=["hash", "said", "end", "cut", "empty"],
)
def test_a_damaged_file_is_noted_and_kept_anew(damage, tmp_path):
    """No change is seen then."""
    scan_markets(BARS.until(400), folder=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    scan = scan_markets(BARS, folder=tmp_path)
    assert (len(scan.notes), scan.compared) == (1, 0)
    assert "damaged" in scan.notes[0]
    assert scan_markets(BARS, folder=tmp_path).compared == 1


def test_a_file_under_the_name_of_another_is_damaged(tmp_path):
    """It names its key."""
    scan_markets(symbol("ONE"), folder=tmp_path)
    (one,) = tmp_path.iterdir()
    scan_markets(symbol("TWO"), folder=tmp_path)
    (two,) = set(tmp_path.iterdir()) - {one}
    os.replace(one, two)
    (note,) = scan_markets(symbol("TWO"), folder=tmp_path).notes
    assert note.startswith("TWO: ")
    assert "damaged" in note


def test_other_questions_have_classes_of_their_own(tmp_path, monkeypatch):
    """Parameters, form, start, source, timeframe and version decide a file; thresholds do not."""
    scan_markets(symbol(), folder=tmp_path)
    scan_markets(symbol(), folder=tmp_path, question=ScanParams({}, 0.2, -0.2))
    assert len(read_all(tmp_path)) == 1
    for bars, other in (
        (symbol(), {"question": ScanParams({"ema_len": 27})}),
        (symbol(), {"question": ScanParams({}, is_script=True)}),
        (symbol(), {"start": "1970-01-02"}),
        (replace(symbol(), source="csv:other"), {}),
        (replace(symbol(), timeframe_ns=60 * 10**9), {}),
    ):
        assert scan_markets(bars, folder=tmp_path, **other).compared == 0
    assert len(read_all(tmp_path)) == 6
    before = build_key(DEFAULTS.kind.name, DEFAULTS.parameters)
    monkeypatch.setattr(memory_module, "VERSION", memory_module.VERSION + 1)
    assert build_key(DEFAULTS.kind.name, DEFAULTS.parameters) != before


def test_a_change_since_the_last_scan_has_both_classes_and_times(tmp_path):
    """By the same thresholds alone; bars before 1970, whose times are below zero, too."""
    bars = replace(symbol(), timestamp=symbol().timestamp - 10**18)
    now = scan_markets(bars, history=2).symbols[0]
    first = scan_markets(bars.until(now.since_bar), folder=tmp_path)
    assert (first.changes, first.compared) == ((), 0)
    wide = ScanParams({}, 1.0, -1.0)
    assert scan_markets(bars, folder=tmp_path, question=wide).compared == 0
    (change,) = scan_markets(bars, folder=tmp_path).changes
    assert (change.symbol, change.was, change.now) == ("AAA", now.history[0].class_, now.class_)
    assert (change.was_at, change.since) == (first.symbols[0].last, now.since)
    again = scan_markets(bars, folder=tmp_path)
    assert (again.changes, again.compared) == ((), 1)


def test_the_oldest_thresholds_and_files_are_forgotten(tmp_path, monkeypatch):
    """Files of former versions count as used longest ago; drafts of who was killed go too."""
    fields = {}
    for number in [0, *range(memory_module.MOST_TOLD), 0]:
        fields = with_told(fields, f"{number}", ("long", number))
    assert list(fields) == [*map(str, range(1, memory_module.MOST_TOLD)), "0"]
    (tmp_path / "former.trend").write_bytes(bytes(100_000))
    os.utime(tmp_path / "former.trend", (0, 0))
    (tmp_path / name_draft("one.trend")).write_text("")
    monkeypatch.setattr(memory_module, "MOST_BYTES", 50_000)
    scan_markets(symbol(), folder=tmp_path)
    (content,) = read_all(tmp_path).values()
    assert len(content) < 1000


def test_symbols_share_a_note_and_a_folder_that_cannot_be_written_has_one(tmp_path):
    """The first five by name, then how many more; without a folder the scan goes on."""
    series = [symbol(f"S{number}", 60, number) for number in range(8)]
    scan_markets(*series, folder=tmp_path / "kept")
    for path in (tmp_path / "kept").iterdir():
        path.write_bytes(b"")
    (note,) = scan_markets(*series, folder=tmp_path / "kept").notes
    assert note.startswith("S0, S1, S2, S3, S4 and 3 more: ")
    (tmp_path / "file").write_text("")
    scan = scan_markets(*series, folder=tmp_path / "file" / "trends")
    assert (len(scan.notes), len(scan.symbols)) == (1, 8)
