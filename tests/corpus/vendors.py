"""Files of vendors, each of the same five bars, and the habits of vendors that are noted."""

import datetime as dt
from dataclasses import dataclass, field

from data.errors import TableError
from tests.corpus.row import bars, reads, refuses, text
from tests.support.series import NAMES

BARS = ((187.15, 188.44, 183.89, 185.64, 82_488_700.0),
        (184.22, 185.88, 183.43, 184.25, 58_414_500.0),
        (182.15, 183.09, 180.88, 181.91, 71_983_600.0),
        (181.99, 182.76, 180.17, 181.18, 62_303_300.0),
        (182.09, 186.01, 181.50, 185.56, 59_144_500.0))  # fmt: skip
"""Open, high, low, close and volume."""

DAYS = [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in (2, 3, 4, 5, 8)]
MINUTES = [dt.datetime(2024, 1, 2, 9, 30 + i, tzinfo=dt.UTC) for i in range(5)]
MINUTE = dt.timedelta(minutes=1)


@dataclass(frozen=True)
class VendorFile:
    """A file, how it is read, and its note.

    Args:
        source: Who writes it.
        words: What kind of file it is.
        text: What it holds.
        times: When its bars open.
        options: With which it is read; of a file that is refused without, what its message names.
        refusal: Part of the line with which it is refused without options; empty where it is read.
        note: Part of a note about it; empty where there is none that matters.
    """

    source: str
    words: str
    text: str
    times: list[dt.datetime] = field(default_factory=lambda: MINUTES)
    options: dict[str, object] = field(default_factory=dict)
    refusal: str = ""
    note: str = ""


def lines(form: str, header: str = "", times: list[dt.datetime] = MINUTES, below: str = "") -> str:
    """A file: a header, then a line a bar in a form with the names of its parts, newest last."""
    rows = []
    for time, (o, h, low, c, v) in zip(times, BARS, strict=True):
        second = int(time.timestamp())
        ends = {"e": time + MINUTE, "last": (second + 60) * 1000 - 1}
        rows.append(form.format(t=time, s=second, o=o, h=h, l=low, c=c, v=int(v), **ends))
    return "\n".join([*([header] if header else []), *rows, *([below] if below else []), ""])


def name_columns(**columns: str) -> dict[str, object]:
    """Options that say which column is which."""
    return {"columns": columns}


BARCHART = lines(
    "{t:%Y-%m-%d},{o},{h},{l},{c},-1.5,-0.8%,{v}",
    "Time,Open,High,Low,Latest,Change,%Change,Volume",
    DAYS,
    '"Downloaded from Barchart.com as of 01-09-2024 10:53am CST"',
)
DATABENTO = "ts_event,rtype,publisher_id,instrument_id,open,high,low,close,volume,symbol"
UPBIT = lines(
    "KRW-BTC,{t:%Y-%m-%dT%H:%M:%S},{t:%Y-%m-%d}T18:30:00,{o},{h},{l},{c},{s}123,1,{v},1",
    "market,candle_date_time_utc,candle_date_time_kst,opening_price,high_price,low_price,"
    "trade_price,timestamp,candle_acc_trade_price,candle_acc_trade_volume,unit",
)

FILES = (
    VendorFile("Alpha Vantage", "names that are counted",
               lines("{t:%Y-%m-%d %H:%M:%S},{o},{h},{l},{c},{v}",
                     "date,1. open,2. high,3. low,4. close,5. volume")),
    VendorFile("AmiBroker", "ASCII import with `$FORMAT`",
               "$FORMAT Ticker, Date_YMD, Open, High, Low, Close, Volume\n$SEPARATOR ,\n"
               + lines("x,{t:%Y%m%d},{o},{h},{l},{c},{v}", times=DAYS), DAYS,
               name_columns(symbol="1", timestamp="2", open="3", high="4", low="5", close="6",
                            volume="7"), refusal="there is no header line, and 7 columns such as"),
    VendorFile("Ariva", "prices of a German page",
               lines("{t:%Y-%m-%d};{o};{h};{l};{c};{v};{v}5",
                     "Datum;Erster;Hoch;Tief;Schlusskurs;Stuecke;Volumen", DAYS).replace(".", ","),
               DAYS, name_columns(volume="Stuecke"),
               refusal="columns 'Stuecke' and 'Volumen' could both be volume"),
    VendorFile("Barchart", "download with its last line", BARCHART, DAYS,
               note="a line below the rows is passed over: "),
    VendorFile("Baostock", "minutes with whole times beside dates",
               lines("{t:%Y-%m-%d},{t:%Y%m%d%H%M%S}000,x,{o},{h},{l},{c},{v},1,3",
                     "date,time,code,open,high,low,close,volume,amount,adjustflag")),
    VendorFile("Binance", "stream of candles, names in both cases",
               lines("{s}000,{last},x,1m,1,2,{o},{c},{h},{l},{v},7,true,1,2,3,0",
                     "t,T,s,i,f,L,o,c,h,l,v,n,x,q,V,Q,B"),
               options=name_columns(low="l", volume="v"),
               refusal="columns 'L' and 'l' could both be low; say which with"),
    VendorFile("BitMEX", "buckets of trades",
               lines("{e:%Y-%m-%dT%H:%M:%S}.000Z,x,{o},{h},{l},{c},7,{v},{c},1,2,3,4",
                     "timestamp,symbol,open,high,low,close,trades,volume,vwap,lastSize,turnover,"
                     "homeNotional,foreignNotional"),
               options={"stamped": "close"},
               note="as BitMEX writes them, whose bars are stamped at their close"),
    VendorFile("Bittrex", "candles of its third interface",
               lines("{t:%Y-%m-%dT%H:%M:%S}Z,{o},{h},{l},{c},{v},1",
                     "startsAt,open,high,low,close,volume,quoteVolume")),
    VendorFile("Bloomberg", "fields of prices",
               lines("{t:%Y-%m-%d},{o},{h},{l},{c},{v}",
                     "Date,PX_OPEN,PX_HIGH,PX_LOW,PX_LAST,PX_VOLUME", DAYS), DAYS,
               name_columns(open="PX_OPEN", high="PX_HIGH", low="PX_LOW", close="PX_LAST",
                            volume="PX_VOLUME"),
               refusal="no column is named open or high or low or close or volume"),
    VendorFile("CryptoCompare", "histominute",
               lines("{s},{h},{l},{o},{v},{v}5,{c},direct,",
                     "time,high,low,open,volumefrom,volumeto,close,conversionType,"
                     "conversionSymbol")),
    VendorFile("Databento", "ohlcv-1m, prices plain",
               lines("{s}000000000,33,1,5482,{o}0000000,{h}0000000,{l}0000000,{c}0000000,{v},x",
                     DATABENTO), note="read as ns since 1970"),
    VendorFile("Dukascopy", "JForex, local times",
               lines("{t:%Y.%m.%d %H:%M:%S},{o},{h},{l},{c},{v}",
                     "Time (EET),Open,High,Low,Close,Volume "),
               [time - dt.timedelta(hours=2) for time in MINUTES], {"tz": "EET"},
               refusal="column 'Time (EET)' names a zone that its times do not"),
    VendorFile("Finam", "years of two digits",
               lines("x;1;{t:%y%m%d};{t:%H%M%S};{o};{h};{l};{c};{v}",
                     "<TICKER>;<PER>;<DATE>;<TIME>;<OPEN>;<HIGH>;<LOW>;<CLOSE>;<VOL>"),
               options={"time_format": "%y%m%d %H:%M:%S"},
               refusal="holds times that have no single reading"),
    VendorFile("FXCM", "candles of bid and ask",
               lines("{t:%Y-%m-%d %H:%M:%S},{o},{h},{l},{c},{o},{h},{l},{c},{v}",
                     "DateTime,BidOpen,BidHigh,BidLow,BidClose,AskOpen,AskHigh,AskLow,AskClose,"
                     "Ticks"),
               options=name_columns(open="BidOpen", high="BidHigh", low="BidLow",
                                    close="BidClose"),
               refusal="no column is named open or high or low or close"),
    VendorFile("Gate.io", "download without a header", lines("{s},{v},{c},{h},{l},{o}"),
               options=name_columns(timestamp="1", volume="2", close="3", high="4", low="5",
                                    open="6"),
               refusal="in 100% of bars a high or low would miss open or close"),
    VendorFile("Google Sheets", "GOOGLEFINANCE",
               lines("{t:%Y-%m-%d} 16:00:00,{o},{h},{l},{c},{v}",
                     "Date,Open,High,Low,Close,Volume", DAYS),
               [time - dt.timedelta(hours=8) for time in DAYS], {"stamped": "close"},
               note="days are stamped 16:00"),
    VendorFile("HTX", "candles", lines("{s},{o},{c},{l},{h},{v},{v}9,7",
                                       "id,open,close,low,high,amount,vol,count"),
               options=name_columns(timestamp="id", volume="amount"),
               refusal="no column is named timestamp", note="whose 'vol' is in the quoted asset"),
    VendorFile("Hyperliquid", "candles, names in both cases",
               lines("{s}000,{last},x,1m,{o},{c},{h},{l},{v},7", "t,T,s,i,o,c,h,l,v,n"),
               note="column 'T' is not read: it says when bars close"),
    VendorFile("Kibot", "minutes without a header",
               lines("{t:%m/%d/%Y},{t:%H:%M},{o},{h},{l},{c},{v}"),
               options={"time_format": "%m/%d/%Y %H:%M"},
               refusal="which can be read as day/month/year and month/day/year"),
    VendorFile("MOEX", "ISS, candles", "candles\n\n"
               + lines("{o};{c};{h};{l};1;{v};{t:%Y-%m-%d %H:%M:%S};{t:%Y-%m-%d %H:%M}:59",
                       "open;close;high;low;value;volume;begin;end"),
               note="2 lines above the header are passed over"),
    VendorFile("NSE India", "names with blanks, grouped numbers",
               lines('{t:%d-%b-%Y},EQ,"{o}","{h}","{l}","1.0","2.0","{c}","3.0","{v:,}"',
                     '"Date ","series ","OPEN ","HIGH ","LOW ","PREV. CLOSE ","ltp ","close ",'
                     '"vwap ","VOLUME "', DAYS), DAYS),
    VendorFile("Oanda", "candles of its interface, made flat",
               lines("{t:%Y-%m-%dT%H:%M:%S}.000000000Z,True,{v},{o},{h},{l},{c}",
                     "time,complete,volume,mid.o,mid.h,mid.l,mid.c"),
               options=name_columns(open="mid.o", high="mid.h", low="mid.l", close="mid.c"),
               refusal="no column is named open or high or low or close"),
    VendorFile("Quandl", "WIKI prices",
               lines("{t:%Y-%m-%d},{o},{h},{l},{c},{v}.0,0.0,1.0,1,1,1,1,1",
                     "Date,Open,High,Low,Close,Volume,Ex-Dividend,Split Ratio,Adj. Open,"
                     "Adj. High,Adj. Low,Adj. Close,Adj. Volume", DAYS), DAYS,
               note="column 'Adj. Close' is not read"),
    VendorFile("Quandl", "CHRIS futures",
               lines("{t:%Y-%m-%d},{o},{h},{l},{c}5,,{c},{v}.0,5.0",
                     "Date,Open,High,Low,Last,Change,Settle,Volume,Previous Day Open Interest",
                     DAYS), DAYS, name_columns(close="Settle"),
               refusal="columns 'Last' and 'Settle' could both be close"),
    VendorFile("Quantower", "times at both ends",
               lines("{t:%Y-%m-%d %H:%M:%S};{e:%Y-%m-%d %H:%M:%S};{o};{h};{l};{c};{v}",
                     "Time left;Time right;Open;High;Low;Close;Volume")),
    VendorFile("TradeStation", "up and down volume, stamped at the close",
               lines("{e:%Y-%m-%d},{e:%H:%M},{o},{h},{l},{c},{v},7",
                     '"Date","Time","Open","High","Low","Close","Up","Down"'),
               options={"stamped": "close", **name_columns(volume="Up")},
               refusal="no column is named volume", note="as TradeStation writes them"),
    VendorFile("Upbit", "candles beside the time of the last trade", UPBIT,
               options=name_columns(close="trade_price", volume="candle_acc_trade_volume"),
               refusal="no column is named close or volume"),
)  # fmt: skip
"""Files in the order of the page's table."""

HEADER = "time,open,high,low,close,volume"
BILLIONTHS = (
    "{s}000000000,33,1,5482,{o:.2f}0000000,{h:.2f}0000000,{l:.2f}0000000,{c:.2f}0000000,7,x"
)
DEAR = "{s},150000000,151000000,149000000,150500000,7"
CLOSES = "days are stamped 16:00"


def of_vendor(file):
    """Rows of a file: with its options, and without them where it is then refused."""
    name, content = f"{file.source}, {file.words}", text(file.text, "x.csv")
    times = [int(time.timestamp()) * 10**9 for time in file.times]
    values = dict(zip(NAMES, zip(*BARS, strict=True), strict=True))
    seen = {"times": times, "values": values, "symbol": "x", "notes": file.note or None}
    if file.note and not file.refusal:
        yield reads(f"{name}, as it is", content, notes=file.note)
        seen["notes"] = None
    yield reads(name, content, file.options, **seen)
    if file.refusal:
        yield refuses(f"{name}, refused", content, None, TableError, file.refusal)


def days(*times, clock="", head="time"):
    """Five days from the first of January, their times of a form."""
    return bars([f"2024-01-0{i} {clock}" for i in times or range(1, 6)], head=head)


ZONES = (("Time (EET)", "EET", "2024-01-01T10:00"),
         ("datetime_est", "America/New_York", "2024-01-01T17:00"),
         ("Date GMT-05:00", "Etc/GMT+5", "2024-01-01T17:00"),
         ("datetime_utc+0530", "Asia/Kolkata", "2024-01-01T06:30"))  # fmt: skip
"""A name of a column, the zone that is advised, and when 12:00 on its clock is."""

ROWS = (
    *(row for file in FILES for row in of_vendor(file)),
    reads("prices in billionths", text(lines(BILLIONTHS, DATABENTO).replace(".", "")),
          values={"open": {0: 187_150_000_000}}, notes="counted in billionths, as Databento"),
    reads("prices of a weak currency", text(lines(DEAR, HEADER)), unsaid="billionths"),
    reads("closes of New York", days(clock="16:00"), {"tz": "America/New_York"}, notes=CLOSES),
    *(refuses(f"zone of {name}", days(clock="12:00", head=name), None, TableError,
              f"such as --tz {zone}", then={"first": first}) for name, zone, first in ZONES),
    *(reads(f"{name}, times that name a zone", days(clock="12:00Z", head=name),
            first="2024-01-01T12:00") for name, _, _ in ZONES),
    *(refuses(f"times that end in {' and '.join(names)}",
              bars([f"2024-01-0{i} 12:00 {names[i % len(names)]}" for i in range(1, 5)]), None,
              TableError, "short names of zones", f"--tz {zone} says which")
      for *names, zone in (("EST", "America/New_York"), ("EDT", "EST", "America/New_York"),
                           ("CET", "CET"))),
)  # fmt: skip
