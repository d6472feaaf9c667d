"""The words of resting orders, of exits in parts, and of money."""

from typing import Any

from strategy.errors import StrategyError, quote_value
from strategy.exits import BySide
from strategy.language import Operand, as_expression, as_setting, word
from strategy.money import (
    AccountOf,
    BasisPoints,
    Borrow,
    EquityShare,
    Funding,
    MarketFacts,
    Notional,
    PriceOf,
    RiskOf,
    Ticks,
    Units,
    Volatility,
)
from strategy.nodes import Node
from strategy.orders import AfterLeg, Ladder, Leg, LimitAt, StopAt


@word
def stop_at(price: Operand, expires: Operand | None = None) -> StopAt:
    """An order that buys once prices rise to a level, or sells short once they fall to it.

    `price` is read at the signal bar, `expires` counts the bars in which the order stands.
    """
    return StopAt(as_expression(price), _optional(expires))


@word
def limit_at(price: Operand, expires: Operand | None = None, through: Operand = 0) -> LimitAt:
    """An order that buys once prices fall to a level, or sells short once they rise to it.

    With `through` prices must pass the level by so many ticks before it counts as touched.
    """
    return LimitAt(as_expression(price), _optional(expires), as_setting(through))


@word
def after_leg(leg: int) -> AfterLeg:
    """For `break_even`: the stop moves to the entry once the target of this number was reached."""
    return AfterLeg(leg)


@word
def market(tick: str | None = None, multiplier: float = 1, lot: str | None = None) -> MarketFacts:
    """What is fixed of a symbol: tick and lot as decimals in quotes, and the worth of a point."""
    return MarketFacts(tick, as_setting(multiplier), lot)


@word
def ticks(count: Operand) -> Ticks:
    """Slippage of so many ticks."""
    return Ticks(as_setting(count))


@word
def bp(points: Operand) -> BasisPoints:
    """Slippage of so many basis points of the price."""
    return BasisPoints(as_setting(points))


@word
def price(row: Operand) -> PriceOf:
    """Slippage by a row in price, read at the bar before the fill."""
    return PriceOf(as_expression(row))


@word
def funding(rate: Operand, every: int | None = None) -> Funding:
    """What longs pay shorts: a fraction of the open, every so many minutes."""
    return Funding(as_expression(rate), every)


@word
def borrow(rate: Operand, every: int | None = None) -> Borrow:
    """What positions pay to be held: a fraction of the open, every so many minutes."""
    return Borrow(as_expression(rate), every)


@word
def account(cash: float, size: Node, leverage: Operand | None = None) -> AccountOf:
    """Money that trades are sized from, and how much of it a position may be worth."""
    return AccountOf(as_setting(cash), size, _optional(leverage))


@word
def risk(fraction: Operand) -> RiskOf:
    """A size that loses this fraction of the cash at the stop."""
    return RiskOf(as_setting(fraction))


@word
def notional(money: Operand) -> Notional:
    """A size that is worth so much money."""
    return Notional(as_setting(money))


@word
def equity_share(fraction: Operand) -> EquityShare:
    """A size that is worth this fraction of the cash."""
    return EquityShare(as_setting(fraction))


@word
def units(count: Operand) -> Units:
    """A size of so many units."""
    return Units(as_setting(count))


@word
def volatility(fraction: Operand, row: Operand) -> Volatility:
    """A size at which a move as large as the row is this fraction of the cash."""
    return Volatility(as_setting(fraction), as_expression(row))


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


def _optional(setting: Operand | None) -> Any:  # noqa: ANN401 - a setting, or None
    return None if setting is None else as_setting(setting)
