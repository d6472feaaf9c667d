"""Members as strategies for freqtrade, which trades them by its own backtest."""

from dataclasses import replace
from unittest.mock import MagicMock, PropertyMock, patch

import pandas as pd
import pytest

from engine.accounts.ledger import Trade
from optimizer.export.programs import build_program
from optimizer.run.task import ledger_rows
from strategy import words as w
from tests.support.exports import build_task

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


def test_a_strategy_says_what_differs(gapped_bars):
    """In its head, and only what the member can meet."""
    heads = {}
    for name in STRATEGIES:
        task = replace(build_task("seller_exhaustion", gapped_bars), spec=build_spec(name))
        genome = task.spec.layout.defaults
        text = build_program(task, genome, "A try.", "freqtrade")
        compile(text, "member.py", "exec")
        heads[name] = text.partition("from __future__")[0].replace("\n# ", " ")
    assert ["Moved stop" in head for head in heads.values()] == [False, True, True, False]
    assert ["Time: out" in head for head in heads.values()] == [False, False, True, True]
