"""Which column is which: names recognised, and anything that could be two things refused."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from data.errors import TableError

ALIASES: dict[str, tuple[str, ...]] = {
    "timestamp": (
        "timestamp", "ts", "t", "datetime", "date_time", "dt", "open_time", "opentime", "time_open",
        "open_timestamp", "timestamp_utc", "datetime_utc", "start", "start_time", "unix",
        "unix_time", "unix_timestamp", "epoch",
    ),
    "date": ("date", "day"),
    "time": ("time", "time_of_day"),
    "close_time": (
        "close_time", "closetime", "time_close", "close_timestamp", "end", "end_time",
    ),
    "open": ("open", "o", "open_price", "price_open"),
    "high": ("high", "h", "high_price", "price_high"),
    "low": ("low", "l", "low_price", "price_low"),
    "close": ("close", "c", "close_price", "price_close"),
    "volume": ("volume", "vol", "v", "tick_volume", "tickvol", "base_volume", "volume_base"),
    "symbol": ("symbol", "ticker", "instrument", "sym"),
}  # fmt: skip
"""Names by meaning, lower case, with `_` for spaces, dots and dashes."""

ROLES = {name: role for role, names in ALIASES.items() for name in names}

INDEX = "__index_level_0__"
"""Where pandas keeps an index without a name; read as the time when no column is."""

NEEDED = ("open", "high", "low", "close", "volume")


@dataclass(frozen=True)
class Layout:
    """Which column of a file holds what.

    Args:
        times: The column with the time, or the two with date and time of day.
        values: Column of open, high, low, close, volume, in that order.
        symbol: Column that names the market, or None.
    """

    times: tuple[str, ...]
    values: tuple[str, ...]
    symbol: str | None

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (*self.times, *self.values, *([self.symbol] if self.symbol else []))


def recognise(names: Sequence[str], where: str) -> Layout:
    """Find the columns of bars among the names of a file.

    Args:
        names: The file's column names, in its order.
        where: What errors start with, such as the name of the file.

    Returns:
        The layout.

    Raises:
        TableError: When a column is missing or two could be the same thing.
    """
    found: dict[str, list[str]] = {}
    for name in names:
        role = ROLES.get(_plain(name))
        if role is not None:
            found.setdefault(role, []).append(name)
    for role, columns in found.items():
        if len(columns) > 1:
            raise _two_alike(where, role, columns)
    times = _choose_times(found, names, where)
    missing = [role for role in NEEDED if role not in found]
    if missing:
        raise TableError(_missing(missing, names, where))
    values = tuple(found[role][0] for role in NEEDED)
    return Layout(times, values, found["symbol"][0] if "symbol" in found else None)


def list_names(names: Sequence[str]) -> str:
    """Column names for a message, cut where they are many or long.

    Args:
        names: Column names.

    Returns:
        At most twelve of them, each at most 24 characters.
    """
    shown = [repr(name if len(name) <= 24 else name[:24] + "...") for name in names[:12]]
    return ", ".join(shown) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _plain(name: str) -> str:
    return re.sub(r"[\s.\-]+", "_", name.strip().strip("<>").strip().lower())


def _choose_times(found: dict[str, list[str]], names: Sequence[str], where: str) -> tuple[str, ...]:
    opens = [column for role in ("timestamp", "date", "time") for column in found.get(role, [])]
    if "timestamp" in found and len(opens) > 1:
        raise _two_alike(where, "the time of a bar", opens)
    if opens:
        return tuple(opens)
    if INDEX in names:
        return (INDEX,)
    if "close_time" in found:
        raise TableError(
            f"{where}: column {found['close_time'][0]!r} says when a bar closes, and none "
            "says when it opens; add a column 'timestamp' with the open time"
        )
    raise TableError(_missing(["timestamp"], names, where))


def _two_alike(where: str, role: str, columns: list[str]) -> TableError:
    shown = " and ".join(repr(column) for column in columns)
    return TableError(f"{where}: columns {shown} could both be {role}; keep one of them")


def _missing(missing: list[str], names: Sequence[str], where: str) -> str:
    header = " (is there a header line?)" if any(_is_number(name) for name in names) else ""
    return (
        f"{where}: no column is named {' or '.join(missing)}{header}; "
        f"columns are {list_names(names)}"
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*", text) is not None
