"""Strategies that trade often, above or below an average."""
# ruff: noqa: F403, F405

from strategy.words import *

FAST, SLOW = ema(close, length("fast", 4, 2, 10)), ema(close, length("slow", 12, 5, 30))

REVERSING = strategy(
    "Always on one side of an average.",
    long=FAST > SLOW,
    short=FAST < SLOW,
    exit_long=FAST < SLOW,
    exit_short=FAST > SLOW,
    stop=share(gene("stop", 0.03, 0.01, 0.2)),
    trail=trail(share(gene("behind", 0.02, 0.01, 0.2))),
    less_than=[("fast", "slow")],
    name="reversing",
)
FOLLOWING = strategy(
    "Long above an average, with levels from the entry, a trailing stop, and a limit of time.",
    long=FAST > SLOW,
    stop=from_entry(2.0 * atr(5)),
    target=from_entry(4.0 * atr(5)),
    trail=trail(from_entry(1.5 * atr(5)), after=0.5),
    break_even=1.0,
    max_hold=11,
    less_than=[("fast", "slow")],
    name="following",
)
WAITING = strategy(
    "Both sides, with a stop that follows a row and goes beyond the entry, and pauses.",
    long=FAST > SLOW,
    short=FAST < SLOW,
    stop=from_entry(1.2 * atr(5)),
    trail=trail(level(ema(close, 5)), 0.5),
    break_even=break_even(0.5, r_multiple(0.2)),
    cooldown=4,
    named_stops=True,
    less_than=[("fast", "slow")],
    name="waiting",
)
BOUNDED = strategy(
    "Both sides, left by a condition that knows the position.",
    long=FAST > SLOW,
    short=FAST < SLOW,
    exit_long=in_trade(FAST < SLOW, profit_to=0.5),
    exit_short=in_trade(FAST > SLOW, bars_from=3),
    stop=from_entry(1.5 * atr(5)),
    cooldown=2,
    less_than=[("fast", "slow")],
    name="bounded",
)
