"""Exits as numbers: what compiled loops and kernels read in place of names."""

from itertools import product
from typing import NamedTuple, cast

from engine.accounts.costs import Costs
from engine.fast_case import FastCase
from engine.positions.exit_spec import (
    BASIS_POINTS,
    BEYOND_BAR,
    FROM_ENTRY,
    LEVEL,
    LIMIT_ORDER,
    MARKET,
    NO_SLIPPAGE,
    NONE,
    PRICE_ROW,
    R_MULTIPLE,
    SHARE,
    STOP_ORDER,
    TICKS,
    Bounds,
)
from strategy.exits import BeyondBar, FromEntry, Level, RMultiple, Share, Trail, split_sides
from strategy.expressions import Expression, Number, Setting
from strategy.model import Strategy
from strategy.money import BasisPoints, PriceOf, Ticks
from strategy.orders import Ladder, LimitAt, StopAt

FORMS = {
    BeyondBar: BEYOND_BAR,
    FromEntry: FROM_ENTRY,
    Share: SHARE,
    Level: LEVEL,
    RMultiple: R_MULTIPLE,
}
"""Number of each form of a stop or a target."""


class Exits(NamedTuple):
    """The bracket and the costs as numbers; the first four are columns, not values."""

    stop_row: int  # row of the fast case that measures the stop's distance
    stop_mult: int  # gene
    reward: int  # gene
    max_hold: int  # gene
    per_side: float  # cost of a side as a fraction of notional
    min_risk: float  # fraction of the entry price
    risk_fraction: float  # fraction of equity per R
    delay: int  # bars by which an entry is later than the bar after its signal


class Lowered(NamedTuple):
    """A stop, a target or a trailing stop of one side as numbers."""

    form: int  # of `engine.positions.exit_spec`
    # What it reads at the signal bar; None where it takes a number or is not there.
    read: Expression | None = None
    number: Setting | None = None  # a constant or a gene; None where it reads


def form_of_exit(form: object) -> Lowered:
    """A form of `strategy.exits` as numbers; None is no form."""
    if form is None:
        return Lowered(NONE)
    number = FORMS[type(form)]  # type: ignore[index]
    if isinstance(form, Share):
        return Lowered(number, number=form.fraction)
    if isinstance(form, RMultiple):
        return Lowered(number, number=form.multiple)
    read = form.price if isinstance(form, Level) else cast(FromEntry, form).distance
    return Lowered(number, read)


def form_of_order(order: object) -> Lowered:
    """How a side enters; None is at the market."""
    if not isinstance(order, StopAt | LimitAt):
        return Lowered(MARKET)
    return Lowered(STOP_ORDER if isinstance(order, StopAt) else LIMIT_ORDER, order.price)


def form_of_slippage(slippage: object) -> Lowered:
    """A form of slippage as numbers; None is none. Rows in price are read apart."""
    if isinstance(slippage, Ticks | BasisPoints):
        ((_, number),) = slippage.settings
        form = TICKS if isinstance(slippage, Ticks) else BASIS_POINTS
        return Lowered(form, number=cast(Setting, number))
    return Lowered(PRICE_ROW if isinstance(slippage, PriceOf) else NO_SLIPPAGE)


def lower_targets(strategy: Strategy) -> list[list[tuple[Lowered, Setting]]]:
    """Targets of each side, in their order, with the share that each takes."""
    sides: list[list[tuple[Lowered, Setting]]] = []
    pairs = zip(split_sides(strategy.target), split_sides(strategy.targets), strict=True)
    for target, ladder in pairs:
        if isinstance(ladder, Ladder):
            sides.append([(form_of_exit(leg.target), leg.share) for leg in ladder.legs])
        else:
            sides.append([] if target is None else [(form_of_exit(target), Number(1.0))])
    return sides


def list_bounds(strategy: Strategy) -> list[tuple[Setting | None, float]]:
    """Bounds of longs' and of shorts' exits, and what each is where there is none."""
    ends = zip(Bounds._fields, Bounds(), strict=True)
    return [
        (getattr(bounds, name, None), end)
        for bounds, (name, end) in product(split_sides(strategy.exit_bounds), ends)
    ]


def lower_exits(strategy: Strategy) -> tuple[list[list[Lowered]], list[Setting | None]]:
    """Stop, target and trailing stop of each side, and from which gain on each side's stop follows.

    The first has three pairs, of longs and shorts each; the second is one pair.
    """
    trails = [trail if isinstance(trail, Trail) else None for trail in split_sides(strategy.trail)]
    followed = [None if trail is None else trail.form for trail in trails]
    forms = split_sides(strategy.stop), split_sides(strategy.target), followed
    lowered = [[form_of_exit(side) for side in pair] for pair in forms]
    return lowered, [None if trail is None else trail.after for trail in trails]


def encode_exits(case: FastCase, costs: Costs) -> Exits:
    """The bracket and the costs as numbers."""
    bracket, layout = case.bracket, case.layout
    assert bracket is not None
    return Exits(
        case.row_index[bracket.stop_row],
        layout.index(bracket.stop_mult),
        layout.index(bracket.reward),
        layout.index(bracket.max_hold),
        float(costs.per_side),
        float(costs.min_risk),
        float(costs.risk_fraction),
        int(costs.entry_delay),
    )
