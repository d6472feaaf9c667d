"""The scan: classes of symbols against a walk that reads like the law, and what is kept."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import LoadOptions, load_bars
from optimizer.errors import ParityError
from optimizer.trend_scan import scan as memory_module
from optimizer.trend_scan import scan as scan_module
from optimizer.trend_scan.result import (
    DIRECTIONS,
    WORDS,
    ScanParams,
    classify_bars,
    find_directions,
    run_starts,
)
from optimizer.trend_scan.scan import Ways, build_key, scan_series
from tests.support.worlds import make_bars

DEFAULTS = ScanParams({})
REAL = ("aapl_1h", "bifiusdt_5m", "btcusdt_1h", "gbpjpy_1h", "spy_1m", "uniusdt_15m")
PIECES = (17, 17, 17, 16, 16, 16)
PIECE_BARS = 1500


def symbol(name="AAA", length=400, seed=1):
    """A small market with a name."""
    return replace(make_bars(seed, length, jump=0.05), symbol=name)


def scan_markets(*series, question=DEFAULTS, **ways):
    """A scan of some series that keeps nothing without a folder."""
    return scan_series(series, question, Ways(**ways))


def real_series(folder):
    """The six real series, exact duplicates dropped, by name."""
    options = LoadOptions(dedupe=True)
    return {name: load_bars(f"parquet:{folder / name}.parquet", options) for name in REAL}


def pieces(folder):
    """The law's 99 symbols: pieces of 1,500 bars, one after the other from bar 0."""
    for (name, bars), count in zip(real_series(folder).items(), PIECES, strict=True):
        for nth in range(count):
            start = PIECE_BARS * nth
            yield bars.cut(start, start + PIECE_BARS, symbol=f"{name}#{nth:02d}")


def list_bits(found):
    """All values of a scan, bit by bit, by symbol."""
    return {
        name: tuple(
            np.asarray(column).tobytes()
            for column in (row.trend, row.votes, row.classes, row.directions)
        )
        for name, row in found.rows.items()
    }


LAW_HASH = "38b2b5ec8db8172173447a08b056ce40550e370e054f3d37f0f6f26cfc1453f2"


def test_the_99_symbols_of_the_law(real_folder):
    """Their rows have the law's hash; all are replayed by the readable definition."""
    scan = scan_markets(*pieces(real_folder), is_all_replayed=True)
    assert scan.counts == {"long": 51, "short": 35, "neutral": 13}
    assert (scan.rows_hash, scan.replayed, scan.bars) == (LAW_HASH, 99, 148_500)


def test_longs_come_first_then_shorts_then_neutral_ones():
    """The strongest first, equal ones by name; no symbol depends on others or on threads."""
    series = [symbol(f"S{seed:02d}", 200 + 20 * seed, seed) for seed in range(12)]
    series += [replace(series[0], symbol="A")]
    question = ScanParams({}, 0.5, -0.5)
    scan = scan_markets(*series, question=question, threads=1)
    told = [(one.class_, one.trend, one.symbol) for one in scan.symbols]
    assert len({class_ for class_, _, _ in told}) == 3
    rank, sign = {"long": 0, "short": 1, "neutral": 2}, {"long": -1, "short": 1, "neutral": -1}
    assert told == sorted(told, key=lambda one: (rank[one[0]], sign[one[0]] * one[1], one[2]))
    together = list_bits(scan)
    assert together["A"] == together["S00"]
    assert together == list_bits(scan_markets(*reversed(series), question=question, threads=2))
    alone = [list_bits(scan_markets(one, question=question)) for one in series]
    assert together == {name: bits for one in alone for name, bits in one.items()}


@pytest.mark.parametrize("missing", [0, 1])
def test_short_series_are_listed_and_have_no_class(missing):
    """Warm-up and two bars are needed, the longest length being 34; below nothing is guessed."""
    bars = 34 - 1 + 5 + 2 - missing
    scan = scan_markets(symbol("SHORT", bars), symbol("LONG"))
    short = [(one.symbol, one.bars, one.needed) for one in scan.too_short]
    assert short == ([("SHORT", bars, 40)] if missing else [])
    assert ("SHORT" in scan.rows) == (not missing)
    assert sum(scan.counts.values()) == 2 - missing


def test_bars_that_count_are_closed_and_between_start_and_end():
    """A bar counts from its end on, and a scan notes one that does not."""
    bars = symbol()
    end_ns = int(bars.timestamp[-1]) + bars.timeframe_ns
    closed, early = scan_markets(bars, now_ns=end_ns), scan_markets(bars, now_ns=end_ns - 1)
    assert (closed.bars, early.bars) == (400, 399)
    assert list_bits(early) == list_bits(scan_markets(bars.until(399)))
    assert (len(early.notes), len(closed.notes)) == (1, 0)
    begin, end = (f"{np.datetime64(int(bars.timestamp[t]), 'ns')}"[:26] for t in (100, 300))
    assert list_bits(scan_markets(bars, end=end)) == list_bits(scan_markets(bars.until(300)))
    later = scan_markets(bars, start=begin, end=end)
    assert list_bits(later) == list_bits(scan_markets(bars.cut(100, 300)))
    assert [one.bars for one in scan_markets(bars, start="2100-01-01").too_short] == [0]


def turn_row(found):
    """The same trends with one bit of one value turned."""
    row = found.row.copy()
    row[-1] = np.nextafter(row[-1], 2.0)
    return found._replace(row=row)


def turn_vote(found):
    """The same trends with one vote turned."""
    votes = found.votes.copy()
    votes[2, 7] += 1
    return found._replace(votes=votes)


@pytest.mark.parametrize("turn", [turn_row, turn_vote])
def test_a_single_wrong_bit_shows_nothing_and_keeps_nothing(turn, monkeypatch, tmp_path):
    """The readable definition decides, and the error names the symbol."""
    right = scan_module.trends
    monkeypatch.setattr(
        scan_module, "trends", lambda *args, **kwargs: [turn(t) for t in right(*args, **kwargs)]
    )
    with pytest.raises(ParityError, match="AAA"):
        scan_markets(symbol(), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


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


VALUES = st.sampled_from([-1.0, -0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2, 1.0])
ROWS = st.tuples(st.integers(0, 3), st.lists(VALUES, min_size=1, max_size=40)).map(
    lambda drawn: np.array([math.nan] * drawn[0] + drawn[1])
)
THRESHOLDS = st.tuples(VALUES, VALUES).map(lambda pair: (max(pair), min(pair)))


@given(ROWS, THRESHOLDS)
def test_classes_directions_and_runs_are_those_of_the_law(row, thresholds):
    """At every bar, values at a threshold and unknown ones among them."""
    (high, low), direction = thresholds, ""
    classes, directions = [], []
    for t, value in enumerate(row):
        word = "long" if value > high else "short" if value < low else "neutral"
        classes.append("" if math.isnan(value) else word)
        before = row[t - 1] if t else math.nan
        if value > high and before <= high:
            direction = "long"
        elif value < low and before >= low:
            direction = "short"
        directions.append(direction)
    codes = classify_bars(row, high, low)
    assert classes == [WORDS[code] for code in codes.tolist()]
    assert directions == [DIRECTIONS[code] for code in find_directions(row, high, low).tolist()]
    starts = [t for t in range(len(row)) if t == 0 or classes[t] != classes[t - 1]]
    assert starts == run_starts(codes).tolist()
