"""Orders that rest, and exits in parts, as plain data."""

from data.plain import quote_value
from strategy.errors import StrategyError
from strategy.exits import TARGETS, PriceForm, check_side, split_sides
from strategy.expressions import Expression, GeneValue, Number, Setting, check_settings
from strategy.nodes import Node, declare, real, whole

MOST_LEGS = 8
"""Targets of a ladder, at most."""

SUM_SLACK = 1e-9
"""Shares of a ladder may pass 1 by so much, which is rounding."""


@declare("stop_at")
class StopAt(PriceForm):
    """An order that buys once prices rise to a level, or sells short once they fall to it.

    `price` is read at the signal bar, `expires` counts the bars in which the order stands.
    """

    price: Expression  # level, read at the signal bar
    expires: Setting | None = whole(default=None)  # bars in which it stands; None: without end


@declare("limit_at")
class LimitAt(PriceForm):
    """An order that buys once prices fall to a level, or sells short once they rise to it.

    With `through` prices must pass the level by so many ticks before it counts as touched.
    """

    price: Expression  # level, read at the signal bar
    expires: Setting | None = whole(default=None)  # bars in which it stands; None: without end
    through: Setting = whole(least=0, default=Number(0.0))


@declare("leg")
class Leg(Node):
    """One target of several, and the share of the position that leaves there."""

    target: Node  # `RMultiple`, `FromEntry`, `Share` or `Level`
    share: Setting = real(most=1.0)  # above 0, of the position at its entry

    def __post_init__(self) -> None:
        check_side("a target", self.target, TARGETS)
        check_settings(self)


@declare("targets")
class Ladder(Node):
    """Several targets, each of a share of the position; what is left goes on."""

    legs: tuple[Leg, ...]  # 1 to `MOST_LEGS`, in the order in which their results are added

    def __post_init__(self) -> None:
        if not 1 <= len(self.legs) <= MOST_LEGS:
            raise StrategyError(f"targets are 1 to {MOST_LEGS}, got {len(self.legs)}")
        most = sum(_largest(leg.share) for leg in self.legs)
        if most > 1.0 + SUM_SLACK:
            raise StrategyError(
                f"the shares of targets may sum to {most:g}, and the position is 1; "
                "genes count by their upper bounds"
            )


@declare("after_leg")
class AfterLeg(Node):
    """For `break_even`: the stop moves to the entry once the target of this number was reached."""

    leg: int  # the first is 1

    def __post_init__(self) -> None:
        is_whole = isinstance(self.leg, int) and not isinstance(self.leg, bool)
        if not is_whole or not 1 <= self.leg <= MOST_LEGS:
            raise StrategyError(
                f"after_leg takes the number of a target from 1, got {quote_value(self.leg)}"
            )


ENTRIES = (StopAt, LimitAt)


def count_legs(targets: Node | None) -> int:
    """Targets of the longer of two ladders; 0 without one."""
    sides = split_sides(targets)
    return max(len(side.legs) if isinstance(side, Ladder) else 0 for side in sides)


def _largest(share: Setting) -> float:
    return share.gene.high if isinstance(share, GeneValue) else share.value
