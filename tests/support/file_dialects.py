"""Dialects in which programs write bars: text of many forms, and columns of many types."""

import datetime as dt
import gzip
import io
import re
import zipfile
from dataclasses import replace
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

S, M, H, D, W = (n * 10**9 for n in (1, 60, 3600, 86_400, 604_800))
UNITS = {"s": S, "ms": 10**6, "us": 1000, "ns": 1}
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
VALUES = ("open", "high", "low", "close", "volume")
NUMBER = re.compile(r"(-?)([0-9]+)\.?([0-9]*)(e-?[0-9]+)?")

LANGUAGES = """\
utf-8|Timestamp|Date|Time|Open|High|Low|Close|Volume
utf-8|datetime|date|time|open|high|low|close|volume
utf-8|t|date|time|o|h|l|c|v
utf-8|<DATE>|<DATE>|<TIME>|<OPEN>|<HIGH>|<LOW>|<CLOSE>|<VOL>
utf-8|Date|Date|Time|Open|High|Low|Price|Vol.
utf-8|timestamp|date|time|1. open|2. high|3. low|4. close|5. volume
utf-8|stamp|day|time|mid.o|mid.h|mid.l|mid.c|size
cp1252|Datum|Datum|Uhrzeit|Eröffnung|Hoch|Tief|Schluss|Volumen
cp1252|Date|Date|Heure|Ouverture|Plus haut|Plus bas|Clôture|Volume
cp1252|Fecha|Fecha|Hora|Apertura|Máximo|Mínimo|Cierre|Volumen
cp1250|Data|Data|Czas|Otwarcie|Najwyższy|Najniższy|Zamknięcie|Wolumen
cp1251|Дата|Дата|Время|Открытие|Максимум|Минимум|Закрытие|Объем
gb18030|日期|日期|时间|开盘|最高|最低|收盘|成交量
big5|日期|日期|時間|開盤價|最高價|最低價|收盤價|成交股數
cp932|日付|日付|時刻|始値|高値|安値|終値|出来高
cp949|날짜|날짜|시간|시가|고가|저가|종가|거래량""".splitlines()
"""An older encoding, and names of a time, a date, a clock and the five values."""

FORMS = """\
%Y-%m-%d| %H:%M:%S
%Y-%m-%d|T%H:%M:%S
%Y-%m-%d| %H:%M
%Y-%m-%d|T%H:%M:%SZ
%Y-%m-%d| %H:%M:%S%z
%Y/%m/%d| %H:%M
%Y.%m.%d| %H:%M
%d.%m.%Y| %H:%M
%d/%m/%Y| %H:%M:%S
%m/%d/%Y| %H:%M
%m/%d/%Y| %I:%M %p
%-d/%-m/%Y| %-H:%M
%d %b %Y| %H:%M
%b %d, %Y| %H:%M
%Y%m%d|%H%M%S
%Y%m%d| %H:%M
%d/%m/%y| %H:%M""".splitlines()
"""Dates and clocks."""

CLOCKS = {
    "America/New_York": "EST",
    "Europe/Berlin": "CET",
    "America/New_York+7h": "EET",
    "Asia/Tokyo": "",
}
"""Zones of times that name none, and short names; one is that of a server."""


def write_text(file, dice):
    """Write a file as text in a dialect that is drawn."""
    page, *names = dice.choice(LANGUAGES).split("|")
    mark, decimal = dice.choice((",", ",", ",", ";", "\t", "|")), dice.choice("...,")
    group = dice.choice(("", "", "", "", *({",": ".' \u00a0", ".": ",' \u00a0"}[decimal])))
    # These harms show by the names of columns.
    must_name = file.part_names or file.harm in ("header again", "stamped at close")
    is_named = bool(must_name) or dice.random() < 0.8
    is_named = file.table[0][0].isalpha() if file.table else is_named
    form, table = "ms", file.table
    if table is None:
        form, n_times, columns = _list_columns(file, dice, names)
        columns = _add_columns(columns, file, dice, is_named)
        columns = [(name, cells if k < n_times else [_mark(cell, decimal, group) for cell in cells])
                   for k, (name, cells) in enumerate(columns)]  # fmt: skip
        if is_named and dice.random() < 0.3:
            dice.shuffle(columns)
        if not is_named:
            places = {name: str(k) for k, (name, _) in enumerate(columns, start=1)}
            file.names = {meaning: places[name] for meaning, name in file.names.items()}
        if is_named and dice.random() < 0.1:
            columns.insert(0, ("", list(map(str, range(len(file.rows))))))
        rows = zip(*(cells for _, cells in columns), strict=True)
        table = [*([[name for name, _ in columns]] if is_named else []), *rows]
    is_quoted = dice.random() < 0.3
    lines = [mark.join(f'"{cell}"' if is_quoted or mark in cell else cell for cell in row)
             for row in table]  # fmt: skip
    head, lines = (lines[0], lines[1:]) if is_named else ("", lines)
    _harm_lines(file, dice, lines, head, mark, len(table[0]))
    is_remark = is_named and dice.random() < 0.2
    above = [[], [], [], [], ["# from a broker", ""], [f"sep={mark}"]]
    above = dice.choice([*above, ["History of BTCUSD"]] if is_named else above)
    above = [*above, f"# {head}" if is_remark else head] if is_named else above
    end = dice.choice(("\n", "\n", "\n", "\r\n", "\r\n", "\r"))
    text = end.join([*above, *lines, ""]).partition("\0")[0]
    encoding = dice.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16", page))
    packing = dice.choice(("", "", "", ".gz", ".zip"))
    kind = "header behind #" if is_remark else "header" if is_named else "no header"
    file.dialect, file.name = f"{kind}, {form}", f"bars.csv{packing}"
    file.content = _pack(text.encode(encoding, errors="replace"), packing)


def _pack(content, packing):
    packed = io.BytesIO()
    if packing == ".zip":
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(zipfile.ZipInfo("bars.csv"), content)
    return {".gz": gzip.compress(content, mtime=0), ".zip": packed.getvalue()}.get(packing, content)


def _harm_lines(file, dice, lines, head, mark, width):
    """Harm lines below a header, in the way of the file."""
    n, k = len(lines), dice.randrange(1, len(lines))
    inserted = {"separator rows": [mark * (width - 1)] * dice.randint(1, 3), "blank lines": [""],
                "remark": ["# the exchange was down"], "header again": [head]}  # fmt: skip
    if file.harm in inserted:
        k = dice.randint(1, n)
        lines[k:k] = inserted[file.harm]
    elif file.harm == "totals below":
        words = dice.choice(("Total", "Average", "Source: a bank"))
        lines.append(mark.join([words, *[""] * (width - 2), dice.choice(("", "12345"))]))
    elif file.harm in ("short row", "long row"):
        lines[k] = (
            lines[k].rpartition(mark)[0] if file.harm == "short row" else f"{lines[k]}{mark}5"
        )
        _may_be(file, lambda rows: [*rows[:k], *rows[k + 1 :]])
    elif file.harm == "cut file":
        # The text ends at the zero byte.
        lines[-1] = lines[-1][: dice.randrange(len(lines[-1]))] + "\0"
        _may_be(file, lambda rows: rows[:-1])


def _may_be(file, change):
    """Let the rows of each reading be others, too."""
    file.readings += [replace(reading, rows=change(reading.rows)) for reading in file.readings]


def write_typed(file, dice):
    """Write a file as Parquet or Feather, with columns of types that are drawn."""
    kind, is_close = dice.choice(("float64", "float64", "float32", "decimal", "text")), False
    if kind == "float32":
        file.change_rows(lambda row: row._replace(cells=tuple(map(_round, row.cells))))
    is_close = file.harm == "stamped at close"
    stamps = [row.time_ns + file.step_ns * is_close for row in file.rows]
    unit = dice.choice([name for name, ns in UNITS.items() if not any(t % ns for t in stamps)])
    zone = dice.choice((None, "UTC", "America/New_York"))
    times = pa.array([time // UNITS[unit] for time in stamps], pa.timestamp(unit, zone))
    if not any(time % D for time in stamps) and zone is None and dice.random() < 0.5:
        times = times.cast(pa.date32())
    elif dice.random() < 0.2:
        times = times.cast(pa.int64())
    name = dice.choice(("date", "timestamp", "__index_level_0__"))
    columns = {"close_time" if is_close else name: times}
    for name, cells in _list_values(file, VALUES):
        columns[name] = _type_cells(cells, kind if name in VALUES else "text")
    sink, is_parquet = io.BytesIO(), dice.random() < 0.5
    if is_parquet:
        pa.parquet.write_table(pa.table(columns), sink, row_group_size=dice.choice((7, 100)))
    else:
        pa.feather.write_feather(pa.table(columns), sink)
    file.dialect, file.content = f"typed, {kind}", sink.getvalue()
    file.name = f"bars.{'parquet' if is_parquet else 'feather'}"


def _type_cells(cells, kind):
    if kind == "text":
        return pa.array(cells)
    numbers = [Decimal(cell) if NUMBER.fullmatch(cell) else None for cell in cells]
    if kind == "decimal":
        return pa.array(numbers, pa.decimal128(38, 12))
    return pa.array([None if n is None else float(n) for n in numbers], pa.type_for_alias(kind))


def _round(cell):
    """A number as 32 bits hold it; a word as it is."""
    return repr(float(np.float32(cell))) if NUMBER.fullmatch(cell) else cell


def _list_values(file, names):
    """Columns of values and parts, by name."""
    file.names = dict(zip(VALUES, names, strict=True))
    values = zip(names, zip(*(row.cells for row in file.rows), strict=True), strict=True)
    parts = zip(*(row.parts for row in file.rows), strict=True)
    return [*values, *zip(file.part_names, parts, strict=True)]


def _list_columns(file, dice, names):
    """Form of times, how many columns hold them, and columns of times, values and parts."""
    form, label, shift_ns = dice.choice((*FORMS, *UNITS)), names[0], 0
    if file.harm == "stamped at close":
        form, label, shift_ns = _stamp_closes(file, dice, label)
    date, _, clock = form.partition("|")
    is_utc = form in UNITS or "Z" in form or file.step_ns >= D or shift_ns
    zone = None if is_utc or file.harm == "other clock" else dice.choice((None, None, *CLOCKS))
    is_day = file.step_ns >= D and clock and "Z" not in form and dice.random() < 0.7
    unit_ns = D if is_day else S if "%S" in form or not clock else M
    file.change_rows(lambda row: row._replace(time_ns=row.time_ns // unit_ns * unit_ns))
    stamps = [row.time_ns + shift_ns for row in file.rows]
    if zone and "%z" not in form:
        local = [replace(reading, words=(*reading.words, "read as UTC"), rows=[
            row._replace(time_ns=row.time_ns + ahead(row.time_ns, zone)) for row in reading.rows])
            for reading in file.readings]  # fmt: skip
        file.readings += local
        file.zone = zone
        if CLOCKS[zone] and label in ("Timestamp", "datetime") and dice.random() < 0.3:
            label = f"Time ({CLOCKS[zone]})"
    if form in UNITS:
        times = [(label, [str(time // UNITS[form]) for time in stamps])]
    elif is_day:
        times = [(names[1], _write_times(stamps, date, zone))]
    elif "Z" in form or "%z" in form or shift_ns or dice.random() < 0.7:
        times = [(label, _write_times(stamps, date + clock, zone))]
    else:
        times = [(names[1], _write_times(stamps, date, zone)),
                 (names[2], _write_times(stamps, clock.strip(" T"), zone))]  # fmt: skip
    if file.harm == "stamped at close" and not shift_ns:
        times.append(("close_time", [str((t + file.step_ns) // UNITS["ms"]) for t in stamps]))
    return form, len(times), [*times, *_list_values(file, names[3:])]


def _stamp_closes(file, dice, label):
    """Form, name and shift of times in a file that shows that they are closes."""
    kind = dice.choice(("close column", "both", "last moment"))
    if file.hours == "New York" and file.step_ns == 15 * M and len(file.rows) > 130:
        return "%Y-%m-%d| %H:%M:%S", label, file.step_ns
    form = "ms" if kind == "last moment" else dice.choice((FORMS[0], "ms"))
    shift_ns = {"both": 0, "last moment": file.step_ns - UNITS["ms"]}.get(kind, file.step_ns)
    return form, "close_time" if kind == "close column" else label, shift_ns


def _write_times(times, form, zone):
    """Times in a form, on the clock of a zone."""
    if "%z" in form:
        zone = ZoneInfo((zone or "UTC").partition("+")[0])
        return [moment(time).astimezone(zone).strftime(form) for time in times]
    return [moment(time + (ahead(time, zone) if zone else 0)).strftime(form) for time in times]


def ahead(time_ns, zone):
    """Nanoseconds by which the clock of a zone is ahead of UTC."""
    name, _, hours = zone.partition("+")
    offset = moment(time_ns).astimezone(ZoneInfo(name)).utcoffset()
    return int(offset.total_seconds()) * S + int(hours.rstrip("h") or 0) * H


def moment(time_ns):
    """A time as Python has it."""
    return EPOCH + dt.timedelta(microseconds=time_ns // 1000)


def _add_columns(columns, file, dice, is_named):
    """Columns with others beside them; without names, values may stand in another order."""
    values, count = [row.cells for row in file.rows], len(file.rows)
    others = [
        ("vwap", [cells[0] for cells in values]),
        ("trades", [str(dice.randint(1, 500)) for _ in values]),
        ("open_interest", [str(10**5 + dice.randint(0, 500)) for _ in values]),
        ("source", ["NYSE"] * count),
        ("Change %", [f"{dice.gauss(0, 1):.2f}%" for _ in values]),
        ("Adj Close", [cells[3] for cells in values]),
        *([] if "symbol" in file.part_names else [("ticker", ["AAA"] * count)]),
    ]
    if not is_named and dice.random() < 0.4:
        by_letter = dict(zip("ohlcv", columns[-5:], strict=True))
        order = dice.choice(("ochlv", "chlov", "vchlo"))
        columns = [*columns[:-5], *(by_letter[letter] for letter in order)]
    return [*columns, *dice.sample(others, dice.choice((0, 0, 1, 3)))]


def _mark(cell, decimal, group):
    """A number with the marks of a dialect; other cells as they are."""
    match = NUMBER.fullmatch(cell)
    if match is None:
        return cell
    sign, whole, part, power = match.groups("")
    whole = f"{int(whole):,}".replace(",", group) if group else whole
    return f"{sign}{whole}{decimal if part else ''}{part}{power}"
