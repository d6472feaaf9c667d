"""Aligned columns: further columns of the bars' own file, each value with its row."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from data import LoadOptions, join_bars, keep_bars, load_bars, resample
from data.errors import DataError
from data.mmap_store import pack_bars, unpack_bars
from data.providers import numbers
from tests.support.series import MINUTE_NS, csv_text, make_bars, make_columns, write_csv

MOOD = LoadOptions(aligned_columns=("mood",))
NAN = np.nan


def make_text(cells, name="mood", count=None):
    """A CSV file of as many bars, with one more column of such cells."""
    head, *rows = csv_text(make_columns(count or len(cells))).splitlines()
    return "\n".join(
        [f"{head},{name}", *(f"{a},{b}" for a, b in zip(rows, cells, strict=True)), ""]
    )


def moody(values, **changes):
    """Bars with such a column."""
    return make_bars(len(values), extra={"mood": np.array(values, float)}, **changes)


def same(left, right):
    """Whether both have the same numbers, NaN in the same places."""
    return np.array_equal(left, right, equal_nan=True)


def test_a_column_that_was_asked_for_is_read(tmp_path):
    """Empty cells are not known; what was stated is a note; others are passed over as before."""
    spec = write_csv(tmp_path, make_text(["", "1.5", "NaN", "-2", "n/a", "0"]))
    bars = load_bars(spec, MOOD)
    assert same(bars.extra["mood"], [NAN, 1.5, NAN, -2, NAN, 0])
    assert "aligned: 'mood', stated to be known at the close of each bar" in bars.notes
    assert bars.dated == ()
    assert load_bars(spec, LoadOptions(aligned_columns="mood")).extra.keys() == {"mood"}
    assert not load_bars(spec).extra
    assert load_bars(spec).content_hash == make_bars(6).content_hash
    assert bars.content_hash == moody([NAN, 1.5, NAN, -2, NAN, 0]).content_hash
    assert bars.content_hash != load_bars(spec).content_hash


@pytest.mark.parametrize("asked", ["mood=Mood Index", "mood=mood index", "mood=7"])
def test_it_may_have_another_name_in_the_file(tmp_path, asked):
    """In any case, or by its place."""
    spec = write_csv(tmp_path, make_text(["1", "2", "3"], name="Mood Index"))
    bars = load_bars(spec, LoadOptions(aligned_columns=(asked,)))
    assert bars.extra["mood"].tolist() == [1, 2, 3]
    assert any("'mood' ('Mood Index')" in note for note in bars.notes)


def test_columns_of_a_file_without_names_are_asked_for_by_place(tmp_path):
    """As all others of such a file are."""
    rows = make_text(["1", "2", "3"]).split("\n", 1)[1]
    places = dict(
        zip(("timestamp", "open", "high", "low", "close", "volume"), "123456", strict=True)
    )
    options = LoadOptions(columns=places, aligned_columns=("mood=7",))
    assert load_bars(write_csv(tmp_path, rows), options).extra["mood"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_typed_columns_are_read_as_numbers(tmp_path, kind):
    """Of any width, first in the file, in text or as a dictionary; nulls are not known."""
    mood = pa.array([1.5, None, NAN, -2], pa.float32())
    count = pa.array([1, 2, None, 4], pa.int16())
    word = pa.array(["1", "", "3", "x"[:0]]).dictionary_encode()
    table = pa.table({"mood": mood, "word": word, **make_columns(4), "count": count})
    path = str(tmp_path / f"bars.{kind}")
    (pq.write_table if kind == "parquet" else feather.write_feather)(table, path)
    bars = load_bars(path, LoadOptions(aligned_columns=("mood", "word", "count")))
    assert same(bars.extra["mood"], [1.5, NAN, NAN, -2])
    assert same(bars.extra["word"], [1, NAN, 3, NAN])
    assert same(bars.extra["count"], [1, 2, NAN, 4])
    assert bars.close.tolist() == make_bars(4).close.tolist()


def test_a_frame_of_several_markets_gives_each_its_own(tmp_path):
    """Where pandas wrote two names into one, and where a column holds the symbol."""
    columns = make_columns(4)
    named = {"timestamp": columns["timestamp"]}
    for at, symbol in enumerate(("A", "B")):
        named |= {f"('{name}', '{symbol}')": columns[name] for name in list(columns)[1:]}
        named[f"('mood', '{symbol}')"] = np.arange(4.0) + 10 * at
    path = str(tmp_path / "both.parquet")
    pq.write_table(pa.table(named), path)
    assert load_bars(f"{path}#B", MOOD).extra["mood"].tolist() == [10, 11, 12, 13]
    rows = {name: np.repeat(column, 2) for name, column in columns.items()}
    rows |= {"symbol": ["A", "B"] * 4, "mood": np.arange(8.0)}
    pq.write_table(pa.table(rows), path)
    assert load_bars(f"{path}#B", MOOD).extra["mood"].tolist() == [1, 3, 5, 7]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["a-b"], "--aligned-column 'a-b' must look like NAME, or NAME=COLUMN"),
        (["mood="], "--aligned-column 'mood=' must look like NAME"),
        (["Mood Index"], "must look like NAME"),
        (["mood", "mood=other"], "--aligned-column: two columns are named 'mood'"),
        (["close"], "--aligned-column 'close': all bars have 'close' already"),
        (["timestamp=mood"], "all bars have 'timestamp' already"),
        (["symbol=mood"], "all bars have 'symbol' already"),
    ],
)
def test_what_is_no_name_is_refused(asked, message):
    """In one line, before anything is read."""
    with pytest.raises(DataError) as refused:
        LoadOptions(aligned_columns=asked)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        (["1", "2", "good"], "mood", "column 'mood' holds text that is no number: row 2 'good'"),
        (["1", "-inf", "2"], "mood", "series.csv: column 'mood' is infinite in row 1"),
        (["1", "2", "1e999"], "mood", "column 'mood' is infinite in row 2"),
        (["1", "2", "3"], "mod", "--aligned-column mod: there is no such column; columns are"),
        (["1", "2", "3"], "fear=mod", "--aligned-column fear=mod: there is no such column"),
        (["1", "2", "3"], "last=close", "last=close: column 'close' is the close of"),
        (["1", "2", "3"], "when=timestamp", "column 'timestamp' is the timestamp of the bars"),
        (["1,2", "2,3", "3,4"], "mood", "--aligned-column mood: 2 columns are named so; say which"),
    ],
)  # fmt: skip
def test_what_is_no_such_column_is_refused(tmp_path, text, asked, message):
    """With the file, and the row where there is one."""
    name = "mood,mood" if "," in text[0] else "mood"
    spec = write_csv(tmp_path, make_text(text, name=name))
    with pytest.raises(DataError) as refused:
        load_bars(spec, LoadOptions(aligned_columns=(asked,)))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_last_number_that_may_be_cut_is_refused(tmp_path):
    """Without an end of the last line, as where it is a volume."""
    spec = write_csv(tmp_path, make_text(["1.25", "2.25", "3.2"]).rstrip("\n"))
    with pytest.raises(DataError, match=r"its last number, '3\.2', may be cut"):
        load_bars(spec, MOOD)
    assert len(load_bars(spec)) == 3


@pytest.mark.parametrize("spec", ["sample", "polygon:AAPL"])
def test_a_source_that_is_no_file_has_none(spec):
    """The error comes before anything is fetched."""
    with pytest.raises(DataError, match=f"'{spec[:6]}.*' is no file, and has no further columns"):
        load_bars(spec, MOOD)


def test_a_column_that_looks_like_another_is_what_a_person_says(tmp_path):
    """A file may have a second price, which is refused without its option."""
    spec = write_csv(tmp_path, make_text(["1", "2", "3"], name="price"))
    with pytest.raises(DataError, match="could both be close"):
        load_bars(spec)
    bars = load_bars(spec, LoadOptions(aligned_columns=("price",)))
    assert (bars.extra["price"].tolist(), bars.close[0]) == ([1, 2, 3], 100.0)


def test_values_go_where_their_rows_go(tmp_path):
    """When rows are dropped, sorted and made one."""
    head, *rows = make_text([str(k) for k in range(8)]).splitlines()
    bad = rows[3].split(",")
    bad[1] = "-5"
    mixed = [rows[5], rows[0], rows[0], ",".join(bad), *rows[1:3], rows[4], *rows[6:]]
    options = replace(MOOD, drop_bad_bars=True, sort=True, dedupe=True)
    bars = load_bars(write_csv(tmp_path, "\n".join([head, *mixed, ""])), options)
    assert bars.extra["mood"].tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert bars.close.tolist() == np.delete(make_bars(8).close, 3).tolist()


def test_rows_that_differ_in_it_alone_are_no_repetition(tmp_path):
    """No rule knows which value is right; two unknown ones are equal."""
    head, *rows = make_text(["1", "", "3"]).splitlines()
    options = replace(MOOD, dedupe=True)
    again = "\n".join([head, rows[0], rows[1], *rows[1:], ""])
    assert same(load_bars(write_csv(tmp_path, again), options).extra["mood"], [1, NAN, 3])
    other = "\n".join([head, rows[0], rows[0][:-1] + "9", *rows[1:], ""])
    with pytest.raises(DataError, match=r"but other values: .* mood=1\.0\) and .* mood=9\.0\)"):
        load_bars(write_csv(tmp_path, other), options)


def test_a_longer_bar_has_the_last_value():
    """Unknown where that is unknown: nothing newer than its close, nothing older in its place."""
    quarters = moody([1, 2, 3, 4, 5, 6, 7, NAN, 9, 10])
    hours = resample(quarters, 60 * MINUTE_NS)
    assert same(hours.extra["mood"], [4, NAN, 10])


def test_merging_uses_no_later_bar():
    """Bars of a beginning are the beginning of the bars."""
    values = np.random.default_rng(1).normal(size=40)
    whole = resample(moody(values), 60 * MINUTE_NS).extra["mood"]
    for end in range(4, 40, 4):
        part = resample(moody(values).until(end), 60 * MINUTE_NS).extra["mood"]
        assert part.tolist() == whole[: end // 4].tolist()


def test_parts_are_joined_with_their_values():
    """Two unknown ones are equal where parts overlap; two different ones are refused."""
    whole = moody([1, NAN, 3, 4, NAN, 6])
    joined = join_bars([whole.cut(2, 6), whole.cut(0, 5)], "TEST")
    assert joined.content_hash == whole.content_hash
    other = moody([1, NAN, 3, 4, 5, 6])
    with pytest.raises(DataError, match=r"differ about .*: mood is nan and 5\.0"):
        join_bars([whole.cut(0, 5), other.cut(2, 6)], "TEST")


def test_parts_without_the_column_are_refused():
    """The one without it is named."""
    whole = moody([1, 2, 3, 4], source="a.csv")
    plain = whole.cut(2, 4, extra={}, source="b.csv")
    with pytest.raises(DataError, match=r"'mood' is not in both a\.csv and b\.csv"):
        join_bars([whole.cut(0, 2), plain], "TEST")


def test_they_are_kept_in_a_file_and_in_memory_that_is_mapped(tmp_path):
    """By name, with every bit; the bars alone are another file."""
    bars = moody([1, NAN, -0.0, 4])
    dated = replace(bars, dated=("mood",))
    assert unpack_bars(pack_bars(bars)).content_hash == bars.content_hash
    assert [unpack_bars(pack_bars(series)).dated for series in (bars, dated)] == [(), ("mood",)]
    assert pack_bars(bars) != pack_bars(replace(bars, extra={}))
    assert replace(dated, extra={}).dated == ()
    path, _ = keep_bars(bars, tmp_path)
    options = LoadOptions(timeframe="15m", aligned_columns=("mood",))
    assert load_bars(str(path), options).content_hash == bars.content_hash
    assert not keep_bars(bars, tmp_path)[1]
    with pytest.raises(DataError, match="holds other bars"):
        keep_bars(replace(bars, extra={"mood": -bars.extra["mood"]}), tmp_path)
    with pytest.raises(DataError, match="column 'mood' is dated, and is not kept with bars"):
        keep_bars(dated, tmp_path)


def test_bars_refuse_infinity():
    """From every maker."""
    with pytest.raises(DataError, match="column 'mood' is infinite at bar 1"):
        moody([1, np.inf])


def test_unknown_cells_are_not_read_one_by_one(monkeypatch):
    """A column that begins unknown is read as fast as another."""
    monkeypatch.setattr(numbers, "_one_by_one", None)
    column = pa.array(["", " NaN ", "N/A", "1.5", "-2"])
    assert same(numbers.read_numbers(column, "a", "b"), [NAN, NAN, NAN, 1.5, -2])
    assert same(numbers.read_numbers(pa.array(["", None]), "a", "b"), [NAN, NAN])
