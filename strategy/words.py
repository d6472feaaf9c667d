"""The words of a strategy's file: ``from strategy.words import *``.

Columns and indicators are numbers at every bar; comparisons of them are conditions; `strategy`
makes a strategy of conditions, a stop and what else it may have.

>>> from strategy.words import close, ema, length, rma, strategy, true_range, beyond_bar
>>> RISING = strategy("Above its average.", long=close > ema(close, length("span", 50, 10, 200)),
...     stop=beyond_bar(2 * rma(true_range, 14)))
>>> RISING.layout.names, RISING.warm_up({"span": 50})
(('span',), 49)
"""

from collections.abc import Callable, Sequence
from inspect import Parameter
from itertools import starmap
from typing import Any

from data.errors import TimeframeError
from data.plain import quote_value
from data.timeframe import SECOND_NS, parse_timeframe
from strategy import composed_words, conditions
from strategy.clock import Offset
from strategy.composed_words import *  # noqa: F403
from strategy.conditions import AllOf, AnyOf, Held, Within
from strategy.errors import StrategyError
from strategy.expressions import Clock, Column, Higher, check_column_name
from strategy.gene_words import *  # noqa: F403
from strategy.indicator_registry import CLOCK, COLUMNS, KINDS
from strategy.language import (
    WORDS,
    Claim,
    Operand,
    Term,
    as_condition,
    as_expression,
    as_setting,
    build_word,
    check_name,
    check_pairs,
    word,
)
from strategy.model import Strategy
from strategy.other_names import suggest_part
from strategy.own_words import indicator as indicator
from strategy.part_words import *  # noqa: F403
from strategy.part_words import read_part, split_arguments
from strategy.parts import PARTS
from strategy.row_words import *  # noqa: F403
from strategy.source_location import here


@word
def column(name: str) -> Term:
    """An extra column that stands beside the bars."""
    check_column_name("column", name)
    return Term(Column(name, is_extra=True))


@word
def higher(minutes: int, x: Term, offset: int = 0) -> Term:
    """A row on bars of so many minutes: at each bar, that of the newest one that has ended."""
    return Term(Higher(minutes, as_expression(x), offset))


def _clock_word(name: str, about: str) -> Callable[..., Term]:
    """The word of a row ruled by the clock: minutes where it takes them, then an offset."""
    taken = {**{minutes.name: Parameter.empty for minutes in CLOCK[name]}, "offset": 0}

    def make(offset: Offset, **minutes: object) -> Term:
        return Term(Clock(name, tuple(map(as_setting, minutes.values())), offset))

    return build_word(name, about, taken, make, Term)


minute_of_day, day_of_week, vwap, opening_high, opening_low = starmap(
    _clock_word,
    {
        "minute_of_day": "Whole minutes since local midnight at a bar's open.",
        "day_of_week": "Monday 0 to Sunday 6, of a bar's open.",
        "vwap": "The session's average price so far, weighted by volume.",
        "opening_high": "The largest high of a session's first minutes, once they are over.",
        "opening_low": "The smallest low of a session's first minutes, once they are over.",
    }.items(),
)


@word
def crosses_above(a: Operand, b: Operand) -> Claim:
    """True where `a` is above `b`, and was not at the bar before."""
    return Claim(conditions.crosses_above(as_expression(a), as_expression(b)))


@word
def crosses_below(a: Operand, b: Operand) -> Claim:
    """True where `a` is below `b`, and was not at the bar before."""
    return Claim(conditions.crosses_below(as_expression(a), as_expression(b)))


@word
def equals(a: Operand, k: Operand) -> Claim:
    """True where both are the same number."""
    return Claim(conditions.equals(as_expression(a), as_expression(k)))


@word
def all_of(*parts: Claim) -> Claim:
    """True where all conditions are."""
    return Claim(AllOf(tuple(as_condition(part, "each part of all_of") for part in parts)))


@word
def any_of(*parts: Claim) -> Claim:
    """True where any condition is."""
    return Claim(AnyOf(tuple(as_condition(part, "each part of any_of") for part in parts)))


@word
def held(c: Claim, n: Operand) -> Claim:
    """True where a condition was true at each of the newest `n` bars."""
    return Claim(Held(as_condition(c, "what is held"), as_setting(n)))


@word
def within(c: Claim, n: Operand) -> Claim:
    """True where a condition was true at any of the newest `n` bars."""
    return Claim(Within(as_condition(c, "what is within"), as_setting(n)))


def _make_strategy(
    summary: str,
    less_than: Sequence[tuple[str, str]],
    timeframe: str | None,
    name: str,
    order: Sequence[str],
    version: int,
    **given: Any,  # noqa: ANN401 - a person gave it
) -> Strategy:
    if not isinstance(summary, str):
        raise StrategyError(
            f"a strategy begins with a sentence about it, got {quote_value(summary)}"
        )
    parts = split_arguments(given)
    return Strategy(
        check_name(name),
        summary,
        **{part: read_part(PARTS[part], value) for part, value in parts.items()},
        less_than=check_pairs(less_than),
        timeframe_s=None if timeframe is None else _seconds(timeframe),
        order=tuple(order),
        version=version,
        place=here(),
    )


_PARTS_GIVEN = {name: part.default for name, part in PARTS.items() if not part.given_by}
_BESIDE = {"less_than": (), "timeframe": None, "name": "", "order": (), "version": 1}

strategy = build_word(
    "strategy",
    """A strategy; see `Strategy` for its arguments.

    `timeframe`, such as "15m", is that of the bars for which lengths were chosen; `name` is that
    of the variable where the strategy is read from a file.
    """,
    {"summary": Parameter.empty, **_PARTS_GIVEN, **_BESIDE},
    _make_strategy,
    Strategy,
    by_name={**_PARTS_GIVEN, **_BESIDE},
    suggest=suggest_part,
)


def _seconds(timeframe: str) -> float:
    try:
        return parse_timeframe(str(timeframe), "timeframe") / SECOND_NS
    except TimeframeError as error:
        raise StrategyError(str(error)) from None


__all__ = [
    *COLUMNS,
    *KINDS,
    *composed_words.__all__,
    *sorted(set(WORDS) - {*KINDS, *composed_words.__all__}),
]
