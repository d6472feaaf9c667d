"""Numbers as people and programs write them in other places."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.errors import TableError
from data.providers.numbers import COMMA, POINT, find_decimal, plain_numbers


def found(*columns, chosen=None):
    """The mark of a file with some columns of text."""
    named = {f"c{place}": pa.array(list(texts)) for place, texts in enumerate(columns)}
    return find_decimal(named, chosen, "f")


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["1.5", "2"], POINT),
        (["1,5", "2"], COMMA),
        (["1,2345"], COMMA),
        (["1.234,5"], COMMA),
        (["1,234.5"], POINT),
        (["1,234,567"], POINT),
        (["1.234.567", "1,5"], COMMA),
        (["42,000.5", "999.1"], POINT),
    ],
    ids=str,
)
def test_one_certain_number_settles_all(texts, mark):
    """A form that only one of the marks can have settles it."""
    assert found(texts) == mark
    assert found(["1,234", "5"], texts) == mark


def test_whole_numbers_need_no_mark():
    """Nothing is asked where nothing hangs on it."""
    assert found(["1", "2"]) == POINT


@pytest.mark.parametrize("texts", [["1,234"], ["1,234", "5"], ["1,5", "2.5"], ["1,5", "1,234.5"]])
def test_what_could_be_either_is_refused_unless_said(texts):
    """The message shows a number and the option."""
    with pytest.raises(TableError, match=r"column 'c0' holds numbers such as '1,.*--decimal \. or"):
        found(texts)
    assert found(texts, chosen=COMMA) == COMMA


@pytest.mark.parametrize(
    ("text", "mark", "expected"),
    [
        ("1,234.5", POINT, "1234.5"),
        ("1 234 567", POINT, "1234567"),
        ("1'234.5", POINT, "1234.5"),
        ("1\u2019234.5", POINT, "1234.5"),
        ("1\u2019234,5", COMMA, "1234.5"),
        ("$187.15", POINT, "187.15"),
        ("-$5.20", POINT, "-5.20"),
        ("1.23M", POINT, "1.23e6"),
        ("4K", POINT, "4e3"),
        ("2.5 B", POINT, "2.5e9"),
        ("1.234,5", COMMA, "1234.5"),
        ("1\u00a0234,5", COMMA, "1234.5"),
        ("\u20ac5,20", COMMA, "5.20"),
        ("1,5M", COMMA, "1.5e6"),
        ("1.250", COMMA, "1250"),
    ],
)
def test_numbers_are_written_plainly(text, mark, expected):
    """Signs, groups and scales of ten, and nothing else."""
    assert plain_numbers(pa.array([text]), mark).to_pylist() == [expected]


@pytest.mark.parametrize("text", ["1,23,4", "1 00", "1_000", "0x10", "5$", "abc", "1.2.3", "1e5x"])
@pytest.mark.parametrize("mark", [POINT, COMMA])
def test_what_is_no_number_does_not_become_one(text, mark):
    """It stays something that no float can be made of."""
    (written,) = plain_numbers(pa.array([text]), mark).to_pylist()
    with pytest.raises(ValueError, match="could not convert"):
        float(written.replace("_", "x"))


@given(st.floats(allow_nan=False, allow_infinity=False, width=64))
def test_a_number_with_a_decimal_comma_keeps_its_bits(number):
    """Whatever its size, written out in full it reads back exactly."""
    text = f"{number:.330f}".replace(".", ",")
    (written,) = plain_numbers(pa.array([text]), COMMA).to_pylist()
    assert float(written) == number
