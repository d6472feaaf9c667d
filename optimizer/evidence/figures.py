"""A number of evidence, or the reason why it is undefined."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from optimizer.store.payload import OPTIONAL

Number = float | None
"""A figure as it is recorded."""

Why = Annotated[Mapping[str, str], OPTIONAL]
"""Of a record, by name why a number is None."""


@dataclass(frozen=True)
class Figure:
    """A number, or the reason why there is none.

    Comparisons with an undefined `value` are false, so it passes no check.

    Raises:
        ValueError: When an undefined number has no reason, or a defined one has.

    >>> Figure(0.25), make_undefined("no trades")
    (Figure(value=0.25, why=''), Figure(value=nan, why='no trades'))
    """

    value: float  # NaN where undefined; may be infinite
    why: str = ""  # the reason in a few words, empty if defined

    def __post_init__(self) -> None:
        if math.isnan(self.value) != bool(self.why):
            raise ValueError(f"a figure is a number or a reason, got {self.value!r}, {self.why!r}")

    @property
    def is_defined(self) -> bool:
        """True if there is a number."""
        return not self.why

    @property
    def number(self) -> Number:
        """The figure as JSON holds it."""
        return self.value if self.is_defined else None


def make_undefined(why: str) -> Figure:
    """No number, for a reason."""
    return Figure(math.nan, why)


def find_first_reason(*figures: Figure) -> str:
    """Reason of the first undefined figure; empty where all are defined."""
    return next((figure.why for figure in figures if figure.why), "")


def encode_figures(**figures: Figure) -> dict[str, Any]:
    """Figures as fields of a record: their values, and the reasons of those without one."""
    values = {name: figure.number for name, figure in figures.items()}
    return {**values, "why": {name: figure.why for name, figure in figures.items() if figure.why}}
