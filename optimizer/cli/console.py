"""Streams that commands write to, and their forms: plain tables, JSON without NaN, exact CSV."""

import csv
import io
import json
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console, OverflowMethod
from rich.table import Table
from rich.text import Text

from optimizer.cli.notes import find_own_stdout, wrap_text
from optimizer.formatting import number
from optimizer.printable import printable

WIDTH_OF_A_FILE = 160
"""Columns when the output is no terminal, so that a table in a file is not cut."""

LEAST_CELL = 8

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A cell of text that begins so would run as a formula in a spreadsheet."""


class Lines(Console):
    """A console that takes text as it is, and also whole lines, in which it breaks no word."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(
            file=stream,
            width=None if stream.isatty() else WIDTH_OF_A_FILE,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def render_str(self, text: str, **style: Any) -> Text:  # noqa: ANN401 - as the library has it
        """A text without signs that command a terminal."""
        return super().render_str(printable(text), **style)

    def say(self, text: str, style: str | None = None) -> None:
        """Print a line: for a program however long, in a terminal broken between words."""
        wrapped = wrap_text(text, self.width) if self.is_terminal else text
        self.print(wrapped, style=style, soft_wrap=True)

    def say_all(self, texts: Iterable[str]) -> None:
        """Print lines one by one."""
        for text in texts:
            self.say(text)


def stdout() -> Lines:
    """The console of results."""
    return Lines(sys.stdout)


def stderr() -> Lines:
    """The console of progress and notes."""
    return Lines(sys.stderr)


def plain_table(
    *headings: str, right: Collection[str] = (), title: str = "", is_folded: bool = False
) -> Table:
    """A table without lines; too long texts are folded or cut, names under no heading are dim."""
    table = Table(title=title or None, title_justify="left", box=None)
    for heading in headings:
        is_right = heading in right
        overflow: OverflowMethod = "fold" if is_folded and not is_right else "ellipsis"
        table.add_column(heading, justify="right" if is_right else "left", overflow=overflow)
    table.columns[0].style = "" if headings[0] else "dim"
    return table


def long_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, right: Collection[str]
) -> str:
    """Text of a table of thousands of rows; first cells are cut where a line is too wide."""
    columns = list(zip(headings, *rows, strict=True))
    widths = [max(map(cell_len, column)) for column in columns]
    widths[0] = min(widths[0], max(width - sum(widths[1:]) - len(widths[1:]), LEAST_CELL))
    lines = []
    for row in (headings, *rows):
        first = row[0]
        if cell_len(first) > widths[0]:
            first = f"{set_cell_size(first, widths[0] - 1)}…"
        cells = [
            " " * (wide - cell_len(cell)) + cell if heading in right else set_cell_size(cell, wide)
            for heading, cell, wide in zip(headings, (first, *row[1:]), widths, strict=True)
        ]
        lines.append(" ".join(cells).rstrip())
    return "\n".join(lines)


def facts_table(facts: Mapping[str, object]) -> Table:
    """Names and values, one a line."""
    return columns_table({"": {name: number(value) for name, value in facts.items()}}, "")


def columns_table(columns: Mapping[str, Mapping[str, str]], title: str) -> Table:
    """Texts by column and by name; headings are shown where there is more than one column."""
    table = plain_table("", *columns, title=title, is_folded=True)
    table.show_header = len(columns) > 1
    for name in next(iter(columns.values())):
        table.add_row(name, *(column[name] for column in columns.values()))
    return table


def print_json(value: object, *, is_line: bool = False) -> None:
    """Print one JSON object on stdout, as one line where several follow; NaN is null."""
    stream = find_own_stdout()
    stream.write(format_json(value, is_line=is_line))
    stream.flush()


def format_json(value: object, *, is_line: bool = False) -> str:
    """A value as JSON, null where a number is not finite."""
    return json.dumps(replace_nan(value), indent=None if is_line else 2, allow_nan=False) + "\n"


def replace_nan(value: object) -> object:
    """Value with null where a number is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): replace_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_nan(item) for item in value]
    return value


def format_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
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
