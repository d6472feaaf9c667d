"""Sources that a spec names, the embedded sample, and files of any size, bytes and damage."""

import contextlib
import gzip
import json
import os
import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from data import LoadOptions, expand_spec, load_bars, point_in_time
from data.errors import DataError, LimitError, SourceError
from data.providers import find_provider, sample
from tests.corpus.kinds import BARS, RECORDS, TEXT
from tests.corpus.vendors import FILES
from tests.support.commands import printed
from tests.support.paths import ROOT
from tests.support.series import csv_text, make_bars, make_columns, write_csv

FIVE = make_bars(5).content_hash
KNOWN = "known: ccxt:.*, csv:PATH, feather:PATH, parquet:PATH, polygon:SYMBOL"


@pytest.mark.parametrize(
    ("spec", "name", "address"),
    [("sample", "sample", ""), ("csv:C:/x:y.csv", "csv", "C:/x:y.csv"),
     ("dir/a.csv", "csv", "dir/a.csv"), ("a.CSV.GZ", "csv", "a.CSV.GZ"),
     ("a.parquet", "parquet", "a.parquet"), ("a.feather", "feather", "a.feather"),
     ("a.csv#BTC/USD", "csv", "a.csv#BTC/USD")],
)  # fmt: skip
def test_spec_names_a_source_and_an_address(spec, name, address):
    """The name stands before the first colon; a bare path is recognised by its ending."""
    provider, actual = find_provider(spec)
    assert (name, address) == (provider.name, actual)


@pytest.mark.parametrize(
    ("spec", "words"),
    [*((spec, KNOWN) for spec in ("", "a.txt", "folder", ":a.csv", "x:a.csv", "x\0y")),
     ("smaple", "'sample'"), ("CSV:a.csv", "'csv'"), ("parqet:a", "'parquet'"),
     ("sample:x", "'x'"), ("csv:", "csv:PATH"), ("csv:a\0b", "zero byte"),
     ("csv:none.csv", "^none.csv: "), ("csv:a\x1b.csv", r"a\\x1b.csv'"),
     ("x" * 100_000, "^.{1,200}$")],
)  # fmt: skip
def test_what_is_no_source_is_answered_in_a_line(spec, words):
    """With the sources that there are, and the one that was meant."""
    with pytest.raises(DataError, match=words):
        load_bars(spec)


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet", "feather"])
def test_folders_and_pipes_are_no_files(tmp_path, form):
    """Only an ordinary file is read: a pipe would never end."""
    os.mkfifo(tmp_path / f"pipe.{form}")
    (tmp_path / f"folder.{form}").mkdir()
    for path in (tmp_path / f"pipe.{form}", tmp_path / f"folder.{form}", "/dev/zero"):
        with pytest.raises(SourceError, match="is no file"):
            load_bars(f"{form.partition('.')[0]}:{path}")


@pytest.mark.parametrize(
    "text",
    [json.dumps(BARS), json.dumps(RECORDS), "\n".join(map(json.dumps, RECORDS))],
    ids=["lists", "records", "lines"],
)  # fmt: skip
def test_the_way_from_json_to_csv_works(tmp_path, monkeypatch, text):
    """The line of Python in the message makes a file that is read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(SourceError, match="in Python: ") as caught:
        load_bars("x.json")
    exec(str(caught.value).partition("Python: ")[2], {"pandas": pd})
    bars = load_bars("x.csv")
    assert bars.timestamp[0] == 1704067200 * 10**9
    assert bars.close.tolist() == [100.25] * 9


EXPANDED = {
    **{spec: [spec] for spec in ("sample", "csv:x.csv", "nonsense:x", "", "csv:")},
    "csv:folder": ["csv:folder/a.csv.gz", "csv:folder/b.csv"],
    "parquet:folder/": ["parquet:folder/c.parquet"],
    "folder": ["folder/a.csv.gz", "folder/b.csv", "folder/c.parquet"],
    "csv:folder/?.csv": ["csv:folder/b.csv"],
    "csv:folder/**/*.csv": ["csv:folder/b.csv", "csv:folder/within/d.csv"],
    "csv:odd/a[1].csv": ["csv:odd/a[1].csv"],
    "a:b.dat#1": ["a:b.dat#1"],
    "BINANCE:all": ["BINANCE:all/x.csv"],
}
"""Specs with what each stands for: itself, or files of a folder or pattern in order."""


def test_a_folder_or_a_pattern_stands_for_its_files(tmp_path, monkeypatch):
    """Other files do not count; what exists is meant as it stands; nothing found is an error."""
    monkeypatch.chdir(tmp_path)
    for name in ("folder/b.csv", "folder/a.csv.gz", "folder/c.parquet", "folder/README.md",
                 "folder/._b.csv", "folder/within/d.csv", "odd/a[1].csv", "a:b.dat#1",
                 "BINANCE:all/x.csv", "texts/a.txt"):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(TEXT)
    for spec, files in EXPANDED.items():
        assert expand_spec(spec) == tuple(files), spec
    for path in ("a:b.dat#1", "BINANCE:all/x.csv"):
        assert load_bars(path).content_hash == FIVE
    for spec in ("parquet:folder/within", "csv:folder/*.txt"):
        with pytest.raises(SourceError, match="no file"):
            expand_spec(spec)
    for spec in ("csv:texts", "texts", "texts/"):
        with pytest.raises(SourceError, match=r"a\.txt") as caught:
            expand_spec(spec)
        (named,) = expand_spec(re.search(r"'(.*)'$", str(caught.value))[1])
        assert load_bars(named).content_hash == FIVE


@pytest.fixture(scope="module")
def bars():
    """The sample."""
    return load_bars("sample")


def test_sample_says_that_it_is_simulated(bars):
    """Name, mark and first note leave no doubt."""
    assert bars.symbol == "SIMULATED"
    assert bars.is_simulated
    assert bars.notes[0].startswith("simulated market")
    assert len(bars.notes) == 2
    assert bars.notes[1].startswith("127 gaps, 264 bars missing; the longest from 2024-11-23T05:30")


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("sample.parquet", lambda raw: raw[:5000] + bytes([raw[5000] ^ 1]) + raw[5001:]),
        ("sample.sha256", lambda raw: b""),
        ("sample.sha256", lambda raw: raw[:82] + b"0" + raw[83:]),
    ],
    ids=["bit", "no_hash", "other_bars"],
)
def test_damaged_sample_is_refused(tmp_path, name, damage):
    """One flipped bit is enough, in the bars or in the hashes."""
    for original in ("sample.parquet", "sample.sha256"):
        shutil.copy(sample.FOLDER / original, tmp_path / original)
    path = tmp_path / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(SourceError, match=r"sample in .* is damaged .*install the project again"):
        sample.read("", LoadOptions(), tmp_path)


PAGE = ROOT / "data" / "providers" / "README.md"
TABLE = r"^\| {} \|.*?(?=\n\n)"


def list_options(options):
    """Options as they are typed."""
    named = [f"--column {meaning}={name}" for meaning, name in options.get("columns", {}).items()]
    named += [
        f"--{name.replace('_', '-')} {value!r}".replace("'", '"' if " " in value else "")
        for name, value in options.items()
        if name != "columns"
    ]
    return f"`{' '.join(named)}`" if named else ""


def list_files():
    """Each file of a vendor that needs options, then the vendors whose files need none."""
    yield ("source", "file", "read with")
    for file in FILES:
        if file.options:
            yield (file.source, file.words, list_options(file.options))
    yield (", ".join(file.source for file in FILES if not file.options), "", "no option")


def test_the_page_has_the_table(request):
    """It is made from the files; ``--bless`` writes it anew."""
    head, *lines = ([f" {cell} " for cell in row] for row in list_files())
    made = "\n".join(f"|{'|'.join(line)}|" for line in (head, [" --- "] * len(head), *lines))
    page, table = PAGE.read_text(encoding="utf-8"), re.compile(
        TABLE.format(head[0].strip()), re.MULTILINE | re.DOTALL)  # fmt: skip
    if request.config.getoption("--bless"):
        page = table.sub(lambda _: made, page)
        PAGE.write_text(page, encoding="utf-8")
    (shown,) = table.findall(page)
    assert shown == made


CAP, ROWS = 2_000_000, 400


def shared_text():
    """A word of a megabyte at which every row looks."""
    _, view, text = pa.array(["A" * 1_000_000], pa.string_view()).buffers()
    shared = pa.py_buffer(view.to_pybytes() * ROWS)
    return pa.Array.from_buffers(pa.string_view(), ROWS, [None, shared, text])


def table(symbol):
    """Sound bars of these symbols."""
    return pa.table({**make_columns(ROWS), "symbol": symbol})


def pad_varint(value, length):
    """A number as Thrift writes it, in so many bytes."""
    left = value << 1
    return bytes([(left >> 7 * i) & 127 | 128 for i in range(length - 1)]) + bytes(
        [left >> 7 * (length - 1)]
    )


def write_false_footer(path):
    """Pages that unpack to more than the 1,000 bytes that the footer states."""
    words = pa.array([f"{i:06d}" + "A" * 25_000 for i in range(ROWS)])
    pq.write_table(table(words), path, compression="zstd", use_dictionary=False,
                   data_page_size=1 << 30, version="1.0")  # fmt: skip
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:]
    group = pq.ParquetFile(path).metadata.row_group(0)
    sizes = {group.column(i).total_uncompressed_size for i in range(group.num_columns)}
    for size in (group.total_byte_size, *sizes):
        length = (size.bit_length() + 7) // 7
        footer = footer.replace(pad_varint(size, length), pad_varint(1000, length))
    path.write_bytes(content[:start] + footer)
    assert pq.ParquetFile(path).metadata.row_group(0).total_byte_size == 1000


def write_large_footer(path):
    """A footer of a million columns without a row."""
    columns = b"\x19\xfc\xa0\x8d\x06" + b"\x26\x00\x00" * 100_000
    group = columns + b"\x16\x00\x16\x00\x00"
    schema = b"\x19\x1c\x48\x01a\x15\x00\x00"
    footer = b"\x15\x02" + schema + b"\x16\x00\x19\xac" + group * 10 + b"\x00"
    path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def write_shared_text(path):
    """A Feather file whose text is a page long on disk, and rows times that in memory."""
    pa.feather.write_feather(table(shared_text()), str(path), compression="zstd")


BOMBS = {"false.parquet": (write_false_footer, "unpacks to 10"),
         "large.parquet": (write_large_footer, "footer"),
         "shared.feather": (write_shared_text, "400000000 bytes")}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_unpacks_to_more_than_the_cap_is_refused(tmp_path, name):
    """Whatever its footer states, and however often a text is shared."""
    write, words = BOMBS[name]
    write(tmp_path / name)
    with pytest.raises(LimitError, match=words):
        load_bars(str(tmp_path / name), LoadOptions(max_bytes=CAP))


def test_a_dated_file_has_the_same_cap(tmp_path, monkeypatch):
    """Packed text and the symbols of typed rows."""
    monkeypatch.setattr(point_in_time, "LARGEST_SOURCE_BYTES", CAP)
    row = b"2024-01-01T00:00Z,1.0" + b" " * 1000 + b"\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"known_at,value\n" + row * 2500, 1))
    times = pa.array(np.arange(ROWS), pa.timestamp("s"))
    word = pa.DictionaryArray.from_arrays(np.zeros(ROWS, np.int32), ["A" * 1_000_000])
    dated = pa.table({"known_at": times, "value": np.zeros(ROWS), "symbol": word})
    pq.write_table(dated, tmp_path / "b.parquet", compression="zstd")
    for name in ("a.csv.gz", "b.parquet"):
        with pytest.raises(LimitError, match="above the cap of"):
            point_in_time.read_dated(str(tmp_path / name))


PROGRAM = """
import io, random, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from data import load_bars
from data.errors import DataError
from data.table import LoadOptions
close = 100 + np.arange(60) / 8
times = np.datetime64("2024-01-01", "ns") + np.arange(60) * np.timedelta64(1, "h")
table = pa.table({
    "timestamp": times, "open": close, "high": close + 1, "low": close - 1, "close": close,
    "volume": np.ones(60), "symbol": ["X"] * 60,
})
rng = random.Random(7)
for how in ({}, {"compression": "zstd", "use_dictionary": False}, {"data_page_version": "2.0"}):
    file = io.BytesIO()
    pq.write_table(table, file, **how)
    whole = file.getvalue()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for number in range(120):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            first = footer if rng.random() < 0.7 else 0
            content[rng.randrange(first, len(content))] = rng.randrange(256)
        with open(sys.argv[1], "wb") as target:
            target.write(content)
        try:
            load_bars(f"parquet:{sys.argv[1]}", LoadOptions(max_bytes=50_000_000))
        except DataError:
            pass
print("ended as it should")
"""


def test_damaged_bytes_end_in_an_error_in_words(tmp_path):
    """Mostly in the footer, where a library would abort over sizes that contradict each other."""
    assert printed(PROGRAM, tmp_path / "bars.parquet") == "ended as it should\n"


def test_a_text_is_never_cut_without_a_word(tmp_path):
    """Wherever it ends: the bars are those of whole lines, or there are none."""
    text = csv_text(make_columns(300))
    for cut in range(59):
        with contextlib.suppress(DataError):
            bars = load_bars(write_csv(tmp_path, text[: len(text) - cut]))
            assert bars.content_hash == make_bars(len(bars)).content_hash
