"""Prices and volumes: as text with any mark, sign or group, typed, missing, and too large."""

import decimal

import numpy as np
import pyarrow as pa

from data.errors import BarsError, TableError, TimeframeError
from data.providers.numbers import MISSING
from tests.corpus.row import bars, reads, refuses, table, text
from tests.support.series import NAMES, make_columns

POINT, COMMA = {"decimal": "."}, {"decimal": ","}


def moods(*cells, price="10", volume="5"):
    """A file of days of one price whose last column, an aligned one, holds these cells."""
    days = np.datetime64("2024-01-01") + np.arange(len(cells)).astype("timedelta64[D]")
    rows = [";".join([str(day), *[price] * 4, volume, cell])
            for day, cell in zip(days, cells, strict=True)]  # fmt: skip
    return text("\n".join(["time;open;high;low;close;volume;mood", *rows, ""]))


def volumes(*cells, price="10"):
    """A file of days with these volumes."""
    days = np.datetime64("2024-01-01") + np.arange(len(cells)).astype("timedelta64[D]")
    rows = [";".join([str(day), *[price] * 4, cell]) for day, cell in zip(days, cells, strict=True)]
    return text("\n".join(["time;open;high;low;close;volume", *rows, ""]))


def number(words, cells, expected, options=None, **more):
    """A row whose aligned column holds these numbers."""
    cells, expected = ([cells], [expected]) if isinstance(cells, str) else (cells, expected)
    return reads(
        words, moods(*cells, **more), {**MOOD, **(options or {})}, values={"mood": expected}
    )


def flat(low, high):
    """Columns of bars that lie at one price and at another in turns."""
    price = np.where(np.arange(40) % 2, high, low)
    return dict.fromkeys(NAMES[:4], price)


def decimals(kind, largest):
    """A row of decimals of a type, of every size, in two parts: each is the float of its text."""
    scale = min(int(largest * 10.0**kind.scale), 10**kind.precision)
    parts = np.exp(-20 * np.random.default_rng(36).random(2000))
    whole = [int(scale * part) + 1 for part in parts] + [2**53, 2**53 + 2]
    with decimal.localcontext(prec=80):
        prices = [decimal.Decimal(value).scaleb(-kind.scale) for value in whole]
        prices = [price for price in prices if price < 10 ** (kind.precision - kind.scale)]
        first, rest = pa.array([None, *prices[:1]], kind)[1:], pa.array(prices[1:], kind)
        columns = dict.fromkeys(NAMES[:4], pa.chunked_array([first, rest]))
    file = table({**make_columns(len(prices)), **columns}, kind="parquet")
    return reads(f"{kind}", file, values={"close": [float(price) for price in prices]})


def dotted(*cells):
    """Both readings of volumes with dots; two dots in a number leave one."""
    thousands = [float(cell.replace(".", "")) for cell in cells]
    yield COMMA, {"values": {"volume": thousands}}
    if cells[0].count(".") < 2:
        yield POINT, {"values": {"volume": list(map(float, cells))}}


MOOD = {"aligned_columns": ("mood",), "source_timeframe": "1d"}
LAST_BIT = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 9007199254740993.0]
DOTS = "reads dots as marks of thousands"
PARTED = "part thousands; --decimal , reads"
BONDS = {"110'165": 110.515625, "110 165": 110.515625, "110-165": 110.515625, "110'16": 110.5}

ROWS = (
    number("plain text", ["0.1", " 2 ", "+3e2", ".5", "5."], [0.1, 2.0, 300.0, 0.5, 5.0]),
    number("shortest text", [repr(value) for value in LAST_BIT], LAST_BIT),
    number("longest text", [f"{value:.40f}" for value in LAST_BIT[:2]], LAST_BIT[:2]),
    *(number(f"{cell!r} is missing", ["1.0", cell], [1.0, np.nan]) for cell in sorted(MISSING)),
    *(refuses(f"no price is {cell!r}", bars(3, close={1: cell}), None, BarsError,
              "missing or not finite: row 1", "--drop-bad-bars", then={"count": 2})
      for cell in ("", "NA", "1e400", "-Infinity", "-")),
    *(refuses(f"{cell!r} is no number, {mark}", moods("1", cell), {**MOOD, "decimal": mark},
              TableError, "row 1", repr(cell)[1:-1])
      for cell, mark in zip(("1,23,4", "1 00", "1_000", "0x10", "abc", "1.2.3"), ".," * 3,
                            strict=True)),
    refuses("prices of bool", bars(3, kind="parquet", close=[True] * 3), None, TableError,
            "holds bool, which is no number"),
    *(refuses(f"prices of {words}", bars(3, kind="parquet", close=[cell] * 3), None, TableError)
      for words, cell in (("lists", [1.0]), ("bytes", b"1"))),
    *map(decimals, (pa.decimal128(18, 4), pa.decimal128(38, 10), pa.decimal128(30, 25),
                    pa.decimal256(60, 30)), (10**10, 10**27, 10**4, 10**25)),

    *(number(f"{' and '.join(cells)}", cells, expected) for cells, expected in (
        (["1.5", "2"], [1.5, 2]), (["1,5", "2"], [1.5, 2]), (["1,2345"], [1.2345]),
        (["1.234,5"], [1234.5]), (["1,234.5"], [1234.5]), (["1,234,567"], [1234567]),
        (["1.234.567", "1,5"], [1234567, 1.5]), (["42,000.5", "999.1"], [42000.5, 999.1]),
        (["1", "2"], [1, 2]))),
    *(number(f"1,234 beside {price}", ["1,234", "5"], expected, price=price)
      for price, expected in (("1.5", [1234, 5]), ("1,5", [1.234, 5]), ("1,2345", [1.234, 5]),
                              ("1.234,5", [1.234, 5]), ("1,234.5", [1234, 5]),
                              ("1,234,567", [1234, 5]))),
    *(refuses(f"either mark in {' and '.join(cells)}", moods(*cells), MOOD, TableError,
              "'mood' holds numbers such as '1,", "--decimal . or --decimal ,",
              then=[({"decimal": mark}, {"count": len(cells)}) for mark in marks])
      for cells, marks in ((["1,234"], ".,"), (["1,234", "5"], ".,"), (["1,5", "2.5"], ""),
                           (["1,5", "1,234.5"], ""))),
    *(number(f"{cell} with {options['decimal']}", cell, expected, options)
      for cell, options, expected in (
          ("1,234.5", POINT, 1234.5), ("1 234 567", POINT, 1234567), ("1'234.5", POINT, 1234.5),
          ("1\u2019234.5", POINT, 1234.5), ("1\u2019234,5", COMMA, 1234.5),
          ("$187.15", POINT, 187.15), ("-$5.20", POINT, -5.2), ("1.23M", POINT, 1.23e6),
          ("4K", POINT, 4e3), ("2.5 B", POINT, 2.5e9), ("3t", POINT, 3e12),
          ("1.234,5", COMMA, 1234.5),
          ("1\u00a0234,5", COMMA, 1234.5), ("\u20ac5,20", COMMA, 5.2), ("1,5M", COMMA, 1.5e6),
          ("1.250", COMMA, 1250), ("12,34,567", POINT, 1234567))),
    *(refuses(f"bonds at {price}", volumes("5", "6", price=price), None, TableError,
              f"is {value:g}"[:8], "in thirty-seconds") for price, value in BONDS.items()),
    *(reads(f"thousands of {price}", volumes("5", "6", price=price),
            values={"open": [float(price.replace("'", ""))] * 2})
      for price in ("110'999", "1'110'165")),

    *(refuses(f"one {cells[0]} among numbers such as {cells[1]}", volumes(
        *cells, "7.5", price="10.25"), None, TableError,
              f"'volume' holds '{cells[0]}' among numbers such",
              then=[(POINT, {"values": {"volume": {0: float(cells[0].replace(",", ""))}}})])
      for cells in (("1,234", "14.0"), ("12,345", "9.5", "1,000"))),
    *(reads(f"{cells[1]} parts every thousand", volumes(*cells, price="10.25"),
            values={"volume": {0: 1234}})
      for cells in (("1,234", "2,000", "12", "1,500"), ("1,234", "1,234,567", "1500"),
                    ("1,234", "1,234.5", "14.5"))),
    *(refuses(f"dots in {' and '.join(cells)}", volumes(*cells), None, TableError, "'volume' holds",
              PARTED, then=dotted(*cells))
      for cells in (("985", "1.230", "1.231"), ("12.340", "7", "8.001"),
                    ("1.234.567", "9", "1.001"))),
    *(refuses(f"dots behind {before} of {cell!r}", volumes(
        *[cell] * before, "985", cell, "1.230", "1.231"), None, TableError, PARTED)
      for cell, before in (("-", 120), ("N/A", 1), ("", 120), (" - ", 0))),
    *(reads(f"prices of {price}, volumes of {cell}", volumes(*[cell] * 4, price=price),
            None if cell else {"columns": {"volume": "none"}}, values={"open": [float(price)] * 4},
            **{"notes" if is_noted else "unsaid": DOTS})
      for price, cell, is_noted in (
          ("42.195", "0", True), ("10", "1.234", True), ("157.123", "1520", False),
          ("42.195", "1.23456", False), ("10", "", False))),

    refuses("volumes that add up to no number", bars(40, volume=1e308), {"timeframe": "1h"},
            TimeframeError, "--timeframe 1h", "volumes from 2024-01-01T00:00 on"),
)  # fmt: skip
