"""Prices and volumes of a file to float64."""

import decimal

import numpy as np
import pyarrow as pa
import pytest

from data.errors import TableError
from data.providers.numbers import read_numbers


def read(values, kind=None):
    """Read one column of numbers."""
    return read_numbers(pa.array(values, type=kind), "close", "f")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, 2], pa.int64(), [1.0, 2.0]),
        ([0.5], pa.float32(), [0.5]),
        ([0.1], pa.float64(), [0.1]),
        ([decimal.Decimal("1.25")], pa.decimal128(10, 2), [1.25]),
        (["0.1", " 2 ", "+3e2", ".5", "5."], pa.string(), [0.1, 2.0, 300.0, 0.5, 5.0]),
    ],
    ids=["whole", "float32", "float64", "decimal", "text"],
)
def test_each_kind_is_read_exactly(values, kind, expected):
    """The nearest float64 to the file's digits."""
    assert read(values, kind).tolist() == expected


def test_text_is_read_to_the_last_bit():
    """The shortest and the longest decimal of a number give that number."""
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 9007199254740993.0]
    assert read([repr(v) for v in values]).tolist() == values
    assert read([f"{v:.40f}" for v in values[:2]]).tolist() == values[:2]


@pytest.mark.parametrize("text", ["", "NA", "nan", "NULL", "None", "n/a"])
def test_missing_values_are_nan(text):
    """What stands for nothing is NaN, which the law of bars refuses later."""
    assert np.isnan(read(["1.0", text])[1])


def test_a_column_without_a_value_is_missing_throughout():
    """As polars and pandas type it; the reader of volumes names the option that helps."""
    assert np.isnan(read([None, None], pa.null())).all()


@pytest.mark.parametrize("text", ["1e400", "inf", "-Infinity"])
def test_numbers_too_large_are_infinite(text):
    """They stay visible as infinite, which the law of bars refuses later."""
    assert np.isinf(read(["1.0", text])[1])


@pytest.mark.parametrize("text", ["1,5", "1_000", "0x10", "1.2.3", "5$", "abc", "1 00", "\u0661"])
def test_text_that_is_no_number_is_refused_with_its_row(text):
    """Local number formats are not guessed at."""
    with pytest.raises(TableError, match=r"f: column 'close' holds text .* row 1 .*decimal point"):
        read(["1.0", text])


def test_whole_numbers_beyond_exact_floats_are_refused():
    """2^53 + 1 has no float64."""
    with pytest.raises(TableError, match=r"beyond 2\^53"):
        read([2**53 + 1], pa.int64())


def test_other_types_are_no_numbers():
    """Booleans are not prices."""
    with pytest.raises(TableError, match="holds bool, which is no number"):
        read([True])
