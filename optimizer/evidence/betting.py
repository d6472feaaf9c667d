"""A bet on the order of null searches: p that may be looked at at any time.

Sources: Besag and Clifford, "Sequential Monte Carlo p-values", Biometrika 78, 1991, for the rank of
the real search; Fischer and Ramdas, "Sequential Monte-Carlo testing by betting", 2024, for the bet.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_SEARCHES, FURTHER_SEARCHES = 299, 999

ENOUGH = 100.0
"""Wealth of a bet that starts with 1, from which on a search is more than luck."""

MOST_P = 1 / ENOUGH

BET = 0.0025
"""Share of null searches that do as well, on which the bet is placed."""

FEWEST_SEARCHES = 142
"""Null searches, none of which does as well, after which the wealth is enough."""


@dataclass(frozen=True)
class Tally:
    """Count of null searches that did at least as well, and the bet on their order."""

    searches: int  # counted ones, in the order of their numbers
    at_least: int  # those of them that were at least as good
    best: float = 1.0  # the greatest wealth so far
    is_stopped: bool = False  # whether the rest, of those planned, could change nothing

    @property
    def p(self) -> float:
        """Chance of so great a wealth without an edge, whenever one looks: 1 / `best`."""
        return 1 / self.best

    @property
    def wealth(self) -> float:
        """Wealth now, an e-value."""
        return compute_wealth(self.searches, self.at_least)

    @property
    def is_more(self) -> bool:
        """True if it is more than luck."""
        return self.best >= ENOUGH

    @property
    def is_luck(self) -> bool:
        """True if the planned searches can no longer show more than luck."""
        return self.is_stopped and not self.is_more


def format_p(p: float) -> str:
    """Three digits of a p, more where they would round to the limit below it.

    >>> format_p(0.015), format_p(10 / 997)
    ('0.015', '0.0100301')
    """
    words = f"{p:.3g}"
    return f"{p:.6g}" if p > MOST_P >= float(words) else words


def compute_wealth(searches: int, at_least: int) -> float:
    """Wealth of a bet, which begins with 1, after null searches, some of them as good.

    Without an edge the rank of the real search is uniform, and each bet is fair: the wealth is an
    e-value, at any time of stopping.

    >>> [round(compute_wealth(*seen), 6) for seen in ((0, 0), (1, 1), (142, 0), (299, 1))]
    [1.0, 0.005, 100.223244, 106.359907]
    """
    return math.exp(
        _sum_logs(searches + 1) - _sum_logs(at_least) - _sum_logs(searches - at_least)
        + at_least * math.log(BET) + (searches - at_least) * math.log1p(-BET)
    )  # fmt: skip


def _sum_logs(count: int) -> float:
    """Logarithm of a factorial, summed in order."""
    while len(_LOGS) <= count:
        _LOGS.append(_LOGS[-1] + math.log(len(_LOGS)))
    return _LOGS[count]


_LOGS = [0.0]


def count_needed(at_least: int, enough: float = ENOUGH) -> int:
    """Number of null searches with enough wealth, at most 140, if so many of them did as well.

    >>> [count_needed(at_least) for at_least in range(3)], count_needed(0, 20)
    ([142, 285, 469], 21)
    """
    needed = _NEEDED.setdefault(enough, [])
    while len(needed) <= at_least:
        searches = needed[-1] if needed else 0
        while compute_wealth(searches, len(needed)) < enough:
            searches += 1
        needed.append(searches)
    return needed[at_least]


_NEEDED: dict[float, list[int]] = {}


def tally(value: float, null_values: Sequence[float], planned: int | None = None) -> Tally:
    """Count null searches that did at least as well, up to the deciding one.

    Args:
        value: Of the real search; more is better. Minus infinity where its front is empty.
        null_values: Of searches 1, 2, ... as far as they are known; NaN is never as good.
        planned: Searches in all; `DEFAULT_SEARCHES` where fewer than `FEWEST_SEARCHES` are planned,
            which could not show anything. None where nothing is left out.

    >>> tally(2, [1, 3, 1, 2, 0, 5, 1, 1, 1], planned=299).searches
    4
    """
    at_least, best = 0, 1.0
    if planned is not None and planned < FEWEST_SEARCHES:
        planned = DEFAULT_SEARCHES
    for index, strength in enumerate(null_values):
        at_least += strength >= value
        best = max(best, compute_wealth(index + 1, at_least))
        if planned is None:
            continue
        if best >= ENOUGH or count_needed(at_least) > planned:
            return Tally(index + 1, at_least, best, is_stopped=True)
    return Tally(len(null_values), at_least, best)
