"""Strategies whose trades are short and hang on the order of what happens within a bar."""

from strategy import words as w

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
