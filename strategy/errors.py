"""Errors of describing a strategy or its genes.

StrategyError
├── ArgumentError    a word is given an argument that it does not take
├── GeneError        a gene, a bound or a genome is not legal
├── IndicatorError   an indicator cannot compute a request
└── PlacedError      a mistake in a person's own file, with its line (`strategy.source_location`)
"""

from collections.abc import Sequence

from data.errors import near_match


class StrategyError(Exception):
    """A strategy is described wrongly; the message names the fault, its place and the remedy."""

    exit_code = 2


class ArgumentError(StrategyError):
    """A word is given an argument that it does not take."""

    def __init__(self, message: str, strange: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.strange = tuple(strange)


class GeneError(StrategyError):
    """A gene, a bound or a genome is not legal."""


class IndicatorError(StrategyError):
    """An indicator cannot compute a request."""


def unknown(kind: str, name: str, known: list[str]) -> str:
    """One line for an error: a name of a kind is unknown, the known ones, the nearest of them."""
    listed = ", ".join(sorted(known))
    return f"{kind} '{name}' is unknown; known: {listed}{near_match(name, known)}"


def in_one_line(error: BaseException) -> str:
    """An exception of a person's own code in one line: its kind, and its message if it has any."""
    message = " ".join(str(error).split())
    if isinstance(error, StrategyError):
        return message
    kind = type(error).__name__
    return f"{kind}: {message}" if message else kind
