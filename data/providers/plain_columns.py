"""Columns of a text file that are plain numbers and times: parsed as such, block by block.

Text is kept only of columns that need a careful reading, or of all where one cell is not plain.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from data.checks import EARLIEST_NS, LATEST_NS
from data.providers.columns import Layout
from data.providers.header import Header
from data.providers.numbers import COMMA, DOTTED, NUMBER, SETTLED, bare_numbers, to_array
from data.providers.text_source import TextPart
from data.providers.time_forms import all_match
from data.table import LoadOptions

EPOCH_DIGITS = r"^[1-9][0-9]{8,18}$"
DIGITS = "^[0-9]{1,15}$"
"""Whole numbers that a float holds exactly."""

THOUSAND = 1000

LEAST_EPOCH, MOST_NS = 10**8, 2**63 - 1
"""Numbers below have too few digits for a time since 1970."""

TEXT, FLOAT, COUNT = pa.string(), pa.float64(), pa.uint64()
EPOCH, MOMENT = pa.int64(), pa.timestamp("ns")
"""Kinds of columns: text; numbers, and such without decimals; times as numbers, and as ISO 8601."""

Kinds = Mapping[str, pa.DataType]


def parse_options(header: Header, kinds: Kinds, *, use_threads: bool) -> dict[str, Any]:
    """Options of pyarrow that parse columns of a file by their kinds."""
    return {
        "read_options": pa_csv.ReadOptions(
            use_threads=use_threads, column_names=header.names, skip_rows=header.skip
        ),
        "parse_options": pa_csv.ParseOptions(delimiter=header.separator),
        "convert_options": pa_csv.ConvertOptions(
            column_types=dict(kinds),
            include_columns=list(kinds),
            null_values=[""],
            strings_can_be_null=False,
        ),
    }


def choose_kinds(head: pa.Table, layout: Layout, options: LoadOptions) -> list[Kinds]:
    """Kinds by which columns may be parsed, the likeliest first, by the text of their first rows.

    None where numbers are not plain, so that all columns are read as text.
    """
    others = [column for _, column in (*layout.volumes, *layout.aligned)]
    numbers = list(dict.fromkeys(filter(None, (*layout.values, layout.tick_volume, *others))))
    singles = [names[0] for names in (layout.times, *layout.same_times) if len(names) == 1]
    moments = {*singles, *layout.closes} if options.time_format is None else set()
    is_plain = all(_casts(head.column(name), FLOAT) for name in numbers)
    # A header line of numbers that comes again looks like a row.
    is_counted = any(NUMBER.fullmatch(name) for name in numbers)
    if not is_plain or is_counted or options.decimal == COMMA or moments & {*numbers}:
        return []
    kinds = dict.fromkeys(layout.used, TEXT) | dict.fromkeys(numbers, FLOAT)
    kinds |= {name: _time_kind(head.column(name)) for name in moments}
    # Volumes without decimals have no dots that could part thousands.
    whole = [name for name in numbers[4:] if all_match(head.column(name), DIGITS)]
    return [kinds | dict.fromkeys(whole, COUNT), *([kinds] if whole else [])]


def read_plain(text: TextPart, header: Header, kinds: Kinds, most: int) -> pa.Table | None:
    """Columns of a file of at most so many rows; None where a cell is not of its column's kind.

    Missing numbers are NaN; of a column of times none is missing.
    """
    texts: dict[str, list[pa.Array]] = {name: [] for name, kind in kinds.items() if kind == TEXT}
    filled: dict[str, npt.NDArray[Any]] = {
        name: np.empty(most, np.float64 if kind in (FLOAT, COUNT) else np.int64)
        for name, kind in kinds.items()
        if kind != TEXT
    }
    count = 0
    try:
        for batch in pa_csv.open_csv(text, **parse_options(header, kinds, use_threads=True)):
            end = count + len(batch)
            for name, column in zip(kinds, batch.columns, strict=True):
                if name in texts:
                    texts[name].append(column)
                elif not _fill(filled[name][count:end], column):
                    return None
            count = end
    except pa.ArrowException:
        # The careful reader says which row is wrong, if one is.
        return None
    columns: dict[str, Any] = {}
    for name, kind in kinds.items():
        whole = texts[name] if kind == TEXT else [pa.array(filled[name][:count])]
        parts = [part.view(MOMENT) for part in whole] if kind == MOMENT else whole
        columns[name] = pa.chunked_array(parts, TEXT if kind == TEXT else None)
    return pa.table(columns)


def find_doubtful(
    head: pa.Table, columns: pa.Table, kinds: Kinds, names: Collection[str]
) -> tuple[list[str], bool]:
    """Columns whose text must show that no dot parts thousands.

    Also True if a number of the file settles that dots begin decimals.
    """
    numbers = [name for name in dict.fromkeys(names) if kinds[name] in (FLOAT, COUNT)]
    texts = {name: bare_numbers(head.column(name).combine_chunks()) for name in numbers}
    floats = [name for name in numbers if kinds[name] == FLOAT]

    def is_large(name: str) -> bool:
        return bool(pc.max(columns.column(name)).as_py() >= THOUSAND)

    is_settled = any(
        pc.any(pc.match_substring_regex(text, SETTLED)).as_py() for text in texts.values()
    ) or any(is_large(name) for name in numbers if kinds[name] == COUNT)
    doubtful = [
        name
        for name in floats
        if (not len(texts[name]) or all_match(texts[name], f"^{DOTTED}$")) and not is_large(name)
    ]
    return (doubtful if is_settled or not doubtful else floats), is_settled


def _fill(place: npt.NDArray[Any], column: pa.Array) -> bool:
    """Put the cells of a block into their place; whether each of them is of its kind."""
    if place.dtype == np.float64:
        place[:] = to_array(column.cast(FLOAT), np.nan)
        return bool(np.isfinite(place).sum() == len(column) - column.null_count)
    if column.null_count:
        return False
    place[:] = np.from_dlpack(column.cast(EPOCH))
    least, most = (LEAST_EPOCH, MOST_NS) if column.type == EPOCH else (EARLIEST_NS, LATEST_NS - 1)
    return bool(np.all(place >= least) and np.all(place <= most))


def _time_kind(column: pa.ChunkedArray) -> pa.DataType:
    """The kind of a column of times by the text of its first rows."""
    if all_match(column, EPOCH_DIGITS):
        return EPOCH
    return MOMENT if len(column) and _casts(column, MOMENT, missing=False) else TEXT


def _casts(column: pa.ChunkedArray, kind: pa.DataType, *, missing: bool = True) -> bool:
    """True if all texts are of a kind, except empty ones where some may be missing."""
    try:
        texts = pc.if_else(pc.equal(column, ""), None, column) if missing else column
        texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
