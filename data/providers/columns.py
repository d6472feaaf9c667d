"""Columns by meaning, in a file of one market or of several; ambiguous ones are refused."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from data.checks import PRICES, VALUES
from data.errors import NoTimeError, TableError, list_some, near_match
from data.providers.column_names import (
    PERIOD_STARTS,
    UPBIT_LOCAL,
    bare_name,
    find_role,
    is_alike,
    is_volume_of_asset,
    plain,
    write_option,
)

INDEX = "__index_level_0__"
"""Name under which pandas keeps an index without one; read as the time when no column is."""

NAMELESS = ("", "Unnamed: 0", "index")
"""Names of such an index in a text file, where it is the first column."""

MEANINGS = ("timestamp", "date", "time", *VALUES, "symbol")
"""Meanings that a person may give to a column."""

DATE_PARTS = ("year", "month", "day")
"""Names of columns that make up a date together."""

NONE = "none"
"""In place of a volume's column: there is none, and every bar's is zero; of the symbol's: all rows
are of one market."""

AT_CLOSE = "whose bars are stamped at their close: --stamped close reads them so"
OF_PROGRAMS = (
    (
        "nautilus_trader",
        ("ts_event", "ts_init"),
        "whose bars are stamped at their close unless it was set otherwise: --stamped close reads "
        "them so",
    ),
    ("BitMEX", ("homeNotional", "foreignNotional"), AT_CLOSE),
    ("TradeStation", ("Up", "Down"), AT_CLOSE),
    (
        "HTX",
        ("amount", "vol", "count"),
        "whose 'vol' is in the quoted asset: --column volume=amount reads the traded one",
    ),
    (
        "Poloniex",
        ("quoteVolume", "weightedAverage"),
        "whose 'volume' is in money: --column volume=quoteVolume reads what was traded",
    ),
)
"""Programs, columns that they alone write together, and what these mean."""

LISTS = {6: "ccxt", 12: "Binance"}
"""Programs that list bars as so many numbers, first of all time in ms and values in our order."""


@dataclass(frozen=True)
class Layout:
    """Columns of a file by their meaning."""

    times: tuple[str, ...]  # the column with the time, or the two with date and time of day
    # Column of open, high, low, close, volume, in that order; the last is empty where there
    # is none.
    values: tuple[str, ...]
    symbol: str | None = None
    # Other columns of times at which bars open; they must agree with `times`.
    same_times: tuple[tuple[str, ...], ...] = ()
    # Columns of times at which bars close, for times whose name does not show that bars open
    # at them.
    closes: tuple[str, ...] = ()
    # Column that counts ticks, for where the volume is zero throughout.
    tick_volume: str | None = None
    # Asset to column, where there is a volume in each of the two assets of a pair.
    volumes: tuple[tuple[str, str], ...] = ()
    # Name to column, of further columns that a person asked for.
    aligned: tuple[tuple[str, str], ...] = ()
    market: str | None = None
    notes: tuple[str, ...] = ()
    # Names, or places from 1, of the columns of time and values where their order was
    # assumed, and must agree with what they hold; else empty.
    assumed: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are read, each once."""
        other = [name for names in (*self.same_times, self.closes) for name in names]
        other += [name for name in (self.symbol, self.tick_volume) if name]
        other += [column for _, column in (*self.volumes, *self.aligned)]
        return tuple(dict.fromkeys([*self.times, *filter(None, self.values), *other]))


def recognise(
    names: Sequence[str],
    where: str,
    chosen: Mapping[str, str] | None = None,
    aligned: Mapping[str, str] | None = None,
) -> Layout:
    """Find the columns of bars among the names of a file, of which no two are equal.

    `chosen` maps meaning to a column's name, or its place from 1; `aligned` does so for the names
    of further columns.

    Raises:
        TableError: When a column is missing or two could be the same thing.
    """
    chosen = chosen or {}
    assumed = () if chosen.keys() - {"volume", "symbol"} else _list_assumed(names)
    chosen = {**dict(zip(("timestamp", *VALUES), assumed, strict=False)), **chosen}
    stated = {meaning: _find(meaning, name, names, where) for meaning, name in chosen.items()}
    beside = {
        name: _find_aligned(name, column, names, where, stated)
        for name, column in (aligned or {}).items()
    }
    by_role = _by_role([name for name in names if name not in (*stated.values(), *beside.values())])
    _overrule(by_role, stated)
    for role, columns in by_role.items():
        if len(columns) > 1 and role not in ("timestamp", "close_time", "asset volume"):
            raise _two_alike(where, role, columns)
    times = _choose_times(by_role, names, where)
    volume, tick_volume, volumes = _choose_volume(by_role)
    missing = [role for role in PRICES if role not in by_role]
    if missing or volume is None:
        raise TableError(
            _missing([*missing, *([] if volume is not None else ["volume"])], names, where)
        )
    values = (*(by_role[role][0] for role in PRICES), volume)
    symbol = next(iter(by_role.get("symbol", ())), "") or None
    return Layout(
        times[0],
        values,
        symbol,
        same_times=tuple(times[1:]),
        closes=tuple(by_role.get("close_time", ())),
        tick_volume=tick_volume,
        volumes=volumes,
        aligned=tuple(beside.items()),
        notes=(
            *_describe_adjusted([name for name in names if name not in beside.values()]),
            *_describe_aligned(beside),
            *_list_program_notes(names),
            *_list_other_volumes(by_role),
            *_list_order(names, assumed),
        ),
        assumed=assumed,
    )


def list_names(names: Sequence[str]) -> str:
    """At most twelve column names for a message, each at most 24 characters."""
    shown = [repr(name if len(name) <= 24 else name[:24] + "...") for name in names[:12]]
    return list_some(shown, len(names))


def list_counted(names: Sequence[str]) -> tuple[str, ...]:
    """Names that only count columns, as pandas names those of a list; empty where some do not.

    >>> list_counted(["0", "1", "2", "3", "4", "5"])
    ('0', '1', '2', '3', '4', '5')
    """
    counted = [name for name in names if bare_name(name).strip() not in (INDEX, *NAMELESS)]
    is_counted = counted == [str(k) for k in range(len(counted))]
    return tuple(counted) if is_counted and len(counted) >= len(VALUES) else ()


def _list_assumed(names: Sequence[str]) -> tuple[str, ...]:
    """Names of time and values where columns are as many as a program lists, and only counted."""
    counted = list_counted(names)
    return counted[: len(VALUES) + 1] if len(counted) in LISTS else ()


def _find(meaning: str, name: str, names: Sequence[str], where: str) -> str:
    """The column that a person means; empty for a volume or symbol that there is not."""
    if meaning not in MEANINGS:
        known = ", ".join(MEANINGS)
        hint = near_match(meaning, MEANINGS)
        raise TableError(f"--column {meaning}={name}: '{meaning}' is unknown; known: {known}{hint}")
    if (column := _find_column(name, names)) is not None:
        return column
    if meaning in ("volume", "symbol") and name.lower() == NONE:
        return ""
    raise _no_column(f"--column {meaning}", name, names, where)


def _find_aligned(
    name: str, wanted: str, names: Sequence[str], where: str, stated: Collection[str]
) -> str:
    """The column that a person names; it is none of those that bars have."""
    flag = f"--aligned-column {name}"
    column = _find_column(wanted, names)
    if column is None:
        raise _no_column(flag, wanted, names, where)
    role, roles = find_role(column), [find_role(other) for other in names]
    # Beside a column of whole times, days and times of day may be anything.
    is_beside = role in ("date", "time") and "timestamp" in roles
    if role in MEANINGS and role not in stated and roles.count(role) == 1 and not is_beside:
        shown = flag if wanted == name else f"{flag}={wanted}"
        raise TableError(f"{where}: {shown}: column {column!r} is the {role} of the bars")
    return column


def _find_column(name: str, names: Sequence[str]) -> str | None:
    """The column of a name, in any case where it is the only one, or of a place from 1."""
    alike = _list_alike(name, names)
    if name in names or len(alike) == 1:
        return name if name in names else alike[0]
    is_place = not alike and name.isdecimal() and 1 <= int(name) <= len(names)
    return names[int(name) - 1] if is_place else None


def _list_alike(name: str, names: Sequence[str]) -> list[str]:
    """Columns that are called so, in any case."""
    return [other for other in names if bare_name(other).strip().lower() == name.strip().lower()]


def _no_column(flag: str, name: str, names: Sequence[str], where: str) -> TableError:
    """The error about a name that is of no column, or of several."""
    positions = [names.index(other) + 1 for other in _list_alike(name, names)]
    shown = flag if flag == f"--aligned-column {name}" else f"{flag}={name}"
    if positions:
        options = " or ".join(f"{flag}={at}" for at in positions)
        return TableError(
            f"{where}: {shown}: {len(positions)} columns are named so; say which by its place, "
            f"{options}"
        )
    return TableError(f"{where}: {shown}: there is no such column; columns are {list_names(names)}")


def _by_role(names: Sequence[str]) -> dict[str, list[str]]:
    by_role: dict[str, list[str]] = {}
    has_parts = set(DATE_PARTS) <= set(map(plain, names))
    for name in names:
        role = find_role(name)
        # Beside month and year, a day is a part of a date.
        if role is not None and not (has_parts and plain(name) in DATE_PARTS):
            by_role.setdefault(role, []).append(name)
    assets = [name for name in names if is_volume_of_asset(name)]
    # A volume alone may be in the quoted asset, or made of volumes: only a person knows.
    if len(assets) > 1 or "volume" in by_role:
        by_role["asset volume"] = assets
    return by_role


def _overrule(by_role: dict[str, list[str]], stated: Mapping[str, str]) -> None:
    """Put columns that a person states in place of those that were recognised."""
    if {"timestamp", "date", "time"} & stated.keys():
        for role in ("timestamp", "date", "time", "close_time"):
            by_role.pop(role, None)
    if "volume" in stated:
        for role in ("tick_volume", "asset volume"):
            by_role.pop(role, None)
    by_role.update({meaning: [name] for meaning, name in stated.items()})


def _choose_times(
    by_role: dict[str, list[str]], names: Sequence[str], where: str
) -> list[tuple[str, ...]]:
    """The column or pair of times at which bars open, then others of the same times."""
    times: list[tuple[str, ...]] = [(column,) for column in by_role.get("timestamp", [])]
    parted = tuple(column for role in ("date", "time") for column in by_role.get(role, []))
    times += [parted] if parted else []
    starts = [time for time in times if plain(time[0]) in PERIOD_STARTS]
    if len(starts) == 1 and all(
        _is_of_trades(time[0], names) for time in times if time not in starts
    ):
        return starts
    if times:
        return times
    if INDEX in names:
        return [(INDEX,)]
    if names and bare_name(names[0]).strip() in NAMELESS:
        return [(names[0],)]
    if "close_time" in by_role:
        name = by_role["close_time"][0]
        raise TableError(
            f"{where}: column {name!r} says when a bar closes, and none says when it opens; "
            f"{write_option('timestamp', name)} --stamped close reads closes"
        )
    parts = [name for part in DATE_PARTS for name in names if plain(name) == part]
    if len(parts) == len(DATE_PARTS):
        raise TableError(
            f"{where}: columns {' and '.join(map(repr, parts))} are parts of one date; write it as "
            "one column, such as date with 2024-01-31"
        )
    raise NoTimeError(_missing(["timestamp"], names, where))


def _is_of_trades(name: str, names: Sequence[str]) -> bool:
    """Whether a column beside that of a bar's begin is the time of a trade in it.

    CoinAPI's ``time_open`` is, and Upbit's ``timestamp``, which is known by its local times.
    """
    return plain(name) == "time_open" or UPBIT_LOCAL in map(plain, names)


def _choose_volume(
    by_role: dict[str, list[str]],
) -> tuple[str | None, str | None, tuple[tuple[str, str], ...]]:
    """The column of volumes, that of ticks beside it, and those of each asset of a pair."""
    ticks = by_role.get("tick_volume", [None])[0]
    assets = by_role.get("asset volume", [])
    if "volume" in by_role:
        return by_role["volume"][0], ticks, ()
    if assets:
        pairs = tuple((plain(name).removeprefix("volume_").strip("()"), name) for name in assets)
        return assets[0], None, pairs if len(pairs) > 1 else ()
    return ticks, ticks, ()


def _describe_aligned(aligned: Mapping[str, str]) -> tuple[str, ...]:
    """The statement of a person who asks for columns of the bars' own file."""
    if not aligned:
        return ()
    named = (
        repr(name) + (f" ({column!r})" if column != name else "")
        for name, column in aligned.items()
    )
    return (f"aligned: {', '.join(named)}, stated to be known at the close of each bar",)


def _describe_adjusted(names: Sequence[str]) -> tuple[str, ...]:
    adjusted = [
        name for name in names if plain(name) in ("adj_close", "adjclose", "adjusted_close")
    ]
    return tuple(
        f"column {name!r} is not read: open, high, low and close stay as they are"
        for name in adjusted
    )


def _list_program_notes(names: Sequence[str]) -> tuple[str, ...]:
    """Facts about files of a program that its columns alone do not show."""
    plain_names = {plain(name) for name in names}
    return tuple(
        f"columns {' and '.join(map(repr, columns))} are as {program} writes them, {note}"
        for program, columns, note in OF_PROGRAMS
        if plain_names >= {plain(name) for name in columns}
    )


def _list_other_volumes(by_role: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A note where volumes in assets stand beside the volume that is read."""
    others = [
        name for name in by_role.get("asset volume", ()) if name not in by_role.get("volume", ())
    ]
    if "volume" not in by_role or not others:
        return ()
    shown = " or ".join(repr(name) for name in others)
    return (f"volume is read from column {by_role['volume'][0]!r}, and not from {shown}",)


def _list_order(names: Sequence[str], assumed: tuple[str, ...]) -> tuple[str, ...]:
    """The note about names that only count columns."""
    if not assumed:
        return ()
    program = LISTS[sum(name.isdecimal() for name in names)]
    return (
        f"names only count columns: read as {program} lists bars (timestamp, {', '.join(VALUES)})",
    )


def _two_alike(where: str, role: str, columns: list[str]) -> TableError:
    shown = " and ".join(repr(column) for column in columns)
    meaning = "volume" if role == "tick_volume" else role
    options = " or ".join(write_option(meaning, column) for column in columns)
    return TableError(f"{where}: columns {shown} could both be {role}; say which with {options}")


def _missing(missing: list[str], names: Sequence[str], where: str) -> str:
    header = " (is there a header line?)" if any(_is_number(name) for name in names) else ""
    none = " (or --column volume=none)" if "volume" in missing else ""
    alike = {role: [name for name in names if is_alike(name, role)] for role in missing}
    options = " ".join(write_option(role, next(iter(alike[role]), "NAME")) for role in missing)
    return (
        f"{where}: no column is named {' or '.join(missing)}{header}; "
        f"columns are {list_names(names)}; say which it is with {options}{none}"
    )


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[+-]?[0-9.]+([eE][+-]?[0-9]+)?\s*", text) is not None
