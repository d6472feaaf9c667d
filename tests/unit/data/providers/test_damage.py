"""Files with any bytes changed or cut are refused or read as they are; nothing ends otherwise."""

import contextlib

from data import DataError, load_bars
from tests.support.commands import printed
from tests.support.series import csv_text, make_bars, make_columns, write_csv

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
