"""The power: how large an edge on bars like these the same search would find.

Into shuffled copies of the bars an edge is planted at the signals of a random candidate, and each
is searched. One counts as found where the bet of its strength against null searches of the bars
without a planted edge is won.

What shows an edge is its strength: a mean R that is small beside the deviation of R, or is earned
seldom, is found seldom. So the share found is a curve over the strength of edges.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from optimizer.evidence.betting import DEFAULT_SEARCHES, tally
from optimizer.evidence.null import NullSearch
from optimizer.evidence.out_of_sample import FEWEST_TRADES
from optimizer.evidence.statistic import Around, Statistic, Weighed
from optimizer.store.payload import Payload

SURE, WANTED, BLIND = 0.9, 0.8, 0.1
"""Shares of markets found: no larger edge is tried; the edge that is named; nothing is seen."""


CRITICAL, SPREADS = np.arange(0.0, 12.0, 0.05), np.arange(0.3, 2.0, 0.05)
"""Critical strengths and spreads that are tried."""


@dataclass(frozen=True)
class PlantedSearch(NullSearch):
    """Outcome of a search on a market with a planted edge."""

    edge_trades: int = 0  # of the candidate with these signals
    edge_strength: float = 0.0  # theirs, without chance

    def is_found(self, nulls: Sequence[float]) -> bool:
        """True if it is more than luck beside strengths of null searches, in their order."""
        is_enough = self.trades >= FEWEST_TRADES
        return is_enough and tally(self.value, nulls, DEFAULT_SEARCHES).is_more


@dataclass(frozen=True)
class PowerRow(Payload):
    """Markets with an edge of one mean R, and how many were found."""

    edge: float  # of a trade of the candidate with these signals
    strength: float  # of these edges, their mean
    markets: int
    found: int


@dataclass(frozen=True)
class PowerRecord(Statistic):
    """Edges that a search would find on its bars."""

    search: str  # its size in words, such as ``512 x 100``
    nulls: int  # null searches that planted markets were held against
    keep: str  # rhythm that shuffled bars kept
    trades_per_year: float  # of the candidates, in the middle
    critical: float  # strength of an edge that is found in half of the markets
    spread: float  # of the strengths from which on single edges are found
    rows: tuple[PowerRow, ...]  # by edge

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The sentence, which speaks for neither side."""
        yield Weighed("power", self.describe())

    def describe(self) -> str:
        """Sentence on the edge that would be found, and below which nothing would."""
        begin = f"With these bars, this strategy and {self.search}"
        largest = self.rows[-1]
        often = f"R a trade, {self.trades_per_year:.0f} trades a year,"
        if self.find_rate(largest.strength) < BLIND:
            return f"{begin} no edge up to {largest.edge:.2f} {often} would be found: it is blind."
        wanted = min(self.find_strength(WANTED), largest.strength)
        share, edge = self.find_rate(wanted), self.find_edge(wanted)
        blind = self.find_edge(self.find_strength(BLIND))
        return (
            f"{begin} an edge of {edge:.2f} {often} would be found in {10 * share:.0f} of 10 "
            f"cases; below {blind:.2f} R this search is blind."
        )

    def find_edge(self, strength: float) -> float:
        """Mean R a trade of candidates with a strength, between those measured by lines."""
        known = [(0.0, 0.0), *((row.strength, row.edge) for row in self.rows)]
        strengths, edges = zip(*known, strict=True)
        return float(np.interp(strength, strengths, edges))

    def find_rate(self, strength: float) -> float:
        """Share of edges with a strength that are found."""
        return 1 / (1 + math.exp((self.critical - strength) / self.spread))

    def find_strength(self, share: float) -> float:
        """Strength at which a share of edges is found."""
        return self.critical + self.spread * math.log(share / (1 - share))


def count_found(edge: float, searches: Sequence[PlantedSearch], nulls: Sequence[float]) -> PowerRow:
    """Searches of one edge beside strengths of null searches."""
    strength = fmean(search.edge_strength for search in searches)
    found = sum(search.is_found(nulls) for search in searches)
    return PowerRow(edge, strength, len(searches), found)


def fit_curve(searches: Sequence[PlantedSearch], nulls: Sequence[float]) -> tuple[float, float]:
    """Critical strength and spread of the likeliest logistic curve through the findings.

    Chance spreads strengths, so no curve is steeper than the least spread.
    """
    strengths = np.array([search.edge_strength for search in searches])
    signs = np.array([1.0 if search.is_found(nulls) else -1.0 for search in searches])
    critical, spread = np.meshgrid(CRITICAL, SPREADS)
    distance = (strengths - critical[..., None]) / spread[..., None]
    likeliest = np.logaddexp(0.0, -signs * distance).sum(axis=-1).argmin()
    return float(critical.flat[likeliest]), float(spread.flat[likeliest])
