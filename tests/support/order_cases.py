"""Strategies of the law's check values of orders, ladders and money, each with series and costs."""

from typing import NamedTuple

from engine.accounts.costs import Costs
from strategy import words as w
from strategy.model import Strategy


class OrderCase(NamedTuple):
    """A strategy of the law."""

    series: str  # file of the real series, without its ending
    strategy: Strategy
    costs: Costs
    is_finer: bool = False  # whether its bars are hours made of the series, and read by it


def far(default, low=0.2, high=6.0):
    """How far a stop lies, in ranges or as a share."""
    return w.gene("far", default, low, high)


A14 = w.rma(w.true_range, w.length("range", 14, 4, 30))
A20 = w.rma(w.true_range, w.length("swing", 20, 4, 40))
CHANNEL, TREND = w.length("channel", 20, 3, 40), w.length("trend", 100, 10, 200)
HIGHEST, LOWEST = w.highest(w.high, CHANNEL), w.lowest(w.low, CHANNEL)
UP, DOWN = w.close > w.ema(w.close, TREND), w.close < w.ema(w.close, TREND)
CALM = w.gene("calm", 0.8, 0.6, 1.4)
QUIET = w.rma(w.true_range, 5) < CALM * w.rma(w.true_range, 50)
FAST = w.ema(w.close, w.length("fast", 10, 2, 14))
SLOW = w.ema(w.close, w.length("slow", 30, 15, 60))
ABOVE, BELOW = w.crosses_above(FAST, SLOW), w.crosses_below(FAST, SLOW)
QUICK = w.dema(w.close, w.length("quick", 10, 2, 20))
LATE = w.dema(w.close, w.length("late", 40, 21, 60))
OVER, UNDER = w.crosses_above(QUICK, LATE), w.crosses_below(QUICK, LATE)
STRENGTH = w.rsi(w.close, w.length("strength", 7, 2, 14))
WEAK = w.crosses_above(STRENGTH, w.gene("weak", 30, 20, 50))
STRONG = w.crosses_below(STRENGTH, w.gene("strong", 70, 50, 80))
HALF = [(w.r_multiple(w.gene("first", 1, 0.3, 2)), 0.5), (w.r_multiple(3), 0.5)]


def build_cases():
    """The cases by their names."""
    cases = {}

    def case(name, series, costs=None, *, is_finer=False, **parts):
        cases[name] = OrderCase(series, w.strategy("Of the law.", name=name, **parts),
                                costs or Costs(), is_finer)  # fmt: skip

    case("straddle", "uniusdt_15m", long=QUIET, short=QUIET,
         entry=w.by_side(w.stop_at(HIGHEST, 5), w.stop_at(LOWEST, 5)),
         stop=w.from_entry(far(1.5) * A14), target=w.r_multiple(2), max_hold=32)  # fmt: skip
    case("pullback_limit", "btcusdt_1h", long=UP & WEAK, cancel=DOWN,
         entry=w.limit_at(w.close - 0.5 * A14, 3), stop=w.beyond_bar(far(1.5) * A14),
         target=w.r_multiple(1), max_hold=12)  # fmt: skip
    case("channel_reverse", "gbpjpy_1h", long=w.close > 0, short=w.close > 0, reverse=True,
         market=w.market(tick="0.001"), slippage=w.ticks(2), stop=w.share(far(0.02, 0.002, 0.1)),
         entry=w.by_side(w.stop_at(HIGHEST, 1), w.stop_at(LOWEST, 1)))  # fmt: skip
    case("limit_reverse", "aapl_1h", long=ABOVE, short=BELOW, reverse=True,
         stop=w.share(far(0.02, 0.002, 0.1)),
         market=w.market(tick="0.01"), slippage=w.bp(3), trail=w.trail(w.share(0.03), 1),
         entry=w.by_side(w.limit_at(w.close * 0.995), w.limit_at(w.close * 1.005)))  # fmt: skip
    case("ladder", "uniusdt_15m", long=UP & WEAK, short=DOWN & STRONG,
         stop=w.beyond_bar(far(1) * A14), targets=HALF, break_even=w.after_leg(1),
         max_hold=96)  # fmt: skip
    three = w.from_entry(3 * A14)
    case("ladder_rest", "spy_1m", long=ABOVE, short=BELOW, stop=w.from_entry(far(2) * A14),
         targets=w.by_side([(w.share(0.001), 0.4), (w.r_multiple(0.5), 0.3)], [(three, 0.25)]),
         market=w.market(tick="0.01"), trail=w.trail(three, 1),
         session=w.session_exit(1190))  # fmt: skip
    case("slip_row", "btcusdt_1h", long=ABOVE, short=BELOW, exit_long=BELOW, exit_short=ABOVE,
         slippage=w.by_side(w.price(0.1 * A14), w.bp(4)), market=w.market(tick="0.01"),
         stop=w.share(far(0.03, 0.002, 0.1)), target=w.r_multiple(4))  # fmt: skip
    case("lots", "aapl_1h", Costs(fee_unit=0.005, fee_min=1.0), long=UP & ABOVE,
         stop=w.from_entry(far(2) * A14), target=w.r_multiple(3),
         market=w.market(tick="0.01", lot="1"),
         account=w.account(20000, w.risk(0.01), 2))  # fmt: skip
    rate = 0.01 * ((w.close - w.sma(w.close, 96)) / w.close)
    case("carry", "uniusdt_15m", long=ABOVE, short=BELOW, reverse=True,
         stop=w.share(far(0.05, 0.002, 0.1)),
         funding=w.funding(rate, 480), borrow=w.by_side(None, w.borrow(0.00002, 60)),
         account=w.account(1000, w.equity_share(1)))  # fmt: skip
    case("by_volatility", "btcusdt_1h", long=ABOVE, short=BELOW, reverse=True,
         stop=w.from_entry(far(3) * A20), market=w.market(multiplier=0.01, lot="1"),
         targets=[(w.r_multiple(multiple), 1 / 3) for multiple in (2, 4, 8)],
         account=w.account(100000, w.volatility(0.005, A20), 3))  # fmt: skip
    case("finer", "uniusdt_15m", long=QUIET, short=QUIET, reverse=True, is_finer=True,
         entry=w.by_side(w.stop_at(HIGHEST, 8), w.stop_at(LOWEST, 8)), targets=HALF,
         stop=w.from_entry(far(0.5) * A14), break_even=w.after_leg(1),
         trail=w.trail(w.from_entry(2 * A14)))  # fmt: skip
    case("dema_cross", "btcusdt_1h", long=OVER, short=UNDER, exit_long=UNDER, exit_short=OVER,
         stop=w.share(far(0.05, 0.002, 0.1)))  # fmt: skip
    return cases


CASES = build_cases()

TWO_TARGETS = w.strategy(
    "Two targets above, one below, sized by an account.",
    name="two targets",
    long=w.close > w.ema(w.close, 50),
    short=w.close < w.ema(w.close, 50),
    entry=w.by_side(w.stop_at(w.highest(w.high, 10), 4), w.limit_at(w.close * 1.001, 4)),
    reverse=True,
    stop=w.from_entry(2 * A14),
    targets=w.by_side(
        [(w.r_multiple(0.5), 0.5), (w.r_multiple(1), 0.25)], [(w.r_multiple(1), 0.4)]
    ),
    market=w.market(tick="0.01", multiplier=10),
    funding=w.funding(0.001, 480),
    borrow=w.by_side(None, w.borrow(0.0001, 60)),
    account=w.account(10_000, w.risk(0.01), leverage=0.3),
)
"""All that adds columns to trades, on any series."""
