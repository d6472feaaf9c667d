"""Columns and index of a frame of pandas as Arrow has them, and the times that they hold."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from data.checks import Ints
from data.errors import TableError
from data.providers.column_names import find_role
from data.providers.time_columns import read_times
from data.table import LoadOptions
from optimizer.errors import ConfigError

TIMESTAMP, CLOSE = "timestamp", "close_time"

TIMES = (TIMESTAMP, "date", "time")
"""Meanings that a column may have in place of an index of times."""

EARLIEST = 10**7
"""Smaller whole numbers in an index count rows; those of days are such as 20240131."""

HEAD = 1000
"""Texts of an index that are tried as times."""


class FrameColumns(Mapping[str, pa.Array]):
    """Columns of a frame by name, converted when they are asked for.

    The second column of a name has no name that is recognised, but that of the index keeps it.

    Args:
        frame: Columns of one level.
        where: How messages call it.
        code: What messages say makes it of what was passed.
        index: Name under which the index is the first column; empty to leave it out.
    """

    def __init__(self, frame: pd.DataFrame, where: str, code: str, index: str) -> None:
        self.where, self.code = where, code
        self.doubled: set[str] = set()
        self._arrays: dict[str, pa.Array] = {}
        self._columns = {index: pd.Series(frame.index)} if index else {}
        for position, label in enumerate(frame.columns):
            name = str(label)
            if name == index:
                name = f"{name} (column {position + 1})"
            elif name in self._columns:
                self.doubled.add(name)
                name = f"(column {position + 1}, {name})"
            self._columns[name] = frame.iloc[:, position]
        index_name = "" if index or frame.index.name is None else str(frame.index.name)
        if (
            index_name
            and index_name not in self._columns
            and find_role(index_name) not in (*TIMES, CLOSE)
        ):
            self._columns[index_name] = pd.Series(frame.index)

    def __getitem__(self, name: str) -> pa.Array:
        if name not in self._arrays:
            where = f"{self.where}: column {name!r}"
            self._arrays[name] = to_arrow(self._columns[name], where)
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def is_plain(self, name: str) -> bool:
        """Whether each row of a column holds one value."""
        try:
            return not pa.types.is_nested(self[name].type)
        except ConfigError:
            return False

    def find_times(self, names: Sequence[str], options: LoadOptions) -> Ints | None:
        """Times of a column, or of one of dates and one of times of day, as `read_ns` has them."""
        try:
            return read_ns({name: self[name] for name in names}, options)
        except ConfigError:
            return None


def to_arrow(column: "pd.Series[Any]", where: str) -> pa.Array:
    """A column as Arrow has it: of periods and intervals their beginnings, sparse ones filled.

    Raises:
        ConfigError: When it holds what Arrow has no column of.
    """
    try:
        array = pa.array(_to_plain(column), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        if column.dtype == object and any(isinstance(value, str) for value in column):
            # Numbers among text are text, as a file would hold them.
            return pa.array(column.map(str, na_action="ignore"), pa.string(), from_pandas=True)
        reason = " ".join(str(error).split())
        raise ConfigError(f"{where} holds what is no number, text or time: {reason}") from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def has_times(index: pd.Index, options: LoadOptions) -> bool:
    """Whether an index holds opening times of bars, rather than count or name them."""
    kind = index.dtype
    if isinstance(kind, pd.PeriodDtype) or pd.api.types.is_datetime64_any_dtype(kind):
        return True
    if isinstance(index, pd.MultiIndex) or not len(index):
        return False
    sample = pd.Series(index[:HEAD])
    if pd.api.types.is_numeric_dtype(kind):
        sample = pd.Series([index.min(), index.max()])
        if not sample[0] >= EARLIEST:
            return False
    try:
        return read_ns({"": to_arrow(sample, "")}, options) is not None
    except ConfigError:
        return False


def read_ns(columns: Mapping[str, pa.Array], options: LoadOptions) -> Ints | None:
    """Times in nanoseconds UTC, [N], `NO_TIME` where one is missing; None where there are none."""
    flat = {name: _flatten(column) for name, column in columns.items()}
    try:
        return read_times(flat, options.zone, "", options.time_format)[0]
    except TableError:
        return None


def refuse_index(index: pa.Array, where: str, options: LoadOptions) -> None:
    """Refuse an index that is read as times and holds none.

    Raises:
        TableError: With the reason, as of a column.
    """
    try:
        read_times({"index": _flatten(index)}, options.zone, where, options.time_format)
    except TableError as error:
        raise TableError(str(error).replace("column 'index'", "its index")) from None


def _flatten(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_text = pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type)
    return column.cast(pa.string()) if is_text else column


def list_texts(column: pa.Array, where: str) -> list[str]:
    """Different values of a column as text, without those that are missing or empty.

    Raises:
        ConfigError: When they cannot be written as text.
    """
    try:
        values = column.unique()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        return [text for text in values.cast(pa.string()).to_pylist() if text]
    except pa.ArrowException:
        raise ConfigError(f"{where} holds {column.type}, which names no market") from None


def _to_plain(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """A column of a type that Arrow knows, where there is one."""
    kind, values = column.dtype, column.array
    if isinstance(kind, pd.PeriodDtype):
        return pd.Series(pd.PeriodIndex(values).to_timestamp())
    if isinstance(kind, pd.IntervalDtype):
        return pd.Series(pd.IntervalIndex(values).left)
    if isinstance(kind, pd.SparseDtype):
        return pd.Series(np.asarray(values))
    return column.astype(np.float64) if kind == np.longdouble else column
