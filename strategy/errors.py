"""Errors of describing a strategy or its genes.

StrategyError
├── GeneError        a gene, a bound or a genome is not legal
├── IndicatorError   an indicator was asked for something it cannot compute
└── PlacedError      a mistake in a person's own file, with its line (`strategy.source_location`)
"""

from data.errors import near_match

MOST_QUOTED = 60
"""Characters of a value that a message quotes; of a longer one it names the type."""


class StrategyError(Exception):
    """A strategy is described wrongly; the message names the fault, its place and the remedy."""


class GeneError(StrategyError):
    """A gene, a bound or a genome is not legal."""


class IndicatorError(StrategyError):
    """An indicator was asked for something it cannot compute."""


def unknown(kind: str, name: str, known: list[str]) -> str:
    """One line for an error: a name of a kind is unknown, the known ones, the nearest of them."""
    listed = ", ".join(sorted(known))
    return f"{kind} '{name}' is unknown; known: {listed}{near_match(name, known)}"


def quote_value(value: object) -> str:
    """A value as a message quotes it, in one line: what is long or has no short form by its type.

    What a word made is quoted as it is written, without its arguments.

    >>> quote_value("5"), quote_value(max), quote_value([0] * 99)
    ("'5'", 'a function', 'a list')
    """
    if callable(value):
        return "a function"
    word = getattr(value, "written", "")
    if word and isinstance(word, str):
        return f"{word}(...)"
    text = repr(value)
    is_plain = len(text) <= MOST_QUOTED and "\n" not in text and not text.startswith("<")
    return text if is_plain else f"a {type(value).__name__}"


def in_one_line(error: BaseException) -> str:
    """An exception of a person's own code in one line: its kind, and its message if it has any."""
    message = " ".join(str(error).split())
    if isinstance(error, StrategyError):
        return message
    kind = type(error).__name__
    return f"{kind}: {message}" if message else kind
