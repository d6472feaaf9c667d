"""Lines of a text file that are no rows: below them, and a header line that comes again."""

import csv
import io
import re

import pyarrow as pa
import pyarrow.compute as pc

from data.checks import VALUES
from data.errors import TableError
from data.providers.column_names import bare_name, find_role
from data.providers.columns import Layout
from data.providers.header import Header

MOST_LINES_BELOW = 10
COMPARED_BYTES = 1 << 14
"""Of the head and the end of a file, whose rows a line below them must not be like."""


def cut_below(text: bytes, header: Header) -> tuple[bytes, tuple[str, ...]]:
    """A file's text without the last lines that are no rows, and a note for each.

    Such a line has words in its first cell and nothing behind it, or fewer cells than there are
    columns, and does not begin as a row does: a row that was cut stays.
    """
    end = len(text)
    notes: list[str] = []
    while len(notes) < MOST_LINES_BELOW:
        start, stop = _find_last_line(text, end)
        line = text[start:stop].decode(errors="replace").strip()
        cells = next(csv.reader(io.StringIO(line), delimiter=header.separator), [])
        if not _has_words_alone(cells, len(header.names)) or _is_like_rows(cells[0], text, header):
            break
        notes.append(f"a line below the rows is passed over: {line[:80]!r}")
        end = start
    return (text[:end], tuple(notes[::-1])) if notes else (text, ())


def drop_headers(
    columns: pa.Table, layout: Layout, where: str, *, may_drop: bool
) -> tuple[pa.Table, tuple[str, ...]]:
    """Rows of text without those that name the columns again, and a note about them.

    Raises:
        TableError: When there are such rows, and a person did not ask to drop bad ones.
    """
    first = pc.utf8_trim_whitespace(columns.column(layout.values[0]))
    may_be = pc.or_(pc.ascii_is_alpha(first), pc.equal(first, layout.values[0]))
    rows = [
        row
        for row in pc.indices_nonzero(may_be).to_pylist()
        if _names_columns(columns.slice(row, 1), layout)
    ]
    if not rows:
        return columns, ()
    if not may_drop:
        raise TableError(
            f"{where}: row {rows[0]} names the columns again, as where files were joined; "
            "--drop-bad-bars drops such rows"
        )
    keep = pc.invert(pc.is_in(pa.array(range(columns.num_rows)), pa.array(rows)))
    count = "1 row that names" if len(rows) == 1 else f"{len(rows)} rows that name"
    return columns.filter(keep), (f"dropped {count} the columns again",)


def _find_last_line(text: bytes, end: int) -> tuple[int, int]:
    """Where the last line before a place begins and ends that is not blank."""
    stop = end
    while stop and text[stop - 1 : stop].isspace():
        stop -= 1
    return text.rfind(b"\n", 0, stop) + 1, stop


def _has_words_alone(cells: list[str], width: int) -> bool:
    """Whether a line is too short for a row, and its first cell is of several words."""
    if not cells or len(re.findall(r"[^\W\d_]{2,}", cells[0])) < 2:
        return False
    return len(cells) < width or not any(cell.strip() for cell in cells[1:])


def _is_like_rows(cell: str, text: bytes, header: Header) -> bool:
    """Whether a row may begin as a cell does, by digits, words and marks."""
    lines = [
        *text[:COMPARED_BYTES].split(b"\n")[header.skip :],
        *text[-COMPARED_BYTES:].split(b"\n")[1:-1],
    ]
    own = _shape(cell)
    rows = (line.decode(errors="replace") for line in lines)
    others = (next(csv.reader([row], delimiter=header.separator), []) for row in rows)
    whole = [cells for cells in others if len(cells) == len(header.names) and any(cells[1:])]
    return any(_shape(cells[0]).startswith(own) for cells in whole)


def _shape(cell: str) -> str:
    """A cell with one letter for each word and one digit for each number."""
    words = re.sub(r"[^\W\d_]+", "a", " ".join(cell.split()))
    return re.sub(r"[0-9]+", "0", words)


def _names_columns(row: pa.Table, layout: Layout) -> bool:
    """Whether each value of a row is the name of its column, or one for what it holds."""
    cells = {name: row.column(name)[0].as_py().strip() for name in layout.values if name}
    return all(
        cells[name] == bare_name(name).strip() or find_role(cells[name]) == meaning
        for meaning, name in zip(VALUES, layout.values, strict=True)
        if name
    )
