"""Parquet files with damaged bytes are refused or read; they never end the process."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

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
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stdout) == (0, "ended as it should\n"), ended.stderr[-2000:]
