"""Columns of a list of trades by their content: times, prices, numbers of trades."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from data.checks import NO_TIME
from data.errors import TableError
from data.providers.numbers import COMMA, POINT, read_numbers
from data.providers.time_forms import FORMS, Moments, parse_times, plain_blanks
from optimizer.agreement.trade_list import Floats, Ints

DATE_SIGNS = re.compile(r"^(\d{4})[年년.] ?(\d{1,2})[月월.] ?(\d{1,2})[日일.]?,? ?")
"""Date of the Far East, or one with dots behind each part."""

HALF_DAY = re.compile(r"(午前|上午|오전|午後|下午|오후) ?([0-9:]+)")
MORNINGS = ("午前", "上午", "오전")


class Times(NamedTuple):
    """Times of a column."""

    time_ns: Ints  # [N] on the list's clock; `NO_TIME` where a cell is empty
    is_zoned: bool  # whether they name their zone, so that they are UTC


def read_times(cells: Sequence[str]) -> Times | None:
    """Times of a column whose cells all are times or empty; else None.

    Where a date may begin with its day or its month, the reading in which fewer times step back
    counts, as lists are in the order of time, or in the opposite one.
    """
    column = plain_blanks(pa.array([_plain_time(cell) for cell in cells], pa.string()))
    fitting = []
    for form in FORMS if column.null_count < len(column) else ():
        moments = parse_times(column, form, must_fit=True)
        if not (moments.misfits or moments.wrong):
            fitting.append(moments)
    if not fitting:
        return None
    best = min(fitting, key=_count_steps_back)
    zoned = best.zones.total() - best.zones[""]
    return Times(best.time_ns, zoned > 0)


def _plain_time(cell: str) -> str:
    """A time as the readers of bars know it."""
    cell = DATE_SIGNS.sub(r"\1-\2-\3 ", cell).strip()
    return HALF_DAY.sub(lambda m: f"{m[2]} {'AM' if m[1] in MORNINGS else 'PM'}", cell)


def _count_steps_back(moments: Moments) -> int:
    steps = np.diff(moments.time_ns[moments.time_ns != NO_TIME])
    return int(min((steps < 0).sum(), (steps > 0).sum()))


def read_prices(cells: Sequence[str], low: float, high: float) -> Floats | None:
    """Numbers of a column [N], NaN where a cell is empty; None where one is none.

    Commas begin decimals where more numbers are then between the lowest and the highest price.
    """
    readings = []
    for mark in (POINT, COMMA):
        try:
            read = read_numbers(pa.array(cells, pa.string()), "", "", mark)
        except TableError:
            continue
        readings.append((int(((read >= low) & (read <= high)).sum()), read))
    return max(readings, key=lambda reading: reading[0])[1] if readings else None


def counts_trades(cells: Sequence[str]) -> bool:
    """True if cells are whole numbers, each of two rows, but for the last trade's in one."""
    counts: dict[str, int] = {}
    for cell in cells:
        if not re.fullmatch(r"[0-9]{1,9}(?:\.0)?", cell):
            return False
        counts[cell] = counts.get(cell, 0) + 1
    alone = sum(count == 1 for count in counts.values())
    return bool(counts) and max(counts.values()) <= 2 and alone <= 1 and len(counts) > alone
