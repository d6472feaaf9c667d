"""Bars with an aligned column, and a strategy that reads it in every way."""

from dataclasses import replace

import numpy as np

from strategy import words
from tests.support.worlds import make_bars

MOOD = words.column("mood")

MOODY = words.strategy(
    "Buys what is liked, read as it is, as an average, in arithmetic and by a condition.",
    name="moody",
    long=(words.sma(MOOD, words.length("n", 5, 2, 20)) > words.gene("least", 0.0, -0.5, 0.5))
    & words.crosses_above(MOOD - words.lag(MOOD, 1), 0.1),
    short=words.held(MOOD < -0.5, 2),
    exit_long=MOOD < -1.0,
    stop=words.share(0.02),
    target=words.level(words.close * (1 + 0.01 * MOOD)),
    max_hold=12,
)


def moody_bars(seed, length, **changes):
    """Bars of `make_bars` with a column that is not known now and then."""
    bars = make_bars(seed, length, **changes)
    rng = np.random.default_rng(seed)
    mood = np.where(rng.random(length) < 0.1, np.nan, rng.normal(size=length))
    return replace(bars, extra={"mood": mood})
