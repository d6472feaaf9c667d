"""Columns by meaning, in a file of one market or of several; ambiguous ones are refused."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from data.checks import PRICES, VALUES
from data.errors import NoTimeError, TableError, list_some, near_match
from data.providers.numbers import NUMBER
from data.shell import quote_word

KNOWN_NAMES = 4096
"""Names that are remembered, for many files alike."""

OF_ASSET = re.compile(r"volume_\(?([a-z0-9]{2,12})\)?")

NO_ASSETS = frozenset((
    "ma", "sma", "ema", "wma", "vwma", "avg", "average", "mean", "median", "std", "stdev", "zscore",
    "score", "change", "chg", "delta", "diff", "pct", "percent", "ratio", "rel", "norm", "obv",
    "mfi", "rsi", "macd", "roc", "osc", "oscillator", "log", "lag", "rank", "profile", "signal",
    "trend", "up", "down", "buy", "sell", "ask", "bid",
))  # fmt: skip
"""Endings of `volume_` that are no asset: such columns were made of volumes."""

CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")
"""Begin of a word inside of a name such as ``timeOpen``."""

COUNTED, AT_PLACE = re.compile(r"^[0-9]\. "), re.compile(r" \(column ([0-9]+)\)$")
"""Begin of names such as ``1. open``, and end of those that were equal: the place of each."""

SAYS_OPEN = re.compile(r"open|start|begin|bucket")
"""Within the name of a column of times: that bars open at them."""

PERIOD_STARTS = (
    "time_period_start", "period_start", "interval_start", "bar_start", "bucket",
    "candle_date_time_utc",
)  # fmt: skip
"""Names of the time at which a bar begins, beside others of its first or last trade."""

LOCAL_ZONES = {
    "eet": "EET", "cet": "CET", "wet": "WET", "msk": "Europe/Moscow", "bst": "Europe/London",
    "est": "America/New_York", "edt": "America/New_York", "et": "America/New_York",
    "cst": "America/Chicago", "cdt": "America/Chicago", "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles", "cest": "Europe/Berlin", "eest": "EET", "ist": "Asia/Kolkata",
    "jst": "Asia/Tokyo", "kst": "Asia/Seoul", "hkt": "Asia/Hong_Kong", "sgt": "Asia/Singapore",
    "aest": "Australia/Sydney", "aedt": "Australia/Sydney",
}  # fmt: skip
"""Short names of zones, with one that each may stand for: a person must choose."""

OF_ZONE = re.compile(rf"_\(?({'|'.join(LOCAL_ZONES)})\)?$")
OF_OFFSET = re.compile(
    r"[\s_(\[]*(?:utc|gmt) ?([+-]) ?0?([0-9]{1,2})(?::?([0-9]{2}))?[)\]]?$", re.IGNORECASE
)
"""The zone or offset at the end of a name of times, as in ``Time (EET)`` and ``Time (UTC+1)``."""

HALF_HOURS = {"+3:30": "Asia/Tehran", "+5:30": "Asia/Kolkata", "+9:30": "Australia/Darwin"}

MARKET_NAMES = frozenset((
    "name", "asset", "asset_id", "instrument_id", "stock", "isin", "cusip", "contract", "tic",
    "permno", "gvkey", "security", "security_id", "symbol_id", "coin", "currency_pair",
))  # fmt: skip
"""Names of columns that may part markets, and often hold something else."""

NAMES = {
    "timestamp": """
        timestamp ts t mts datetime date_time dt open_time opentime time_open open_timestamp
        timestamp_utc datetime_utc start start_time unix unix_time unix_timestamp unix_timestamp_utc
        epoch gmt_time time_utc utc_time utc date_utc window_start ts_event local_time time_gmt
        time_(utc) date/time datum/zeit candle_begin_time start_at begins_at begin begin_time
        starts_at time_left""",
    "date": """
        date day trade_date trading_date trading_day dtyyyymmdd datum tag fecha data дата 日期
        交易日期 交易日 年月日 日付 日付け tarih 날짜 일자 dato paiva""",
    "time": """
        time time_of_day uhrzeit zeit hora heure ora czas godzina tijd время 时间 時刻 時間 saat
        시간 시각""",
    "close_time": "close_time closetime time_close close_timestamp end end_time time_right ends_at",
    "open": """
        open o open_price price_open opening_price first openprice eroffnung eroffnungskurs erster
        ouverture ouv apertura abertura otwarcie opening открытие откр 开盘 开盘价 今开盘 開盤
        開盤價 開市 開市價 始値 acilis 시가""",
    "high": """
        high h high_price price_high max highprice highest day_high hoch tageshoch hochst haut
        plus_haut maximo maxima massimo najwyzszy hoog максимум макс 最高 最高价 最高價 高 高値
        yuksek 고가""",
    "low": """
        low l low_price price_low min lowprice lowest day_low tief tagestief tiefst bas plus_bas
        minimo minima minimum najnizszy laag минимум мин 最低 最低价 最低價 低 安値 dusuk 저가""",
    "close": """
        close c close_price price_close closing_price last price close_last close/last closeprice
        last_price settle latest schluss schlusskurs letzter cloture fermeture clot dernier cierre
        ultimo fechamento chiusura zamkniecie slot slotkoers закрытие закр цена 收盘 收盘价 今收盘
        收盤 收盤價 收市 收市價 終値 kapanis simdi 종가""",
    "volume": """
        volume vol v base_volume volume_base volume_(base) basevolume qty total_volume amount_base
        volumen volum umsatz stuck wolumen hacim объем 成交量 成交股數 成交張數 成交股数 交易量
        出来高 売買高 거래량 volume_traded traded_volume share_volume shares_traded
        total_traded_quantity ttl_trd_qnty real_volume realvolume stucke stuecke volumefrom
        volume_from base_vol""",
    "tick_volume": "tick_volume tickvol tickvolume ticks up_ticks",
    "symbol": "symbol ticker instrument instrument_name sym secid ts_code act_symbol code pair",
}
"""Names by meaning: lower case, without accents, with `_` for spaces, dots and dashes."""

ALIASES = {role: tuple(names.split()) for role, names in NAMES.items()}

ALIASES["timestamp"] += PERIOD_STARTS

ROLES = {name: role for role, names in ALIASES.items() for name in names}
TIMES = ("timestamp", "date", "time", "close_time")

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


def number_doubles(names: Sequence[str]) -> list[str]:
    """Names of columns, all different: equal ones get their places.

    >>> number_doubles(["close", "high", "close"])
    ['close (column 1)', 'high', 'close (column 3)']
    """
    count = Counter(names)
    return [
        f"{name} (column {position})" if count[name] > 1 or AT_PLACE.search(name) else name
        for position, name in enumerate(names, start=1)
    ]


def bare_name(name: str) -> str:
    """A column's name as the file has it, where `number_doubles` added its place."""
    return AT_PLACE.sub("", name)


def write_option(meaning: str, name: str) -> str:
    """The option that states the meaning of a column, for a shell.

    >>> write_option("close", "Close Price"), write_option("close", "close (column 3)")
    ("--column 'close=Close Price'", '--column close=3')
    """
    match = AT_PLACE.search(name)
    return f"--column {quote_word(f'{meaning}={match[1] if match else name}')}"


@lru_cache(KNOWN_NAMES)
def plain(name: str) -> str:
    """A column's name as `ALIASES` writes names: without brackets, accents and case.

    >>> plain("<TICKVOL>"), plain("Plus Haut"), plain("Eröffnung"), plain("timeOpen")
    ('tickvol', 'plus_haut', 'eroffnung', 'time_open')
    """
    bare = COUNTED.sub("", bare_name(name).strip().strip("<>").strip().rstrip(".%*"))
    bare = CAPITAL.sub("_", bare).lower()
    letters = unicodedata.normalize("NFKD", bare)
    kept = "".join(letter for letter in letters if not unicodedata.combining(letter))
    joined = re.sub(r"[\s.\-]+", "_", unicodedata.normalize("NFC", kept))
    return joined.replace("\u0142", "l").replace("\u0131", "i")


def find_role(name: str) -> str | None:
    """Meaning of a column by its name; None where that is not known.

    >>> find_role("Close Price"), find_role("Time (EET)"), find_role("close_est")
    ('close', 'time', None)
    """
    role = ROLES.get(OF_ZONE.sub("", plain(OF_OFFSET.sub("", name))))
    return role if role in TIMES else ROLES.get(plain(name))


def find_local_zone(name: str) -> str | None:
    """The zone that the name of a column of times may mean; None for that of UTC.

    >>> find_local_zone("Time (EET)"), find_local_zone("Date UTC-05:00"), find_local_zone("UTC")
    ('EET', 'Etc/GMT+5', None)
    """
    if (match := OF_OFFSET.search(name)) is None:
        match = OF_ZONE.search(plain(name))
        return None if match is None else LOCAL_ZONES[match[1]]
    sign, hours, minutes = match.groups("00")
    if minutes != "00":
        return HALF_HOURS.get(f"{sign}{hours}:{minutes}")
    # Zones of this area count towards the west.
    return f"Etc/GMT{'-' if sign == '+' else '+'}{hours}" if hours != "0" else None


def is_alike(name: str, role: str) -> bool:
    """True if the first or last word of a name fits a column's meaning.

    >>> is_alike("BidOpen", "open"), is_alike("mid.o", "open"), is_alike("open_interest", "high")
    (True, True, False)
    """
    if find_role(name) is not None:
        return False
    words = plain(name).split("_")
    roles = ("timestamp", "date", "time") if role == "timestamp" else (role,)
    return len(words) > 1 and (ROLES.get(words[-1]) in roles or ROLES.get(words[0]) in roles)


def is_volume_of_asset(name: str) -> bool:
    """True if a column holds volumes in one asset, such as ``Volume BTC``."""
    match = OF_ASSET.fullmatch(plain(name))
    return match is not None and match[1] not in NO_ASSETS


def recognise(
    names: Sequence[str],
    where: str,
    chosen: Mapping[str, str] | None = None,
    aligned: Mapping[str, str] | None = None,
) -> Layout:
    """Find the columns of bars among the different names of a file.

    `chosen` maps meaning to a column's name, or its place from 1; `aligned` does so for the names
    of further columns.
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
