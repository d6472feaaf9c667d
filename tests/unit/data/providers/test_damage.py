"""Files with any bytes changed or cut are refused or read as they are; nothing ends otherwise."""

import contextlib

import numpy as np
import pytest
from pyarrow import feather

from data import DataError, jumps_of, load_bars, quirks_of
from tests.corpus.typed import arrow
from tests.support.commands import printed
from tests.support.series import NAMES, csv_text, make_bars, make_columns, write_csv

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
file = io.BytesIO()
pq.write_table(table, file, **eval(sys.argv[2]))
whole, rng = file.getvalue(), random.Random(int(sys.argv[3]))
footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
for number in range(int(sys.argv[4])):
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


@pytest.mark.parametrize(
    "written",
    ["{}", "{'compression': 'zstd', 'use_dictionary': False}", "{'data_page_version': '2.0'}"],
    ids=["usual", "zstd", "second pages"],
)
def test_damaged_bytes_end_in_an_error_in_words(tmp_path, written):
    """Mostly in the footer, where a library would abort over sizes that contradict each other."""
    arguments = (tmp_path / "bars.parquet", written, 7, 400)
    assert printed(PROGRAM, *arguments) == "ended as it should\n"


def test_a_flipped_byte_of_feather_never_crashes(tmp_path):
    """Damage is refused, or the bars are checked like any others."""
    path = tmp_path / "damaged.feather"
    feather.write_feather(arrow(), str(path), compression="uncompressed")
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with contextlib.suppress(DataError):
            assert len(load_bars(f"feather:{path}")) == 5


def test_a_text_is_never_cut_without_a_word(tmp_path):
    """Wherever it ends: the bars are those of whole lines, or there are none."""
    text = csv_text(make_columns(300))
    for cut in range(59):
        with contextlib.suppress(DataError):
            bars = load_bars(write_csv(tmp_path, text[: len(text) - cut]))
            assert bars.content_hash == make_bars(len(bars)).content_hash


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1e-300, 1e300, "inf times the close"), (1.0, 1e300, "1e+300 times the close"),
     (1e-5, 1e302, "1e+307 times the close"), (1.0, 4.0, "+300% from the close")],
)  # fmt: skip
def test_prices_that_alternate_are_told_in_short_words(low, high, words):
    """Neither a warning nor three hundred digits."""
    price = np.where(np.arange(40) % 2, high, low)
    bars = make_bars(40, **dict.fromkeys(NAMES[:4], price))
    lines = quirks_of(bars)
    assert any(f"is {words}" in line for line in lines)
    assert all(len(line) < 120 for line in lines)
    jumps_of(bars)
