"""Classes that are kept: compared with those of the same question, never trusted or too many."""

from dataclasses import replace

import pytest

from optimizer.trend_scan import history as memory_module
from optimizer.trend_scan.history import build_key
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
