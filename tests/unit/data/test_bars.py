"""Bars in memory: gaps, quality, jumps, durations, parts, finer ones, files that change."""

import dataclasses
import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from data import (
    LoadOptions,
    cut_at_gaps,
    jumps_of,
    keep_bars,
    load_bars,
    longest_gaps,
    quality_of,
    resample,
)
from data.bars import Bars, FinerBars
from data.checks import COLUMNS
from data.errors import BarsError, DataError, SourceError, TimeframeError, WindowError
from data.providers import time_columns
from data.resample import join_bars
from tests.corpus.durations import TRADED, at
from tests.corpus.row import bars as file_of_bars
from tests.support.series import (
    HOUR_NS,
    MINUTE_NS,
    NAMES,
    START_NS,
    csv_text,
    make_bars,
    make_coarse,
    make_columns,
    write_csv,
)

STEP_NS = 15 * MINUTE_NS


@pytest.mark.parametrize(
    "changes",
    [{"close": np.ones(3)}, {"close": np.ones((4, 1))}, {"close": np.array(["a"] * 4)},
     {"timestamp": np.arange(4.0)}, {"timestamp": np.arange(4).astype("datetime64[ns]")},
     {"timestamp": make_columns(4)["timestamp"][::-1]}, {"timeframe_ns": 0}, {"timeframe_ns": -1},
     make_columns(0)],
    ids=["length", "shape", "text", "float_time", "datetime", "backward", "zero_bar",
         "negative_bar", "no_bars"],
)  # fmt: skip
def test_wrong_shapes_and_types_are_refused(changes):
    """Columns of another length, shape, type or order are no bars."""
    with pytest.raises(BarsError):
        make_bars(4, **changes)


@pytest.mark.parametrize(
    "symbol", ["", "  ", "A" * 65, "A\nB", "A\x1b[31m", "A\u202eB", "A\x00"], ids=ascii
)
def test_symbols_that_could_do_harm_are_refused(symbol):
    """Empty, long and unprintable symbols are no names; all others stay text, never a path."""
    with pytest.raises(BarsError, match="symbol"):
        make_bars(2, symbol=symbol)
    for odd in ("NA", "../../x", "</script>", "BRK/B", "X:BTCUSD", "🚀"):
        assert make_bars(2, symbol=odd).symbol == odd


@pytest.fixture
def series():
    """Forty quarters of an hour: gaps before bars 10, 20 and 30, no volume in three bars."""
    columns = make_columns(40)
    for place in (10, 20, 30):
        columns["timestamp"][place:] += place * 15 * MINUTE_NS
    columns["volume"][[5, 25, 39]] = 0
    return make_bars(40, **columns)


def test_a_part_has_its_own_quality_and_parts_add_up(series):
    """Silence and gaps of the part; a gap at a cut belongs to the later part, and to no other."""
    part = quality_of(series, 20, 30)
    assert (part.bars, part.silent) == (10, 1)
    assert dataclasses.astuple(part.gaps) == (1, 20, 21 * 15 * MINUTE_NS, 20)
    whole = quality_of(series)
    assert whole.gaps == series.gaps()
    assert (whole.silent, whole.gaps.count, whole.gaps.missing_bars) == (3, 3, 60)
    for cut in range(1, 40):
        parts = (quality_of(series, 0, cut), quality_of(series, cut))
        assert sum(part.silent for part in parts) == 3
        assert sum(part.gaps.count for part in parts) == 3
        assert sum(part.gaps.missing_bars for part in parts) == 60


@pytest.mark.parametrize(("start", "end"), [(40, None), (3, 3), (5, 4), (0, 41), (-1, 3)])
def test_a_part_without_bars_is_refused(series, start, end):
    """Empty, reversed, and beyond the series."""
    with pytest.raises(WindowError):
        quality_of(series, start, end)


def test_gaps_are_told_longest_first():
    """When, how long, and how many bars are missing; a whole series has none."""
    places = np.r_[0:10, 11:31, 35:55]
    bars = make_bars(50, timestamp=START_NS + 15 * MINUTE_NS * places)
    assert [gap["missing_bars"] for gap in longest_gaps(bars)] == [4, 1]
    assert longest_gaps(make_bars(50)) == []


DAY_NS = 1440 * MINUTE_NS


def draw(seed, count, minutes, sigma, *, tail=3.0, sessions=False):
    """Columns of a market whose range and volume come in waves, with tails as heavy as said."""
    rng = np.random.Generator(np.random.PCG64(seed))
    minute = np.arange(6 * count) * minutes
    is_open = (minute // 1440 % 7 < 5) & ((minute % 1440 < 390) | (minutes >= 1440))
    times = minute[is_open][:count] if sessions else minute[:count]
    wave = np.convolve(rng.normal(0, 0.1, count + 40), np.exp(-np.arange(40) / 20), "valid")[:count]
    steps = rng.standard_t(tail, (count, 8)) * (sigma * np.exp(wave) / 4)[:, None]
    steps[:, 0] += (
        sessions * sigma * rng.normal(0, 1, count) * (np.diff(times, prepend=0) > minutes)
    )
    path = 100 * np.exp(np.cumsum(steps.ravel())).reshape(count, 8)
    columns = {"open": path[:, 0], "close": path[:, -1], "high": path.max(1), "low": path.min(1)}
    volume = np.round(np.exp(rng.normal(5, 0.8, count) + wave)) + 1
    timestamp = DAY_NS * 19_000 + times * MINUTE_NS
    return {"timestamp": timestamp, **columns, "volume": volume}


def bars_of(columns, minutes, **changes):
    """Bars of these columns."""
    return Bars(**{**columns, **changes}, symbol="X", timeframe_ns=minutes * MINUTE_NS)


def false_prices(bars):
    """Lines about prices that are none."""
    return [line for line in jumps_of(bars) if "no price" in line or "such prices" in line]


WORLDS = {
    "coin 15m": {"count": 2000, "minutes": 15, "sigma": 0.004},
    "stock 5m": {"count": 2000, "minutes": 5, "sigma": 0.0015, "sessions": True},
    "stock 1d": {"count": 800, "minutes": 1440, "sigma": 0.015, "sessions": True},
}
FACTORS = {"high": (100, 2), "low": (0.01, 0.5), "close": (10,), "open": (0.1,)}
PLANTED = [(name, factor) for name, factors in FACTORS.items() for factor in factors]


def plant(columns, bar, name, factor):
    """The same with one price times a factor, and a high and low that hold it."""
    columns = {key: column.copy() for key, column in columns.items()}
    columns[name][bar] *= factor
    columns["high"][bar] = max(columns[key][bar] for key in NAMES[:4])
    columns["low"][bar] = min(columns[key][bar] for key in NAMES[:4])
    return columns


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("name", "factor"), PLANTED)
def test_a_planted_price_is_named_with_its_bar(world, name, factor):
    """Of 3 in each kind of market all are; those of highs and lows at both ends of a series, too.

    The last close, which nothing follows, where it is five times its open; the first open never.
    """
    for seed in range(3):
        columns, minutes = draw(seed, **WORLDS[world]), WORLDS[world]["minutes"]
        count = len(columns["open"])
        places = {"high": (0, count - 1), "low": (0, count - 1), "open": (count - 1,)}
        inside = 1 + 7 * (seed + 1) * count // 100
        for bar in (inside, *places.get(name, ())):
            # No bar of the highest volume: the next test is about these.
            columns["volume"][bar] = np.median(columns["volume"])
            lines = false_prices(bars_of(plant(columns, bar, name, factor), minutes))
            assert len(lines) == 1, (seed, bar)
            at = str(np.datetime64(int(columns["timestamp"][bar]), "ns"))[:16]
            assert lines[0].startswith(f"the {name} of {at} is ")
            assert lines[0].endswith(": no price, take it out (delete its row)")


def test_volume_says_that_a_price_was_traded():
    """Of 300 to 0.1 in a minute, as one exchange of 2017; without the volume it is no price."""
    columns = plant(draw(2, 2000, 1, 0.001), 900, "low", 0.0003)
    for volume, count in ((40 * columns["volume"].max(), 0), (0.0, 1)):
        columns["volume"][900] = volume
        assert len(false_prices(bars_of(columns, 1))) == count


DAILY = {
    # Open, high, low, close as published, rounded.
    "VIX, 5 August 2024": (
        (16.2, 16.9, 15.9, 16.4), (17.7, 18.5, 16.2, 16.4), (16.2, 19.5, 15.9, 18.6),
        (20.5, 29.7, 19.4, 23.4), (23.4, 65.7, 23.4, 38.6), (33.7, 34.8, 24.0, 27.7),
        (24.8, 28.5, 22.0, 27.9), (26.8, 28.2, 22.9, 23.8), (23.6, 24.0, 20.0, 20.4),
    ),
    "EURCHF, 15 January 2015": (
        (1.2012, 1.2020, 1.2008, 1.2011), (1.2011, 1.2016, 1.2009, 1.2012),
        (1.2012, 1.2014, 1.2008, 1.2010), (1.2010, 1.2011, 0.8500, 0.9750),
        (0.9750, 1.0200, 0.9700, 0.9950), (0.9950, 1.0250, 0.9900, 1.0120),
        (1.0120, 1.0190, 0.9950, 1.0010), (1.0010, 1.0080, 0.9860, 0.9930),
    ),
    "UNI, its first quarters of an hour": (
        (0.3, 15.0, 0.3, 3.43), (3.43, 3.45, 2.6, 2.86), (2.89, 3.57, 2.85, 2.94),
        (2.94, 3.2, 2.9, 3.1), (3.1, 3.3, 3.0, 3.2), (3.2, 3.4, 3.1, 3.3), (3.3, 3.4, 3.2, 3.3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("event", DAILY)
def test_crashes_and_listings_are_no_false_prices(event):
    """Days of known extremes, without a volume that would speak for them, among calm ones."""
    days = np.array(DAILY[event])
    is_listing = event.startswith("UNI")
    calm = [np.tile(days[at, 3] * np.array([1, 1.01, 0.99, 1]), (40, 1)) for at in (0, -1)]
    days = np.concatenate(([] if is_listing else calm[:1]) + [days, calm[1]])
    names = ("open", "high", "low", "close")
    columns = dict(zip(names, days.T.copy(), strict=True))
    columns["high"] = days.max(1)
    columns["low"] = days.min(1)
    columns["timestamp"] = DAY_NS * (15_000 + np.arange(len(days)))
    assert false_prices(bars_of({**columns, "volume": np.zeros(len(days))}, 1440)) == []


@pytest.fixture
def thin(tmp_path):
    """The path of a file of a market in which three in ten minutes trade."""
    at(TRADED).write(tmp_path / "series.csv")
    return str(tmp_path / "series.csv")


def test_kept_bars_state_their_duration_and_zone(tmp_path, thin):
    """Whatever the steps of a thin market show; no option is needed a second time."""
    options = LoadOptions(source_timeframe="1m", tz="Europe/Helsinki")
    bars = load_bars(thin, options)
    path, _ = keep_bars(bars, tmp_path / "kept")
    kept = load_bars(str(path))
    assert (kept.content_hash, kept.timeframe, kept.zone) == (
        bars.content_hash, "1m", "Europe/Helsinki",
    )  # fmt: skip
    for wanted in ("15m", "1h", "4h", "1d"):
        merged = load_bars(thin, replace(options, timeframe=wanted))
        assert load_bars(str(path), LoadOptions(timeframe=wanted)).content_hash == (
            merged.content_hash
        )
    with pytest.raises(TimeframeError, match="states that its bars last 1m; leave it out"):
        load_bars(str(path), LoadOptions(source_timeframe="5m"))
    assert load_bars(str(path), LoadOptions(source_timeframe="1m")).notes == kept.notes
    with pytest.raises(TimeframeError, match="stamped at their open; leave --stamped out"):
        load_bars(str(path), LoadOptions(stamped="close"))


def test_a_statement_about_other_bars_is_not_used(tmp_path):
    """Pyarrow hands metadata on when rows are dropped, with a note."""
    file_of_bars(60).write(tmp_path / "series.csv")
    path, _ = keep_bars(load_bars(str(tmp_path / "series.csv")), tmp_path)
    table = pq.read_table(path)
    pq.write_table(table.take(pa.array(range(0, 60, 4))), path)
    bars = load_bars(str(path))
    assert bars.timeframe == "1h"
    assert "the duration that this file states was stated of other bars, and is not used" in (
        bars.notes
    )


def test_aligned_columns_are_kept_and_dated_ones_are_not(tmp_path):
    """By name, with every bit; other values are other bars."""
    mood = np.array([1, np.nan, -0.0, 4])
    bars = make_bars(4, extra={"mood": mood})
    path, _ = keep_bars(bars, tmp_path)
    options = LoadOptions(timeframe="15m", aligned_columns=("mood",))
    assert load_bars(str(path), options).content_hash == bars.content_hash
    assert not keep_bars(bars, tmp_path)[1]
    for other, words in (
        (replace(bars, extra={"mood": -mood}), "other bars"),
        (replace(bars, dated=("mood",)), "'mood' is dated"),
    ):
        with pytest.raises(SourceError, match=words):
            keep_bars(other, tmp_path)


@pytest.mark.parametrize(
    "symbol",
    ["../../x", "/abs", "X:BTCUSD", "BRK/B", "NA", "a b", ".hidden", "\U0001f4c8", "x" * 64],
)
def test_every_symbol_has_a_file_within_the_folder(tmp_path, symbol):
    """Whatever a market is called, its file lies in the given folder."""
    path, _ = keep_bars(make_bars(5, symbol=symbol), tmp_path / "bars")
    assert path.resolve().parent == (tmp_path / "bars").resolve()
    assert load_bars(f"parquet:{path}").symbol == symbol
    assert not path.name.startswith(".")
    assert [file.name for file in tmp_path.iterdir()] == ["bars"]


FORMS = ("csv", "parquet", "feather")


def write_form(folder, form):
    """The path of a file of a form."""
    path, columns = folder / f"series.{form}", make_columns(50)
    if form.startswith("csv"):
        write_csv(folder, csv_text(columns), path.name)
        return path
    times = pa.array(columns["timestamp"], pa.timestamp("ns", "UTC"))
    table = pa.table({**columns, "timestamp": times})
    write = pq.write_table if form == "parquet" else feather.write_feather
    write(table, str(path))
    return path


def hide_change(path, content):
    """Other bytes of the same number, and the time of the file set back."""
    times = os.stat(path)
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


CHANGES = {"rewritten": lambda path, content: path.write_bytes(content),
           "removed": lambda path, content: path.unlink(), "hidden": hide_change}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("is_broken", [False, True])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path, monkeypatch, form, change, is_broken
):
    """Bars of two states are no bars; half a file has other faults, none of which is the reason."""
    path = write_form(tmp_path, form)
    read_times, content = time_columns.read_times, path.read_bytes()
    os.utime(path, ns=(1, 1))

    def late(*arguments):
        change(path, content)
        if is_broken:
            raise SourceError("no times")
        return read_times(*arguments)

    monkeypatch.setattr(time_columns, "read_times", late)
    with pytest.raises(SourceError, match=f"^series.{form}: changed while it was read"):
        load_bars(str(path))


QUARTERS = make_bars(42)
HOURS = make_coarse(QUARTERS)


def test_a_bar_is_made_up_of_those_that_open_in_it():
    """The last hour has two of them."""
    assert HOURS.finer_spans.tolist() == [[*range(0, 44, 4)], [*range(4, 44, 4), 42]]


@pytest.mark.parametrize("row", range(4))
def test_one_bit_is_enough_to_make_up_no_bar(row):
    """Of the first open, the largest high, the smallest low and the last close."""
    prices = HOURS.finer.prices.copy()
    k = [4, 7, 4, 7][row]
    prices[row, k] = np.nextafter(prices[row, k], prices[row, k] * 2)
    first, end = replace(HOURS, finer=replace(HOURS.finer, prices=prices)).finer_spans
    assert (end - first).tolist() == [4, 0, *[4] * 8, 2]


def test_bars_outside_the_finer_ones_are_made_up_of_none():
    """Before they begin, after they end, and where there are none at all."""
    some = HOURS.finer.between(int(HOURS.timestamp[3]), int(HOURS.timestamp[5]))
    first, end = replace(HOURS, finer=some).finer_spans
    assert np.flatnonzero(end > first).tolist() == [3, 4]
    first, end = replace(HOURS, finer=some.between(0, 1)).finer_spans
    np.testing.assert_array_equal(first, end)


def test_the_hash_is_of_both():
    """Without finer bars it is the one that it was."""
    plain = resample(QUARTERS, HOUR_NS)
    assert replace(HOURS, finer=None).content_hash == plain.content_hash
    moved = replace(HOURS.finer, prices=HOURS.finer.prices * 1.5)
    hashes = {bars.content_hash for bars in (plain, HOURS, replace(HOURS, finer=moved))}
    assert len(hashes) == 3
    assert replace(HOURS, finer=replace(HOURS.finer, source="x")).content_hash == HOURS.content_hash


def test_a_bar_has_none_that_open_when_the_next_one_does():
    """An hour that is over after three quarters; cut behind it, it is made up of as many."""
    first, last = [0, 3], [2, 6]
    high, low = (
        edge.reduceat(column[:7], first)
        for edge, column in ((np.maximum, QUARTERS.high), (np.minimum, QUARTERS.low))
    )
    bars = QUARTERS.cut(
        0, 2, timestamp=QUARTERS.timestamp[first], open=QUARTERS.open[first], high=high, low=low,
        close=QUARTERS.close[last], timeframe_ns=HOUR_NS, finer=QUARTERS.as_finer(),
    )  # fmt: skip
    assert (bars.over_ns - bars.timestamp).tolist() == [HOUR_NS * 3 // 4, HOUR_NS]
    assert bars.finer_spans.tolist() == [[0, 3], [3, 7]]
    assert bars.until(1).finer_spans.tolist() == [[0], [3]]


def test_a_cut_series_has_those_of_its_bars():
    """Nothing after an end is known."""
    cut = HOURS.cut(2, 5)
    assert cut.finer.timestamp.tolist() == QUARTERS.timestamp[8:20].tolist()
    assert cut.finer_spans.tolist() == [[0, 4, 8], [4, 8, 12]]


def test_longer_bars_are_no_finer_ones():
    """Nor those of the same duration."""
    with pytest.raises(BarsError, match="finer bars of 15m are not shorter than those of 15m"):
        replace(QUARTERS, finer=QUARTERS.as_finer())
    with pytest.raises(BarsError, match="there are no finer bars"):
        _ = QUARTERS.finer_spans
    assert len(FinerBars(HOURS.timestamp[:0], np.empty((4, 0)), 1)) == 0


MOOD = np.array([1, np.nan, 3, 4, np.nan, 6])


def part(first, count, **changes):
    """Bars [first, first + count) of the same market."""
    columns = {name: column[first:] for name, column in make_columns(first + count).items()}
    return make_bars(count, **{**columns, "symbol": f"part{first}", **changes})


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_parts_in_any_order_are_the_whole(order):
    """Oldest first, every bar once, notes once; a bar that stands in two parts counts once."""
    parts = [part(0, 10, notes=("in UTC",)), part(10, 5, notes=("in UTC", "more")), part(13, 22)]
    joined = join_bars([parts[i] for i in order], "BTC")
    assert joined.content_hash == make_bars(35).content_hash
    assert joined.symbol == "BTC"
    first, *notes = joined.notes
    assert "3 parts" in first
    assert sorted(notes) == ["2 bars stood in two parts, equal in both", "in UTC", "more"]


REFUSED = {
    "other volumes": ([part(0, 12), part(10, 10, volume=part(10, 10).volume + 1.0)],
                      r"2024-01-01T02:30: volume is 20\.0 and 21\.0"),
    "lower volumes": ([part(0, 12), part(10, 10, volume=part(10, 10).volume - 1.0)],
                      r"2024-01-01T02:30: volume is 20\.0 and 19\.0"),
    "durations": ([part(0, 10), make_bars(5, 4 * STEP_NS, START_NS + 100 * STEP_NS)], "15m.*1h"),
    "unknown values": ([part(0, 5, extra={"mood": MOOD[:5]}),
                        part(2, 4, extra={"mood": np.arange(3.0, 7.0)})], r"mood is nan and 5\.0"),
}  # fmt: skip


@pytest.mark.parametrize(("parts", "words"), REFUSED.values(), ids=REFUSED)
def test_parts_that_differ_are_refused(parts, words):
    """Which one is right is not for a program to say."""
    with pytest.raises(DataError, match=words) as refused:
        join_bars(parts, "BTC")
    assert isinstance(refused.value, BarsError)


def test_aligned_values_are_joined_with_their_bars():
    """Two unknown ones are equal where parts overlap."""
    whole = make_bars(6, extra={"mood": MOOD})
    joined = join_bars([whole.cut(2, 6), whole.cut(0, 5)], "TEST")
    assert joined.content_hash == whole.content_hash


def test_gaps_and_zones_of_parts_are_those_of_the_whole():
    """Gaps between parts are counted with those within; parts of two zones have none."""
    parts = [make_bars(9, zone="Asia/Tokyo"), part(20, 10, zone="Asia/Tokyo")]
    joined = join_bars(parts, "BTC")
    assert joined.zone == "Asia/Tokyo"
    assert any(note.startswith("1 gap, 11 bars missing") for note in joined.notes)
    assert join_bars([parts[0], part(20, 10)], "BTC").zone == "UTC"


def make_gapped(*places):
    """Sixty quarters of an hour with a gap of a day before each of the places."""
    timestamp = make_columns(60)["timestamp"]
    for place in places:
        timestamp[place:] += DAY_NS
    return make_bars(60, timestamp=timestamp)


def test_a_series_is_cut_at_its_long_gaps():
    """Every bar is in one part, in order; the first one says why. A step of the longest is none."""
    bars = make_gapped(20, 45)
    parts = cut_at_gaps(bars, DAY_NS // 2)
    assert [(first, len(part), part.symbol) for first, part in parts] == [
        (0, 20, "TEST"), (20, 25, "TEST"), (45, 15, "TEST"),
    ]  # fmt: skip
    for name in COLUMNS:
        joined = np.concatenate([getattr(part, name) for _, part in parts])
        assert joined.tobytes() == getattr(bars, name).tobytes()
    assert all(part.gaps().count == 0 for _, part in parts)
    assert [part.notes for _, part in parts] == [
        ("cut into 3 parts at gaps longer than 12h",), (), (),
    ]  # fmt: skip
    step = int(np.diff(bars.timestamp).max())
    assert cut_at_gaps(bars, step) == ((0, bars),)
    assert len(cut_at_gaps(bars, step - 1)) == 3
