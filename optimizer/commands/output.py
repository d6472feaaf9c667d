"""Results in files and on stdout: JSON without NaN, CSV that reads back exactly."""

import csv
import io
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A cell of text that begins so would run as a formula in a spreadsheet."""


def print_json(value: object) -> None:
    """Print one JSON object on stdout; NaN is null."""
    sys.stdout.write(json.dumps(without_nan(value), indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()


def without_nan(value: object) -> object:
    """The same value with null where a number is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(item) for item in value]
    return value


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV table; floats read back as the same bits, NaN and None are empty cells."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    if isinstance(value, str) and value.startswith(FORMULA_STARTS):
        return f"'{value}"
    return "" if value is None else str(value)
