"""Files of numbers, each with the time from which it was known: earnings, rates, sentiment."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from data.checks import Floats, Ints
from data.errors import DataError

TIMES = ("known_at", "known_from", "known-from")
"""What the column of times may be called. It says when a number could be read, never the period
that it describes, so a plain `timestamp` is not taken for it."""

VALUE, SYMBOL = "value", "symbol"


class DatedNumbers(NamedTuple):
    """Numbers of a file.

    Args:
        known_at: [N] int64 nanoseconds UTC, ascending.
        values: [N], finite or NaN.
        symbols: [N] whose each is; None where the file is for every symbol.
    """

    known_at: Ints
    values: Floats
    symbols: np.ndarray[tuple[int], np.dtype[np.object_]] | None

    def of(self, symbol: str) -> tuple[Ints, Floats]:
        """Times and values of one symbol."""
        if self.symbols is None:
            return self.known_at, self.values
        own = self.symbols == symbol
        return self.known_at[own], self.values[own]


def read_dated(path: str) -> DatedNumbers:
    """Read a CSV or Parquet file with the columns known_at, value and, if it has several, symbol.

    Times are ISO 8601 or typed, UTC where they name no zone.

    Raises:
        DataError: When there is no such file, a column is missing, or a time or a number is none.
    """
    table = _table(path)
    time = next((name for name in TIMES if name in table.column_names), None)
    if time is None or VALUE not in table.column_names:
        missing = TIMES[0] if time is None else VALUE
        raise DataError(
            f"{path}: column '{missing}' is missing, there are {', '.join(table.column_names)}"
        )
    times = _times(table[time], path)
    values = _values(table[VALUE], path)
    symbols = None
    if SYMBOL in table.column_names:
        symbols = np.array(table[SYMBOL].to_pylist(), object)
    order = np.argsort(times, kind="stable")
    return DatedNumbers(times[order], values[order], None if symbols is None else symbols[order])


def _table(path: str) -> pa.Table:
    if not Path(path).is_file():
        raise DataError(f"there is no file '{path}'")
    try:
        if path.endswith(".parquet"):
            return pq.read_table(path)
        return arrow_csv.read_csv(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path} cannot be read: {str(error).splitlines()[0]}") from None


def _times(column: pa.ChunkedArray, path: str) -> Ints:
    kind = column.type
    if pa.types.is_date(kind):
        column, kind = column.cast(pa.timestamp("ns")), pa.timestamp("ns")
    if not pa.types.is_timestamp(kind) or column.null_count:
        raise DataError(
            f"{path}: each time from which a number was known is an ISO time, such as "
            f"2024-01-31T09:30Z, got {'empty ones' if column.null_count else kind}"
        )
    return np.asarray(pc.cast(column, pa.timestamp("ns", kind.tz)).cast(pa.int64()), np.int64)


def _values(column: pa.ChunkedArray, path: str) -> Floats:
    try:
        found = np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    except pa.ArrowInvalid as error:
        raise DataError(f"{path}: a value is no number: {error}") from None
    if np.isinf(found).any():
        raise DataError(f"{path}: value {int(np.isinf(found).argmax())} is infinite")
    return found
