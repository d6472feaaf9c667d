"""freqtrade's backtest of an exported strategy on candles in memory, without an exchange."""

from unittest.mock import MagicMock, PropertyMock, patch

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
