"""Lines of a text file that are no rows: below them, and a header line that comes again."""

import csv
import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from data.checks import VALUES
from data.errors import TableError
from data.providers.column_names import find_role
from data.providers.columns import Layout
from data.providers.header import Header

MOST_LINES_BELOW = 10
COMPARED_BYTES = 1 << 14
"""Of the head and the end of a file, whose rows a line below them must not be like."""


def cut_remarks(head: bytes, tail: bytes, header: Header) -> tuple[bytes, tuple[str, ...]]:
    """The last lines of a text that are no rows, and a note for each.

    Such a line has words in its first cell and nothing behind it, or fewer cells than there are
    columns, and does not begin as a row does: a row that was cut stays. `head` and `tail` are the
    begin and the end of the text, or all of it.
    """
    end = len(tail)
    notes: list[str] = []
    while len(notes) < MOST_LINES_BELOW:
        start, stop = _find_last_line(tail, end)
        if stop - start > COMPARED_BYTES:
            break
        line = tail[start:stop].decode(errors="replace").strip()
        cells = _split_cells(line, header.separator)
        if not _has_words_alone(cells, len(header.names)) or _is_like_rows(
            cells[0], head, tail, header
        ):
            break
        notes.append(f"a line below the rows is passed over: {line[:80]!r}")
        end = start
    return (tail[end:], tuple(notes[::-1])) if notes else (b"", ())


def drop_headers(
    columns: pa.Table, layout: Layout, header: Header, where: str, *, may_drop: bool
) -> tuple[pa.Array | None, tuple[str, ...]]:
    """Flags of rows [N] that do not name the columns again, and a note about those that do.

    None where no row does.

    Raises:
        TableError: When there are such rows, and a person did not ask to drop bad ones.
    """
    if not pa.types.is_string(columns.column(layout.values[0]).type):
        # A number names no column.
        return None, ()
    header_lines = [
        {name: cells[header.names.index(name)].strip() for name in columns.column_names}
        for cells in header.lines
        if len(cells) == len(header.names)
    ]
    time, opening = layout.times[0], layout.values[0]
    times, opens = (pc.utf8_trim_whitespace(columns.column(name)) for name in (time, opening))
    words = pc.unique(opens.filter(pc.ascii_is_alpha(opens))).to_pylist()
    titles = pa.array([word for word in words if find_role(word) == "open"], pa.string())
    names = pa.array([cells[time] for cells in header_lines if cells[time]], pa.string())
    may_be = pc.or_(pc.is_in(opens, titles), pc.is_in(times, names))
    rows = [
        row
        for row in pc.indices_nonzero(may_be).to_pylist()
        if _is_header(columns.slice(row, 1), layout, header_lines)
    ]
    if not rows:
        return None, ()
    if not may_drop:
        raise TableError(
            f"{where}: row {rows[0]} names the columns again, as where files were joined; "
            "--drop-bad-bars drops such rows"
        )
    keep = np.ones(columns.num_rows, dtype=np.bool_)
    keep[rows] = False
    count = "1 row that names" if len(rows) == 1 else f"{len(rows)} rows that name"
    return pa.array(keep), (f"dropped {count} the columns again",)


def _find_last_line(text: bytes, end: int) -> tuple[int, int]:
    """Start and end of the last line before a position that is not blank."""
    stop = end
    while stop and text[stop - 1 : stop].isspace():
        stop -= 1
    return text.rfind(b"\n", 0, stop) + 1, stop


def _has_words_alone(cells: list[str], width: int) -> bool:
    """Whether a line is too short for a row, and its first cell is of several words."""
    if not cells or len(re.findall(r"[^\W\d_]{2,}", cells[0])) < 2:
        return False
    return len(cells) < width or not any(cell.strip() for cell in cells[1:])


def _is_like_rows(cell: str, head: bytes, tail: bytes, header: Header) -> bool:
    """Whether a row may begin as a cell does, by digits, words and marks."""
    lines = [
        *head[:COMPARED_BYTES].split(b"\n")[header.skip :],
        *tail[-COMPARED_BYTES:].split(b"\n")[1:-1],
    ]
    shape = _find_shape(cell)
    rows = (line.decode(errors="replace") for line in lines)
    others = (_split_cells(row, header.separator) for row in rows)
    whole = [cells for cells in others if len(cells) == len(header.names) and any(cells[1:])]
    return any(_find_shape(cells[0]).startswith(shape) for cells in whole)


def _find_shape(cell: str) -> str:
    """A cell with one letter for each word and one digit for each number."""
    words = re.sub(r"[^\W\d_]+", "a", " ".join(cell.split()))
    return re.sub(r"[0-9]+", "0", words)


def _is_header(row: pa.Table, layout: Layout, lines: list[dict[str, str]]) -> bool:
    """Whether a row is a line of the header, or names what each column of values holds."""
    cells = {name: row.column(name)[0].as_py().strip() for name in row.column_names}
    meant = zip(VALUES, layout.values, strict=True)
    return cells in lines or all(find_role(cells[name]) == role for role, name in meant if name)


def _split_cells(line: str, separator: str) -> list[str]:
    """The cells of a line; none where it is no line of a table."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []
