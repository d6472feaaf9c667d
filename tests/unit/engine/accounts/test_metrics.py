"""Metrics of accounts by hand, against other libraries, and what is said of them."""

import math
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.bars import Window
from data.inspection import find_wick
from engine.accounts.account import ACCOUNT_METRICS, Account
from engine.accounts.caveats import find_best_trade, find_gone
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS
from engine.accounts.metrics import (
    METRICS,
    UNDEFINED,
    Span,
    compute_metrics,
    list_first_dates,
    power,
)
from engine.accounts.strategy_stakes import build_stake
from engine.batch import Engine
from engine.reference import find_terms
from optimizer.config.run_config import RunConfig
from optimizer.run.task import prepare
from strategy import STRATEGIES
from strategy import words as w
from tests.support.markets import PAPER_SPEC, make_flat_bars, make_free_ledger
from tests.support.markets import make_free_ledger as ledger
from tests.support.order_cases import CASES
from tests.support.paths import ROOT
from tests.support.random_strategies import drawn_orders
from tests.support.references import compiled_reference
from tests.support.worlds import draw_order_costs, make_bars

YEAR = Span(bars=1000, years=1.0)


def measure_once(span=YEAR, **accumulators):
    """Metrics of one individual in one window, and the reasons of the undefined ones."""
    values = {"equity": 1.0, "peak_equity": 1.0, **accumulators}
    row = np.array([[[values.get(name, 0.0) for name in ACCUMULATORS]]])
    table = compute_metrics(row, [span])
    reasons = {name: UNDEFINED[table.why(name)[0, 0]] for name in METRICS if table.why(name)[0, 0]}
    return table.name_metrics(0), reasons


# Four trades of +2, -1, +1, -1 R at one percent of equity each.
FOUR = {
    "trades": 4.0, "wins": 2.0, "sum_r": 1.0, "sum_r2": 7.0, "gain_r": 3.0, "loss_r": 2.0,
    "loss_r2": 2.0, "max_drawdown_r": 1.0, "equity": 1.02 * 0.99 * 1.01 * 0.99,
    "max_drawdown": 0.0101, "bars_in_market": 40.0,
}  # fmt: skip


def test_metrics_by_hand():
    """Each metric of four trades equals that by hand."""
    metrics, reasons = measure_once(Span(bars=1000, years=0.5), **FOUR)
    std = math.sqrt((7.0 - 0.25) / 3.0)
    expected = {
        "trades": 4.0, "win_rate": 0.5, "mean_r": 0.25, "expectancy": 0.25, "std_r": std,
        "sum_r": 1.0, "strength": 1.0 / math.sqrt(7.0), "profit_factor": 1.5,
        "sharpe_trade": 0.25 / std, "sharpe": 0.25 / std * math.sqrt(8.0),
        "sortino": 0.25 / math.sqrt(2.0 / 4.0), "total_return": FOUR["equity"] - 1.0,
        "max_drawdown": 0.0101, "max_drawdown_r": 1.0,
        "cagr": FOUR["equity"] * FOUR["equity"] - 1.0,
        "calmar": (FOUR["equity"] * FOUR["equity"] - 1.0) / 0.0101,
        "calmar_simple": (FOUR["equity"] - 1.0) / 0.5 / 0.0101, "exposure": 0.04,
        "mean_hold_bars": 10.0, "trades_per_year": 8.0,
    }  # fmt: skip
    assert metrics == pytest.approx(expected, rel=1e-15)
    assert reasons == {}


THREE = {"trades": 3.0, "wins": 2.0, "sum_r": 3.0, "sum_r2": 5.0, "gain_r": 3.0}
NOTHING = ("strength", "std_r", "profit_factor", "sortino", "calmar", "calmar_simple")
BEYOND = {**FOUR, "equity": math.inf, "peak_equity": math.inf}
RATIOS = ("calmar", "calmar_simple")
LOST = {"total_return": -1.0, "max_drawdown": 1.0}

UNDEFINED_CASES = {
    "one trade": ({"trades": 1.0, "wins": 1.0, "sum_r": 2.0, "sum_r2": 4.0, "gain_r": 2.0,
                   "equity": 1.02}, {},
                  {"sharpe": "one_trade", "std_r": "one_trade", "profit_factor": "no_losses",
                   "sortino": "no_losses", **dict.fromkeys(RATIOS, "no_drawdown")}),
    "equal trades": ({"trades": 3.0, "sum_r": -3.0, "sum_r2": 3.0, "loss_r": 3.0, "loss_r2": 3.0},
                     {"strength": -3.0 / math.sqrt(3.0)},
                     dict.fromkeys(("std_r", "sharpe_trade", "sharpe", "sortino"), "no_variation")),
    # A variance of 1e-10 of the mean square is none; what is larger by a digit is one.
    "rounding": ({"trades": 2.0, "sum_r": 2.0, "sum_r2": 2.0 * (1.0 + 0.49e-10)}, {},
                 dict.fromkeys(("std_r", "sharpe"), "no_variation")),
    "variation": ({"trades": 2.0, "sum_r": 2.0, "sum_r2": 2.0 * (1.0 + 0.51e-10)},
                  {"sharpe_trade": pytest.approx(1e5, rel=0.01)}, {"std_r": ""}),
    # A squared loss of 1e-10 of all squares is no loss to divide by.
    "rounded loss": ({**THREE, "loss_r": 2e-5, "loss_r2": 4e-10}, {}, {"sortino": "no_losses"}),
    "small loss": ({**THREE, "loss_r": 3e-5, "loss_r2": 9e-10},
                   {"sortino": 1.0 / math.sqrt(9e-10 / 3.0)}, {"sortino": ""}),
    "trades of nothing": ({"trades": 2.0}, {}, dict.fromkeys(NOTHING, "no_variation")),
    # All is lost, which is a return and a drawdown, but no ratio of them.
    "ruin": ({**FOUR, "max_drawdown": 1.0, "equity": 0.0}, {**LOST, "cagr": -1.0},
             dict.fromkeys(RATIOS, "ruined")),
    "nearly ruin": ({**FOUR, "max_drawdown": 1.0, "equity": 1e-300},
                    {"total_return": -1.0, "calmar": -1.0}, {"calmar": ""}),
    "beyond all numbers": (BEYOND, {}, dict.fromkeys(
        ("total_return", "cagr", "max_drawdown", *RATIOS), "overflow")),
    "ruin after that": ({**BEYOND, "equity": 0.0}, LOST, dict.fromkeys(RATIOS, "ruined")),
}  # fmt: skip
"""Sums; metrics; and why others are undefined, empty where they are not."""


@pytest.mark.parametrize("name", UNDEFINED_CASES)
def test_what_is_undefined_has_a_reason(name):
    """And is never an infinity."""
    sums, expected, why = UNDEFINED_CASES[name]
    metrics, reasons = measure_once(**sums)
    assert {name: metrics[name] for name in expected} == expected
    assert {name: reasons.get(name, "") for name in why} == why
    assert {name for name, value in metrics.items() if not math.isfinite(value)} == set(reasons)


@pytest.mark.parametrize(("days", "is_known"), [(19, False), (20, True)])
def test_a_few_days_tell_nothing_of_a_year(days, is_known):
    """Two windows, a bar each six hours, share a day: 20 of them in all are needed, as one."""
    day = 24 * 3600 * 10**9
    first, second = (
        np.arange(0, 10 * day, day // 4),
        np.arange(9 * day + 1, days * day, day // 4),
    )
    spans = [Span(len(t), 0.5, int(t[0]), int(t[-1]), list_first_dates(t)) for t in (first, second)]
    sums = np.array([[FOUR.get(name, 0.0) for name in ACCUMULATORS]])
    table = compute_metrics(np.stack([sums, sums], axis=1), spans, account=sums)
    for name in ("cagr", "calmar", "calmar_simple", "trades_per_year"):
        assert [UNDEFINED[why] for why in table.why(name)[0]] == ["few_days"] * 2
        assert UNDEFINED[table.pooled.why(name)[0, 0]] == ("" if is_known else "few_days")
    assert not np.isnan(table.column("sharpe")).any()


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [(14.54, 1 / 5.35, 1.649307972251569), (1.05, 12.175, 1.8112554955402178)],
)
def test_powers_have_the_bits_of_the_law(base, exponent, expected):
    """Check values of an independent implementation, to the last digit."""
    assert power(np.array([base]), exponent).tolist() == [expected]


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


def measure_sample():
    """Metrics of the default strategy on the sample, its daily returns, and days a year."""
    task = prepare(RunConfig())
    windows, genome = task.markets.windows, task.spec.layout.defaults
    engine = task.full_engine(device="cpu")
    (ledger,) = engine.trades(genome)
    own = Account(task.markets.series, windows, task.markets.symbols, task.costs)
    values = compute_metrics(engine.evaluate(genome[None]), task.markets.spans(windows))
    ends = np.concatenate([[1.0], own.day_ends(own.fold([ledger]))])
    measured = values.name_metrics(0) | own.measure([ledger])[0]
    return measured, ends[1:] / ends[:-1] - 1.0, len(own.days) / own.years


def write_formulas(daily, periods):
    """What quantstats and empyrical compute of the ends of days, as their documentation has it.

    Written here anew, since neither is installed: the page was printed with both of them.
    """
    moved, losses = daily[daily != 0], daily[daily < 0]
    equity = np.cumprod(1.0 + daily)
    fall = 1.0 - equity / np.maximum(np.maximum.accumulate(equity), 1.0)
    years = len(daily) / periods
    growth = equity[-1] ** (1.0 / years) - 1.0
    streak = max(len(run) for run in "".join("x" if d < 0 else " " for d in daily).split())
    sharpe = daily.mean() / daily.std(ddof=1) * math.sqrt(periods)
    sortino = daily.mean() / math.sqrt((losses**2).sum() / len(daily)) * math.sqrt(periods)
    return {
        **dict.fromkeys(("comp", "cum_returns_final"), equity[-1] - 1.0),
        "cagr": growth,
        **dict.fromkeys(("sharpe", "sharpe_ratio"), sharpe),
        **dict.fromkeys(("sortino", "sortino_ratio"), sortino),
        "max_drawdown": fall.max(),
        **dict.fromkeys(("calmar", "calmar_ratio"), growth / fall.max()),
        "ulcer_index": math.sqrt((fall**2).sum() / (len(daily) - 1)),
        "consecutive_losses": streak,
        "win_rate": (moved > 0).mean(),
        "profit_factor": daily[daily > 0].sum() / -losses.sum(),
    }


def test_the_page_has_the_numbers_of_their_formulas():
    """Each row of quantstats and empyrical to nine digits; ours are those of the engine."""
    page = (ROOT / "docs" / "howto" / "metrics.md").read_text(encoding="utf-8")
    values, *daily = measure_sample()
    theirs = write_formulas(*daily)
    rows = re.findall(r"^\| `(\w+)` \| `(.+?)` \| (\S+) \| (\S+) \| (.+) \|$", page, re.MULTILINE)
    seen = set()
    for own, other, value, number, why in rows:
        assert f"{values[own]:.9g}" == value, own
        assert (value == number) == (why == "equal"), own
        for name in {*other.split("`, `")} & {*theirs}:
            assert f"{theirs[name]:.9g}" == number, name
            seen.add(name)
    assert seen == set(theirs)
    assert len(rows) == 23


HOUR_NS = 3600 * 10**9


hourly = partial(make_flat_bars, step_ns=HOUR_NS)


def longs(*trades, stop=50.0):
    """Trades of (entry bar, exit bar, entry, exit), without costs."""
    return make_free_ledger(*((e, x, entry, stop, leave, "time") for e, x, entry, leave in trades))


def sized_account(*series, size=None, cash=1000.0):
    """The account of whole series, which sizes trades from cash where a size is given."""
    own = account(series)
    if size is None:
        return own
    spec = replace(PAPER_SPEC, account=w.account(cash, size))
    stake = build_stake(spec, FREE, spec.layout.decode(spec.layout.defaults))
    return replace(own, stakes=(stake,) * len(series))


@pytest.mark.parametrize(
    ("size", "gone_after_bar"),
    [
        (w.equity_share(20), 2),  # 200 units at 100: 1000 - 200 * 8 = -600 at 92
        (w.equity_share(12), None),  # 120 units: 40 are left
        (w.units(125), 2),  # 1000 - 125 * 8 = 0 is nothing
        (w.units(124), None),
        (w.notional(20_000), 2),
        (None, None),  # one R is a share of equity
    ],
)
def test_an_account_is_gone_at_the_close_at_which_nothing_is_left(size, gone_after_bar):
    """Long at 100, a close of 92, out at 103: the return is a gain all the same."""
    bars, trades = hourly(100, 100, 92, 103), [longs((1, 3, 100, 103))]
    own = sized_account(bars, size=size)
    expected = None if gone_after_bar is None else (gone_after_bar + 1) * HOUR_NS
    assert find_gone(own, trades) == expected
    assert own.fold(trades).equity[-1] > 1.0
    if size is not None:
        assert (own.measure(trades)[0]["max_drawdown_marked"] == 1.0) == (expected is not None)


def test_positions_of_one_account_are_gone_together():
    """10 units each: 600 and 450 lost at one close are more than 1,000, neither alone is."""
    first, second = hourly(100, 100, 40, 110), hourly(100, 100, 55, 110, symbol="OTHER")
    trades = [longs((1, 3, 100, 110), stop=20.0)] * 2
    assert find_gone(sized_account(first, second, size=w.units(10)), trades) == 3 * HOUR_NS
    for bars in (first, second):
        assert find_gone(sized_account(bars, size=w.units(10)), trades[:1]) is None


@pytest.mark.parametrize(
    ("size", "leaves", "best", "without"),
    [
        # At 10 % of equity an R of 50: 2 * 1.1 * 0.9 - 1 = 0.98, and 1.1 * 0.9 - 1 = -0.01.
        (None, (600, 150, 50), 0, -0.01),
        # 1.2 * 1.2 * 1.1 - 1: without one of the first two 0.32, more than half of 0.584.
        (None, (200, 200, 150), None, 0.0),
        # One unit of 1,000: 30 + 10 + 5, and 15 without the first.
        (w.units(1), (130, 110, 105), 0, 0.015),
        (w.units(1), (130, 128, 105), None, 0.0),
        # Each of two makes a half.
        (w.units(1), (103, 103), None, 0.0),
        # A loss hangs on none of its gains.
        (w.units(1), (130, 60, 105), None, 0.0),
        (w.units(1), (103,), 0, 0.0),
    ],
)
def test_a_return_hangs_on_the_trade_that_makes_more_than_half_of_it(size, leaves, best, without):
    """All others are folded again without it."""
    bars = hourly(*[100] * 12)
    trades = [longs(*((k, k, 100, leave) for k, leave in enumerate(leaves, start=1)))]
    found = find_best_trade(sized_account(bars, size=size), trades)
    if best is None:
        assert found is None
    else:
        assert (found.window, found.trade) == (0, best)
        assert found.total_return == pytest.approx(without, abs=1e-12)


@pytest.mark.parametrize(
    ("highs", "lows", "bar", "expected"),
    [
        # 11 above the nearer neighbour, where no other lies more than 2 above its own.
        ([101, 103, 101, 112, 101, 101], [99] * 6, 3, (True, 112.0, 101.0)),
        ([101, 103, 101, 111, 101, 101], [99] * 6, 3, None),
        ([101, 103, 101, 112, 101, 101], [99] * 6, 1, None),
        ([101] * 6, [99, 99, 97, 99, 99, 87], 5, (False, 87.0, 99.0)),
        ([101] * 6, [99, 99, 97, 99, 99, 90], 5, None),
    ],
)
def test_a_price_stands_alone_where_it_is_five_times_farther_out(highs, lows, bar, expected):
    """Than any other high or low of its week; at an end there is one neighbour."""
    bars = hourly(*[100] * 6, high=highs, low=lows)
    wick = find_wick(bars, 0, len(bars), bar)
    assert (None if wick is None else (wick.is_high, wick.price, wick.beside)) == expected
