"""A search held against the same search on null markets: p, with early stop.

Sources: Phipson and Smyth, "Permutation p-values should never be zero", SAGMB 9(1), 2010, for p;
Besag and Clifford, "Sequential Monte Carlo p-values", Biometrika 78, 1991, for the early stop.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import ClassVar

from engine.workload import GPU_START_S, Workload
from optimizer.evidence.figures import Number
from optimizer.evidence.jobs.estimates import INDIVIDUAL_S, estimate_asking_seconds
from optimizer.evidence.statistic import (
    Around,
    RowSettings,
    Statistic,
    Weighed,
    choose_side,
    shorten,
)
from optimizer.store.payload import Payload

DEFAULT_SEARCHES, DEFAULT_STOP_AFTER = 199, 10
NULL_FLAGS = (f"--null {DEFAULT_SEARCHES}",)

MOST_P, MOST_P_OF_ALL = Fraction(1, 100), Fraction(1, 20)

FEWEST_FOR_TWO = 199
"""Null searches of which one may do as well: p is (1 + 1) / (199 + 1) then, its limit."""


@dataclass(frozen=True)
class Tally:
    """Count of null searches that did at least as well."""

    searches: int  # those that count, in the order of their numbers
    at_least: int  # those of them that were at least as good
    is_stopped: bool  # whether so many were that the rest was left

    @property
    def p(self) -> Fraction:
        """Share of searches at least as good, the one on the real market among them; exact.

        A tally that was stopped has its last search in place of the real one.
        """
        if self.is_stopped:
            return Fraction(self.at_least, self.searches)
        return Fraction(self.at_least + 1, self.searches + 1)


@dataclass(frozen=True)
class Compared(Payload):
    """A number of the run, how many null searches did at least as well, and p."""

    value: Number
    at_least: int
    p: float


@dataclass(frozen=True)
class NullKind(Payload):
    """Null searches on one kind of market."""

    run: int  # how many count
    stopped: bool  # whether so many did as well that the rest was left
    strength: Compared  # of the pick; it alone decides
    objectives: Mapping[str, Compared]  # the best of each over the front
    hypervolume: Compared | None  # of the front; None where it is undefined
    strengths: tuple[Number, ...]  # of each search that counts, None of an empty front

    @property
    def tally(self) -> Tally:
        """Count of them, by strength."""
        return Tally(self.run, self.strength.at_least, self.stopped)

    @property
    def is_too_short(self) -> bool:
        """Whether no outcome of so few searches could have been more than luck."""
        return not self.stopped and Fraction(1, self.run + 1) > MOST_P

    def describe(self) -> str:
        """Strengths of null searches beside the pick's, and p beside its limit."""
        strengths = [-math.inf if value is None else value for value in self.strengths]
        p = self.tally.p
        limit = "at most" if p <= MOST_P else "and more than luck needs at most"
        sentence = (
            f"Their strength: median {shorten(median(strengths))}, greatest "
            f"{shorten(max(strengths))}; here {shorten(self.strength.value)}. "
            f"{self.strength.at_least} of {self.run} reached it: "
            f"p = {format_p(p)}, {limit} {float(MOST_P):g}"
        )
        if self.stopped:
            sentence += "; the rest was left"
        elif self.is_too_short:
            sentence += "; so few searches cannot show it"
        elif self.run < FEWEST_FOR_TWO:
            sentence += f"; with {self.run} searches a single one decides"
        return f"{sentence}."


@dataclass(frozen=True)
class NullRecord(Statistic):
    """The same search on markets without an edge; ``mirrored`` where shuffled ones say no luck."""

    planned: int
    keep: str
    shuffled: NullKind
    mirrored: NullKind | None = None
    stop_after: int = DEFAULT_STOP_AFTER  # as in `EvidenceSettings`

    @property
    def kinds(self) -> Mapping[str, NullKind]:
        """Kinds that were made, by name."""
        kinds = {"shuffled": self.shuffled, "mirrored": self.mirrored}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    @property
    def p(self) -> Fraction:
        """The greater p, which decides."""
        return max(kind.tally.p for kind in self.kinds.values())

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """Each kind of market, as the verdict takes it."""
        for name, kind in self.kinds.items():
            is_open = kind.is_too_short and not kind.strength.at_least
            side = "" if is_open else choose_side(kind.tally.p <= MOST_P)
            yield Weighed(f"{name} bars", kind.describe(), side)

    def states(self, keep: str, kind: str, count: int) -> bool:
        """Whether it follows from so many searches on a kind of bars with a rhythm."""
        made = self.kinds.get(kind)
        # Whether mirrored bars count is decided by what was found on shuffled ones.
        return self.keep == keep and (made is None or made.stopped or made.run >= count)


@dataclass(frozen=True)
class NullMarketSettings:
    """Settings of rows on null markets, beside those of their question."""

    place: ClassVar[str] = " on {kind} bars"
    also: ClassVar[tuple[str, ...]] = NULL_FLAGS

    null_keep: str  # rhythm that shuffled bars keep
    kind: str


@dataclass(frozen=True)
class NullSettings(NullMarketSettings, RowSettings[NullRecord]):
    """Settings that decide null searches."""

    what: ClassVar[str] = "settings of null searches"
    question: ClassVar[str] = "null"
    part: ClassVar[str] = "null"
    noun: ClassVar[str] = "search"

    def is_stated(self, recorded: NullRecord, count: int) -> bool:
        """As of `RowSettings`."""
        return recorded.states(self.null_keep, self.kind, count)


def format_p(p: Fraction) -> str:
    """Three digits of a p, more where they would be the limit that it is above.

    >>> format_p(Fraction(3, 200)), format_p(Fraction(10, 997))
    ('0.015', '0.0100301')
    """
    words = f"{float(p):.3g}"
    return f"{float(p):.6g}" if p > MOST_P >= Fraction(words) else words


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
    for index, strength in enumerate(null_values):
        at_least += strength >= value
        if at_least == stop_after:
            return Tally(index + 1, at_least, is_stopped=True)
    return Tally(len(null_values), at_least, is_stopped=False)


def estimate_null_seconds(
    work: Workload, individuals: int, generations: int, cores: int, device: str
) -> float:
    """Seconds that both kinds of null searches take, about, if none is stopped.

    A core makes one from beginning to end; or all ask a GPU, where there is one and that is done
    sooner. Rows of each market are computed anew. `work` is that of the run's search, of
    so many individuals and generations.
    """
    searches = 2 * DEFAULT_SEARCHES
    one_s = work._replace(threads=1).cpu_s + INDIVIDUAL_S * individuals
    on_cores_s = searches * one_s / cores
    if device == "cpu":
        return on_cores_s
    on_gpu_s = estimate_asking_seconds(work, individuals, generations, cores)
    return min(on_cores_s, GPU_START_S + searches * on_gpu_s)
