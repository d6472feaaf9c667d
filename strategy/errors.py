"""What can go wrong when a strategy or its genes are described.

StrategyError
├── GeneError        a gene, a bound or a genome is not legal
├── IndicatorError   an indicator was asked for something it cannot compute
└── PlacedError      a mistake in a person's own file, with file and line (`strategy.places`)
"""

from difflib import get_close_matches


class StrategyError(Exception):
    """A strategy is described wrongly; the message says what, where and what to do."""


class GeneError(StrategyError):
    """A gene, a bound or a genome is not legal."""


class IndicatorError(StrategyError):
    """An indicator was asked for something it cannot compute."""


def unknown(kind: str, name: str, known: list[str]) -> str:
    """One line for an error: a name of a kind is unknown, the known ones, the nearest of them."""
    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    return f"{kind} '{name}' is unknown; known: {', '.join(sorted(known))}{hint}"
