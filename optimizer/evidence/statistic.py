"""A statistic as it is recorded, and its sentence: for or against more than luck.

A p belongs to a named test, and an undefined number has its reason.
"""

from collections.abc import Iterator
from typing import ClassVar, Generic, NamedTuple, TypeVar

from optimizer.evidence.figures import Number
from optimizer.formatting import format_count
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


class Numbers(Payload):
    """Recorded numbers, and in ``why`` by name why one of them is None."""

    def format(self, name: str, digits: int = 3) -> str:
        """A number of it, or why there is none."""
        fields = vars(self)
        value: Number = fields[name]
        if value is None:
            return f"undefined ({fields['why'].get(name, 'unknown')})"
        return f"{value:,.0f}" if not digits else shorten(value)

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


Recorded = TypeVar("Recorded", bound=Statistic)


class RowSettings(Payload, Generic[Recorded]):
    """Settings that decide the rows of evidence that a question leaves, one for each search.

    Fields are knobs of the judgement, but for ``kind``, that of a null market.
    """

    question: ClassVar[str]  # name of its rows
    part: ClassVar[str]  # of a judgement, which states them
    noun: ClassVar[str]  # of a row
    place: ClassVar[str] = ""  # of its search, with fields in braces
    also: ClassVar[tuple[str, ...]] = ()  # flags of the judge beside the fields

    @property
    def flags(self) -> str:
        """Flags of the judge that goes on with its rows."""
        given = {name: value for name, value in vars(self).items() if value is not False}
        given.pop("kind", None)
        knobs = [
            f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
            for name, value in given.items()
        ]
        return " ".join((*knobs, *self.also))

    def describe(self, count: int) -> str:
        """So many rows, in words."""
        return format_count(count, self.noun) + self.place.format_map(vars(self))

    def is_stated(self, recorded: Recorded, count: int) -> bool:
        """True if the part of a judgement follows from so many rows of these settings."""
        raise NotImplementedError


def shorten(value: Number) -> str:
    """A number in three digits."""
    return "-" if value is None else f"{value:.3g}"


def choose_side(is_for: bool) -> str:
    """Side of decided evidence."""
    return FOR if is_for else AGAINST
