"""Rows that are no bars: refused with what repairs them, and repaired where asked for."""

import numpy as np

from data.errors import BarsError, DataError, LimitError, TableError
from tests.corpus.row import bars, reads, refuses, text

HEADER = "timestamp,open,high,low,close,volume\n"
VALUES = ("open", "high", "low", "close", "volume")
DROP, SORT, DEDUPE = {"drop_bad_bars": True}, {"sort": True}, {"dedupe": True}
DROPPED = {"made": [0, 1, 2, 4, 5], "notes": [
    "dropped 1 bad row", "1 gap, 1 bar missing; the longest from 2024-01-01T00:30 to"]}  # fmt: skip
ONCE = (0, 1, 1, 1, 2, 3)
ULP = np.spacing(101.0)
MISSED = bars(5, high={2: 100.49}, low={3: 100.635})
"""A high that misses its close by a tick, and a low that misses its open."""
OIL = {"open": np.arange(4) / 4 - 1.125, "high": np.arange(4) / 4 - 0.5,
       "low": np.arange(4) / 4 - 1.5, "close": np.arange(4) / 4 - 1.0}  # fmt: skip
"""Prices of which some are below zero, 101 below those of the builder."""


def rounded(units):
    """A file whose fourth high misses its close by so many units in the last place."""
    return bars(9, close={4: 101.0}, high={4: 101.0 - units * np.spacing(100.9)},
                low={5: 101.125 + ULP})  # fmt: skip


def sorted_rows(*picks):
    """A row of bars in another order that are sorted."""
    late = int((np.diff(picks) < 0).sum())
    rows = f"{late} row{'s' * (late > 1)} earlier than the one before, sorted by time"
    return reads(f"sorted {picks}", bars(4, picks=picks), SORT | DEDUPE, made=4, notes=rows)


ROWS = (
    reads("legal bars", bars(6), made=6, timeframe="15m", symbol="series", zone="UTC", notes=()),
    *(refuses(f"no bars in {content!a}", text(content), {}, DataError, "series.csv: ")
      for content in ("", HEADER)),
    *(refuses(f"{name} is {cell!r}", bars(6, **{name: {3: cell}}), {}, BarsError,
              "series.csv: 1 row ", words, "row 3 (2024-01-01T00:45", "--drop-bad", then=DROPPED)
      for name in VALUES for cell, words in (
          ("" if name < "i" else "nan", "missing or not finite"), ("-inf", "missing or not finite"),
          ("-1", "negative volume" if name == "volume" else "not above zero"))),
    *(refuses(f"{name} is {value}", bars(6, **{name: {3: value}}), {}, BarsError, "1 row", words,
              "row 3 (", "--drop-bad-bars", option, then=DROPPED)
      for name, value, words, option in (
          ("open", 0.0, "price that is not above zero", "--price-offset"),
          ("high", 0.0, "high that is not above zero", "--price-offset"),
          ("high", 100.0, "high below open or close", "--tick"),
          ("low", 101.0, "low above open or close", "--tick"))),
    *(refuses(f"a row without a time, {word!r}", bars(4, timestamp={1: word}), {}, BarsError,
              "1 row without a time: row 1 (no time", "--drop-bad-bars",
              then={"made": [0, 2, 3], "notes": ["dropped 1 bad row", "1 gap, 1 bar missing"]})
      for word in ("", "NaT", "#N/A")),
    refuses("a row three times over", bars(4, picks=ONCE), {}, BarsError,
            "2 rows equal to the row before: row 2 (2024-01-01T00:15), row 3 ", "--dedupe",
            then={"made": 4, "notes": ["dropped 2 repeated rows"]}),
    *(refuses(f"two closes of a time, {options}", bars(3, picks=[0, 1, 2], timestamp={
        2: "2024-01-01T00:15:00Z"}), options, BarsError, "row 1 (", "close=100.25 ", "and row 2 (",
              "close=100.5 ", "1 row with the time of the row before")
      for options in ({}, DEDUPE | DROP)),
    *(refuses(f"out of order {picks}", bars(4, picks=picks), DEDUPE | DROP, BarsError,
              f"not ascending at row {at}: 2024-01-01T00:", " comes after 2024-01-01T00:", "--sort")
      for picks, at in (([0, 2, 1, 3], 2), ([0, 1, 0, 2], 2))),
    *(sorted_rows(*picks) for picks in ((3, 2, 1, 0), (0, 2, 1, 1, 3))),
    refuses("a miss by a tick", MISSED, {}, BarsError, "row 3 (", "--tick widens"),
    reads("a miss by a tick, widened", MISSED, {"tick": 0.01}, notes=[
        "2 bars widened to open and close, by 0.01 or less"],
          values={"high": {2: 100.5}, "low": {3: 100.625}}),
    refuses("a miss by more than a tick", MISSED, {"tick": 0.009}, BarsError, "low above open"),
    *(reads(f"a miss by {units} units in the last place", rounded(units), notes=[
        "2 bars widened to open and close, which high or low missed by a rounding"],
            values={"high": {4: 101.0}, "low": {5: 101.125}}) for units in (1, 4)),
    refuses("a miss by 5 units in the last place", rounded(5), {}, BarsError,
            "1 row with a high below open or close: row 4"),
    refuses("prices below zero", bars(4, **OIL), {}, BarsError, "not above zero", "--price-offset"),
    reads("prices below zero, lifted", bars(4, **OIL), {"price_offset": 101.0}, made=4,
          notes=["101 was added to every price"]),
    *(refuses(f"no option {name}={value}", bars(2), {name: value}, error, " must be ", f"{value}")
      for name, value, error in (
          ("tick", -1.0, TableError), ("price_offset", float("inf"), TableError),
          ("decimal", ";", TableError), ("max_bytes", 0, LimitError))),
)  # fmt: skip
