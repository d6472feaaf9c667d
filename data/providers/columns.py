"""Which column is which: names recognised, and anything that could be two things refused."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from data.errors import TableError, near_match
from data.providers.names import ROLES, plain

INDEX = "__index_level_0__"
"""Where pandas keeps an index without a name; read as the time when no column is."""

NAMELESS = ("", "Unnamed: 0", "index")
"""What such an index is called in a text file, where it is the first column."""

NEEDED = ("open", "high", "low", "close", "volume")

MEANINGS = ("timestamp", "date", "time", *NEEDED, "symbol")
"""What a person may say that a column holds."""

NO_VOLUME = "none"
"""Said of the volume: there is none, and every bar's is zero."""

OF_ASSET = re.compile(r"volume_\(?([a-z0-9]{2,12})\)?")


@dataclass(frozen=True)
class Layout:
    """Which column of a file holds what.

    Args:
        times: The column with the time, or the two with date and time of day.
        values: Column of open, high, low, close, volume, in that order; the last is empty where
            there is none.
        symbol: Column that names the market, or None.
        same_times: Other columns that say when a bar opens; they must agree with `times`.
        tick_volume: Column that counts ticks, for where the volume is zero throughout.
        volumes: Asset to column, where there is a volume in each of the two assets of a pair.
        market: The market that the columns are named after, where they are.
        notes: What was passed over.
    """

    times: tuple[str, ...]
    values: tuple[str, ...]
    symbol: str | None = None
    same_times: tuple[tuple[str, ...], ...] = ()
    tick_volume: str | None = None
    volumes: tuple[tuple[str, str], ...] = ()
    market: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        other = [name for names in self.same_times for name in names]
        other += [name for name in (self.symbol, self.tick_volume) if name]
        other += [column for _, column in self.volumes]
        return tuple(dict.fromkeys([*self.times, *filter(None, self.values), *other]))


def recognise(names: Sequence[str], where: str, chosen: Mapping[str, str] | None = None) -> Layout:
    """Find the columns of bars among the names of a file.

    Args:
        names: The file's column names, in its order.
        where: What errors start with, such as the name of the file.
        chosen: Meaning to column name, or its place from 1, as a person says it.

    Returns:
        The layout.

    Raises:
        TableError: When a column is missing or two could be the same thing.
    """
    said = {meaning: _find(meaning, name, names, where) for meaning, name in (chosen or {}).items()}
    found = _by_role([name for name in names if name not in said.values()])
    _overrule(found, said)
    for role, columns in found.items():
        if len(columns) > 1 and role not in ("timestamp", "asset volume"):
            raise _two_alike(where, role, columns)
    times = _choose_times(found, names, where)
    volume, tick_volume, volumes = _choose_volume(found)
    missing = [role for role in NEEDED if role not in found and role != "volume"]
    if missing or volume is None:
        raise TableError(
            _missing([*missing, *([] if volume is not None else ["volume"])], names, where)
        )
    values = (*(found[role][0] for role in NEEDED[:4]), volume)
    symbol = found["symbol"][0] if "symbol" in found else None
    return Layout(
        times[0],
        values,
        symbol,
        same_times=tuple(times[1:]),
        tick_volume=tick_volume,
        volumes=volumes,
        notes=_passed_over(names),
    )


def list_names(names: Sequence[str]) -> str:
    """Column names for a message, cut where they are many or long.

    Args:
        names: Column names.

    Returns:
        At most twelve of them, each at most 24 characters.
    """
    shown = [repr(name if len(name) <= 24 else name[:24] + "...") for name in names[:12]]
    return ", ".join(shown) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _find(meaning: str, name: str, names: Sequence[str], where: str) -> str:
    """The column that a person means; empty for a volume that does not exist."""
    if meaning not in MEANINGS:
        known = ", ".join(MEANINGS)
        hint = near_match(meaning, list(MEANINGS))
        raise TableError(f"--column {meaning}={name}: '{meaning}' is unknown; known: {known}{hint}")
    if name in names:
        return name
    alike = [one for one in names if one.strip().lower() == name.strip().lower()]
    if len(alike) == 1:
        return alike[0]
    if meaning == "volume" and name.lower() == NO_VOLUME:
        return ""
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return names[int(name) - 1]
    raise TableError(
        f"{where}: --column {meaning}={name}: there is no such column; "
        f"columns are {list_names(names)}"
    )


def _by_role(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        role = ROLES.get(plain(name))
        if role is not None:
            found.setdefault(role, []).append(name)
    assets = [name for name in names if OF_ASSET.fullmatch(plain(name))]
    if assets and "volume" not in found:
        found["asset volume"] = assets
    return found


def _overrule(found: dict[str, list[str]], said: Mapping[str, str]) -> None:
    """Put what a person says in place of what was recognised."""
    if {"timestamp", "date", "time"} & said.keys():
        for role in ("timestamp", "date", "time", "close_time"):
            found.pop(role, None)
    if "volume" in said:
        for role in ("tick_volume", "asset volume"):
            found.pop(role, None)
    found.update({meaning: [name] for meaning, name in said.items()})


def _choose_times(
    found: dict[str, list[str]], names: Sequence[str], where: str
) -> list[tuple[str, ...]]:
    """The column or pair that says when bars open, then others that say the same."""
    whole = [(column,) for column in found.get("timestamp", [])]
    parted = tuple(column for role in ("date", "time") for column in found.get(role, []))
    if whole or parted:
        return [*whole, *([parted] if parted else [])]
    if INDEX in names:
        return [(INDEX,)]
    if names and names[0].strip() in NAMELESS:
        return [(names[0],)]
    if "close_time" in found:
        raise TableError(
            f"{where}: column {found['close_time'][0]!r} says when a bar closes, and none "
            "says when it opens; add a column 'timestamp' with the open time"
        )
    raise TableError(_missing(["timestamp"], names, where))


def _choose_volume(
    found: dict[str, list[str]],
) -> tuple[str | None, str | None, tuple[tuple[str, str], ...]]:
    """The column of volumes, that of ticks beside it, and those of each asset of a pair."""
    ticks = found.get("tick_volume", [None])[0]
    assets = found.get("asset volume", [])
    if "volume" in found:
        return found["volume"][0], ticks, ()
    if assets:
        pairs = tuple((plain(name).removeprefix("volume_").strip("()"), name) for name in assets)
        return assets[0], None, pairs if len(pairs) > 1 else ()
    return ticks, None, ()


def _passed_over(names: Sequence[str]) -> tuple[str, ...]:
    adjusted = [
        name for name in names if plain(name) in ("adj_close", "adjclose", "adjusted_close")
    ]
    return tuple(
        f"column {name!r} is not read: open, high, low and close stay as they are"
        for name in adjusted
    )


def _two_alike(where: str, role: str, columns: list[str]) -> TableError:
    shown = " and ".join(repr(column) for column in columns)
    return TableError(
        f"{where}: columns {shown} could both be {role}; keep one of them, or say which with "
        f"--column {role}={columns[0]}"
    )


def _missing(missing: list[str], names: Sequence[str], where: str) -> str:
    header = " (is there a header line?)" if any(_is_number(name) for name in names) else ""
    last = missing[-1]
    none = " (or --column volume=none)" if last == "volume" else ""
    return (
        f"{where}: no column is named {' or '.join(missing)}{header}; "
        f"columns are {list_names(names)}; say which it is with --column {last}=NAME{none}"
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*", text) is not None
