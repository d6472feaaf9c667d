"""The words of orders, stops, targets and other ways out of a position, and of money."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, NamedTuple, TypeVar

from data.plain import quote_value
from strategy.conditions import Condition
from strategy.errors import StrategyError
from strategy.exits import (
    BeyondBar,
    BySide,
    FromEntry,
    Level,
    PositionBounds,
    PriceForm,
    RMultiple,
    SessionExit,
    Share,
    Trail,
    split_sides,
)
from strategy.expressions import Expression, Number, Setting
from strategy.indicators import Parameter
from strategy.language import (
    Claim,
    Operand,
    as_condition,
    as_expression,
    as_setting,
    build_word,
    word,
)
from strategy.money import (
    AccountOf,
    BasisPoints,
    Borrow,
    EquityShare,
    Funding,
    MarketFacts,
    Notional,
    PaymentsOf,
    PriceOf,
    RiskOf,
    Ticks,
    Units,
    Volatility,
)
from strategy.nodes import Node
from strategy.orders import AfterLeg, Ladder, Leg, LimitAt, StopAt
from strategy.parts import Part

Made = TypeVar("Made", bound=Node)


def as_optional(value: object) -> Setting | None:
    """The tree of a constant or a gene; None where there is none."""
    return None if value is None else as_setting(value)


def as_rate(value: object) -> Expression | PaymentsOf:
    """Payments as they are; else the tree of a row or a number."""
    return value if isinstance(value, PaymentsOf) else as_expression(value)


READ: dict[Any, Callable[[Any], object]] = {
    Expression: as_expression,
    Setting: as_setting,
    Setting | None: as_optional,
    Expression | PaymentsOf: as_rate,
}
"""How a field of a node is read from what a person writes, by its type; others are taken as is."""


def _node_word(kind: type[Made]) -> Callable[..., Made]:
    """The word of a kind of node, which takes its fields."""

    def make(**given: object) -> Made:
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


stop_at, limit_at, after_leg = _node_word(StopAt), _node_word(LimitAt), _node_word(AfterLeg)
beyond_bar, from_entry, share = _node_word(BeyondBar), _node_word(FromEntry), _node_word(Share)
level, r_multiple = _node_word(Level), _node_word(RMultiple)
trail, session_exit = _node_word(Trail), _node_word(SessionExit)
market, ticks, bp = _node_word(MarketFacts), _node_word(Ticks), _node_word(BasisPoints)
price, funding, borrow = _node_word(PriceOf), _node_word(Funding), _node_word(Borrow)
payments = _node_word(PaymentsOf)
risk, notional, units = _node_word(RiskOf), _node_word(Notional), _node_word(Units)
equity_share, volatility = _node_word(EquityShare), _node_word(Volatility)


@word
def account(cash: float, size: Node, leverage: Operand | None = None) -> AccountOf:
    """Money that trades are sized from, and how much of it a position may be worth."""
    return AccountOf(as_setting(cash), size, as_optional(leverage))


class InTrade(NamedTuple):
    """A condition of an exit, and bounds of the position between which it counts."""

    condition: Claim
    bounds: PositionBounds

    @property
    def written(self) -> str:
        """The word that makes it."""
        return "in_trade"


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
    return InTrade(condition, PositionBounds(*map(as_optional, bounds)))


class BreakEven(NamedTuple):
    """A gain, or a target, and how far beyond the entry the stop then goes."""

    gain: Operand | AfterLeg
    offset: RMultiple | Share

    @property
    def written(self) -> str:
        """The word that makes it."""
        return "break_even"


@word
def break_even(gain: Operand | AfterLeg, offset: RMultiple | Share) -> BreakEven:
    """For `break_even`: the stop moves beyond the entry, by a multiple of the risk or a share."""
    return BreakEven(gain, offset)


def split_arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Values by part, of arguments of which some give several."""
    exits = {name: given[name] for name in ("exit_long", "exit_short")}
    bounds = [one.bounds if isinstance(one, InTrade) else None for one in exits.values()]
    conditions = {
        name: one.condition if isinstance(one, InTrade) else one for name, one in exits.items()
    }
    gain, offset = given["break_even"], None
    if isinstance(gain, BreakEven):
        gain, offset = gain
    elif isinstance(gain, PriceForm | Trail):
        raise StrategyError(
            "break_even takes a gain in units of risk, after_leg(k) or break_even(1, offset=...), "
            f"got {quote_value(gain)}"
        )
    is_leg = isinstance(gain, AfterLeg)
    return {
        **given,
        **conditions,
        "break_even": None if is_leg else gain,
        "after_leg": gain if is_leg else None,
        "even_offset": offset,
        "exit_bounds": BySide(*bounds) if any(bounds) else None,
    }


def read_part(part: Part, value: Any) -> Any:  # noqa: ANN401 - a person gave it
    """The tree of a part; None where there is none."""
    if part.takes is bool:
        return True if value else None
    if value is part.default is None:
        return None
    if isinstance(part.takes, Parameter):
        return as_setting(value)
    if part.takes == (Ladder,):
        return build_ladder(value)
    if part.takes != (Condition,):
        return value
    if part.sides == "any" and isinstance(value, BySide):
        return BySide(*(read_part(part, side) for side in split_sides(value)))
    return as_condition(value, part.name)


@word
def by_side(long: Any, short: Any) -> BySide:  # noqa: ANN401 - forms, lists of targets, or None
    """One form for longs, another one for shorts; None where a side has none."""
    return BySide(as_ladder(long), as_ladder(short))


def build_ladder(targets: Any) -> Node | None:  # noqa: ANN401 - a person gave it
    """The targets of a strategy: a list of (form, share), or these by side."""
    if targets is None or isinstance(targets, BySide):
        return targets
    ladder = as_ladder(targets)
    if not isinstance(ladder, Ladder):
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
    return Ladder(tuple(Leg(target, as_setting(share)) for target, share in form))
