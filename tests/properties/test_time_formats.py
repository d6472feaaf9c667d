"""Formats of times, judged by Python's own strptime."""

import datetime as dt
import re

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from data.errors import TableError
from data.providers.time_columns import read_times

DATES = (
    ["Y", "m", "d"], ["y", "m", "d"], ["Y", "b", "d"], ["Y", "B", "d"], ["Y", "j"], ["y", "j"],
    ["a", "Y", "m", "d"], ["A", "y", "b", "d"],
)  # fmt: skip
CLOCKS = (
    [], ["H"], ["H", "M"], ["H", "M", "S"], ["H", "M", "S", "f"], ["I", "M", "p"],
    ["I", "M", "S", "p"], ["H", "M", "S", "z"], ["H", "M", "S", "f", "z"], ["H", "f"],
)  # fmt: skip
SEPARATORS = st.sampled_from(["", "", "", "-", "/", ".", ":", " ", "  ", "T", ",", "%%", "(", "0"])
MOMENTS = st.one_of(
    st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(2068, 12, 31)),
    st.datetimes(dt.datetime(1969, 1, 1), dt.datetime(1969, 12, 31)),
    st.datetimes(dt.datetime(2068, 1, 1), dt.datetime(2068, 12, 31)),
)
"""All that two digits of a year can say, and often the first and the last of them."""

ZONES = st.sampled_from([dt.UTC, dt.timezone(dt.timedelta(hours=-5, minutes=-30))])
FIRST_NS, LAST_NS = -2_208_988_800 * 10**9, 4_102_444_800 * 10**9
"""1900 and 2100."""

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@st.composite
def formats(draw):
    """Directives that make a time, in any order, with anything between them."""
    names = draw(st.permutations([*draw(st.sampled_from(DATES)), *draw(st.sampled_from(CLOCKS))]))
    return "".join(f"%{name}{draw(SEPARATORS)}" for name in names)


def read(text, form):
    """Nanoseconds since 1970 as the house reads them, None where it refuses."""
    try:
        return int(read_times({"t": pa.array([text.strip()])}, None, "f", form)[0][0])
    except TableError:
        return None


def expect(text, form):
    """Nanoseconds since 1970 as Python reads them, None where it refuses."""
    try:
        moment = dt.datetime.strptime(text.strip(), form.strip())
    except (ValueError, re.error):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return (moment - EPOCH) // dt.timedelta(microseconds=1) * 1000


@settings(max_examples=120, derandomize=True)
@given(formats(), MOMENTS, ZONES)
def test_times_are_read_as_strptime_reads_them(form, moment, zone):
    """What Python writes by a format is read as Python reads it; years of no market are refused."""
    text = moment.replace(tzinfo=zone).strftime(form)
    expected = expect(text, form)
    is_known = expected is not None and FIRST_NS <= expected < LAST_NS
    assert read(text, form) == (expected if is_known else None), (form, text)
