"""Files of known bars in the dialects of many programs, each harmed in one way, by seed."""

import datetime as dt
import math
import random
import re
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from tests.support.file_dialects import (
    EPOCH,
    VALUES,
    D,
    H,
    M,
    S,
    W,
    ahead,
    moment,
    write_text,
    write_typed,
)

NEW_YORK = ZoneInfo("America/New_York")
TRADES = (
    "id price qty quote_qty time is_buyer_maker is_best_match", "timestamp price volume",
    "id price qty first last time maker", "timestamp price amount side", "time bid ask volume",
    "timestamp symbol bid ask bid_size ask_size",
)  # fmt: skip
"""Columns of files of trades and quotes."""

WORDS = ("", "NaN", "-", "#DIV/0!", "ND", "1.#QNAN", "(null)", "n/a", "null", "error")


class Row(NamedTuple):
    """A bar as it is written: when it opens, five numbers, and words that tell its series."""

    time_ns: int
    cells: tuple[str, ...]
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """Bars as which a file may be read.

    Args:
        words: Patterns, each of which notes or quirks must hold.
        slack_ns: Nanoseconds by which a time may lie before that of its row.
    """

    rows: list[Row]
    step_ns: int
    words: tuple[str, ...] = ()
    slack_ns: int = 0

    def fits(self, bars, said):
        """Equality with bars in every time and value, and with all that had to be said."""
        if len(bars) != len(self.rows) or bars.timeframe_ns != self.step_ns:
            return False
        early = np.array([row.time_ns for row in self.rows]) - bars.timestamp
        values = np.array([[float(cell) for cell in row.cells] for row in self.rows]).T
        is_alike = (values == [getattr(bars, name) for name in VALUES]).all()
        is_near = ((early >= 0) & (early <= self.slack_ns)).all()
        return bool(is_alike and is_near and all(re.search(word, said) for word in self.words))


@dataclass
class MutatedFile:
    """A file, and the bars as which it may be read; none where it holds no bars."""

    seed: int
    harm: str
    hours: str
    step_ns: int
    rows: list[Row]
    readings: list[Reading] = field(default_factory=list)
    part_names: tuple[str, ...] = ()  # columns that tell series apart
    table: list[list[str]] | None = None  # of a file that holds no bars
    names: dict[str, str] = field(default_factory=dict)  # columns by meaning
    zone: str = ""  # of times that name none; empty for UTC
    dialect: str = ""
    name: str = ""
    content: bytes = b""

    def may_be(self, rows, **how):
        """Add a reading."""
        self.readings.append(Reading(list(rows), how.pop("step_ns", self.step_ns), **how))

    def change_rows(self, change):
        """Change each row of the file, and of its readings."""
        self.rows = [change(row) for row in self.rows]
        self.readings = [replace(reading, rows=[change(row) for row in reading.rows])
                         for reading in self.readings]  # fmt: skip


def draw_file(seed):
    """The file of a seed."""
    dice = random.Random(seed)
    harm, hours = dice.choice(HARMS), dice.choice(("always", "New York", "currencies"))
    steps = {"weeks on last day": [W], "months": [D], "other clock": [15 * M, H],
             "unnamed parts": [15 * M, H], "late bar": [15 * M, H],
             "stamped at close": [15 * M, H]}.get(harm, [M, 15 * M, H, D, W])  # fmt: skip
    step_ns, count = dice.choice(steps), dice.choice((30, 80, 120, 200))
    if harm == "stamped at close" and dice.random() < 0.3:
        step_ns, hours, count = 15 * M, "New York", 200
    times = _draw_times(dice, step_ns, hours, count)
    file = MutatedFile(seed, harm, hours, step_ns, _draw_rows(dice, times))
    if harm in SPOILT:
        k = dice.randrange(len(file.rows))
        file.may_be(file.rows[:k] + file.rows[k + 1 :])
        file.rows[k] = SPOILT[harm](file.rows[k], dice)
    elif harm in OTHERS:
        OTHERS[harm](file, dice)
    else:
        file.may_be(file.rows)
        file.rows = KEPT.get(harm, lambda rows, dice: rows)(file.rows, dice)
    is_typed = file.table is None and harm not in IN_TEXT and dice.random() < 0.2
    (write_typed if is_typed else write_text)(file, dice)
    return file


def _draw_times(dice, step_ns, hours, count, start=None):
    """When bars open: always, in sessions of New York, or in weeks of currencies."""
    start = start or dt.date(2010, 1, 1) + dt.timedelta(dice.randrange(4200))
    start -= dt.timedelta(start.weekday() if step_ns == W else 0)
    first = (start - EPOCH.date()).days * D
    if step_ns == W or hours == "always":
        return [first + k * step_ns for k in range(count)]
    days = [start + dt.timedelta(k) for k in range(2 * count + 8)]
    days = [day for day in days if day.weekday() < 5]
    if step_ns == D:
        return [(day - EPOCH.date()).days * D for day in days][:count]
    if hours == "New York":
        opens = (dt.datetime.combine(day, dt.time(9, 30), NEW_YORK) for day in days)
        firsts = [int(moment.timestamp()) * S for moment in opens]
        return [t for o in firsts for t in range(o, o + 390 * M, step_ns)][:count]
    times = (first + k * step_ns for k in range(count + 3 * D // step_ns))
    weeks = [(t, t + ahead(t, "America/New_York") + 7 * H) for t in times]
    return [t for t, local in weeks if (local // D + 3) % 7 < 5][:count]


def _draw_rows(dice, times, parts=()):
    """Bars of a random walk, whose prices have the decimals of a market."""
    level = 10 ** dice.uniform(-3.5, 4.7)
    decimals = min(max(4 - math.floor(math.log10(level)) + dice.choice((-1, 0, 0, 1)), 0), 8)
    price = max(round(level * 10**decimals), 50)
    spread, top, after = max(price // 300, 2), 10 ** dice.randint(2, 8), dice.choice((0, 0, 3, 8))
    is_fixed, meets, rows = dice.random() < 0.7, dice.choice((0.95, 0.2)), []
    for time_ns in times:
        first = price + (0 if dice.random() < meets else dice.randint(-spread, spread) // 2)
        first, last = max(first, 2), max(first + round(dice.gauss(0, spread)), 2)
        high = max(first, last) + dice.randint(0, spread) // 2
        low = max(min(first, last) - dice.randint(0, spread) // 2, 1)
        numbers = [Decimal(ticks).scaleb(-decimals) for ticks in (first, high, low, last)]
        volume = 0 if dice.random() < 0.05 else dice.randrange(1, top * 10**after)
        numbers.append(Decimal(volume).scaleb(-after))
        cells = [f"{n:f}" if is_fixed else repr(int(n) if n == int(n) else float(n))
                 for n in numbers]  # fmt: skip
        rows.append(Row(time_ns, tuple(cells), parts))
        price = last
    return rows


def _change(row, place, cell):
    return row._replace(cells=(*row.cells[:place], cell, *row.cells[place + 1 :]))


def _break_law(row, dice):
    """A number that no bar can have."""
    tenfold = [f"{Decimal(cell) * 10:f}" for cell in row.cells]
    changes = ((3, tenfold[3]), (0, tenfold[0]), (2, tenfold[1]), (2, "0"), (4, "-5"))
    return _change(row, *dice.choice(changes))


def _add_wick(file, dice):
    """A high or low that is no price: said, or refused."""
    k, place = dice.randrange(2, len(file.rows) - 2), dice.choice((1, 2))
    file.may_be(file.rows[:k] + file.rows[k + 1 :])
    number = Decimal(file.rows[k].cells[place]) * Decimal((0, "100", "0.01")[place])
    file.rows[k] = _change(file.rows[k], place, f"{number:f}")
    file.may_be(file.rows, words=(f"the {VALUES[place]} of",))


def _contradict(file, dice):
    """The last bar twice, at first while it was open."""
    file.rows.append(_change(file.rows[-1], 4, "7"))


def _delay(file, dice):
    """One bar some seconds late, as polling writes it."""
    k = dice.randrange(1, len(file.rows) - 1)
    file.may_be(file.rows[:k] + file.rows[k + 1 :])
    file.rows[k] = file.rows[k]._replace(time_ns=file.rows[k].time_ns + 3 * S)
    file.may_be(file.rows, slack_ns=3 * S)


def _stamp_last_day(file, dice):
    """Weeks stamped on their last trading day, which is a Thursday now and then."""
    file.rows = [row._replace(time_ns=row.time_ns + (3 if dice.random() < 0.05 else 4) * D)
                 for row in file.rows]  # fmt: skip
    file.may_be(file.rows, slack_ns=W)


def _stretch_to_months(file, dice):
    year = dice.randint(2000, 2015)
    firsts = (dt.date(year + k // 12, k % 12 + 1, 1) for k in range(120))
    file.rows = [row._replace(time_ns=(first - EPOCH.date()).days * D)
                 for row, first in zip(file.rows, firsts, strict=False)]  # fmt: skip


def _list_trades(file, dice):
    """Trades or quotes, with and without a header."""
    names, number, rows = dice.choice(TRADES).split(), dice.randrange(10**9), []
    time_ns = file.rows[0].time_ns
    for row in file.rows:
        time_ns, number, price = time_ns + dice.randrange(1, 20 * S), number + 1, row.cells[3]
        bid, ask = sorted((price, row.cells[0]), key=Decimal)
        size, ms = str(dice.randint(1, 900)), str(time_ns // 10**6)
        cells = {"id": str(number), "first": str(2 * number), "last": str(2 * number + 1),
                 "bid": bid, "ask": ask, "price": price, "time": ms, "timestamp": ms,
                 "quote_qty": f"{Decimal(price) * int(size):f}", "symbol": "EURUSD", "side": "buy",
                 **dict.fromkeys(("maker", "is_buyer_maker", "is_best_match"), "True")}  # fmt: skip
        rows.append([cells.get(name, size) for name in names])
    file.table = [*([names] if dice.random() < 0.5 else []), *rows]


def _join_markets(file, dice):
    """Markets that a column names, or one and a second of exchanges or intervals."""
    second, start = dice.choice((None, "exchange", "interval")), moment(file.rows[0].time_ns)
    file.part_names = ("symbol", second) if second else (dice.choice(("symbol", "coin")),)
    kinds = {"exchange": ("binance", "bybit"), "interval": ("1h", "4h")}.get(second, ("",))
    hours, rows = "always" if second == "interval" else file.hours, []
    for symbol, kind in ((symbol, kind) for symbol in ("AAA", "BBB") for kind in kinds):
        step_ns = file.step_ns * (4 if kind == "4h" else 1)
        times = _draw_times(dice, step_ns, hours, len(file.rows), start.date())
        part = _draw_rows(dice, times, (symbol, kind)[: len(file.part_names)])
        file.may_be(part, step_ns=step_ns)
        rows += part
    file.rows = rows if dice.random() < 0.5 else sorted(rows, key=lambda row: row.time_ns)


def _join_unnamed(file, dice):
    """Two markets, or bars of two durations, and no column that says so."""
    first, step_ns, after = file.rows, file.step_ns, file.rows[-1].time_ns + file.step_ns
    kind = dice.choice(("same times", "other minutes", "durations", "one after the other"))
    others = {"same times": [row.time_ns for row in first],
              "other minutes": [row.time_ns + step_ns // 3 // M * M for row in first],
              "durations": [after + k * 4 * step_ns for k in range(len(first))],
              "one after the other": [after + k * step_ns for k in range(len(first))]}  # fmt: skip
    file.rows = [*first, *_draw_rows(dice, others[kind])]
    if kind == "one after the other":
        ends = [float(file.rows[len(first) - more].cells[3]) for more in (0, 1)]
        # Two prices that are near may be those of one market.
        file.may_be(file.rows, words=("the open of",) * (max(ends) > 3 * min(ends)))


def _change_clock(file, dice):
    """Half of the file by another clock."""
    k, shift = len(file.rows) // 2, dice.choice((-5, -1, 1, 5)) * H
    is_clear = file.hours == "New York" and file.step_ns == H and k >= 40 and abs(shift) > H
    file.rows[k:] = [row._replace(time_ns=row.time_ns + shift) for row in file.rows[k:]]
    # Elsewhere it looks like a pause, or like the clock of summer.
    file.may_be(file.rows, words=("clock",) * is_clear)


KEPT = {
    "none": lambda rows, dice: rows,
    "newest first": lambda rows, dice: rows[::-1],
    "shuffled": lambda rows, dice: dice.sample(rows, len(rows)),
    "doubled": lambda rows, dice: sorted([*rows, *dice.sample(rows, 3)], key=lambda row: row[0]),
    "overlap": lambda rows, dice: rows[:20] + rows[15:],
    "stamped at close": lambda rows, dice: rows,
}
"""Changes of rows after which the bars are the same."""

SPOILT = {
    "word": lambda row, dice: _change(row, dice.randrange(5), dice.choice(WORDS)),
    "unlawful number": _break_law,
    "row of zeros": lambda row, dice: row._replace(cells=("0",) * 5),
}
"""Changes of a row, without which the bars are the rest."""

OTHERS = {
    "wick": _add_wick, "contradicting row": _contradict, "late bar": _delay,
    "weeks on last day": _stamp_last_day, "months": _stretch_to_months, "trades": _list_trades,
    "named markets": _join_markets, "unnamed parts": _join_unnamed, "other clock": _change_clock,
}  # fmt: skip
IN_TEXT = ("separator rows", "blank lines", "remark", "header again", "totals below", "short row",
           "long row", "cut file")  # fmt: skip
HARMS = (*KEPT, *SPOILT, *OTHERS, *IN_TEXT)
