"""Times of a file beside the rows of the corpus: the machine's own zone, and laws of numbers."""

import tempfile
import time
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from data import DataError, load_bars
from data.table import LoadOptions
from tests.corpus.row import ONE, bars
from tests.corpus.times import MIDNIGHT

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


def test_the_machines_own_zone_changes_nothing(monkeypatch, tmp_path):
    """TZ of the machine is never used."""
    bars([MIDNIGHT]).write(tmp_path / "series.csv")
    options = LoadOptions(**ONE)
    expected = load_bars(str(tmp_path / "series.csv"), options).timestamp[0]
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert load_bars(str(tmp_path / "series.csv"), options).timestamp[0] == expected
    finally:
        monkeypatch.undo()
        time.tzset()
