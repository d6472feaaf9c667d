"""Metrics of an account beside its accumulators: by hand, and to the last digit on real bars."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.bars import Window
from engine.accounts.account import ACCOUNT_METRICS, Account
from engine.accounts.costs import Costs
from engine.accounts.strategy_stakes import build_stake
from engine.batch import Engine
from engine.reference import find_terms
from strategy import STRATEGIES
from tests.support.ledgers import make_flat_bars
from tests.support.ledgers import make_free_ledger as ledger
from tests.support.order_cases import CASES
from tests.support.random_strategies import drawn_orders
from tests.support.references import compiled_reference
from tests.support.worlds import draw_order_costs, make_bars

DAY_NS = 86_400 * 10**9
FREE = Costs(fee_bp=0.0, slippage_bp=0.0, risk_fraction=0.1)
SPEC = STRATEGIES["seller_exhaustion"]


daily = partial(make_flat_bars, step_ns=DAY_NS)


def account(bars, *windows, costs=FREE):
    """The account of windows of one market, or of several series."""
    series = bars if isinstance(bars, tuple) else (bars,)
    whole = windows or tuple(Window.whole(each, place) for place, each in enumerate(series))
    return Account(series, whole, tuple(series[w.series].symbol for w in whole), costs)


PAIR = tuple(daily(*[100] * 6, symbol=name) for name in "AB")
UPS = [100.0, 110.0] * 15
HELD = [(k, k, UPS[k - 1], UPS[k - 1] / 2, UPS[k], "end") for k in range(1, 30)]
HALF = replace(FREE, risk_fraction=0.5)

BY_HAND = {
    # 100 to 130 to 101: no fall between closed trades, one of a fifth of the risk at closes, since
    # at 130 three R of 10 % are open: 1.3; the trade ends at 1.01.
    "an open loss": ((daily(100, 100, 130, 101, 101),), [[(1, 3, 100, 90, 101, "time")]], FREE,
                     {"max_drawdown_marked": (1.3 - 1.01) / 1.3, "best_r": 0.1, "worst_r": 0.1,
                      "mean_trade": 0.01, "max_leverage": 1.0, "median_leverage": 1.0,
                      "under_water_days": 0.0, "buy_and_hold": 0.01},
                     {"sharpe_daily": "few_days"}),
    # Losses in a row, results by side, and days below the peak, from the end of day 2 to day 8.
    "streaks and sides": ((daily(*[100] * 12),),
                          [[(1, 2, 100, 90, 95, "stop"), (3, 4, 100, 110, 105, "stop"),
                            (5, 7, 100, 90, 100, "time"), (8, 9, 100, 90, 130, "target")]], FREE,
                          {"losing_streak": 3.0, "median_r": -0.25, "tail_r": -0.5,
                           "fewest_a_month": 4.0, "trades_long": 3.0, "trades_short": 1.0,
                           "sum_r_long": 2.5, "sum_r_short": -0.5, "under_water_days": 7.0}, {}),
    # Of 21 results the second is the tail; the bars of February have no trade.
    "a month without": ((daily(*[100] * 44),),
                        [[(k, k, 100, 90, 100 + (8 * k) % 21, "time") for k in range(1, 22)]], FREE,
                        {"median_r": 1.0, "tail_r": 0.1, "fewest_a_month": 0.0}, {}),
    # A position counts until its exit bar closes; an exit by condition frees it at the open.
    "leverage adds up": (PAIR, [[(1, 3, 100, 90, 100, "time")], [(3, 4, 100, 50, 100, "time")]],
                         FREE, {"max_leverage": 1.2}, {}),
    "left at the open": (PAIR, [[(1, 3, 100, 90, 100, "signal")], [(3, 4, 100, 50, 100, "time")]],
                         FREE, {"max_leverage": 1.0}, {}),
    # A trade a day from close to close with all of the account: every day is that of the bars.
    "even with holding": ((daily(*UPS),), [HELD], HALF,
                          {"buy_and_hold": 0.1, "hold_at_equal_volatility": 0.1}, {}),
    "few days": ((daily(*UPS[:10]),), [HELD[:8]], HALF, {},
                 {"hold_at_equal_volatility": "few_days"}),
    # Counts are 0, what needs a trade has a reason, and buy and hold stays.
    "no trade": ((daily(*range(100, 130)),), [[]], FREE,
                 {"trades_long": 0.0, "max_drawdown_marked": 0.0, "ulcer": 0.0,
                  "buy_and_hold": 0.29},
                 {"best_r": "no_trades", "max_leverage": "no_trades",
                  "sharpe_daily": "no_variation"}),
    # What holds pays one side, from the first close on.
    "holding pays": ((daily(100, 105, 110),), [[]], Costs(fee_bp=60, slippage_bp=40),
                     {"buy_and_hold": 110 / 101 - 1}, {}),
    # Equity is 0 for good, the marked fall is whole, ratios say ruined.
    "ruin": ((daily(*[100] * 30),),
             [[(1, 2, 100, 99, 80, "stop_gap"), (4, 5, 100, 99, 120, "target")]], FREE,
             {"max_drawdown_marked": 1.0}, {"sharpe_daily": "ruined", "ulcer": "ruined"}),
    # Above a number of bars the marked fall is left out.
    "many markets": (tuple(daily(*[100.0] * 40_000, symbol=name) for name in "ABCDEFGH"),
                     [[]] * 8, FREE, {}, {"max_drawdown_marked": "several_symbols"}),
}  # fmt: skip
"""Series, trades of each, costs; metrics; and why others are undefined."""


@pytest.mark.parametrize("name", BY_HAND)
def test_metrics_of_an_account_by_hand(name):
    """Each has a value or a reason."""
    series, trades, costs, expected, undefined = BY_HAND[name]
    measured, why = account(series, costs=costs).measure([ledger(*some) for some in trades])
    assert {name: measured[name] for name in expected} == pytest.approx(expected)
    assert undefined.items() <= why.items()
    assert set(measured) | set(why) == set(ACCOUNT_METRICS)
    assert not set(measured) & set(why)


def test_marks_take_trades_in_the_order_in_which_their_bars_close():
    """A gain of a quarter of a day closes within the day whose bar loses; it opens after it."""
    days, quarters = daily(100, 100, 100), daily(*[100] * 12, symbol="QUICK")
    quarters = replace(
        quarters, timestamp=quarters.timestamp // 4, timeframe_ns=quarters.timeframe_ns // 4
    )
    series = (days, quarters)
    both = account(series, Window.whole(days), Window.whole(quarters, 1))
    loss, gain = ledger((1, 1, 100, 90, 90, "stop")), ledger((5, 5, 100, 90, 110, "target"))
    measured, _ = both.measure([loss, gain])
    assert measured["max_drawdown_marked"] == pytest.approx(0.1)
    assert both.fold([loss, gain]).equity.tolist() == pytest.approx([0.9, 0.99])


CHECK_VALUES = {
    ("btcusdt",): {
        "losing_streak": 14.0,
        "under_water_days": 2228.0,
        "max_leverage": 1.314207180762171,
        "sharpe_daily": -0.6804330140374665,
        "sortino_daily": -0.9599075711830183,
        "ulcer": 0.24967949800462066,
        "max_drawdown_marked": 0.4401963792444349,
    },
    ("btcusdt", "gbpjpy", "aapl"): {"max_drawdown_marked": 0.7564994991767056},
}
"""From an independent implementation, to the last digit."""


@pytest.mark.parametrize("names", CHECK_VALUES)
def test_check_values_of_real_bars(names, real_folder):
    """Published genes and costs: one market, and three as one account."""
    series = tuple(
        load_bars(f"parquet:{real_folder / name}_1h.parquet", LoadOptions(dedupe=True))
        for name in names
    )
    windows = tuple(Window.whole(bars, place) for place, bars in enumerate(series))
    own = Account(series, windows, names, Costs())
    ledgers = Engine(SPEC, list(series), list(windows), device="cpu").trades(SPEC.layout.defaults)
    measured, _ = own.measure(ledgers)
    assert {name: measured[name] for name in CHECK_VALUES[names]} == CHECK_VALUES[names]
    if len(names) > 1:
        assert measured["max_leverage"] == 5.191793570484141
        assert own.years == 26.299908738307096
        assert own.fold(ledgers).equity[-1] == 0.2814295038399783


@pytest.mark.parametrize("seed", range(0, 40, 8))
def test_a_mark_is_the_account_of_a_window_that_ends_there(seed):
    """Whatever is traded: legs that were reached, slippage, payments, sizes from cash."""
    bars, strategy = make_bars(seed, 160, gaps=0.02, jump=0.05), drawn_orders(seed)
    genome, costs = strategy.layout.defaults, draw_order_costs(seed, strategy)
    reference = compiled_reference(strategy, [bars], [Window.whole(bars)], costs)
    stakes = ()
    if strategy.account is not None:
        stakes = (build_stake(strategy, costs, strategy.layout.decode(genome)),)
    own = replace(
        account(bars, costs=costs), terms=(find_terms(reference, genome, 0),), stakes=stakes
    )
    whole = reference.trades(genome)
    times, equity = own.mark(whole, own.fold(whole))
    held = np.flatnonzero(np.isin(bars.timestamp + bars.timeframe_ns, times))
    for j in held[:: max(1, len(held) // 25)].tolist():
        cut = compiled_reference(strategy, [bars], [Window(0, 0, j + 1)], costs).trades(genome)
        at = np.searchsorted(times, bars.timestamp[j] + bars.timeframe_ns, side="right") - 1
        assert equity[at] == pytest.approx(own.fold(cut).equity[-1], rel=1e-12)


@pytest.mark.parametrize(
    ("name", "leverage"), [("lots", 1.4442279544961536), ("by_volatility", 2.9991627001553542)]
)
def test_leverage_of_an_account_that_sizes_trades(name, leverage, real_folder):
    """Check values of the law of orders, to the last digit."""
    case = CASES[name]
    bars = load_bars(f"parquet:{real_folder / case.series}.parquet", LoadOptions(dedupe=True))
    reference = compiled_reference(case.strategy, [bars], [Window.whole(bars)], case.costs)
    genome = case.strategy.layout.defaults
    terms, stake = find_terms(reference, genome, 0), build_stake(case.strategy, case.costs, {})
    own = account(bars, costs=case.costs).with_terms((terms,), (stake,))
    assert own.measure(reference.trades(genome))[0]["max_leverage"] == leverage
