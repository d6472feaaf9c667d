"""Strategies of the corpus, each with bars, windows and costs, all made from seeds."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from strategy import STRATEGIES
from strategy import words as w
from strategy.model import Strategy
from tests.support import averages, examples, order_cases
from tests.support.limited import shorten_bars
from tests.support.own_words import efficiency
from tests.support.random_strategies import (
    drawn_accounts,
    drawn_exits,
    drawn_orders,
    drawn_strategy,
)
from tests.support.series import make_coarse, open_apart
from tests.support.worlds import SHORT_SPECS, draw_payments, make_bars, make_population

RANGE = w.rma(w.true_range, 3)

NEAR = w.strategy(
    "Stops so near that many trades hang on the order of what happened in a bar.",
    long=w.close > w.open,
    short=w.close < w.open,
    exit_long=w.held(w.close < w.open - 0.1 * (w.high - w.low), 2) | (w.close < w.lag(w.low, 1)),
    exit_short=w.within(w.close > w.lag(w.high, 1), 2),
    stop=w.from_entry(w.gene("far", 0.5, 0.2, 1.5) * RANGE),
    target=w.r_multiple(1.2),
    max_hold=3,
    name="near",
)

UP, DOWN = w.close > w.open, w.close < w.open

TIES = w.strategy(
    "Turns at each bar, with stops that are near, so that two trades end in one bar.",
    long=UP,
    short=DOWN,
    exit_long=DOWN,
    exit_short=UP,
    stop=w.from_entry(w.gene("far", 0.3, 0.2, 1.5) * RANGE),
    name="ties",
)

FRUGAL = w.strategy(
    "An account that often has no cash for a lot.",
    long=w.close > w.open,
    short=w.close < w.lag(w.open, 2),
    reverse=True,
    entry=w.by_side(w.stop_at(w.high, 3), None),
    stop=w.from_entry(w.gene("far", 1, 0.2, 2) * RANGE),
    targets=[(w.r_multiple(1), 0.5)],
    market=w.market(tick="0.05", lot="1"),
    slippage=w.ticks(1),
    funding=w.funding(w.payments("fund")),
    account=w.account(300, w.risk(0.005), 1),
    name="frugal",
)

NARROW = w.strategy(
    "Stops and targets so near that most trades hang on the order of what happened in a bar.",
    long=w.close > 0,
    short=w.close > 0,
    entry=w.by_side(w.stop_at(w.close + 0.2 * RANGE, 2), w.limit_at(w.close + 0.3 * RANGE, 3)),
    reverse=True,
    stop=w.from_entry(w.gene("far", 0.5, 0.2, 1.5) * RANGE),
    targets=[(w.r_multiple(0.5), 0.5), (w.r_multiple(1.5), 0.5)],
    break_even=w.after_leg(1),
    trail=w.trail(w.from_entry(RANGE)),
    exit_long=w.close < w.open,
    cancel=w.by_side(w.close < w.lag(w.low, 1), w.close > w.lag(w.high, 1)),
    session=w.session_exit(590, begins=1080),
    name="narrow",
)

PATIENCE, REWARD = w.length("max_hold", 20, 1, 60), w.r_multiple(w.gene("reward", 1, 0.3, 4))
BEYOND, BRIEF = w.gene("stop_mult", 1, 0.1, 3), w.length("score", 15, 2, 50)
FAST, SLOW, WINDOW = w.length("fast", 5, 2, 30), w.length("slow", 20, 2, 60), w.length(
    "window", 10, 2, 40)  # fmt: skip
SCORES, SCORE_MIN = w.length("score", 15, 2, 100), w.gene("score_min", -0.5, -1, 1, "std")

UNSHIPPED = (
    w.strategy(
        "Every form on either side of a comparison, several series, and a stop by an EMA.",
        long=w.all_of(
            w.sma(w.close, FAST) > w.sma(w.open, SLOW), w.ema(w.close, SLOW) < w.close,
            w.sma(w.close, FAST) > w.ema(w.close, SLOW),
            w.sma(w.volume, BRIEF) > w.gene("mean_min", 0, -2, 60),
            w.ema(w.volume, FAST) > w.gene("pace_min", 0, -2, 60),
            w.zscore(w.close, BRIEF) < w.gene("score_max", 2, -1, 3, "std"),
            w.zscore(w.true_range, SLOW) < w.zscore(w.close, BRIEF)),
        stop=w.beyond_bar(BEYOND * w.ema(w.true_range, w.length("pace", 8, 2, 20))),
        target=REWARD, max_hold=PATIENCE, name="crossings",
        order=("fast", "slow", "score", "pace", "mean_min", "score_max", "pace_min")),
    w.strategy(
        "A score of the close's location, which flat bars do not have.",
        long=w.zscore(w.close_location, WINDOW) > w.gene("score_min", 0, -1, 2, "std"),
        stop=w.beyond_bar(BEYOND * w.atr(WINDOW)), target=REWARD, max_hold=PATIENCE,
        name="located"),
    w.strategy(
        "Levels on either side of genes, and a stop of one bar's range.",
        long=w.all_of(
            w.zscore(w.volume, SCORES) > SCORE_MIN, w.zscore(w.true_range, SCORES) > SCORE_MIN,
            w.close_location < w.gene("location_max", 0.6, 0.2, 0.9, "fraction of the bar's range"),
            w.volume > w.gene("volume_min", 400, 100, 1500, "units")),
        stop=w.beyond_bar(BEYOND * w.true_range), target=REWARD, max_hold=PATIENCE,
        name="levels"),
)  # fmt: skip
"""What shipped strategies do not ask of an engine."""


INDIVIDUALS = 48


class World(NamedTuple):
    """Series, and windows of them."""

    series: tuple[Bars, ...]
    windows: tuple[Window, ...]


class Case(NamedTuple):
    """A strategy of the corpus: a name of `WORLDS`, and costs."""

    strategy: Strategy
    world: str
    costs: Costs = Costs()

    def draw_genomes(self, name: str):
        """Default genes first, then drawn ones [P, G]; one individual of a strategy without."""
        return make_population(self.strategy, INDIVIDUALS, crc32(name.encode()))


def make_trading_hours(seed: int, days: int) -> Bars:
    """Quarters of New York's stock sessions from Monday, 2024-02-26 on, over a change of clocks.

    Prices jump over night; the first and the last hour are the busiest.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    number = np.arange(days)
    day = 19_779 + number + 2 * (number // 5)
    opens = day * 1440 + np.where(day < 19_792, 870, 810)
    minutes = (opens[:, None] + 15 * np.arange(26)).ravel()
    busy = np.tile(1.0 + 0.08 * (np.arange(26) - 12.5) ** 2 / 6, days)
    moves = rng.normal(0, 0.0012, len(minutes)) * busy
    moves[::26] += rng.normal(0, 0.008, days)
    close = np.rint(18_000 * np.cumprod(1 + moves)) / 100
    opened = np.append(180.0, close[:-1])
    opened[::26] = np.rint(close[::26] * 100 * (1 + rng.normal(0, 0.0006, days))) / 100
    away = np.rint(np.abs(rng.normal(0, 0.0009, (2, len(minutes)))) * close * busy * 100) / 100
    return Bars(
        minutes * 60 * 10**9, opened, np.maximum(opened, close) + away[0],
        np.minimum(opened, close) - away[1], close,
        np.rint(1000 * busy * rng.uniform(0.3, 2.5, len(minutes))), "HOURS", 900 * 10**9,
    )  # fmt: skip


def cover(*series: Bars, late: tuple[int, int] | None = None) -> World:
    """Each series as a window, and a later part of the first."""
    first = len(series[0])
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    windows.insert(1, Window(0, *(late or (first // 3, first * 4 // 5))))
    return World(series, tuple(windows))


def with_columns(bars: Bars, seed: int) -> Bars:
    """The same with payments, and a column that is known at each close but for some."""
    rng = np.random.Generator(np.random.PCG64(seed))
    forecast = np.where(rng.random(len(bars)) < 0.05, np.nan, rng.normal(0, 1, len(bars)))
    payments = {"fund": draw_payments(bars, seed)}
    return replace(bars, extra={"forecast": forecast}, payments=payments)


def make_plain() -> World:
    """Quarters with holes, flat and silent bars and jumps, and few bars on a coarse grid."""
    first = make_bars(3, 1500, gaps=0.003, flat=0.02, silent=0.02, jump=0.03)
    return cover(first, make_bars(4, 300, tick=0.5, flat=0.1))


def make_symbols() -> World:
    """Four symbols, some of whose bars are over early, in pieces that lie in no order."""
    shapes = ((31, 420, 0.02), (32, 300, 0.05), (33, 360, 0.01), (34, 300, 0.03))
    series = [make_bars(seed, length, gaps=0.02, jump=jump) for seed, length, jump in shapes]
    series[2] = shorten_bars(series[2])
    cuts = [(3, 0, 300), (0, 200, 420), (1, 0, 300), (0, 0, 200), (2, 40, 360)]
    return World(tuple(series), tuple(Window(*cut) for cut in cuts))


def make_finer_symbols() -> World:
    """Hours of three symbols by their quarters, the second one's read as wholes."""
    quarters = [make_bars(41 + number, 1400, gaps=0.01, jump=0.04) for number in range(3)]
    series = [make_coarse(bars, 41) for bars in quarters]
    series[1] = replace(series[1], finer=None)
    return World(tuple(series), tuple(Window.whole(bars, k) for k, bars in enumerate(series)))


def make_tiny() -> World:
    """So few bars that kernels are interpreted on them."""
    series = make_bars(1, 72, gaps=0.02, flat=0.05, jump=0.02), make_bars(2, 20, tick=0.25)
    return cover(*(with_columns(bars, 5) for bars in series))


def make_tiny_finer() -> World:
    """Few hours by their quarters."""
    quarters = open_apart(make_bars(2, 160, gaps=0.02, flat=0.05, jump=0.05), 2)
    return cover(with_columns(make_coarse(quarters, 2), 6), make_bars(4, 20, tick=0.25))


def make_tiny_symbols() -> World:
    """The same hours, and others, as symbols of one account."""
    series = (*make_tiny_finer().series, make_bars(5, 40, jump=0.05))
    return World(series, tuple(Window.whole(bars, k) for k, bars in enumerate(series)))


WORLDS: dict[str, Callable[[], World]] = {
    "plain": make_plain,
    "long": lambda: cover(make_bars(6, 2600, gaps=0.002, jump=0.02), late=(700, 2000)),
    "hours": lambda: cover(
        with_columns(make_trading_hours(7, 50), 7), with_columns(make_trading_hours(8, 15), 8)
    ),
    "finer": lambda: cover(
        make_coarse(open_apart(make_bars(9, 2800, gaps=0.01, jump=0.05), 9), 9),
        make_coarse(make_bars(10, 600, tick=0.5)),
    ),
    "symbols": make_symbols,
    "finer_symbols": make_finer_symbols,
    "tiny": make_tiny,
    "tiny_finer": make_tiny_finer,
    "tiny_symbols": make_tiny_symbols,
    "tiny_words": lambda: cover(
        make_bars(11, 120, gaps=0.01, flat=0.02), make_bars(12, 64, tick=0.5), late=(50, 110)
    ),
}


@cache
def make_world(name: str) -> World:
    """Series and windows by name."""
    return WORLDS[name]()


ASKS = {"long": w.close > w.ema(w.close, w.length("span", 9, 3, 30)),
        "short": w.close < w.ema(w.close, w.length("span", 9, 3, 30))}  # fmt: skip
FAR = w.from_entry(w.gene("far", 1.5, 0.3, 4) * w.rma(w.true_range, 9))
MOVE = w.rma(w.true_range, 5)


def plan(summary: str, **parts) -> Strategy:
    """On the side of an average; what parts say in place of it."""
    return w.strategy(summary, **({**ASKS, "stop": FAR} | parts))


CORRECTED = {
    "gone": plan("Is lost before its stop.", stop=w.share(w.gene("stop", 0.2, 0.02, 0.9)),
                 account=w.account(1000, w.equity_share(w.gene("share", 20, 1, 90)))),
    "gone_by_leverage": plan(
        "Is lost by a move, at most so large.", cooldown=2, reverse=True, named_stops=True,
        entry=w.by_side(w.stop_at(w.close + 0.3 * MOVE, 3), None),
        trail=w.trail(w.from_entry(3 * MOVE)),
        account=w.account(1000, w.volatility(w.gene("share", 0.5, 0.01, 2), MOVE), 40)),
    "evenings": plan(
        "Goes by the day that begins in the evening.", cooldown=w.whole("pause", 0, 0, 9),
        session=w.session_exit(930, "America/New_York", begins=1080),
        entry=w.by_side(w.stop_at(w.high, 8), w.limit_at(w.close * 1.001, 8))),
    "paid": plan("Pays as an exchange settles.", funding=w.funding(w.payments("fund")),
                 borrow=w.by_side(None, w.borrow(0.0001, 60)), max_hold=40),
    "paid_by_rate": plan("Pays a rate each quarter of an hour.", funding=w.funding(0.0002, 20),
                         target=w.r_multiple(w.gene("reward", 2, 0.5, 5))),
    "cancelled_by_side": plan(
        "Each side's orders end by themselves.",
        cancel=w.by_side(w.close > w.open, w.volume > w.sma(w.volume, 9)),
        entry=w.by_side(w.stop_at(w.highest(w.high, 5)), w.limit_at(w.close * 1.002))),
    "higher": plan("Reads hours and days.", max_hold=50, short=w.higher(1440, w.close) < w.close,
                   long=w.close > w.ema(w.higher(60, w.close), w.length("span", 9, 3, 30))),
    "sized_together": plan("Several symbols share the cash.", max_hold=w.length("held", 9, 2, 40),
                           account=w.account(1000, w.equity_share(w.gene("share", 0.5, 0.1, 5)))),
}  # fmt: skip
"""By `corrections`: accounts that are lost, evenings, payments, cancels, ends of bars, sizes."""

OWN = {
    "own": plan("Reads an indicator of one's own.", long=efficiency(w.length("way", 9, 2, 40))
                > w.gene("straight", 0.3, 0.05, 0.7), max_hold=20),
    "column": plan("Reads a column.", long=w.column("forecast") > w.gene("least", 0.5, -1, 2),
                   target=w.level(w.close + w.column("forecast") + 2 * MOVE)),
    "many_reasons": plan(
        "Leaves in every way.", target=w.from_entry(w.gene("near", 2, 0.5, 4) * MOVE),
        exit_long=w.in_trade(w.close < w.open, bars_from=w.length("least", 2, 1, 6), profit_to=0.2),
        exit_short=w.in_trade(w.close > w.open, profit_from=-0.5),
        trail=w.by_side(w.trail(w.level(w.lowest(w.low, 5)), 0.5),
                        w.trail(w.level(w.supertrend(5, w.whole("reach", 20, 5, 40))))),
        break_even=w.break_even(0.7, w.share(0.001)), named_stops=True,
        session=w.session_exit(1140), max_hold=w.length("held", 12, 2, 40),
        delay=w.whole("late", 1, 0, 3)),
}  # fmt: skip

NARROW_LIMITS = Costs(risk_fraction=0.05, max_positions=1, rank="zscore(volume, 5)")
WIDE_LIMITS = Costs(risk_fraction=0.1, max_positions=3, max_leverage=4.0, rank="close_location")
DEAR = Costs(fee_bp=20.0, risk_fraction=0.5, min_risk=0.002, entry_delay=1)
SERIES = {"uniusdt_15m": "plain", "btcusdt_1h": "plain", "aapl_1h": "hours", "gbpjpy_1h": "plain",
          "spy_1m": "hours"}  # fmt: skip


def list_examples() -> dict[str, Case]:
    """Strategies of `tests.support.examples`, by the names that a file gives them."""
    found = {key.lower(): value for key, value in vars(examples).items() if key.isupper()}
    long = {"rsi_pullback", "seller_fibonacci", "buyer_exhaustion", "ma_cross"}
    hours = {"vwap_reversion", "opening_range"}
    return {
        name: Case(one, "long" if name in long else "hours" if name in hours else "plain")
        for name, one in found.items()
        if isinstance(one, Strategy)
    }


def list_cases() -> dict[str, Case]:
    """The corpus by name."""
    short = STRATEGIES | SHORT_SPECS
    trends = {name: Case(short[name], "hours") for name in short if "trend" in name}
    cases = list_examples() | {name: Case(one, "plain", DEAR) for name, one in SHORT_SPECS.items()}
    cases |= trends | {
        "forecast_follow": Case(short["forecast_follow"], "hours"),
        "seller_exhaustion_forecast": Case(short["seller_exhaustion_forecast"], "hours"),
        "seller_exhaustion_finer": Case(SHORT_SPECS["seller_exhaustion"], "finer"),
    }
    cases |= {one.name: Case(one, "plain") for one in UNSHIPPED}
    cases |= {
        name: Case(case.strategy, "finer" if case.is_finer else SERIES[case.series], case.costs)
        for name, case in order_cases.CASES.items()
    }
    cases["two_targets"] = Case(order_cases.TWO_TARGETS, "plain")
    for one in (averages.REVERSING, averages.FOLLOWING, averages.WAITING, averages.BOUNDED):
        cases[one.name] = Case(one, "plain")
    worlds = {
        "evenings": "hours",
        "paid": "hours",
        "higher": "symbols",
        "sized_together": "symbols",
    }
    cases |= {name: Case(one, worlds.get(name, "plain")) for name, one in CORRECTED.items()}
    cases |= {name: Case(one, "hours") for name, one in OWN.items()}
    waiting, donchian = averages.WAITING, examples.DONCHIAN_TRAIL
    cases |= {
        "limits_of_one": Case(donchian, "symbols", NARROW_LIMITS),
        "limits_of_leverage": Case(waiting, "symbols", WIDE_LIMITS),
        "limits_of_shares": Case(CORRECTED["sized_together"], "symbols", WIDE_LIMITS),
        "limits_finer": Case(waiting, "finer_symbols", NARROW_LIMITS),
        "many_reasons_finer": Case(OWN["many_reasons"], "finer"),
    }
    for draw, seed in ((drawn_orders, 5), (drawn_exits, 7), (drawn_accounts, 22)):
        cases[f"{draw.__name__}_{seed}"] = Case(draw(seed), "finer" if seed == 7 else "plain")
    cases |= {
        "near": Case(NEAR, "tiny"),
        "ties": Case(TIES, "tiny"),
        "frugal": Case(FRUGAL, "tiny", Costs(fee_unit=0.01, fee_min=1.0)),
        "narrow": Case(NARROW, "tiny_finer"),
        "near_finer": Case(NEAR, "tiny_finer", Costs(entry_delay=1)),
        "near_limits": Case(NEAR, "tiny_symbols", NARROW_LIMITS),
        "drawn_8": Case(drawn_strategy(8), "tiny_words", DEAR),
        "drawn_21": Case(drawn_strategy(21), "tiny_words", DEAR),
    }
    return cases


CASES = list_cases()

TINY = tuple(name for name, case in CASES.items() if case.world.startswith("tiny"))
"""Cases of which kernels are interpreted."""
