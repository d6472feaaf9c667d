"""Trades of other programs beside ours: what is read, what is equal, and why something is not."""

import json
import zipfile
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

import optimizer
from data import Bars
from engine.accounts.ledger import REASONS
from optimizer.errors import ConfigError
from strategy.words import (
    close,
    crosses_above,
    crosses_below,
    r_multiple,
    share,
    sma,
    strategy,
)
from tests.support.pine_plans import PLANS
from tests.support.series import START_NS, csv_text, write_csv

HOUR_NS, COUNT = 3600 * 10**9, 2000
FAST, SLOW = sma(close, 5), sma(close, 20)
OVER, UNDER = crosses_above(FAST, SLOW), crosses_below(FAST, SLOW)
TURNS = strategy(
    "Turns with two averages.",
    long=OVER, short=UNDER, exit_long=UNDER, exit_short=OVER, stop=share(0.5),
)  # fmt: skip


@dataclass(frozen=True)
class Dialect:
    """Form of a list with two rows a trade: how it names and writes all of it."""

    names: str  # of columns: number, type, time, signal, price, then others
    kinds: tuple[str, str, str, str] = ("Entry long", "Exit long", "Entry short", "Exit short")
    open: str = "Open"
    time: str = "%Y-%m-%d %H:%M"
    separator: str = ","
    decimal: str = "."
    thousands: str = ""
    is_newest_first: bool = False
    is_exit_first: bool = False
    encoding: str = "utf-8"


OLD = "Trade #,Type,Date/Time,Signal,Price USDT,Contracts,Profit USDT"
DIALECTS = {
    "english": Dialect("Trade #,Type,Date and time,Signal,Price USD,Size (qty),Net P&L USD"),
    "english_old": Dialect(OLD, is_newest_first=True, encoding="utf-8-sig"),
    "english_exits_first": Dialect(OLD, is_exit_first=True, thousands=","),
    "german": Dialect(
        "Trade-Nr.;Typ;Datum und Uhrzeit;Signal;Preis EUR;Menge;Netto-G&V",
        ("Long-Einstieg", "Long-Ausstieg", "Short-Einstieg", "Short-Ausstieg"),
        "Offen", "%d.%m.%Y %H:%M", ";", ",", ".",
    ),
    "spanish": Dialect(
        "N.º de operación;Tipo;Fecha y hora;Señal;Precio;Cantidad;Ganancia",
        ("Entrada en largo", "Salida en largo", "Entrada en corto", "Salida en corto"),
        "Abierto", "%d/%m/%Y %H:%M", ";", ",",
    ),
    "french": Dialect(
        "N° trade;Type;Date et heure;Signal;Prix;Quantité;Gain",
        ("Entrée longue", "Sortie longue", "Entrée courte", "Sortie courte"),
        "Ouvert", "%d/%m/%Y %H:%M", ";", ",", "\u202f",
    ),
    "italian": Dialect(
        "N. trade;Tipo;Data e ora;Segnale;Prezzo;Quantità;Profitto",
        ("Ingresso Long", "Uscita Long", "Ingresso Short", "Uscita Short"), "Aperto",
    ),
    "portuguese": Dialect(
        "Nº do trade;Tipo;Data e hora;Sinal;Preço;Quantidade;Lucro",
        ("Entrada comprada", "Saída comprada", "Entrada vendida", "Saída vendida"),
        "Aberto", separator=";", decimal=",", encoding="cp1252",
    ),
    "russian": Dialect(
        "№ Сделки;Тип;Дата и время;Сигнал;Цена USDT;Размер;Прибыль",
        ("Вход в длинную позицию", "Выход из длинной позиции",
         "Вход в короткую позицию", "Выход из короткой позиции"),
        "Открыта", separator=";", decimal=",", is_exit_first=True,
    ),
    "turkish": Dialect(
        "İşlem #;Tür;Tarih ve saat;Sinyal;Fiyat;Miktar;Kâr",
        ("Uzun Giriş", "Uzun Çıkış", "Kısa Giriş", "Kısa Çıkış"),  # noqa: RUF001
        "Açık", "%d.%m.%Y %H:%M", ";", ",",  # noqa: RUF001
    ),
    "japanese": Dialect(
        "トレード番号,タイプ,日時,シグナル,価格 JPY,数量,純損益 JPY",
        ("ロングエントリー", "ロング決済", "ショートエントリー", "ショート決済"),
        "オープン", "%Y年%m月%d日 %H:%M", encoding="utf-16",
    ),
    "korean": Dialect(
        "거래 #,유형,날짜/시간,신호,가격,수량,손익",
        ("롱 진입", "롱 청산", "숏 진입", "숏 청산"), "미결제", "%Y. %m. %d. %p %I:%M",
    ),
    "chinese": Dialect(
        "交易 #,类型,日期和时间,信号,价格 USDT,数量,净损益 USDT",
        ("多头进场", "多头出场", "空头进场", "空头出场"), "持仓中", "%Y/%m/%d %H:%M",
    ),
    "unknown": Dialect("#\tA\tB\tC\tD\tE\tF", ("go", "gone", "og", "enog"), separator="\t"),
}  # fmt: skip


def make_frame(*, seed=5, count=COUNT, start=40.0):
    """Bars of hours by chance, prices to a cent; each opens apart from the close before."""
    rng = np.random.default_rng(seed)
    steps = np.round(rng.normal(0, 0.2, count), 2)
    closes = np.round(start + np.cumsum(steps), 2)
    opens = np.round(np.append(closes[:1], closes[:-1]) + rng.integers(-5, 6, count) / 100, 2)
    wide = np.round(rng.uniform(0.1, 0.4, count), 2)
    return {
        "timestamp": START_NS + HOUR_NS * np.arange(count, dtype=np.int64),
        "open": opens,
        "high": np.round(np.maximum(opens, closes) + wide, 2),
        "low": np.round(np.minimum(opens, closes) - wide, 2),
        "close": closes,
        "volume": np.ones(count),
    }


@pytest.fixture(scope="module")
def bars():
    """The market of all lists."""
    return Bars(**make_frame(), symbol="TEST", timeframe_ns=HOUR_NS)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    """The same in a file."""
    return write_csv(tmp_path_factory.mktemp("bars"), csv_text(make_frame()), "bars.csv")


@pytest.fixture(scope="module")
def trades(spec):
    """Our own trades as a table, times as they open."""
    return list_trades(spec)


def list_trades(spec):
    """Trades on bars of a file as a table."""
    single = optimizer.backtest(data=spec, strategy=TURNS)
    (ledger,) = single.ledgers
    times = single.task.markets.series[0].timestamp
    return pd.DataFrame(
        {
            "side": ledger.side,
            "entry_ns": times[ledger.entry_bar],
            "exit_ns": times[ledger.exit_bar],
            "entry": ledger.entry,
            "exit": ledger.exit,
            "is_open": ledger.reason == REASONS.index("end"),
        }
    )


def write_list(path, trades, dialect=DIALECTS["english"], zone="UTC"):
    """Trades as a list of two rows each, in a dialect, on the clock of a zone."""

    def write_time(time_ns):
        moment = pd.Timestamp(time_ns, tz="UTC").tz_convert(ZoneInfo(zone))
        text = moment.strftime(dialect.time)
        return text.replace("AM", "오전").replace("PM", "오후")

    def write_number(number):
        text = f"{number:,.2f}".replace(",", "_").replace(".", dialect.decimal)
        text = text.replace("_", dialect.thousands)
        return f'"{text}"' if dialect.separator in text else text

    blocks = []
    for number, trade in enumerate(trades.itertuples(), start=1):
        gain = write_number((trade.exit - trade.entry) * trade.side)
        place = 0 if trade.side > 0 else 2
        rows = [
            (dialect.kinds[place], trade.entry_ns, "in", trade.entry, ""),
            (dialect.kinds[place + 1], trade.exit_ns, "out", trade.exit, gain),
        ]
        rows[1] = (*rows[1][:2], dialect.open if trade.is_open else "out", *rows[1][3:])
        lines = [
            (str(number), kind, write_time(time), signal, write_number(price), "1", gain)
            for kind, time, signal, price, gain in rows
        ]
        blocks.append(lines[::-1] if dialect.is_exit_first else lines)
    blocks = blocks[::-1] if dialect.is_newest_first else blocks
    header = dialect.names.replace(";", dialect.separator)
    text = [header, *(dialect.separator.join(line) for block in blocks for line in block)]
    path.write_text("\n".join(text), encoding=dialect.encoding)
    return path


@pytest.mark.parametrize("name", DIALECTS)
def test_a_list_of_any_language_is_ours(name, trades, spec, tmp_path):
    """Columns are known by their content: header, marks, order of rows and clock do not matter."""
    dialect = DIALECTS[name]
    path = write_list(tmp_path / "list.csv", trades, dialect, "Asia/Shanghai")
    agreement = optimizer.agree(path, data=spec, strategy=TURNS, list_tz="UTC+8h")
    assert agreement.is_equal, agreement
    assert (agreement.equal, agreement.open_there) == (len(trades), 1)
    names = dialect.names.replace(";", dialect.separator).split(dialect.separator)
    assert [*agreement.read_as.values()] == [names[k] for k in (0, 1, 2, 4)]


def write_workbook(path, trades, zone):
    """The English list as a workbook, texts shared, times as Excel's dates, as its second sheet."""
    source = write_list(path.with_suffix(".csv"), trades, zone=zone)
    shared, rows = [], []
    for number, row in enumerate(pd.read_csv(source, dtype=str).T.reset_index().T.to_numpy(), 1):
        cells = []
        for letter, cell in zip("ABCDEFG", row, strict=True):
            if letter == "C" and number > 1:
                days = (pd.Timestamp(cell) - pd.Timestamp("1899-12-30")) / pd.Timedelta(days=1)
                cells.append(f'<c r="C{number}" s="1"><v>{days!r}</v></c>')
            elif number > 1 and letter in "AEFG":
                cells.append(f'<c r="{letter}{number}"><v>{cell}</v></c>')
            else:
                shared.append(cell.replace("&", "&amp;"))
                cells.append(f'<c r="{letter}{number}" t="s"><v>{len(shared) - 1}</v></c>')
        rows.append(f'<row r="{number}">{"".join(cells)}</row>')
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    texts = "".join(f"<si><t>{text}</t></si>" for text in shared)
    first = '<row><c t="inlineStr"><is><t>Net profit</t></is></c><c><v>12</v></c></row>'
    parts = {
        "[Content_Types].xml": "<Types/>",
        "xl/worksheets/sheet1.xml": f"<worksheet {space}>{first}</worksheet>",
        "xl/worksheets/sheet2.xml": f"<worksheet {space}>{''.join(rows)}</worksheet>",
        "xl/sharedStrings.xml": f"<sst {space}>{texts}</sst>",
        "xl/styles.xml": f'<styleSheet {space}><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/>'
        "</cellXfs></styleSheet>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


def write_freqtrade(path, trades, zone):
    """The same as freqtrade's archive, beside the trades of another pair."""
    columns = [
        {
            "pair": pair, "open_date": str(pd.Timestamp(trade.entry_ns, tz=zone)),
            "close_date": str(pd.Timestamp(trade.exit_ns, tz=zone)), "open_rate": trade.entry,
            "close_rate": trade.exit, "is_short": bool(trade.side < 0), "is_open": False,
            "exit_reason": "force_exit" if trade.is_open else "exit_signal", "orders": [],
        }
        for pair in ("TEST/USDT", "OTHER/USDT")
        for trade in trades.itertuples()
    ]  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("result_config.json", json.dumps({"stake_currency": "USDT"}))
        archive.writestr("result.json", json.dumps({"strategy": {"Mine": {"trades": columns}}}))
    return path


def write_backtesting(path, trades, zone):
    """The same as `stats._trades` of backtesting.py."""
    frame = pd.DataFrame(
        {
            "Size": 3 * trades["side"], "EntryBar": 0, "ExitBar": 0,
            "EntryPrice": trades["entry"], "ExitPrice": trades["exit"],
            "EntryTime": pd.to_datetime(trades["entry_ns"]),
            "ExitTime": pd.to_datetime(trades["exit_ns"]),
        }
    )  # fmt: skip
    frame.to_csv(path)
    return path


@pytest.mark.parametrize(
    ("write", "name", "more"),
    [
        (write_workbook, "list.xlsx", {}),
        (write_freqtrade, "result.zip", {"market": "TEST/USDT"}),
        (write_backtesting, "trades.csv", {}),
    ],
    ids=["xlsx", "freqtrade", "backtesting.py"],
)
def test_files_of_other_programs_are_read(write, name, more, trades, spec, tmp_path):
    """A workbook of TradingView, the archive of freqtrade, the table of backtesting.py."""
    path = write(tmp_path / name, trades, "UTC")
    agreement = optimizer.agree(path, data=spec, strategy=TURNS, **more)
    assert agreement.is_equal, agreement
    assert agreement.there == len(trades)


@pytest.mark.parametrize("name", ["wide.csv", "wide.json", "wide.xlsx"])
def test_a_table_without_end_is_refused(name, trades, spec, tmp_path):
    """Before room is made for its cells: a small file may name very many columns."""
    path = tmp_path / name
    if name == "wide.csv":
        path.write_text("," * 10**6 + "end\n" + "1\n" * 10**6)
    elif name == "wide.json":
        path.write_text(json.dumps([{str(number): 1} for number in range(10**5)]))
    else:
        with zipfile.ZipFile(write_workbook(path, trades, "UTC")) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        with zipfile.ZipFile(path, "w") as archive:
            for part, text in parts.items():
                archive.writestr(part, text.replace(b'r="C2"', b'r="ZZZZZZZ2"'))
    with pytest.raises(ConfigError, match="columns, more than 1,000"):
        optimizer.agree(path, data=spec, strategy=TURNS)


def test_a_trade_without_its_entry_is_refused(trades, spec, tmp_path):
    """By its number: an entry is compared, and measures costs and scales of others."""
    path = write_list(tmp_path / "list.csv", trades)
    path.write_text(path.read_text().replace(f"in,{trades['entry'][3]:.2f}", "in,n/a"))
    with pytest.raises(ConfigError, match="no price of the entry of 1 trade: 4"):
        optimizer.agree(path, data=spec, strategy=TURNS)


def round_prices(trades, tick):
    """Prices to whole ticks."""
    return trades.assign(
        **{name: np.round(trades[name] / tick) * tick for name in ("entry", "exit")}
    )


def worsen(trades, money):
    """Each fill worse by so much money."""
    side = trades["side"]
    return trades.assign(entry=trades["entry"] + side * money, exit=trades["exit"] - side * money)


def fill_at_close(trades, bars):
    """Each fill at the close of the bar before."""
    moved = {}
    for name in ("entry", "exit"):
        bar = np.searchsorted(bars.timestamp, trades[f"{name}_ns"]) - ~trades["is_open"]
        bar = bar if name == "exit" else np.searchsorted(bars.timestamp, trades["entry_ns"]) - 1
        moved |= {f"{name}_ns": bars.timestamp[bar], name: bars.close[bar]}
    return trades.assign(**moved)


def enter_later(trades, bars):
    """Each entry at the open of the bar behind, as of `delay=1`; exits as they are."""
    entry = bars.open[np.searchsorted(bars.timestamp, trades["entry_ns"]) + 1]
    return trades.assign(entry_ns=trades["entry_ns"] + HOUR_NS, entry=entry)


def shift_hours(trades, hours):
    """Times later by so many hours."""
    return trades.assign(**{n: trades[n] + hours * HOUR_NS for n in ("entry_ns", "exit_ns")})


CAUSES = {
    "clock of a fixed zone": (lambda t, b: shift_hours(t, 8), "UTC", "clock", "UTC+8h"),
    "clock of a city": (lambda t, b: t, "America/New_York", "clock", "America/New_York"),
    "stamped at closes": (lambda t, b: shift_hours(t, 1), "UTC", "clock", "stamped at their close"),
    "begins later": (lambda t, b: t[20:], "UTC", "begin", "--from 2024-01-"),
    "ends earlier": (lambda t, b: t[:60], "UTC", "end", "--to 2024-0"),
    "fills at the close": (fill_at_close, "UTC", "close", "process_orders_on_close"),
    "ticks": (lambda t, b: round_prices(t, 0.05), "UTC", "tick", 'tick="0.05"'),
    "slippage": (lambda t, b: worsen(t, 0.03), "UTC", "slippage", "slippage=ticks(3)"),
    "ticks and slippage": (
        lambda t, b: worsen(round_prices(t, 0.05), 0.1), "UTC", "slippage",
        'slippage=ticks(2), market=market(tick="0.05")',
    ),
    "entries a bar later": (enter_later, "UTC", "delay", "delay=1 in the strategy"),
    "scale": (
        lambda t, b: t.assign(entry=t.entry * 1.25, exit=t.exit * 1.25), "UTC",
        "scale", "1.25 times",
    ),
    "side": (lambda t, b: t.assign(side=-t.side), "UTC", "side", "Longs there are shorts"),
    "last trade": (
        lambda t, b: t.assign(exit=t.exit + np.where(t.is_open, 0.5, 0), is_open=False), "UTC",
        "last", "at another price",
    ),
    "warm-up": (
        lambda t, b: t.assign(entry=t.entry + np.where(t.index < 4, 0.11, 0)), "UTC",
        "warm-up", "first ",
    ),
    "other bars": (
        lambda t, b: t.assign(entry=t.entry + np.where(t.index % 2, 1.5, -1.7)), "UTC",
        "prices", "outside their bar",
    ),
}  # fmt: skip
"""How trades differ there, the list's zone, the first likely cause, and a part of its words."""


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_found_by_trying_it(name, trades, bars, spec, tmp_path):
    """Each is the first likely one, and with it nearly all trades are equal."""
    change, zone, cause, words = CAUSES[name]
    changed = change(trades, bars)
    path = write_list(tmp_path / "list.csv", changed, zone=zone)
    agreement = optimizer.agree(path, data=spec, strategy=TURNS)
    assert not agreement.is_equal
    found = agreement.causes[0]
    assert (found.name, words in f"{found.sentence} {found.remedy}") == (cause, True), found
    assert found.equal >= found.of - 2 > 0.9 * len(changed) - 5
    assert agreement.first != agreement.remaining


@pytest.mark.parametrize(
    "kept", [slice(300, None), slice(1500), [*range(900), *range(1000, COUNT)]]
)
def test_bars_that_are_missing_are_the_cause(kept, trades, tmp_path):
    """Before the list's first trade, behind its last, or between two; not a clock or a warm-up."""
    frame = {name: column[kept] for name, column in make_frame().items()}
    few = write_csv(tmp_path, csv_text(frame), "few.csv")
    agreement = optimizer.agree(write_list(tmp_path / "list.csv", trades), data=few, strategy=TURNS)
    first = agreement.causes[0]
    assert (first.name, first.equal > 0.95 * first.of > 50) == ("bars", True), agreement.causes
    assert "begin" not in {cause.name for cause in agreement.causes}


def test_fills_at_closes_that_are_opens_are_no_clock(tmp_path):
    """Where each bar opens at the close before it, a fill there is not a clock a bar earlier."""
    frame = make_frame()
    frame["open"] = np.append(frame["close"][:1], frame["close"][:-1])
    data = write_csv(tmp_path, csv_text(frame), "bars.csv")
    ours = Bars(**frame, symbol="TEST", timeframe_ns=HOUR_NS)
    path = write_list(tmp_path / "list.csv", fill_at_close(list_trades(data), ours))
    agreement = optimizer.agree(path, data=data, strategy=TURNS)
    assert [cause.name for cause in agreement.causes] == ["close"]


def test_a_span_may_end_within_a_trade_of_the_list(trades, spec, tmp_path):
    """A trade that leaves behind --to is compared by its entry."""
    path = write_list(tmp_path / "list.csv", trades)
    within = pd.Timestamp((trades["entry_ns"][60] + trades["exit_ns"][60]) // 2).isoformat()
    agreement = optimizer.agree(path, data=spec, strategy=TURNS, end=within)
    assert (agreement.is_equal, agreement.there) == (True, 61), agreement


def test_a_column_like_a_price_stands_before_it(trades, spec, tmp_path):
    """Numbers of both rows that differ, but lie beyond the bars' prices."""
    path = write_list(tmp_path / "list.csv", trades)
    frame = pd.read_csv(path)
    frame.insert(3, "Run", 50 + np.arange(len(frame)))
    frame.to_csv(path, index=False)
    assert optimizer.agree(path, data=spec, strategy=TURNS).is_equal


def test_parts_of_a_position_are_trades_of_the_list(spec, tmp_path):
    """A list has a trade for each target, also where two leave together at the stop."""
    ladder = strategy(
        "Leaves in parts.", long=OVER, stop=share(0.03),
        targets=[(r_multiple(0.5), 0.3), (r_multiple(1), 0.3), (r_multiple(2), 0.4)],
    )  # fmt: skip
    single = optimizer.backtest(data=spec, strategy=ladder)
    (ledger,) = single.ledgers
    times, rows = single.task.markets.series[0].timestamp, []
    for k in range(len(ledger)):
        for bar, price in zip(ledger.leg_bar[k], ledger.leg_price[k], strict=True):
            bar, price = (bar, price) if bar >= 0 else (ledger.exit_bar[k], ledger.exit[k])
            entry = times[ledger.entry_bar[k]], times[bar], ledger.entry[k], price
            rows.append((1, *entry, False))
    names = ("side", "entry_ns", "exit_ns", "entry", "exit", "is_open")
    parts = pd.DataFrame(rows, columns=names)
    together = parts.duplicated().sum()
    path = write_list(tmp_path / "list.csv", parts)
    agreement = optimizer.agree(path, data=spec, strategy=ladder)
    assert together > 5
    assert agreement.is_equal, agreement
    assert agreement.there == len(parts) - together


def test_a_list_of_tradingview_is_explained_by_its_clock_and_span(script_folder):
    """A chart in UTC+8 that begins and ends within our bars: with these flags all are equal."""
    name, bars = "ta-sma-152-close-cross-01", "ohlcv_ETH-USDT-USDT_15m_warmup6m"
    asked = {"strategy": PLANS[name], "data": f"csv:{script_folder / bars}.csv.gz"}
    path = script_folder / f"{name}.csv.gz"
    agreement = optimizer.agree(path, **asked)
    assert [cause.name for cause in agreement.causes] == ["clock", "begin", "end"]
    flags = {"list_tz": "UTC+8h", "start": "2025-04-02T05:00", "end": "2026-05-01T00:15"}
    assert [cause.remedy.split()[1] for cause in agreement.causes] == [*flags.values()]
    assert optimizer.agree(path, **asked, **flags).is_equal
