"""A statistic as it is recorded, and its sentence: for or against more than luck.

A p belongs to a named test, and an undefined number has its reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from optimizer.evidence.figures import Figure, Number, Why, make_undefined
from optimizer.store.payload import Payload

FOR, AGAINST = "for", "against"
"""Sides of evidence on more than luck; neither is an empty text."""

MOST_DOUBT = 0.05
SMALLEST_CHANCE = 0.001


class Around(NamedTuple):
    """The rest of a judgement, as far as a sentence on one statistic depends on it."""

    tries: int = 1  # how often something was tried on these bars
    evaluated: int = 1  # trials of the search, as far as they are known


class Weighed(NamedTuple):
    """A row of evidence."""

    about: str
    sentence: str
    speaks: str = ""  # ``for`` or ``against`` more than luck, empty for neither


@dataclass(frozen=True, kw_only=True)
class Numbers(Payload):
    """Recorded numbers, and by name why one of them is None."""

    why: Why = field(default_factory=dict)

    def figure(self, name: str) -> Figure:
        """A number of it, or why there is none."""
        value: Number = vars(self)[name]
        why = self.why.get(name) or "unknown"
        return make_undefined(why) if value is None else Figure(value)

    def value(self, name: str) -> float:
        """The same as a number, NaN without one."""
        return self.figure(name).value

    def format(self, name: str, digits: int = 3) -> str:
        """The same in words."""
        figure = self.figure(name)
        if not figure.is_defined:
            return f"undefined ({figure.why})"
        return f"{figure.value:,.0f}" if not digits else shorten(figure.value)

    def format_chance(self, name: str) -> str:
        """A probability of it, which is never quite 0 or 1."""
        value: Number = vars(self)[name]
        if value is None:
            return self.format(name)
        if not SMALLEST_CHANCE <= value <= 1 - SMALLEST_CHANCE:
            return f"below {SMALLEST_CHANCE}" if value < 1 / 2 else f"above {1 - SMALLEST_CHANCE}"
        return f"{value:.3f}"


class Statistic(Numbers):
    """A part of a judgement that speaks for or against more than luck."""

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """Rows of evidence, a sentence each."""
        raise NotImplementedError


def shorten(value: Number) -> str:
    """A number in three digits."""
    return "-" if value is None else f"{value:.3g}"


def choose_side(is_for: bool) -> str:
    """Side of decided evidence."""
    return FOR if is_for else AGAINST
