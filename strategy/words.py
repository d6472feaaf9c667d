"""The words of a strategy's file: ``from strategy.words import *``.

Columns and indicators are numbers at every bar; comparisons of them are conditions; `strategy`
makes a strategy of conditions, a stop and what else it may have.

>>> from strategy.words import close, ema, length, rma, strategy, true_range, beyond_bar
>>> RISING = strategy("Above its average.", long=close > ema(close, length("span", 50, 10, 200)),
...     stop=beyond_bar(2 * rma(true_range, 14)))
>>> RISING.layout.names, RISING.warm_up({"span": 50})
(('span',), 49)
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import starmap
from typing import Any, ClassVar

from data.errors import TimeframeError
from data.plain import quote_value
from data.timeframe import SECOND_NS, parse_timeframe
from strategy import conditions, forms
from strategy.clock import Offset
from strategy.conditions import AllOf, AnyOf, Condition, Held, Switch, Within
from strategy.errors import StrategyError
from strategy.expressions import (
    Choose,
    Clock,
    Column,
    Expression,
    GeneValue,
    Higher,
    Number,
    Setting,
    check_column_name,
    holds_row,
)
from strategy.gene import Gene, write_gene_name
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
from strategy.nodes import Node
from strategy.nodes import Parameter as Legal
from strategy.other_names import suggest_part
from strategy.own_words import indicator as indicator
from strategy.parts import PARTS, Part
from strategy.pretty_print import format_tree
from strategy.row_words import *  # noqa: F403  # noqa: F403
from strategy.row_words import COMPOSED
from strategy.source_location import here, locate_errors

OFF_ON = ("off", "on")
"""Options of a switch."""


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
    """The word of a row ruled by the clock: minutes, if it has any, then an offset."""
    taken = {**{minutes.name: inspect.Parameter.empty for minutes in CLOCK[name]}, "offset": 0}

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


def _pair_word(build: Callable[..., Condition]) -> Callable[..., Claim]:
    """The word of a condition of two rows."""

    def make(**sides: object) -> Claim:
        return Claim(build(*map(as_expression, sides.values())))

    taken = dict.fromkeys(inspect.signature(build).parameters, inspect.Parameter.empty)
    return build_word(build.__name__, str(build.__doc__), taken, make, Claim)


crosses_above, crosses_below, equals = map(
    _pair_word, (conditions.crosses_above, conditions.crosses_below, conditions.equals)
)


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


@word
def gene(
    name: str,
    default: float | None = None,
    low: float | None = None,
    high: float | None = None,
    unit: str = "1",
    step: float | None = None,
) -> Term:
    """A real number that a search may change, from `low` to `high`, optionally in steps."""
    return _make_number(name, "float", default, low, high, unit, step)


@word
def length(
    name: str, default: int | None = None, low: int | None = None, high: int | None = None
) -> Term:
    """A whole number of bars that a search may change."""
    return _make_number(name, "int", default, low, high, "bars")


@word
def whole(
    name: str,
    default: int | None = None,
    low: int | None = None,
    high: int | None = None,
    unit: str = "1",
) -> Term:
    """Another whole number that a search may change."""
    return _make_number(name, "int", default, low, high, unit)


class ChosenIndicator:
    """One of several indicators by a gene: called as each of them is, it is a row."""

    def __init__(self, gene: GeneValue, options: Sequence[Callable[..., object]]) -> None:
        self._gene, self._options = gene, tuple(options)
        self.__name__, self.__signature__ = gene.gene.name, inspect.signature(options[0])

    @locate_errors
    def __call__(self, *args: Operand, **kwargs: Operand) -> Term:
        """The row of these arguments."""
        rows = tuple(as_expression(option(*args, **kwargs)) for option in self._options)
        return Term(Choose(self._gene, rows))


@word
def choice(name: str, *options: Any, default: str | None = None) -> Any:  # noqa: ANN401 - of either kind
    """One of several rows, or of several indicators, that a search may choose.

    Args:
        name: Of the gene, whose values are the options by their names.
        options: Rows, each named as it is written; or indicators that take the same, words,
            indicators of one's own, or functions of rows, each named as it is called.
        default: Name of an option; the first of them where it is left out.

    Returns:
        A row; or of indicators what is called as they are.
    """
    rows = [option for option in options if isinstance(option, Term) and holds_row(option.tree)]
    calls = [option for option in options if callable(option) and hasattr(option, "__name__")]
    if len(options) < 2 or len(options) not in (len(rows), len(calls)):
        raise StrategyError(
            f"choice({quote_value(name)}, ...) takes two options or more, all of them rows, such "
            "as close, or all of them indicators without brackets, such as sma"
        )
    if rows:
        trees: list[Expression] = [row.tree for row in rows]
        value = _make_options(name, [format_tree(tree) for tree in trees], default)
        return Term(Choose(value, tuple(trees)))
    _check_parameters(name, calls)
    return ChosenIndicator(_make_options(name, [call.__name__ for call in calls], default), calls)


@word
def switch(name: str, condition: Claim, default: bool = True) -> Claim:
    """A condition that a search may leave out, as if it had not been written."""
    if not isinstance(default, bool):
        raise StrategyError(f"switch: default is True or False, got {quote_value(default)}")
    value = _make_options(name, OFF_ON, OFF_ON[default])
    return Claim(Switch(value, as_condition(condition, "what is switched")))


def _check_parameters(name: str, calls: Sequence[Callable[..., object]]) -> None:
    """Refuse indicators with different parameters."""
    taken = [", ".join(inspect.signature(call).parameters) for call in calls]
    for call, parameters in zip(calls, taken, strict=True):
        if parameters != taken[0]:
            raise StrategyError(
                f"choice('{name}', ...): {calls[0].__name__} takes ({taken[0]}), "
                f"{call.__name__} takes ({parameters}); options of a choice take the same"
            )


def _make_options(name: str, options: Sequence[str], default: str | None) -> GeneValue:
    name = _read_name(name)
    names = tuple(options)
    if default is not None and default not in names:
        raise StrategyError(
            f"choice('{name}', ...): default is the name of an option, {', '.join(names)}, "
            f"got {quote_value(default)}"
        )
    number = 0 if default is None else names.index(default)
    return GeneValue(Gene(name, "int", 0, len(names) - 1, number, options=names), here())


def _make_number(
    name: str,
    kind: Any,  # noqa: ANN401 - one of two words
    default: float | None,
    low: float | None,
    high: float | None,
    unit: str,
    step: float | None = None,
) -> Term:
    name = _read_name(name)
    if default is None or low is None or high is None:
        raise StrategyError(
            f"gene '{name}' needs a default and bounds: name, default, low, high, "
            f"as in gene('{name}', 2, 0.5, 4)"
        )
    return Term(GeneValue(Gene(name, kind, low, high, default, unit, step=step), here()))


def _read_name(name: object) -> str:
    """Name of a gene in records, such as fast_length of "Fast Length"."""
    if isinstance(name, str) and (written := write_gene_name(name)).isidentifier():
        return written
    raise StrategyError(
        f"a gene's name begins with a letter, such as 'stop_mult', got {quote_value(name)}"
    )


def as_optional(value: object) -> Setting | None:
    """The tree of a constant or a gene; None where there is none."""
    return None if value is None else as_setting(value)


def as_rate(value: object) -> Expression | forms.PaymentsOf:
    """Payments as they are; else the tree of a row or a number."""
    return value if isinstance(value, forms.PaymentsOf) else as_expression(value)


READ: dict[Any, Callable[[Any], object]] = {
    Expression: as_expression,
    Setting: as_setting,
    Setting | None: as_optional,
    Expression | forms.PaymentsOf: as_rate,
}
"""How a field of a node is read from what a person writes, by its type; others are taken as is."""


def _node_word(kind: type[Node]) -> Callable[..., Node]:
    """The word of a kind of node, which takes its fields."""

    def make(**given: object) -> Node:
        return kind(**{name: readers[name](value) for name, value in given.items()})

    parts = fields(kind)
    readers = {part.name: READ.get(part.type, _take) for part in parts}
    taken = {part.name: _find_default(part.default) for part in parts}
    return build_word(kind.written, str(kind.__doc__), taken, make, kind)


def _take(value: object) -> object:
    return value


def _find_default(default: object) -> object:
    if isinstance(default, Number):
        return int(default.value)
    return inspect.Parameter.empty if default is MISSING else default


stop_at, limit_at, after_leg = map(_node_word, (forms.StopAt, forms.LimitAt, forms.AfterLeg))
beyond_bar, from_entry, share, level, r_multiple = map(
    _node_word, (forms.BeyondBar, forms.FromEntry, forms.Share, forms.Level, forms.RMultiple)
)
trail, session_exit = map(_node_word, (forms.Trail, forms.SessionExit))
market, ticks, bp, price = map(
    _node_word, (forms.MarketFacts, forms.Ticks, forms.BasisPoints, forms.PriceOf)
)
funding, borrow, payments = map(_node_word, (forms.Funding, forms.Borrow, forms.PaymentsOf))
risk, notional, units, equity_share, volatility = map(
    _node_word, (forms.RiskOf, forms.Notional, forms.Units, forms.EquityShare, forms.Volatility)
)


@word
def account(cash: float, size: Node, leverage: Operand | None = None) -> forms.AccountOf:
    """Money that trades are sized from, and how much of it a position may be worth."""
    return forms.AccountOf(as_setting(cash), size, as_optional(leverage))


@dataclass(frozen=True)
class InTrade:
    """A condition of an exit, and bounds of the position between which it counts."""

    condition: Claim
    bounds: forms.PositionBounds
    written: ClassVar[str] = "in_trade"


@word
def in_trade(
    condition: Claim,
    bars_from: Operand | None = None,
    bars_to: Operand | None = None,
    profit_from: Operand | None = None,
    profit_to: Operand | None = None,
) -> InTrade:
    """For `exit_long` and `exit_short`: a condition that counts in some positions alone.

    Bars are those in the trade, the entry's being the first; profit is the open one at the close,
    in units of risk and without costs.
    """
    bounds = (bars_from, bars_to, profit_from, profit_to)
    return InTrade(condition, forms.PositionBounds(*map(as_optional, bounds)))


@dataclass(frozen=True)
class BreakEven:
    """A gain, or a target, and how far beyond the entry the stop then goes."""

    gain: Operand | forms.AfterLeg
    offset: forms.RMultiple | forms.Share
    written: ClassVar[str] = "break_even"


@word
def break_even(gain: Operand | forms.AfterLeg, offset: forms.RMultiple | forms.Share) -> BreakEven:
    """For `break_even`: the stop moves beyond the entry, by a multiple of the risk or a share."""
    return BreakEven(gain, offset)


def split_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Values by part, from arguments that may give several."""
    exits = {name: given[name] for name in ("exit_long", "exit_short")}
    bounds = [one.bounds if isinstance(one, InTrade) else None for one in exits.values()]
    conditions = {
        name: one.condition if isinstance(one, InTrade) else one for name, one in exits.items()
    }
    gain, offset = given["break_even"], None
    if isinstance(gain, BreakEven):
        offset, gain = gain.offset, gain.gain
    elif isinstance(gain, forms.PriceForm | forms.Trail):
        raise StrategyError(
            "break_even takes a gain in units of risk, after_leg(k) or break_even(1, offset=...), "
            f"got {quote_value(gain)}"
        )
    is_leg = isinstance(gain, forms.AfterLeg)
    return {
        **given,
        **conditions,
        "break_even": None if is_leg else gain,
        "after_leg": gain if is_leg else None,
        "even_offset": offset,
        "exit_bounds": forms.BySide(*bounds) if any(bounds) else None,
    }


def read_part(part: Part, value: Any) -> Any:  # noqa: ANN401 - a person gave it
    """The tree of a part; None where there is none."""
    if part.takes is bool:
        return True if value else None
    if value is part.default is None:
        return None
    if isinstance(part.takes, Legal):
        return as_setting(value)
    if part.takes == (forms.Ladder,):
        return build_ladder(value)
    if part.takes != (Condition,):
        return value
    if part.sides == "any" and isinstance(value, forms.BySide):
        return forms.BySide(*(read_part(part, side) for side in forms.split_sides(value)))
    return as_condition(value, part.name)


@word
def by_side(long: Any, short: Any) -> forms.BySide:  # noqa: ANN401 - forms, lists of targets, or None
    """One form for longs, another one for shorts; None where a side has none."""
    return forms.BySide(as_ladder(long), as_ladder(short))


def build_ladder(targets: Any) -> Node | None:  # noqa: ANN401 - a person gave it
    """The targets of a strategy: a list of (form, share), or these by side."""
    if targets is None or isinstance(targets, forms.BySide):
        return targets
    ladder = as_ladder(targets)
    if not isinstance(ladder, forms.Ladder):
        raise StrategyError(
            "targets is a list of (form, share), as in targets=[(r_multiple(1), 0.5), "
            f"(r_multiple(3), 0.5)], or by_side of two such lists, got {quote_value(targets)}"
        )
    return ladder


def as_ladder(form: Any) -> Any:  # noqa: ANN401 - a person gave it
    """A list of targets as a ladder; anything else as it is."""
    if not isinstance(form, list | tuple):
        return form
    for pair in form:
        if not isinstance(pair, list | tuple) or len(pair) != len(("form", "share")):
            raise StrategyError(f"each target is a pair (form, share), got {quote_value(pair)}")
    return forms.Ladder(tuple(forms.Leg(target, as_setting(share)) for target, share in form))


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
        order=tuple(write_gene_name(str(gene)) for gene in order),
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
    {"summary": inspect.Parameter.empty, **_PARTS_GIVEN, **_BESIDE},
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
    *sorted(COMPOSED),
    *sorted(set(WORDS) - {*KINDS, *COMPOSED}),
]
