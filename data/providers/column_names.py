"""Names of columns as programs and people write them, by the meaning of the columns."""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

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
