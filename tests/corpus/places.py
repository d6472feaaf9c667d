"""Columns without names: counted by programs, or without a header; their order is said or shown."""

import numpy as np
import pandas as pd

from data.errors import DataError, TableError
from tests.corpus.row import reads, refuses, saved, text
from tests.support.series import NAMES

COUNT = 60
RANDOM = np.random.Generator(np.random.PCG64(5))
CLOSE = 100 + RANDOM.integers(-9, 10, COUNT).cumsum() / 8
OPEN = np.r_[100.0, CLOSE[:-1]]
HIGH, LOW = np.maximum(OPEN, CLOSE) + 0.25, np.minimum(OPEN, CLOSE) - 0.5
VOLUME = RANDOM.integers(1, 9, COUNT) * 1.5
MONEY = VOLUME * CLOSE + 0.5
TIME_MS = 1_704_067_200_000 + 3_600_000 * np.arange(COUNT)
TIME_S = TIME_MS // 1000

CCXT = [TIME_MS, OPEN, HIGH, LOW, CLOSE, VOLUME]
SERIES = {"times": (TIME_MS * 10**6).tolist(), "values": dict(zip(NAMES, CCXT[1:], strict=True))}
LISTS = {
    "ccxt": CCXT,
    "Binance": [*CCXT, TIME_MS + 3_599_999, MONEY, VOLUME // 1, VOLUME, VOLUME, VOLUME * 0],
}
OTHERS = {"Bitfinex": [TIME_MS, OPEN, CLOSE, HIGH, LOW, VOLUME],
          "Coinbase": [TIME_S, LOW, HIGH, OPEN, CLOSE, VOLUME],
          "Gate.io": [TIME_S, VOLUME, CLOSE, HIGH, LOW, OPEN]}  # fmt: skip
WIDE = {
    "Bybit": [TIME_MS, OPEN, HIGH, LOW, CLOSE, VOLUME, MONEY],
    "KuCoin": [TIME_S, OPEN, CLOSE, HIGH, LOW, VOLUME, MONEY],
    "OKX": [TIME_MS, OPEN, HIGH, LOW, CLOSE, VOLUME, VOLUME / 8, MONEY, VOLUME * 0 + 1],
}
DAYS = [f"2024-01-{1 + i:02d}" for i in range(20)]


def listed(columns, kind="csv", *, head=True, index=False, order=1):
    """A frame whose columns are only counted, saved by pandas; newest first where order is -1."""

    def write(path):
        frame = pd.DataFrame(dict(enumerate(columns)))[::order]
        if kind == "csv":
            frame.to_csv(path, header=head, index=index)
        else:
            getattr(frame.set_axis(frame.columns.astype(str), axis=1), f"to_{kind}")(path)

    return saved(f"bars.{kind}", write)


FORMS = {"CSV": {}, "CSV, index": {"index": True}, "Parquet": {"kind": "parquet"},
         "Feather": {"kind": "feather"}}  # fmt: skip
HEADS = {"counted": {}, "counted, index": {"index": True}, "no names": {"head": False}}


def lines(form, count=5, head=None):
    """Rows of a form of a day and its number, and of the prices above."""
    rows = (
        form.format(day=DAYS[i], i=i + 1, o=OPEN[i], h=HIGH[i], l=LOW[i], c=CLOSE[i], v=VOLUME[i])
        for i in range(count)
    )
    return text("\n".join([*([head] if head else []), *rows, ""]))


def walk(order):
    """Minutes that open where the one before closed."""
    close = 100 + np.cumsum(np.random.Generator(np.random.PCG64(1)).integers(-3, 4, 60))
    rows = [
        f"2024-01-01 {i // 60:02d}:{i % 60:02d},{close[i - 1]},{max(close[i - 1 : i + 1])},"
        f"{min(close[i - 1 : i + 1])},{close[i]},5"
        for i in range(1, 60)
    ]
    return text("\n".join([*rows[::order], ""]))


ROWS = (
    *(reads(f"{program}, {words}", listed(columns, **form), **SERIES,
            notes=f"names only count columns: read as {program} lists bars")
      for (program, columns), (words, form) in zip(
          [*LISTS.items()] * 2, FORMS.items(), strict=True)),
    *(refuses(f"{kind}, {words}", listed(columns, **form), None, DataError,
              "names only count columns, and", then=SERIES)
      for (kind, columns), (words, form) in zip(OTHERS.items(), [*FORMS.items(), *FORMS.items()],
                                                strict=False)),
    *(refuses(f"{kind}, {words}{', newest first' if order < 0 else ''}",
              listed(columns, **head, order=order), {"sort": order < 0}, DataError,
              "say which is which", then=SERIES)
      for kind, columns in WIDE.items()
      for (words, head), order in zip(HEADS.items(), (1, -1, 1), strict=True)),
    *(refuses(f"{words} first in each row", lines(form, 20), None, TableError,
              "say which is which by place, such as",
              then={"symbol": "AAA", "timeframe": "1d", "times": DAYS, "values": {
                  "open": OPEN[:20], "close": CLOSE[:20], "volume": VOLUME[:20]}})
      for words, form in (("a ticker", "AAA,{day},{o},{h},{l},{c},{v}"),
                          ("a ticker of MetaStock", "AAA,D,{day},000000,{o},{h},{l},{c},{v},0"))),
    reads("opens that meet the close before", walk(1), count=59),
    refuses("close, high, low, open", text("".join(
        f"2024-01-01 {i // 60:02d}:{i % 60:02d},{i + 12},{i + 13},{i + 10},{i + 11},5\n"
        for i in range(40))), None, DataError,
            then={"values": {"open": {0: 11}, "close": {0: 12}}}),
)  # fmt: skip
