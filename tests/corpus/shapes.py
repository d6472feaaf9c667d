"""Rows without a header line, or with one behind a mark: bars, no bars, or an order that fits."""

import lzma
import struct
from itertools import product

from data.errors import SourceError, TableError
from tests.corpus.row import reads, refuses, text

S = 1_704_153_600
COUNT = 20
CLOSES = [round(100 + (7 * k % 11 - 5) / 8 + k / 16, 4) for k in range(COUNT)]
OPENS = [100.0, *CLOSES[:-1]]
HIGHS = [max(pair) + 0.25 for pair in zip(OPENS, CLOSES, strict=True)]
LOWS = [min(pair) - 0.5 for pair in zip(OPENS, CLOSES, strict=True)]
VOLUMES = [3 + 5 * k % 17 for k in range(COUNT)]
VALUES = {"open": OPENS, "high": HIGHS, "low": LOWS, "close": CLOSES, "volume": VOLUMES}
SEEN = {"timeframe": "1h", "values": VALUES}
PRICES = {"timeframe": "1h", "values": {name: VALUES[name] for name in list(VALUES)[:4]}}


def rows(form, head="", name="series.csv", encoding="utf-8"):
    """A file of a line a bar: ``{s}`` is seconds, ``{k}`` counts, ``{c}`` and so on are values."""
    lines = [
        form.format(s=S + 3600 * k, t=S + k, k=k, d=f"{k + 1:02d}", o=o, h=h, l=low, c=c, v=v,
                    ask=c + 0.25, money=f"{v * c:.2f}", adj=c * 0.9, mean=(o + c) / 2,
                    side="buy" if k % 3 else "sell")
        for k, (o, h, low, c, v) in enumerate(
            zip(OPENS, HIGHS, LOWS, CLOSES, VOLUMES, strict=True))
    ]  # fmt: skip
    return text("\n".join([*([head] if head else []), *lines, ""]).encode(encoding), name)


TRADES, QUOTES = "these are trades", "these are quotes"
NO_BARS = {
    "trades of Binance": (rows("{k}267345,{c},0.5,{money},{t}137,True,True"), TRADES),
    "trades of Kraken": (rows("{t},{c},0.5"), TRADES),
    "ticks of Dukascopy": (rows("02.01.2024 17:00:{d}.123,{ask},{c},0.75,1.5"), QUOTES),
    "closes alone": (rows("2024-01-{d},{c}"), "closes"),
    "named trades": (rows("{t}000,BTC,{side},1,{c}", "timestamp,symbol,side,size,price"), "trades"),
    "named closes": (rows("2024-01-{d},{c}", "Date,Close"), "closes"),
}  # fmt: skip

ORDERS = {
    "without volume": (rows("{s},{o},{h},{l},{c}"), {**PRICES}),
    "closes second": (rows("{s},{o},{c},{h},{l},{v},{money}"), {**SEEN}),
    "closes first in a layout of MetaTrader":
        (rows("2024-01-{d},00:00,{c},{h},{l},{o},{v}"), {"values": VALUES}),
    "an adjusted close": (rows("2024-01-{d},{o},{h},{l},{c},{adj},{v}"), {"values": VALUES}),
}  # fmt: skip
"""Files whose first rows show their order."""

HEAD = "time,open,high,low,close,volume"
FORM = "{s},{o},{h},{l},{c},{v}"
MARKED = {
    **{f"a header behind {mark}": rows(FORM, mark + HEAD)
       for mark in ("# ", "#", "% ", "//", "; ")},
    "a header behind # among remarks": rows(FORM, f"# of bars, all\n# {HEAD}\n# units: USD"),
    "a header behind # of an index": rows("{k}," + FORM, "#," + HEAD),
    "another order behind #": rows("{s},{v},{c},{h},{l},{o}", "# time,volume,close,high,low,open"),
}  # fmt: skip

TITLE = "113\u5e7401\u6708 2330 \u5404\u65e5\u6210\u4ea4\u8cc7\u8a0a\n"
TWSE = '"\u65e5\u671f","\u6210\u4ea4\u80a1\u6578","\u958b\u76e4\u50f9","\u6700\u9ad8\u50f9",' \
    '"\u6700\u4f4e\u50f9","\u6536\u76e4\u50f9",'  # fmt: skip
TWO = [f"{market},{place},{S + 3600 * k},{k + 10},{k + 12},{k + 9},{k + 11},{volume}"
       for volume, (market, place) in enumerate(product("AB", "XY")) for k in range(6)]  # fmt: skip
PARTED = text("\n".join(["symbol,exchange,timestamp,open,high,low,close,volume", *TWO, ""]))
HISTORY = struct.pack("<i64s12siiii", 401, b"(C)", b"EURUSD", 60, 5, 0, 0) + bytes(200)

ROWS = (
    *(refuses(name, file, None, TableError, words, "make bars of them first", never="--column")
      for name, (file, words) in NO_BARS.items()),
    *(refuses(f"an order: {name}", file, None, TableError, "--column", then={**seen})
      for name, (file, seen) in ORDERS.items()),
    refuses("rows that are no bars in any order", rows("{s},{k},{c},{v},{k},{money}"), None,
            TableError, "would miss", never="--column"),
    *(reads(name, file, **SEEN) for name, file in MARKED.items()),
    *(refuses(f"{name} behind #", rows(FORM, f"# {HEAD.replace('volume', name)}"), None,
              TableError, "named volume", "--column volume=none",
              then=[({"columns": {"volume": "none"}}, PRICES)])
      for name in ("vwap", "trades")),
    *(reads(f"names of Taiwan in {encoding}",
            rows('"2024/01/{d}","{v},000,000","{o}","{h}","{l}","{c}",', TITLE + TWSE,
                 encoding=encoding), notes=notes, timeframe="1d",
            values={**PRICES["values"], "volume": [v * 1e6 for v in VOLUMES]})
      for encoding, notes in (("utf-8", None), ("big5", "read as Big5"))),
    refuses("years of Taiwan", rows('"113/01/{d}","{v}","{o}","{h}","{l}","{c}",', TITLE + TWSE),
            None, TableError, "Taiwan", "2024"),
    refuses("a market on two exchanges", PARTED, None, TableError, "'exchange'", "#A#X",
            market="A", never="--sort",
            then={"count": 6, "symbol": "A#X", "values": {"volume": [0] * 6}}),
    reads("one of four series", PARTED, market="B#Y", values={"volume": [3] * 6}),
    *(refuses(f"a file of {words}", text(content), None, SourceError, words)
      for words, content in (
          ("MetaTrader (.hst)", HISTORY),
          ("Sierra Chart", b"SCID" + struct.pack("<IIHHI", 56, 40, 1, 0, 0) + bytes(99)),
          ("Dukascopy packs", lzma.compress(bytes(99), format=lzma.FORMAT_ALONE)))),
)  # fmt: skip
