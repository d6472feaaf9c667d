"""Sets of parameters that the law of the adaptive trend gives check values for."""
# ruff: noqa: F403, F405

from strategy.rules.adaptive_trend import ADAPTIVE_TREND
from strategy.words import *

A = (28, 28, 28, 28, 28, 28, 1, 20, 3, 0, 10, -10, 10, 10, 10, 10, 10, 10)
B = (21, 55, 34, 18, 25, 40, 2, 50, 10, 100, 10, -10, 10, 20, 5, 10, 10, 15)
S = (28, 28, 28, 28, 28, 28, 1, 20, 3, 0, 49, -49, 10, 10, 10, 10, 10, 10)

PARAMETERS = {"A": A, "B": B, "S": S}

SCRIPT = adaptive_trend_script()

STRATEGIES = {
    "A": ADAPTIVE_TREND,
    "B": strategy(
        "Set B.",
        long=crosses_above(adaptive_trend(*B), 0.3),
        exit_long=adaptive_trend(*B) < 0.0,
        stop=beyond_bar(2.0 * atr(20)),
        target=r_multiple(3.0),
        max_hold=60,
    ),
    "S": strategy(
        "Set S.",
        long=crosses_above(SCRIPT, 0.1),
        exit_long=SCRIPT < -0.1,
        stop=beyond_bar(3.0 * atr(14)),
    ),
}
