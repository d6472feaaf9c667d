"""Rows of the corpus: a file, options, and the bars or the refusal that come.

A table is a module of this folder with a tuple ``ROWS``; `tests/unit/data/test_corpus.py` loads
every row of every table. ::

    ROWS = (
        reads("an offset", bars(["2024-03-01T13:00+01:00"]), ONE, first="2024-03-01T12:00"),
        reads("a tick", bars(5, high={2: 100.4}), {"tick": 0.2}, notes="widened", count=5),
        refuses("two readings", bars(["03/04/2024"]), ONE, TableError, "--time-format",
                then={"first": "2024-04-03"}),
    )  # fmt: skip

A row is one case that a person could meet. Its name is its id, and no other row of the table has
it. Sentences are not frozen: a refusal is a class, options, values, and a word or two.

``bars(8)`` is eight legal bars, every 15 minutes from 2024-01-01; ``table({...})`` has exactly
these columns; ``text("...")`` is the text or the bytes themselves; ``saved("x.parquet", write)``
is what ``write(path)`` writes. Keywords of `Seen` that are left out are not looked at. Of a
refusal, ``words`` are all in the message and ``never`` are not; ``then`` follows its advice and
says which bars come: keywords of `Seen`, or pairs ``(options in place of advised ones, keywords)``
where a message offers several ways. ``market="A"`` reads ``FILE#A``; ``now`` is the clock;
``source="csv:"`` stands before the path. The runner also sees that nothing but a `DataError` is
raised, in one line that can be printed, and that the file stays as it was and alone.
"""

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

from data.errors import DataError
from data.timeframe import parse_timeframe
from tests.support.series import iso, make_columns

ONE = {"source_timeframe": "1m"}
"""Options under which a single bar is enough."""

NOW = "2027-01-15T08:00"
"""The clock unless a row has another."""

ENDINGS = {"csv": ".csv", "parquet": ".parquet", "feather": ".feather", "arrow": ".arrow",
           "stream": ".arrows"}  # fmt: skip
TYPED = ("parquet", "feather", "arrow", "stream")


@dataclass(frozen=True)
class File:
    """A file: its name, and the function that writes it at a path."""

    name: str
    write: Callable[[Path], object]


@dataclass(frozen=True)
class Seen:
    """The bars that a row expects; None is not looked at.

    Args:
        first, last, times: Times at which bars open, as ISO text in UTC or nanoseconds; or a
            function that gives all of them.
        made: Rows of the builder `bars` that come, with every time and value; a number is so many
            from the first on.
        values: Name to column, or to ``{place: value}``; aligned columns too.
        missing: Least and most bars that are missing in open hours.
        quirks: A fragment of each line of `quirks_of`; one that ends in a line's end stands there.
        notes: Fragments, each in some note; empty where there is no note.
        unsaid: Fragments that are in no note.
    """

    count: int | None = None
    timeframe: str | None = None
    first: str | int | None = None
    last: str | int | None = None
    times: Sequence[str | int] | Callable[[], Sequence[int]] | None = None
    made: int | Sequence[int] | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    symbol: str | None = None
    zone: str | None = None
    missing: tuple[int, int] | None = None
    quirks: Sequence[str] | None = None
    notes: str | Sequence[str] | None = None
    unsaid: str | Sequence[str] = ()


@dataclass(frozen=True)
class Row:
    """One case: a file, options, and what comes."""

    name: str
    file: File
    options: Mapping[str, object]
    seen: Seen | None
    error: type[DataError] = DataError
    words: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    then: tuple[tuple[Mapping[str, object], Seen], ...] = ()
    market: str = ""
    now: str = NOW
    source: str = ""


def reads(name, file, options=None, *, market="", now=NOW, source="", **seen):
    """A row whose file is read, with keywords of `Seen`."""
    return Row(name, file, options or {}, Seen(**seen), market=market, now=now, source=source)


def refuses(name, file, options, error, *words, never=(), then=(), **place):
    """A row whose file is refused with this class and these words; `place` as for `reads`."""
    ways = [({}, then)] if isinstance(then, Mapping) else then
    ways = tuple((given, Seen(**seen)) for given, seen in ways)
    never = (never,) if isinstance(never, str) else tuple(never)
    return Row(name, file, options or {}, None, error, words, never, ways, **place)


def text(content, file="series.csv"):
    """A file of this text, or of these bytes."""
    raw = content if isinstance(content, bytes) else content.encode()
    is_packed = file.endswith(".gz") and isinstance(content, str)
    return File(file, lambda path: path.write_bytes(gzip.compress(raw) if is_packed else raw))


def saved(file, write):
    """A file that ``write(path)`` writes."""
    return File(file, write)


def every(step, count, start="2024-01-01"):
    """So many times in nanoseconds UTC, a step such as ``15m`` apart."""
    return make_columns(count, parse_timeframe(step), time_ns(start))["timestamp"]


def time_ns(time):
    """ISO text in UTC, or nanoseconds, as nanoseconds."""
    return int(np.datetime64(time, "ns").astype(np.int64)) if isinstance(time, str) else int(time)


def bars(
    times=8, step="15m", *, start="2024-01-01", kind="csv", file=None, head="timestamp", **more
):
    """A file of legal bars whose values all differ: close 100, 100.25, and so on.

    Args:
        times: So many bars, one every `step` from `start` on; or times as they are written, one a
            bar, or a function that gives them; or columns by name in place of the time, such as
            those of a date and a clock.
        step: Duration from bar to bar, where `times` is a number.
        start: First time, where `times` is a number.
        kind: ``csv``, ``parquet``, ``feather``, ``arrow`` or ``stream``; times of a number of bars
            are text in the first, and typed in the others.
        file: Name of the file; None for ``series`` with the ending of its kind.
        head: Name of the column of times.
        more: Cells of a column, ``low={3: 0.0}``; a whole column, ``low=[1, 2]``; one value for
            all rows, ``volume=0``; or None to leave the column out. New columns stand behind.
            Also `picks` and `sep`, as those of `table`.
    """
    picks, sep, columns = more.pop("picks", None), more.pop("sep", ","), more

    def build():
        if isinstance(times, int):
            stamps = every(step, times, start)
            is_typed = kind in TYPED
            stamps = pa.array(stamps, pa.timestamp("ns", tz="UTC")) if is_typed else iso(stamps)
            front = {head: stamps}
        else:
            given = times() if callable(times) else times
            front = given if isinstance(given, Mapping) else {head: given}
        count = len(next(iter(front.values())))
        made = make_columns(count)
        del made["timestamp"]
        whole = {**front, **made}
        for name, column in columns.items():
            if isinstance(column, Mapping):
                cells = list(whole.get(name, [None] * count))
                for place, value in column.items():
                    cells[place] = value
                whole[name] = cells
            else:
                whole[name] = column
        return {name: column for name, column in whole.items() if column is not None}

    return table(build, kind=kind, file=file, picks=picks, sep=sep)


def table(columns, *, kind="csv", file=None, picks=None, sep=","):
    """A file of exactly these columns by name, or of those that a function makes.

    A single value stands for a whole column. `picks` are the rows that are written, in this order,
    None for all. A row of a text is joined by `sep`, and None is an empty cell.
    """

    def write(path):
        whole = columns() if callable(columns) else columns
        count = max(len(column) for column in whole.values() if _is_column(column))
        whole = {n: c if _is_column(c) else [c] * count for n, c in whole.items()}
        if kind in TYPED:
            arrow = pa.Table.from_arrays(list(map(_as_array, whole.values())), names=list(whole))
            _write_typed(arrow if picks is None else arrow.take(picks), kind, path)
            return
        lines = [sep.join(map(_as_cell, row)) for row in zip(*whole.values(), strict=True)]
        chosen = lines if picks is None else [lines[place] for place in picks]
        text("\n".join([sep.join(whole), *chosen, ""]), path.name).write(path)

    return File(file or f"series{ENDINGS[kind]}", write)


def _is_column(column):
    return hasattr(column, "__len__") and not isinstance(column, str | bytes)


def _as_array(column):
    return column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)


def _as_cell(value):
    value = value.as_py() if isinstance(value, pa.Scalar) else value
    number = isinstance(value, float | np.floating)
    return "" if value is None else repr(float(value)) if number else str(value)


def _write_typed(arrow, kind, path):
    if kind == "parquet":
        pq.write_table(arrow, path, compression="zstd")
    elif kind == "stream":
        with pa.ipc.new_stream(str(path), arrow.schema) as file:
            file.write_table(arrow)
    else:
        feather.write_feather(arrow, str(path))
