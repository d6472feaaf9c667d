"""Everything that is wrong with a source, told at once; `load_bars` stops at the first."""

from dataclasses import dataclass

import numpy as np

from data.bars import Bars
from data.checks import faults, format_time, repeats
from data.errors import DataError
from data.load import DEFAULTS, load_bars
from data.providers import find_provider
from data.table import LoadOptions, RawTable

SHOWN_ROWS = 3


@dataclass(frozen=True)
class Inspection:
    """What was found in a source.

    Args:
        spec: The source.
        bars: Its bars; None where it cannot be used as it is.
        problems: What is in the way, one line each; empty where nothing is.
    """

    spec: str
    bars: Bars | None
    problems: tuple[str, ...]


def inspect_source(spec: str, options: LoadOptions = DEFAULTS) -> Inspection:
    """Look at a source as a whole.

    Args:
        spec: As `load_bars` takes it.
        options: How to read.

    Returns:
        The bars, or every kind of fault with its rows and the option that helps.
    """
    try:
        return Inspection(spec, load_bars(spec, options), ())
    except DataError as error:
        told = str(error)
    try:
        provider, address = find_provider(spec)
        # What is left after a repair is told as loading tells it.
        found = () if _repairs(options) else _problems(provider.read(address, options))
    except DataError:
        found = ()
    return Inspection(spec, None, found if len(found) > 1 else (told,))


def _repairs(options: LoadOptions) -> bool:
    asked = (options.dedupe, options.drop_bad_bars, options.sort, options.tick)
    return any(asked) or options.price_offset != 0


def _problems(table: RawTable) -> tuple[str, ...]:
    told = [
        _line(table, what, "--drop-bad-bars", np.flatnonzero(bad))
        for what, bad in faults(table.timestamp, table.values)
        if bad.any()
    ]
    backward = np.flatnonzero(np.diff(table.timestamp) < 0) + 1
    if len(backward):
        told.append(_line(table, "earlier than the row before", "--sort", backward))
    same_time, same_row = repeats(table.timestamp, table.values)
    if same_row.any():
        told.append(_line(table, "equal to the row before", "--dedupe", np.flatnonzero(same_row)))
    differs = np.flatnonzero(same_time & ~same_row)
    if len(differs):
        told.append(_line(table, "with the time of the row before, but other values", "", differs))
    return tuple(told)


def _line(
    table: RawTable, what: str, option: str, rows: np.ndarray[tuple[int], np.dtype[np.intp]]
) -> str:
    shown = ", ".join(
        f"{row} ({format_time(int(table.timestamp[row]))})" for row in rows[:SHOWN_ROWS].tolist()
    )
    more = f" and {len(rows) - SHOWN_ROWS} more" if len(rows) > SHOWN_ROWS else ""
    help_ = f"; {option}" if option else "; correct the file"
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} {what}: {shown}{more}{help_}"
