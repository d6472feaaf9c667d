"""Times of a file beside the rows of the corpus: the machine's own zone, and laws of numbers."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from data import DataError, load_bars
from data.checks import NO_TIME
from data.providers.time_columns import read_times
from data.table import LoadOptions
from tests.corpus.row import ONE, bars

UNITS = (1, 10**3, 10**6, 10**9)
NUMBERS = st.one_of(
    st.integers(0, 2**62),
    st.builds(int.__mul__, st.integers(315_532_800, 4_102_444_799), st.sampled_from(UNITS)),
)
TICKS_1980 = 624_511_296_000_000_000
"""The second of 1980 in ticks of .NET, and a moment of 1989 in nanoseconds."""


def find_times(numbers):
    """Times of a column of numbers in nanoseconds; None where it is refused."""
    file = bars(numbers, kind="parquet")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file.name
        file.write(path)
        try:
            read = load_bars(str(path), LoadOptions(**ONE, sort=True), now_ns=2**62)
        except DataError:
            return None
    return read.timestamp.tolist()


@given(st.lists(NUMBERS, min_size=1, max_size=6, unique=True))
@example([1_735_516_800, TICKS_1980])
@example([TICKS_1980, 1_704_067_200_000_000_001])
def test_a_number_is_never_another_time(numbers):
    """Each is read as it is alone, whatever stands beside it, or the column is refused."""
    together = find_times(numbers)
    if together is not None:
        # Beside another, a number that may be ticks is settled.
        alone = [find_times([number]) or [number] for number in numbers]
        assert together == sorted(time_ns for (time_ns,) in alone)


MOMENTS = np.datetime64("2018-03-01T00:00", "s") + np.arange(70_000) * np.timedelta64(17, "m")
"""Times of two years, more than are read together."""

WRITTEN = (
    "%Y-%m-%d %H:%M:%S", "%m/%d/%Y %I:%M %p",
    "%d %b %Y %H:%M", "%Y.%m.%d|%H:%M",
)  # fmt: skip
"""Ways to write them; a bar parts two columns."""


@pytest.mark.parametrize("form", WRITTEN)
def test_many_rows_are_read_as_they_were_written(form):
    """With blanks, missing rows, and a row that fits no other."""
    times = pa.array(MOMENTS)
    expected = MOMENTS.astype("datetime64[ns]").astype(np.int64)
    columns = {}
    for part in form.split("|"):
        texts = pc.strftime(times, format=part).to_pylist()
        texts[3], texts[-2] = None, f" {texts[-2]} "
        columns[part] = pa.array(texts, pa.string())
    time_ns, _ = read_times(columns, None, "f")
    assert time_ns[3] == NO_TIME
    assert np.array_equal(np.delete(time_ns, 3), np.delete(expected, 3))
    *_, last = columns
    texts = columns[last].to_pylist()
    texts[66_000] = "2018-02-30 x"
    with pytest.raises(DataError, match=r"row 66000 '2018-02-30 x'|no date"):
        read_times({**columns, last: pa.array(texts)}, None, "f")
