"""Prices and volumes of a file to float64: read exactly, never by way of a local number format."""

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from data.checks import SHOWN
from data.errors import TableError
from data.providers.arrays import array_of
from data.providers.decimals import POINT, plain_numbers

Floats = npt.NDArray[np.float64]

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-nan"})
INFINITE = re.compile(r"[+-]?inf(inity)?")


def read_numbers(column: pa.Array, name: str, where: str, decimal: str = POINT) -> Floats:
    """Read a column of numbers.

    Args:
        column: [N], text, whole numbers, floats or decimals.
        name: Its name in the file.
        where: What errors start with.
        decimal: Mark that begins the decimals, ``.`` or ``,``.

    Returns:
        [N] float64, each the nearest to what the file says; NaN where missing, infinite where too
        large.

    Raises:
        TableError: When a value is no number, or whole and too large to be held exactly.
    """
    place = f"{where}: column {name!r}"
    if pa.types.is_string(column.type):
        return _from_text(column, place, decimal)
    kind = pa.types
    if not any(
        is_kind(column.type) for is_kind in (kind.is_integer, kind.is_floating, kind.is_decimal)
    ):
        raise TableError(f"{place} holds {column.type}, which is no number")
    try:
        exact = column.cast(pa.float64())
    except pa.ArrowInvalid:
        raise TableError(f"{place} holds whole numbers beyond 2^53, which lose digits") from None
    return array_of(exact, np.nan)


def _from_text(column: pa.Array, place: str, decimal: str) -> Floats:
    if decimal == POINT and (numbers := _all_finite(column)) is not None:
        return numbers
    plain = plain_numbers(column, decimal)
    numbers = _all_finite(plain)
    return _one_by_one(plain, place) if numbers is None else numbers


def _all_finite(column: pa.Array) -> Floats | None:
    """The numbers of a column at once, None unless all of them are plain and finite."""
    try:
        numbers = array_of(column.cast(pa.float64()), np.nan)
    except pa.ArrowInvalid:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _one_by_one(column: pa.Array, place: str) -> Floats:
    numbers = np.full(len(column), np.nan)
    strange = []
    for row, value in enumerate(column.to_pylist()):
        text = "" if value is None else value.strip()
        if NUMBER.fullmatch(text) or INFINITE.fullmatch(text.lower()):
            numbers[row] = float(text)
        elif text.lower() not in MISSING:
            strange.append(f"row {row} {text[:40]!r}")
    if strange:
        more = f" and {len(strange) - SHOWN} more" if len(strange) > SHOWN else ""
        raise TableError(
            f"{place} holds text that is no number: {', '.join(strange[:SHOWN])}{more}; "
            "write plain numbers with a decimal point, or name their mark with --decimal"
        )
    return numbers
