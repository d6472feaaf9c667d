"""A search held against the same search on null markets: strength, and p with early stop.

Sources: de la Pena, Lai and Shao, "Self-Normalized Processes", 2009, for strength; Phipson and
Smyth, "Permutation p-values should never be zero", SAGMB 9(1), 2010, for p; Besag and Clifford,
"Sequential Monte Carlo p-values", Biometrika 78, 1991, for the early stop.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from data.checks import Floats
from engine.accounts.ledger import Ledger
from optimizer.evidence.figures import Figure, make_undefined

DEFAULT_SEARCHES, DEFAULT_STOP_AFTER = 199, 10


@dataclass(frozen=True)
class Tally:
    """How many null searches did at least as well.

    Args:
        searches: Those that count, in the order of their numbers.
        at_least: Those of them that were at least as good.
        is_stopped: Whether so many were that the rest was left.
    """

    searches: int
    at_least: int
    is_stopped: bool

    @property
    def p(self) -> Fraction:
        """Share of searches at least as good, the one on the real market among them; exact.

        A tally that was stopped has its last search in place of the real one.
        """
        if self.is_stopped:
            return Fraction(self.at_least, self.searches)
        return Fraction(self.at_least + 1, self.searches + 1)


def tally(
    value: float, null_values: Sequence[float], stop_after: int = DEFAULT_STOP_AFTER
) -> Tally:
    """Count null searches that did at least as well, up to the one at which they are enough.

    Args:
        value: Of the real search; more is better. Minus infinity where its front is empty.
        null_values: Of searches 1, 2, ... as far as they are known; NaN is never as good.
        stop_after: Searches at least as good after which the rest does not count.

    >>> tally(2, [1, 3, 1, 2, 0, 5, 1, 1, 1], stop_after=3).p
    Fraction(1, 2)
    """
    at_least = 0
    for place, found in enumerate(null_values):
        at_least += found >= value
        if at_least == stop_after:
            return Tally(place + 1, at_least, is_stopped=True)
    return Tally(len(null_values), at_least, is_stopped=False)


def strength(ledgers: Sequence[Ledger]) -> Figure:
    """Sum of R over the root of the sum of squares, over the windows [W] of one individual.

    Read: its trades lie about so many standard errors above zero; at most the root of the trades.
    """
    return compute_strength([ledger.r for ledger in ledgers])


def compute_strength(parts: Sequence[Floats]) -> Figure:
    """The same of R in windows: each summed in the order of trades, then windows in theirs."""
    return strength_of_sums(*sum_r_and_squares(parts))


def sum_r_and_squares(parts: Sequence[Floats]) -> tuple[float, float]:
    """Sum of R and of its squares, each window's in the order of trades, then windows in theirs."""
    sums = [(_sum(r), _sum(r * r)) for r in parts]
    return _sum(np.array([one for one, _ in sums])), _sum(np.array([two for _, two in sums]))


def strength_of_sums(sum_r: float, sum_r2: float) -> Figure:
    """The same from accumulators.

    >>> strength_of_sums(6.0, 50.0)
    Figure(value=0.848528137423857, why='')
    """
    if not sum_r2 > 0:
        return make_undefined("no trade moved")
    return Figure(sum_r / math.sqrt(sum_r2))


def find_strongest(strengths: Floats, genomes: Floats) -> int | None:
    """The member that every verdict is about: of greatest strength, the first by genome if equal.

    Args:
        strengths: [F]; NaN never wins.
        genomes: [F, G].

    Returns:
        Its place; None of an empty front, and where no member has a strength.
    """
    known = np.flatnonzero(~np.isnan(strengths))
    if not len(known):
        return None
    best = known[strengths[known] == strengths[known].max()]
    return int(min(best, key=lambda place: tuple(genomes[place].tolist())))


def _sum(values: Floats) -> float:
    """Sum of [n] in order, as accumulators do; 0 of none."""
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0
