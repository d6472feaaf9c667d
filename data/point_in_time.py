"""Files of numbers, each with the time from which it was known: earnings, rates, sentiment."""

import time
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from data.bars import Bars, Payments
from data.checks import Floats, Ints, format_time
from data.errors import DataError
from data.providers.numbers import read_numbers
from data.providers.parquet_file import open_capped, read_capped
from data.providers.source_file import first_line, open_unchanged, refuse_expanded, unpack
from data.table import LARGEST_SOURCE_BYTES
from data.timeframe import MINUTE_NS
from data.zones import LocalZone, localise

TIMES = ("known_at", "known_from", "known-from")
"""Names of the column of times: those at which a number could be read, never the period that it
describes, so a plain `timestamp` is not taken for it."""

VALUE, SYMBOL = "value", "symbol"


class DatedNumbers(NamedTuple):
    """Numbers of a file."""

    known_at: Ints  # [N] int64 nanoseconds UTC, ascending
    values: Floats  # [N], finite or NaN
    # [N] symbol of each; None where the file is for every symbol.
    symbols: np.ndarray[tuple[int], np.dtype[np.object_]] | None
    # True if its times are dates alone, each taken as the first moment of that day.
    is_by_day: bool = False

    def of(self, symbol: str) -> "DatedNumbers":
        """Numbers of one symbol."""
        if self.symbols is None:
            return self
        rows = self.symbols == symbol
        return DatedNumbers(self.known_at[rows], self.values[rows], None, self.is_by_day)

    def at_closes(self, bars: Bars, max_age: float | None = None) -> Floats:
        """The newest number known at each bar's close, [T]; NaN before the first and when old.

        `max_age` is minutes after which a number is not known any more; None for never.

        Raises:
            DataError: When `max_age` is not above 0.
        """
        if max_age is not None and not max_age > 0:
            raise DataError(f"max_age must be above 0 minutes, got {max_age}")
        if not len(self.values):
            return np.full(len(bars), np.nan)
        newest = np.searchsorted(self.known_at, bars.over_ns, side="right") - 1
        latest = np.maximum(newest, 0)
        column = np.where(newest < 0, np.nan, self.values[latest])
        if max_age is not None:
            column[bars.over_ns - self.known_at[latest] > max_age * MINUTE_NS] = np.nan
        return column

    def as_payments(self) -> Payments:
        """The numbers as payments at their times, on the minute: exchanges add milliseconds."""
        return Payments(self.known_at - self.known_at % MINUTE_NS, self.values)


def read_dated(path: str, tz: LocalZone | None = None, *, is_paid: bool = False) -> DatedNumbers:
    """Read a CSV or Parquet file with the columns known_at, value and, if it has several, symbol.

    Times are ISO 8601 or typed; without a zone they are of `tz`, or UTC. With `is_paid` the
    numbers are payments, each made at its time.

    Raises:
        DataError: When there is no such file, a column is missing or there twice, a time or a
            number is none, or a symbol has two numbers at one time; of payments also when one is
            unknown, earlier than the one before it, in its minute, or not made yet.
    """
    table, names = _table(path)
    used = [name for name in table.column_names if name in (*TIMES, VALUE, SYMBOL)]
    when = next((name for name in TIMES if name in used), None)
    if when is None or VALUE not in used:
        missing = TIMES[0] if when is None else VALUE
        raise DataError(f"{path}: column '{missing}' is missing, there are {', '.join(names)}")
    if not len(table):
        raise DataError(f"{path}: there is no row below its header")
    if len(used) > len({TIMES[0] if name in TIMES else name for name in used}):
        raise DataError(f"{path}: {', '.join(used)}: two columns say the same, leave one of each")
    times = _times(table[when], path, tz)
    values = read_numbers(table[VALUE].combine_chunks(), VALUE, path)
    if np.isinf(values).any():
        raise DataError(f"{path}: value {int(np.isinf(values).argmax())} is infinite")
    symbols, ids = None, np.zeros(len(times), np.int64)
    if SYMBOL in used:
        symbols = table[SYMBOL].cast(pa.string())
        codes = symbols.combine_chunks().dictionary_encode().indices
        ids = np.asarray(codes.fill_null(-1), np.int64)
    if is_paid:
        _check_payments(times, values, ids, path)
    else:
        _refuse_two_at_once(times, values, ids, symbols, path)
    order = np.argsort(times, kind="stable")
    return DatedNumbers(
        times[order],
        values[order],
        None if symbols is None else np.array(symbols.to_pylist(), object)[order],
        is_by_day=pa.types.is_date(table[when].type),
    )


def _check_payments(times: Ints, values: Floats, ids: Ints, path: str) -> None:
    """Refuse payments with a doubtful order, time or rate."""
    order = np.argsort(ids, kind="stable")
    minutes, of = times[order] // MINUTE_NS, ids[order]
    steps = np.where(of[1:] == of[:-1], np.diff(minutes), 1)
    for rows, fault in (
        (np.flatnonzero(times > time.time_ns()), "has not been made yet: leave it out until it is"),
        (np.flatnonzero(np.isnan(values)), "has no rate: leave it out, or write 0"),
        (order[1:][steps < 0], "is earlier than the one before it: sort the file by its times"),
        (order[1:][steps == 0], "is in the minute of the one before it: leave one of the two"),
    ):
        if len(rows):
            raise DataError(f"{path}: the payment at {format_time(times[rows.min()])} {fault}")


def _refuse_two_at_once(
    times: Ints, values: Floats, ids: Ints, symbols: pa.ChunkedArray | None, path: str
) -> None:
    order = np.lexsort((times, ids))
    times, values, ids = times[order], values[order], ids[order]
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    twice = np.flatnonzero((times[1:] == times[:-1]) & (ids[1:] == ids[:-1]) & ~same)
    if len(twice):
        first = int(twice[0])
        first_value, other_value = values[first : first + 2].tolist()
        of = "" if symbols is None else f" of {symbols[int(order[first])]}"
        raise DataError(
            f"{path}: two numbers{of} are known from {format_time(times[first])} on, "
            f"{first_value!r} and {other_value!r}; leave the one that a bar should see"
        )


def _table(path: str) -> tuple[pa.Table, list[str]]:
    """Columns of a file that are needed, and the names of all that it has."""
    if not Path(path).is_file():
        raise DataError(f"there is no file '{path}'")
    read = _read_parquet if path.lower().endswith(".parquet") else _read_csv
    try:
        with open_unchanged(Path(path), LARGEST_SOURCE_BYTES) as file:
            return read(file, path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {first_line(error)}") from None


def _read_parquet(file: IO[bytes], path: str) -> tuple[pa.Table, list[str]]:
    with open_capped(file, path, LARGEST_SOURCE_BYTES) as parquet:
        names = list(parquet.schema_arrow.names)
        used = [name for name in names if name in (*TIMES, VALUE, SYMBOL)]
        columns = read_capped(parquet, file, used, path, LARGEST_SOURCE_BYTES)
    refuse_expanded(columns, path, LARGEST_SOURCE_BYTES)
    return columns, names


def _read_csv(file: IO[bytes], path: str) -> tuple[pa.Table, list[str]]:
    # A symbol may be digits alone, the first of them zeros.
    as_text = arrow_csv.ConvertOptions(column_types={SYMBOL: pa.string()})
    with unpack(file, path, LARGEST_SOURCE_BYTES) as text:
        table = arrow_csv.read_csv(text, convert_options=as_text)
    return table, list(table.column_names)


def _times(column: pa.ChunkedArray, path: str, tz: LocalZone | None) -> Ints:
    kind = column.type
    if pa.types.is_date(kind):
        column, kind = column.cast(pa.timestamp("s")), pa.timestamp("s")
    if not pa.types.is_timestamp(kind) or column.null_count:
        raise DataError(
            f"{path}: each time from which a number was known is an ISO time, such as "
            f"2024-01-31T09:30Z, got {'empty ones' if column.null_count else kind}"
        )
    try:
        whole = pc.cast(column, pa.timestamp("ns", kind.tz)).cast(pa.int64())
    except pa.ArrowInvalid:
        raise DataError(f"{path}: its times are not all between 1678 and 2262") from None
    time_ns = np.asarray(whole, np.int64)
    # Rows of several symbols step back where one ends: their order settles no repeated hour.
    return time_ns if kind.tz or tz is None else localise(time_ns, tz, path, is_series=False)[0]
