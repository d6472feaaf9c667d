"""Columns by meaning, in a file of one market or of several; ambiguous ones are refused."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from data.checks import PRICES, VALUES
from data.errors import NoTimeError, TableError, list_some, near_match
from data.providers.column_names import (
    PERIOD_STARTS,
    TIMES,
    bare_name,
    find_role,
    is_alike,
    is_volume_of_asset,
    plain,
    write_option,
)
from data.providers.numbers import NUMBER

INDEX, NAMELESS = "__index_level_0__", ("", "Unnamed: 0", "index")
"""Names of an index that has none, of pandas and as the first column of a text: it may be times."""

MEANINGS = ("timestamp", "date", "time", *VALUES, "symbol")
"""Meanings that a person may give to a column."""

DATE_PARTS = ("year", "month", "day")

NONE = "none"
"""In place of a volume's column: every bar's is zero; of the symbol's: all are of one market."""

ADJUSTED = ("adj_close", "adjclose", "adjusted_close")
AT_CLOSE = "whose bars are stamped at their close: --stamped close reads them so"
OF_PROGRAMS = (
    ("nautilus_trader", ("ts_event", "ts_init"),
     "whose bars are stamped at their close unless it was set otherwise: --stamped close reads "
     "them so"),
    ("BitMEX", ("homeNotional", "foreignNotional"), AT_CLOSE),
    ("TradeStation", ("Up", "Down"), AT_CLOSE),
    ("HTX", ("amount", "vol", "count"),
     "whose 'vol' is in the quoted asset: --column volume=amount reads the traded one"),
    ("Poloniex", ("quoteVolume", "weightedAverage"),
     "whose 'volume' is in money: --column volume=quoteVolume reads what was traded"),
)  # fmt: skip
"""Programs, columns that they alone write together, and what these mean."""

NO_BARS = (
    ("quotes", (("bid",), ("ask", "offer", "ofr"))),
    ("trades", (("price", "px", "last"),
                ("side", "qty", "quantity", "size", "amount", "maker", "trade", "tick_dir"))),
    ("funding rates", (("funding_rate",),)),
    ("closes alone", (("price", "close", "last_price", "settle"),)),
)  # fmt: skip
"""Rows that are no bars, and words of which each group is within a name, where none names an open,
a high or a low."""

LISTS = {6: "ccxt", 12: "Binance"}
"""Programs that list bars as so many numbers, first of all time in ms and values in our order."""


@dataclass(frozen=True)
class Layout:
    """Columns of a file by their meaning."""

    times: tuple[str, ...]  # the column with the time, or the two with date and time of day
    values: tuple[str, ...]  # of open, high, low, close, volume; the last may be empty
    symbol: str | None = None
    same_times: tuple[tuple[str, ...], ...] = ()  # others at which bars open: equal to `times`
    closes: tuple[str, ...] = ()  # at which bars close, for times with a name that shows no end
    tick_volume: str | None = None  # counts ticks, for where the volume is zero throughout
    volumes: tuple[tuple[str, str], ...] = ()  # asset to column, of both assets of a pair
    aligned: tuple[tuple[str, str], ...] = ()  # name to column, by a person's flags
    market: str | None = None
    notes: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()  # names or places of time and values in an assumed order

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
    """Find the columns of bars among the different names of a file.

    `chosen` maps meaning to a column's name, or its place from 1; `aligned` does so for the names
    of further columns.

    Raises:
        TableError: When a column is missing or two could be the same thing.
    """
    chosen, counted = chosen or {}, list_counted(names)
    is_list = len(counted) in LISTS and not chosen.keys() - {"volume", "symbol"}
    assumed = counted[: len(VALUES) + 1] if is_list else ()
    chosen = {**dict(zip(("timestamp", *VALUES), assumed, strict=False)), **chosen}
    stated = {
        meaning: _find_stated(meaning, name, names, where) for meaning, name in chosen.items()
    }
    beside = {
        name: _find_aligned(name, column, names, where, stated)
        for name, column in (aligned or {}).items()
    }
    roles = _find_roles([name for name in names if name not in beside.values()], stated)
    _refuse_no_bars(names, roles, where)
    for role, columns in roles.items():
        if len(columns) > 1 and role not in ("timestamp", "close_time", "asset volume"):
            meaning = "volume" if role == "tick_volume" else role
            raise TableError(
                f"{where}: columns {' and '.join(map(repr, columns))} could both be {role}; say "
                f"which with {' or '.join(write_option(meaning, column) for column in columns)}"
            )
    times = _choose_times(roles, names, where)
    volume, ticks, volumes = _choose_volume(roles)
    missing = [role for role in PRICES if role not in roles]
    if volume is None or missing:
        missing += ["volume"] if volume is None else []
        raise TableError(_missing(missing, names, where))
    return Layout(
        times[0],
        (*(roles[role][0] for role in PRICES), volume),
        next(iter(roles.get("symbol", ())), "") or None,
        same_times=tuple(times[1:]),
        closes=tuple(roles.get("close_time", ())),
        tick_volume=ticks,
        volumes=volumes,
        aligned=tuple(beside.items()),
        notes=tuple(_list_notes(names, roles, beside, assumed)),
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


def _find_stated(meaning: str, name: str, names: Sequence[str], where: str) -> str:
    """The column that a person means; empty for a volume or symbol that there is not."""
    if meaning not in MEANINGS:
        known = ", ".join(MEANINGS)
        hint = near_match(meaning, MEANINGS)
        raise TableError(f"--column {meaning}={name}: '{meaning}' is unknown; known: {known}{hint}")
    if meaning in ("volume", "symbol") and name.lower() == NONE and not _list_alike(name, names):
        return ""
    return _find(f"--column {meaning}", name, names, where)


def _find_aligned(
    name: str, wanted: str, names: Sequence[str], where: str, stated: Collection[str]
) -> str:
    """The column that a person names, outside the columns of bars."""
    flag = f"--aligned-column {name}"
    column = _find(flag, wanted, names, where)
    role, roles = find_role(column), [find_role(other) for other in names]
    # Beside a column of whole times, days and times of day may be anything.
    is_beside = role in ("date", "time") and "timestamp" in roles
    if role in MEANINGS and role not in stated and roles.count(role) == 1 and not is_beside:
        shown = flag if wanted == name else f"{flag}={wanted}"
        raise TableError(f"{where}: {shown}: column {column!r} is the {role} of the bars")
    return column


def _find(flag: str, name: str, names: Sequence[str], where: str) -> str:
    """The column of a name, in any case where it is the only one, or of a place from 1."""
    alike = [name] if name in names else _list_alike(name, names)
    if not alike and name.isdecimal() and 1 <= int(name) <= len(names):
        alike = [names[int(name) - 1]]
    if len(alike) == 1:
        return alike[0]
    if alike:
        options = " or ".join(f"{flag}={names.index(other) + 1}" for other in alike)
        reason = f"{len(alike)} columns are named so; say which by its place, {options}"
    else:
        reason = f"there is no such column; columns are {list_names(names)}"
    shown = flag if flag == f"--aligned-column {name}" else f"{flag}={name}"
    raise TableError(f"{where}: {shown}: {reason}")


def _list_alike(name: str, names: Sequence[str]) -> list[str]:
    """Columns that are called so, in any case."""
    return [other for other in names if bare_name(other).strip().lower() == name.strip().lower()]


def _find_roles(names: Sequence[str], stated: Mapping[str, str]) -> dict[str, list[str]]:
    """Columns by role: a person's statements in place of the names' meaning."""
    names = [name for name in names if name not in stated.values()]
    roles: dict[str, list[str]] = {}
    has_parts = set(DATE_PARTS) <= set(map(plain, names))
    for name in names:
        role = find_role(name)
        # Beside month and year, a day is a part of a date.
        if role is not None and not (has_parts and plain(name) in DATE_PARTS):
            roles.setdefault(role, []).append(name)
    assets = [name for name in names if is_volume_of_asset(name)]
    # A volume alone may be in the quoted asset, or made of volumes: only a person knows.
    if len(assets) > 1 or "volume" in roles:
        roles["asset volume"] = assets
    overruled: tuple[str, ...] = ("tick_volume", "asset volume") if "volume" in stated else ()
    overruled += TIMES if {"timestamp", "date", "time"} & stated.keys() else ()
    kept = {role: columns for role, columns in roles.items() if role not in overruled}
    return {**kept, **{meaning: [name] for meaning, name in stated.items()}}


def _refuse_no_bars(names: Sequence[str], roles: Mapping[str, Sequence[str]], where: str) -> None:
    """Refuse rows of one price, or of bid and ask, by their kind."""
    sides = ("open", "high", "low")
    alike = [role for role in sides if any(is_alike(name, role) for name in names)]
    if len(alike) > 1 or any(role in roles for role in sides):
        return
    known = list(map(plain, names))
    for what, groups in NO_BARS:
        if all(any(word in name for name in known for word in group) for group in groups):
            raise TableError(
                f"{where}: columns {list_names(names)} are those of {what}: no bars, which have "
                "an open, a high, a low and a close; make bars of them first"
            )


def _choose_times(
    roles: Mapping[str, list[str]], names: Sequence[str], where: str
) -> list[tuple[str, ...]]:
    """The column or pair of times at which bars open, then others of the same times."""
    times: list[tuple[str, ...]] = [(column,) for column in roles.get("timestamp", [])]
    parted = tuple(column for role in ("date", "time") for column in roles.get(role, []))
    times += [parted] if parted else []
    starts = [time for time in times if plain(time[0]) in PERIOD_STARTS]
    # CoinAPI's ``time_open`` is that of a trade, and Upbit's ``timestamp``.
    is_upbit = "candle_date_time_kst" in map(plain, names)
    others = {plain(time[0]) for time in times if time not in starts}
    if len(starts) == 1 and (is_upbit or others <= {"time_open"}):
        return starts
    if times:
        return times
    if INDEX in names:
        return [(INDEX,)]
    if names and bare_name(names[0]).strip() in NAMELESS:
        return [(names[0],)]
    if "close_time" in roles:
        name = roles["close_time"][0]
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


def _choose_volume(
    roles: Mapping[str, list[str]],
) -> tuple[str | None, str | None, tuple[tuple[str, str], ...]]:
    """The column of volumes, that of ticks beside it, and those of each asset of a pair."""
    ticks, assets = roles.get("tick_volume", [None])[0], roles.get("asset volume", [])
    if "volume" in roles or not assets:
        return roles.get("volume", [ticks])[0], ticks, ()
    pairs = tuple((plain(name).removeprefix("volume_").strip("()"), name) for name in assets)
    return assets[0], None, pairs if len(pairs) > 1 else ()


def _list_notes(
    names: Sequence[str],
    roles: Mapping[str, Sequence[str]],
    beside: Mapping[str, str],
    assumed: Sequence[str],
) -> Iterator[str]:
    """Notes on columns: not read, stated or assumed ones, and the conventions of a program."""
    for name in names:
        if plain(name) in ADJUSTED and name not in beside.values():
            yield f"column {name!r} is not read: open, high, low and close stay as they are"
    if beside:
        named = ", ".join(
            repr(name) + (f" ({column!r})" if column != name else "")
            for name, column in beside.items()
        )
        yield f"aligned: {named}, stated to be known at the close of each bar"
    known = set(map(plain, names))
    for program, columns, note in OF_PROGRAMS:
        if known >= set(map(plain, columns)):
            yield f"columns {' and '.join(map(repr, columns))} are as {program} writes them, {note}"
    volumes = roles.get("volume", ())
    others = [repr(name) for name in roles.get("asset volume", ()) if name not in volumes]
    if volumes and others:
        yield f"volume is read from column {volumes[0]!r}, and not from {' or '.join(others)}"
    if assumed:
        program = LISTS[len(list_counted(names))]
        order = ", ".join(("timestamp", *VALUES))
        yield f"names only count columns: read as {program} lists bars ({order})"


def _missing(missing: Sequence[str], names: Sequence[str], where: str) -> str:
    # Any column that has no name may be the volume.
    n_numbers = sum(NUMBER.fullmatch(name.strip()) is not None for name in names)
    none = " (or --column volume=none)" if "volume" in missing and n_numbers < len(names) else ""
    alike = [next((name for name in names if is_alike(name, role)), "NAME") for role in missing]
    options = " ".join(map(write_option, missing, alike))
    return (
        f"{where}: no column is named {' or '.join(missing)}; columns are {list_names(names)}; "
        f"say which it is with {options}{none}"
    )
