"""Adaptive trend with a target and a time limit; all else as `adaptive_trend`.

Source: house rule.
"""

from strategy.rules.adaptive_trend import HAS_FALLEN, ORDER, RISES, STOP
from strategy.words import gene, length, r_multiple, strategy

ADAPTIVE_TREND_BRACKET = strategy(
    "Long while the adaptive trend is up, out at a target, after a time, or when it has fallen.",
    long=RISES,
    exit_long=HAS_FALLEN,
    stop=STOP,
    target=r_multiple(gene("reward_r", 3.0, 0.5, 20, "R")),
    max_hold=length("max_hold", 60, 4, 2000),
    name="adaptive_trend_bracket",
    order=ORDER,
)
