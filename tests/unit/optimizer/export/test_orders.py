"""Orders, ladders and ticks in programs: they trade as the run, or are refused by name."""

import re
import sys
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from data.bars import Window
from engine.accounts.ledger import Trade
from optimizer.export.programs import build_program
from optimizer.run.markets import Markets
from optimizer.run.task import ledger_rows
from strategy import words
from strategy.exits import split_sides
from tests.support.exports import build_task, run_program, write_bars
from tests.support.pine import run_pine
from tests.support.random_strategies import Drawn, drawn_exits, drawn_orders
from tests.support.vectorbt_stand_in import build_modules
from tests.support.worlds import make_bars

RANGE = words.rma(words.true_range, 14)
UP, DOWN = words.close > words.ema(words.close, 50), words.close < words.ema(words.close, 50)
WEAK = words.crosses_above(words.rsi(words.close, 7), 30)
STRONG = words.crosses_below(words.rsi(words.close, 7), 70)
BREAKOUT = words.by_side(
    words.stop_at(words.highest(words.high, 20), 5), words.stop_at(words.lowest(words.low, 20), 5)
)
ORDERED = {
    "limit": {
        "long": UP & WEAK,
        "cancel": DOWN,
        "entry": words.limit_at(words.close - 0.5 * RANGE, 3),
        "stop": words.beyond_bar(1.5 * RANGE),
        "target": words.r_multiple(1),
        "max_hold": 12,
    },
    "straddle": {
        "long": UP,
        "short": DOWN,
        "entry": BREAKOUT,
        "stop": words.from_entry(1.5 * RANGE),
        "target": words.r_multiple(2),
        "delay": 1,
        "session": words.session_exit(1200),
    },
    "ladder": {
        "long": UP & WEAK,
        "short": DOWN & STRONG,
        "stop": words.beyond_bar(1 * RANGE),
        "targets": [(words.r_multiple(1), 0.5), (words.r_multiple(3), 0.25)],
        "break_even": words.after_leg(1),
        "max_hold": 96,
    },
    "ladder of orders": {
        "long": UP,
        "short": DOWN,
        "entry": BREAKOUT,
        "stop": words.from_entry(4 * RANGE),
        "targets": words.by_side(
            [(words.share(0.03), 0.4), (words.r_multiple(1), 0.6)],
            [(words.from_entry(2 * RANGE), 0.25)],
        ),
        "trail": words.trail(words.from_entry(3 * RANGE), 1),
        "market": words.market(tick="0.01"),
        "cooldown": 5,
    },
    "reverse": {
        "long": words.crosses_above(words.ema(words.close, 10), words.ema(words.close, 30)),
        "short": words.crosses_below(words.ema(words.close, 10), words.ema(words.close, 30)),
        "reverse": True,
        "stop": words.share(0.05),
        "target": words.share(0.1),
        "market": words.market(tick="0.01"),
    },
    "later exits": {
        "long": UP & WEAK,
        "short": DOWN & STRONG,
        "exit_long": words.in_trade(DOWN, bars_from=3, profit_to=0.5),
        "exit_short": words.in_trade(UP, bars_to=30, profit_from=-0.5),
        "stop": words.from_entry(3 * RANGE),
        "trail": words.by_side(
            words.trail(words.level(words.sma(words.close, 10)), 0.5),
            words.trail(words.share(0.05)),
        ),
        "break_even": words.break_even(1, offset=words.r_multiple(0.2)),
    },
    "stop that follows": {
        "long": UP,
        "short": DOWN,
        "entry": BREAKOUT,
        "stop": words.from_entry(5 * RANGE),
        "target": words.share(0.2),
        "trail": words.trail(words.level(words.supertrend(10, 30)), 0),
        "break_even": words.break_even(0.5, offset=words.share(0.002)),
        "market": words.market(tick="0.01"),
    },
}
"""What programs of backtesting.py and of TradingView can say of orders, ladders and later exits."""

SAID_IN_FULL = {
    **ORDERED,
    "straddle that reverses": {
        "long": UP,
        "short": words.close > 0,
        "entry": words.by_side(
            words.stop_at(words.highest(words.high, 5), 4), words.stop_at(words.low, 2)
        ),
        "reverse": True,
        "stop": words.share(0.04),
        "targets": [(words.r_multiple(1), 0.3), (words.r_multiple(2), 0.3)],
        "break_even": words.after_leg(1),
        "market": words.market(tick="0.01"),
        "slippage": words.by_side(words.ticks(2), words.bp(3)),
        "named_stops": True,
        "trail": words.trail(words.share(0.05), 1),
    },
    "limits that reverse": {
        "long": UP & WEAK,
        "short": DOWN & STRONG,
        "entry": words.by_side(
            words.limit_at(words.close - 0.2 * RANGE, 9, through=1),
            words.limit_at(words.close + 0.2 * RANGE, through=3),
        ),
        "cancel": words.crosses_above(words.close, words.sma(words.close, 30)),
        "reverse": True,
        "exit_long": DOWN & STRONG,
        "stop": words.share(0.06),
        "targets": [(words.share(0.02), 0.5), (words.share(0.3), 0.5)],
        "market": words.market(tick="0.01"),
        "slippage": words.price(0.1 * RANGE),
        "cooldown": 4,
        "delay": 1,
    },
    "one side rests": {
        "long": words.close > words.open,
        "short": DOWN & STRONG,
        "entry": words.by_side(words.limit_at(words.low, 2), None),
        "reverse": True,
        "exit_short": UP & WEAK,
        "stop": words.from_entry(3 * RANGE),
        "target": words.r_multiple(2),
        "session": words.session_exit(1200),
        "max_hold": 40,
    },
}
"""The same, and what a program of vectorbt can say beside."""


def trade(spec, path, **costs):
    """A task of a strategy, and its trades with those of each target."""
    task = build_task("seller_exhaustion", path)
    task = replace(task, spec=spec, costs=replace(task.costs, **costs))
    (ledger,) = task.build_reference(task.markets.windows).trades(spec.layout.defaults)
    ours = pd.DataFrame(list(ledger_rows(ledger)), columns=list(Trade._fields))
    for leg in range(ledger.leg_bar.shape[1]):
        ours[f"leg{leg + 1}_bar"] = ledger.leg_bar[:, leg]
        ours[f"leg{leg + 1}_price"] = ledger.leg_price[:, leg]
    return task, ours


@lru_cache
def trade_named(name, path):
    """The same of one of `SAID_IN_FULL`."""
    return trade(words.strategy("Ordered.", name=name, **SAID_IN_FULL[name]), path)


@pytest.mark.filterwarnings("ignore:DatetimeIndex.dayofweek")
@pytest.mark.parametrize("name", ORDERED)
def test_backtesting_py_fills_orders_as_the_run(name, market):
    """Every trade begins at the same bar and price; each that ends elsewhere does by a named rule.

    Bars of the market are far wider than real ones, so that many trades end in the bar that fills
    their order.
    """
    pytest.importorskip("backtesting", reason="the library is not installed")
    task, ours = trade_named(name, market)
    program = run_program(task, "backtesting.py")
    *_, theirs = program["backtest"](program["read_bars"](str(market)))
    pairs = ours.merge(theirs, on=["signal_bar", "side"], how="left", suffixes=("", "_theirs"))
    assert pairs["entry_bar_theirs"].notna().mean() > 0.99
    pairs = pairs[pairs["entry_bar_theirs"].notna()]
    assert len(ours) > 3
    assert len(theirs) - len(pairs) <= 0.01 * len(ours)
    shared = [
        column for column in theirs.columns.intersection(ours.columns)
        if column not in ("signal_bar", "side")
    ]  # fmt: skip
    is_same = pd.concat(
        [
            (pairs[column] == pairs[f"{column}_theirs"])
            | (pairs[column].isna() & pairs[f"{column}_theirs"].isna())
            for column in shared
            if column not in ("r", "stop")
        ],
        axis=1,
    ).all(axis=1)
    for column in ("entry_bar", "entry", "stop"):
        assert pairs[column].tolist() == pairs[f"{column}_theirs"].tolist()
    same, other = pairs[is_same], pairs[~is_same]
    np.testing.assert_allclose(same["r"], same["r_theirs"], rtol=0, atol=1e-12)
    assert len(same) > 3
    legs = [column for column in ours if column.startswith("leg") and column.endswith("_bar")]
    in_entry_bar = (other[["exit_bar", *legs]].eq(other["entry_bar"], axis=0)).any(axis=1)
    by_entry_bar = in_entry_bar & ("entry" in ORDERED[name])
    by_close = other["reason"].isin(["time", "session", "end"])
    is_straddle = other["reason_theirs"] == "reverse"
    assert (by_entry_bar | by_close | is_straddle).all()


@pytest.mark.usefixtures("vectorbt_library")
@pytest.mark.parametrize("name", [*SAID_IN_FULL, "late"])
def test_vectorbt_trades_orders_as_the_run(name, market):
    """Every trade and every target in every bit, and what its account comes to.

    No stop lies so near that a hundredth of the account at risk would have to be borrowed. The run
    may enter a bar later than the strategy.
    """
    task, ours = trade_named(name, market) if name != "late" else trade_late(market)
    program = run_program(task, "vectorbt")
    assert len(ours) > 3
    portfolio = compare_trades(program, ours, market)
    equity = np.prod(1 + task.costs.risk_fraction * ours["r"])
    assert portfolio.final_value() / program["CASH"] == pytest.approx(equity, rel=1e-12)


def trade_late(path):
    """Trades of a run with a delay of its own."""
    spec = words.strategy("Late.", name="late", **SAID_IN_FULL["reverse"] | {"reverse": None})
    return trade(spec, path, entry_delay=1)


def compare_trades(program, ours, path):
    """The portfolio of a program whose trades are ours, whatever is noted of them."""
    portfolio, theirs = program["backtest"](program["read_bars"](str(path)))
    shared = list(theirs.columns.intersection(ours.columns))
    assert {"signal_bar", "exit_bar", "reason", "entry", "exit", "stop", "r"} < set(shared)
    pd.testing.assert_frame_equal(ours[shared], theirs[shared], check_dtype=False, check_exact=True)
    return portfolio


def test_vectorbt_trades_drawn_orders_as_the_run(tmp_path, monkeypatch):
    """The script's walk is a law of its own: for any strategy its trades are those of the run."""
    for name, module in build_modules().items():
        monkeypatch.setitem(sys.modules, name, module)

    def with_slippage(drawn, arguments):
        if drawn.chance(0.4):
            arguments["slippage"] = words.by_side(drawn.slippage(), drawn.slippage())
        return arguments

    monkeypatch.setattr(Drawn, "with_money", with_slippage)
    count = 0
    for seed in range(0, 20, 2):
        spec = (drawn_orders, drawn_exits)[seed % 4 // 2](seed)
        # Orders that end by side are refused.
        spec = replace(spec, cancel=split_sides(spec.cancel)[0])
        bars, path = make_bars(seed, 400, gaps=0.02, jump=0.05), tmp_path / f"{seed}.csv"
        write_bars(bars, path)
        task, ours = trade(spec, path)
        if len(ours) and spec.has_orders:
            compare_trades(run_program(task, "vectorbt"), ours, path)
            count += len(ours)
    assert count > 300


IN_PINE = {
    **ORDERED,
    "slipped": {**ORDERED["ladder of orders"], "slippage": words.ticks(2)},
    "slipped reverse": {
        **ORDERED["reverse"],
        "slippage": words.ticks(2),
        "exit_long": words.close < words.sma(words.close, 20),
        "max_hold": 20,
    },
    "limits": {
        "long": UP,
        "short": DOWN,
        "entry": words.by_side(
            words.limit_at(words.close - RANGE, 4), words.limit_at(words.close + RANGE, 4)
        ),
        "cancel": WEAK,
        "stop": words.beyond_bar(2 * RANGE),
        "targets": [(words.level(words.highest(words.high, 10)), 0.3), (words.r_multiple(2), 0.3)],
        "break_even": 1,
        "delay": 1,
        "exit_long": DOWN,
    },
}


@pytest.mark.parametrize("name", IN_PINE)
def test_pine_keeps_the_ledger_of_orders(name, market):
    """Every trade that ends before the bars do; the tester has them, from and to the same bars."""
    spec = words.strategy("Ordered.", name=name, **IN_PINE[name])
    task = replace(build_task("seller_exhaustion", market), spec=spec)
    # The script is read in Python, bar by bar.
    bars = task.markets.series[0].until(2500)
    task = replace(task, markets=Markets((bars,), (Window.whole(bars),)))
    (ledger,) = task.build_reference(task.markets.windows).trades(spec.layout.defaults)
    ours = pd.DataFrame(list(ledger_rows(ledger)), columns=list(Trade._fields))
    ours = ours.query("reason != 'end'")
    assert len(ours) > 3
    text = build_program(task, spec.layout.defaults, "A try.", "pine")
    (charge,) = re.findall(r"commission_value = ([\d.e-]+)", text)
    assert float(charge) == 100 * float(task.costs.per_side) > 0
    log, fills = run_pine(text, bars)
    names = ["entry_bar", "exit_bar", "side", "reason", "entry", "exit", "r"]
    kept = pd.DataFrame([line.split(",") for line in log], columns=names)
    assert kept["reason"].tolist() == ours["reason"].tolist()
    for column in names[:3]:
        assert kept[column].astype(int).tolist() == ours[column].tolist()
    for column in names[4:]:
        np.testing.assert_allclose(kept[column].astype(float), ours[column], rtol=1e-9, atol=1e-9)
    ended = {(fill.entry_bar, fill.side): fill.exit_bar for fill in fills}
    tested = [ended.get(key) for key in zip(ours["entry_bar"], ours["side"], strict=True)]
    apart = sum(left != bar for left, bar in zip(tested, ours["exit_bar"], strict=True))
    assert apart <= max(0.05 * len(ours), 1)
