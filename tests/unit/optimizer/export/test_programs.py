"""Members as programs of other platforms, which trade them by their own engines."""

import re
import sys
from dataclasses import replace
from unittest.mock import MagicMock, PropertyMock, patch

import numpy as np
import pandas as pd
import pytest

from engine.accounts.ledger import Trade
from engine.reference import Reference
from optimizer.errors import ConfigError
from optimizer.export.member import PLATFORM_PARTS
from optimizer.export.programs import build_program
from optimizer.export.scripts import HEADS
from optimizer.run.task import ledger_rows
from strategy import words
from strategy import words as w
from tests.support import examples, own_words
from tests.support.exports import (
    build_frame,
    build_task,
    compare_in_pine,
    compare_trades,
    run_program,
)

EXAMPLES = sorted(name for name in vars(examples) if name.isupper())


@pytest.mark.slow
@pytest.mark.usefixtures("vectorbt_library")
@pytest.mark.parametrize("strategy", ["seller_exhaustion", *EXAMPLES])
def test_vectorbt_trades_as_the_run(strategy, market):
    """Every trade in every bit."""
    task = build_task(strategy, market)
    (ledger,) = task.full_engine(device="cpu").trades(task.spec.layout.defaults)
    assert len(ledger)
    compare_trades(run_program(task, "vectorbt"), build_frame(ledger), market)


@pytest.mark.parametrize("name", ["seller_exhaustion", "MACD_CROSS", "DONCHIAN_TRAIL"])
def test_rows_are_what_the_reference_takes(name, market, monkeypatch):
    """Every trade is asked for, with its entry, stop and target in every bit, and no bar more."""
    for module in re.findall("^from (nautilus[.\\w]+)", HEADS["nautilus_trader"][1], re.MULTILINE):
        monkeypatch.setitem(sys.modules, module, MagicMock())
    task = build_task(name, market)
    names, genome = run_program(task, "nautilus_trader"), task.spec.layout.defaults
    ledger = build_frame(task.full_engine(device="cpu").trades(genome)[0])
    rows = names["rows_of"](names["read_bars"](str(market)))
    signals = ledger["signal_bar"].to_numpy()
    assert len(signals)
    for column in ("side", "entry", "stop", "target"):
        assert getattr(rows, column)[signals].tolist() == ledger[column].tolist()
    reference = Reference(task.spec, task.markets.series, task.markets.windows, task.costs)
    (may,) = reference.signals(genome)
    assert set(signals) <= set(np.flatnonzero(rows.side)) <= set(may)


LONG = {"long": words.close > words.open, "stop": words.share(0.02)}
BOTH = {**LONG, "short": words.close < words.open}
TICKS = {"market": words.market(tick="0.01")}
REST = words.stop_at(words.high, 3)
UNITS = words.account(1000, words.units(1))
NO_LIMIT = words.limit_at(words.close, through=1)

REFUSED = [
    (platform, "funding", LONG, {"funding": words.funding(0.001)}) for platform in PLATFORM_PARTS
] + [
    (platform, "named_stops", LONG, {"break_even": 1, "named_stops": True})
    for platform in sorted(set(PLATFORM_PARTS) - {"vectorbt"})
] + [
    ("nautilus_trader", "entry", LONG, {"entry": REST}),
    ("nautilus_trader", "trail", LONG, {"trail": words.trail(words.level(words.low))}),
    ("nautilus_trader", "even_offset", LONG,
     {"break_even": words.break_even(1, words.share(0.001))}),
    ("nautilus_trader", "exit_bounds", LONG,
     {"exit_long": words.in_trade(words.close < words.open, bars_from=2)}),
    ("freqtrade", "short", BOTH, {}),
    ("freqtrade", "session", LONG, {"session": words.session_exit(16 * 60)}),
    ("freqtrade", "entry", LONG, {"entry": REST}),
    ("vectorbt", "own indicator 'efficiency'", LONG, {"long": own_words.efficiency(20) > 0.5}),
    ("pine", "expires", BOTH, {"entry": words.stop_at(words.high), **TICKS}),
    ("pine", "slippage", BOTH, {"slippage": words.bp(3), **TICKS}),
    ("pine", "slippage", BOTH, {"slippage": words.by_side(words.ticks(1), None), **TICKS}),
    ("pine", "reverse=True", BOTH, {"entry": REST, "reverse": True, **TICKS}),
    ("pine", "account", BOTH, {"account": UNITS, **TICKS}),
    ("backtesting.py", "reverse=True", BOTH, {"entry": REST, "reverse": True}),
    ("backtesting.py", "delay", BOTH, {"reverse": True, "delay": 1}),
    ("backtesting.py", "one side", BOTH, {"entry": words.by_side(REST, None)}),
    ("backtesting.py", "cancel=by_side", BOTH,
     {"entry": REST, "cancel": words.by_side(words.close > 1, words.close > 2)}),
    ("backtesting.py", "through", BOTH, {"entry": NO_LIMIT, **TICKS}),
    ("backtesting.py", "slippage, funding, account", BOTH,
     {"slippage": words.bp(3), "funding": words.funding(0.001), "account": UNITS}),
]  # fmt: skip


@pytest.mark.parametrize(("platform", "word", "plan", "parts"), REFUSED)
def test_what_would_end_in_other_trades_is_refused(market, platform, word, plan, parts):
    """By the name of the part, on each platform that does not know it."""
    spec = words.strategy("R.", name="r", **{**plan, **parts})
    task = replace(build_task("seller_exhaustion", market), spec=spec)
    with pytest.raises(ConfigError, match=re.escape(word)):
        build_program(task, spec.layout.defaults, "A try.", platform)


@pytest.mark.parametrize(
    "costs", [{"fee_unit": 0.1}, {"fee_min": 1.0}, {"max_positions": 2}, {"max_leverage": 2.0}]
)
def test_a_cost_that_no_program_knows_is_refused(market, costs):
    """By its name; those that every program has are taken."""
    task = build_task("seller_exhaustion", market)
    task = replace(task, costs=replace(task.costs, fee_bp=1.0, **costs))
    with pytest.raises(ConfigError, match=f"^{next(iter(costs))}: "):
        build_program(task, task.spec.layout.defaults, "A try.", "vectorbt")


@pytest.mark.parametrize("platform", ["pine", "vectorbt", "backtesting.py"])
def test_a_name_of_a_record_is_no_program(market, platform):
    """Whatever stands in it ends no text and no comment of an exported member."""
    task = build_task("DONCHIAN_TRAIL", market)
    hostile = 'x", overlay = true)\nos.system("true")\r\u2028plot(1)\x85plot(2)\\'
    spec = replace(task.spec, name=hostile, summary=hostile)
    text = build_program(replace(task, spec=spec), spec.layout.defaults, "A try.", platform)
    plain = build_program(task, spec.layout.defaults, "A try.", platform)
    comment = "//" if platform == "pine" else "#"
    lines, expected = (
        [line for line in program.splitlines() if not line.startswith((comment, "strategy("))]
        for program in (text, plain)
    )
    assert expected == lines
    titles = re.findall('^strategy\\("(.*?)", overlay = true, pyramiding', text, re.MULTILINE)
    assert all(re.fullmatch(r"[\w .-]+", program) for program in titles)
    assert len(titles) == (platform == "pine")


@pytest.mark.parametrize("platform", ["pine", "vectorbt", "backtesting.py"])
def test_a_gene_may_have_a_word_of_python_as_its_name(market, platform):
    """It trades as the same gene by another name."""
    built = []
    for name in ("lambda", "lambda_"):
        stop = words.share(words.gene(name, 0.02, 0.01, 0.05))
        spec = words.strategy("R.", name="r", long=words.close > words.open, stop=stop)
        task = replace(build_task("seller_exhaustion", market), spec=spec)
        built.append(build_program(task, spec.layout.defaults, "A try.", platform))
    plain = built[1].replace("lambda_", "lambda")
    assert built[0].replace("lambda_", "lambda") == plain
    assert platform == "pine" or compile(built[0], "program", "exec")


def test_a_gene_that_pine_cannot_name_gets_a_name(market):
    """The refusal says which name Pine takes."""
    for name, plain in (("länge", "lange"), ("длина", "gene_1")):
        stop = words.share(words.gene(name, 0.02, 0.01, 0.05))
        spec = words.strategy("R.", name="r", long=words.close > words.open, stop=stop)
        task = replace(build_task("seller_exhaustion", market), spec=spec)
        with pytest.raises(ConfigError, match=f"^gene '{name}' is no name .* call it {plain} in"):
            build_program(task, spec.layout.defaults, "A try.", "pine")


NOT_IN_PINE = {
    "OPENING_RANGE": "opening_high",
    "RSI_PULLBACK": "higher",
    "SELLER_FIBONACCI": "swing_high",
    "VWAP_REVERSION": "vwap",
}


def every_word():
    """A strategy of the words that Pine has and no example uses."""
    rise, late = words.roc(words.close, 5), words.minute_of_day(60) >= 300
    room = words.minimum(words.atr(20), abs(words.high - words.low) / 2)
    return words.strategy(
        "Of many words.",
        name="of many words",
        long=words.held(rise > 0, 2) & late & (words.stoch(14) < 90),
        short=words.within(words.rsi(words.hl2, 7) < 45, 3) & (words.day_of_week(0) <= 4),
        exit_long=words.plus_di(14) < words.minus_di(14),
        stop=words.by_side(
            long=words.from_entry(words.maximum(2 * room, words.std(words.close, 30))),
            short=words.level(words.highest(words.high, 20)),
        ),
        target=words.by_side(
            long=words.level(words.wma(words.close, 9) + 3 * words.atr(14)), short=words.share(0.02)
        ),
        trail=words.trail(words.from_entry(2 * words.rma(words.true_range, 14)), after=0.5),
        session=words.session_exit(1200, 60, begins=1260),
        max_hold=30,
        delay=1,
    )


def later_words():
    """A strategy of the words that people look for by name."""
    side, stop = words.supertrend_side(10, 20), words.sar(2, 2, 20)
    strength = words.cci(words.hlc3, 20) + words.tsi(words.close, 5, 9)
    return words.strategy(
        "Of later words.",
        name="of later words",
        long=words.crosses_above(side, 0) | ((strength > 150) & (words.close > stop)),
        short=words.crosses_below(words.close, stop) & (words.mfi(14) < 60),
        exit_long=words.macd_histogram(words.close) < 0,
        exit_short=words.close > words.supertrend(7, 15),
        stop=words.from_entry(2 * words.atr_wilder(14)),
        target=words.level(words.bollinger_upper(words.close, 20, 2)),
    )


OF_WORDS = {"every_word": every_word, "later_words": later_words}


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["seller_exhaustion", *OF_WORDS, *EXAMPLES])
def test_pine_keeps_the_ledger_of_the_run(strategy, market):
    """Or the refusal names the word that Pine lacks."""
    task = build_task("seller_exhaustion" if strategy in OF_WORDS else strategy, market)
    if strategy in OF_WORDS:
        task = replace(task, spec=OF_WORDS[strategy]())
    if strategy in NOT_IN_PINE:
        with pytest.raises(ConfigError, match=f"'{NOT_IN_PINE[strategy]}'"):
            build_program(task, task.spec.layout.defaults, "A try.", "pine")
        return
    compare_in_pine(task, 0.02)


@pytest.mark.parametrize("platform", ["backtesting.py", "vectorbt", "pine"])
def test_a_program_has_the_options_of_its_member(platform, market):
    """And neither others nor conditions that are off; its genes are named as they were searched."""
    task = build_task("CHOSEN_AVERAGE", market)
    genome = task.spec.layout.encode({"average": "wma", "source": "hl2", "busy": "off"})
    text = build_program(task, genome, "A try.", platform)
    assert "average wma, " in text
    assert "busy off" in text
    assert "wma(" in text
    assert "volume, 20" not in text
    shorts = task.spec.layout.encode({"shorts": "on"})
    assert build_program(task, shorts, "A try.", platform) != text


SAME = ["signal_bar", "entry_bar", "exit_bar", "side", "reason"]
PRICES = ["entry", "stop", "target", "exit", "r"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Timestamp.utcnow", "ignore:DatetimeIndex.dayofweek")
@pytest.mark.parametrize(
    "strategy", ["seller_exhaustion", "MACD_CROSS", "OPENING_RANGE", "DONCHIAN_TRAIL"]
)
def test_nautilus_trades_as_the_run(strategy, gapped_bars):
    """Every trade, at prices of nine digits; but for a target before the stop in one bar."""
    pytest.importorskip("nautilus_trader", reason="the library is not installed")
    task = build_task(strategy, gapped_bars)
    (ledger,) = task.full_engine(device="cpu").trades(task.spec.layout.defaults)
    ours = pd.DataFrame(list(ledger_rows(ledger)), columns=list(Trade._fields))
    names = run_program(task, "nautilus_trader")
    _, theirs = names["backtest"](names["read_bars"](str(gapped_bars)))
    assert ours["signal_bar"].tolist() == theirs["signal_bar"].tolist()
    is_other = (ours["reason"] == "stop") & (theirs["reason"] == "target")
    assert is_other.sum() <= len(ours) // 20
    side = names["rows_of"](names["read_bars"](str(gapped_bars))).side
    for trade in ours[is_other].itertuples():
        # A signal of the other side came while it was open, or the bar opened beyond the target.
        is_turned = (side[trade.signal_bar + 1 : trade.exit_bar] == -trade.side).any()
        opened = task.markets.series[0].open[trade.exit_bar]
        assert is_turned or trade.side * opened >= trade.side * trade.target
    same, other = ours[~is_other], theirs[~is_other]
    assert (same[SAME].to_numpy() == other[SAME].to_numpy()).all()
    np.testing.assert_allclose(
        other[PRICES].to_numpy(float), same[PRICES].to_numpy(float), rtol=0, atol=1e-6
    )
    if strategy != "seller_exhaustion":
        assert len(ours) > 30
        assert (ours["reason"] == "stop_gap").any()


PAIR, FEE = "X/USDT", 0.001

MARKET = {
    "id": "XUSDT", "symbol": PAIR, "base": "X", "quote": "USDT", "active": True, "spot": True,
    "swap": False, "future": False, "margin": False, "linear": None, "type": "spot", "info": {},
    "precision": {"price": 1e-9, "amount": 1e-9, "cost": 1e-9}, "contractSize": None,
    "limits": {
        "amount": {"min": 1e-9, "max": 1e15}, "price": {"min": None, "max": None},
        "cost": {"min": 0.0, "max": 1e15}, "leverage": {"min": None, "max": None},
    },
    "taker": FEE, "maker": FEE,
}  # fmt: skip


def make_config(folder, timeframe):
    """Settings of a backtest of the strategy that lies in a folder."""
    from freqtrade.enums import CandleType, RunMode

    side = {"price_side": "same", "use_order_book": False}
    return {
        "dry_run": True, "dry_run_wallet": 1e6, "stake_currency": "USDT", "stake_amount": 1000,
        "max_open_trades": 1, "timeframe": timeframe, "strategy": "Exported",
        "strategy_path": str(folder), "user_data_dir": folder, "datadir": folder,
        "exportdirectory": folder, "export": "none", "pairlists": [{"method": "StaticPairList"}],
        "exchange": {
            "name": "binance", "key": "", "secret": "", "pair_whitelist": [PAIR],
            "pair_blacklist": [],
        },
        "entry_pricing": side, "exit_pricing": side, "runmode": RunMode.BACKTEST,
        "candle_type_def": CandleType.SPOT, "trading_mode": "spot", "margin_mode": "",
        "dataformat_ohlcv": "feather", "dataformat_trades": "feather", "fee": FEE, "internals": {},
        "original_config": {}, "unfilledtimeout": {"entry": 10, "exit": 10, "unit": "minutes"},
        "stoploss": -0.99, "backtest_cache": "none", "disableparamexport": True,
    }  # fmt: skip


def silence_exchange():
    """Patches of an exchange that answers nothing and knows one pair."""
    from freqtrade.exchange import Exchange

    quiet = ("_load_async_markets", "reload_markets", "validate_config", "validate_timeframes",
             "_init_ccxt", "validate_freqai", "additional_exchange_init")  # fmt: skip
    fields = {
        "get_fee": FEE, "ohlcv_candle_limit": 1000, "get_pair_quote_currency": "USDT",
        "get_pair_base_currency": "X",
    }  # fmt: skip
    known = {
        "markets": {PAIR: MARKET}, "precisionMode": 4, "precision_mode_price": 4,
        "name": "Binance", "id": "binance", "timeframes": ["15m"],
    }  # fmt: skip
    return patch.multiple(
        Exchange,
        create=True,
        **{name: MagicMock() for name in quiet},
        **{name: MagicMock(return_value=value) for name, value in fields.items()},
        **{name: PropertyMock(return_value=value) for name, value in known.items()},
    )


def backtest(folder, frame, timeframe="15m"):
    """Trades of the strategy in a folder on candles: `date`, open .. volume."""
    from freqtrade.optimize.backtesting import Backtesting

    with silence_exchange():
        test = Backtesting(make_config(folder, timeframe))
        test._set_strategy(test.strategylist[0])
        processed = test.strategy.advise_all_indicators({PAIR: frame})
        begin, end = (stamp.to_pydatetime() for stamp in frame["date"].iloc[[0, -1]])
        trades = test.backtest(processed=processed, start_date=begin, end_date=end)
        test.exchange.loop.close()
        return trades["results"]


FAST, SLOW = w.ema(w.close, 5), w.ema(w.close, 20)
STRATEGIES = {
    "cross": {
        "long": w.crosses_above(FAST, SLOW), "exit_long": w.crosses_below(FAST, SLOW),
        "stop": w.share(0.03), "target": w.r_multiple(2),
    },
    "trail": {
        "long": w.close > w.lag(w.highest(w.high, 20), 1), "stop": w.from_entry(2 * w.atr(14)),
        "trail": w.trail(w.from_entry(2 * w.atr(14)), after=0.5),
    },
    "both": {
        "long": w.close > w.lag(w.highest(w.high, 10), 1), "stop": w.share(0.02),
        "target": w.r_multiple(1.5), "break_even": 0.5, "max_hold": 12,
    },
    "late": {
        "long": w.close < FAST, "stop": w.beyond_bar(0.5 * w.atr(14)), "target": w.r_multiple(1),
        "delay": 2, "max_hold": 6,
    },
}  # fmt: skip
"""They are only bought, and say together all that is exported to freqtrade."""


def build_spec(name):
    """A strategy of a name."""
    return w.strategy("As it is called.", name=name, **STRATEGIES[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STRATEGIES)
def test_freqtrade_trades_as_the_run(name, gapped_bars, tmp_path):
    """Every trade begins at the same bar and price; what differs at its end is named."""
    pytest.importorskip("freqtrade", reason="the library is not installed")
    task = replace(build_task("seller_exhaustion", gapped_bars), spec=build_spec(name))
    genome = task.spec.layout.defaults
    (ledger,) = task.full_engine(device="cpu").trades(genome)
    (tmp_path / "member.py").write_text(build_program(task, genome, "A try.", "freqtrade"))
    frame = pd.read_csv(gapped_bars)
    frame.insert(0, "date", pd.to_datetime(frame.pop("timestamp"), utc=True))
    theirs = backtest(tmp_path, frame)
    bar_of = {date: bar for bar, date in enumerate(frame["date"])}
    entered = [bar_of[date] for date in theirs["open_date"]]
    left = [bar_of[date] for date in theirs["close_date"]]
    ours = pd.DataFrame(list(ledger_rows(ledger)), columns=list(Trade._fields))
    assert entered == ours["entry_bar"].tolist()
    assert theirs["open_rate"].tolist() == pytest.approx(ours["entry"].tolist(), abs=1e-6)
    same = 0
    for trade, bar, price, reason in zip(
        ours.itertuples(), left, theirs["close_rate"], theirs["exit_reason"], strict=True
    ):
        row = frame.iloc[bar]
        if bar == trade.exit_bar and price == pytest.approx(trade.exit, abs=1e-6):
            same += 1
        elif trade.reason == "time":
            assert (bar, price) == (trade.exit_bar + 1, pytest.approx(row["open"]))
        elif trade.reason == "target" and bar > trade.exit_bar:
            # It was met there, and not passed.
            assert frame["high"][trade.exit_bar] == pytest.approx(trade.target, abs=1e-6)
        elif trade.reason == "target":
            assert bar == trade.exit_bar
            assert price == pytest.approx(row["open"])
            assert price > trade.target
        elif trade.reason == "end":
            assert price == pytest.approx(row["open"])
        else:
            # A stop that had moved: the target was asked first, or the stop before was met too.
            assert trade.reason == "stop"
            assert trade.last_stop > trade.stop
            assert bar == trade.exit_bar
            assert reason == "roi" or trade.stop - 1e-6 <= price < trade.exit
    assert len(ours) > 30
    assert same >= len(ours) // 2


GAIN = {"target": w.r_multiple(2)}
DIFFERENCES = [
    ("nautilus_trader", BOTH | GAIN, "Stop and target in one bar", True),
    ("nautilus_trader", LONG | GAIN, "Stop and target in one bar", False),
    *(("freqtrade", STRATEGIES[name], "Moved stop", name in ("trail", "both"))
      for name in STRATEGIES),
    *(("freqtrade", STRATEGIES[name], "Time: out", name in ("both", "late"))
      for name in STRATEGIES),
    *(("freqtrade", LONG | {"long": row > 5}, "obv and bar_number() begin anew", is_said)
      for row, is_said in ((w.total(w.volume), True), (w.obv(), True), (w.bar_number(), True),
                           (w.sma(w.close, 9), False))),
]  # fmt: skip


@pytest.mark.parametrize(("platform", "parts", "words", "is_said"), DIFFERENCES)
def test_a_program_says_what_differs(platform, parts, words, is_said, market):
    """In its head, and only what the member can meet."""
    spec = w.strategy("R.", name="r", **parts)
    task = replace(build_task("seller_exhaustion", market), spec=spec)
    text = build_program(task, spec.layout.defaults, "A try.", platform)
    compile(text, "member.py", "exec")
    head = " ".join(text.partition("from __future__")[0].replace("\n#", "").split())
    assert (words in head) == is_said
