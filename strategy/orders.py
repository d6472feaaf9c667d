"""Orders that rest, and exits in parts, as plain data."""

from dataclasses import dataclass, field
from typing import ClassVar

from data.plain import quote_value
from strategy.errors import StrategyError
from strategy.exits import TARGETS, PriceForm, check_side, split_sides
from strategy.expressions import Expression, GeneValue, Number, Setting, check_settings
from strategy.indicators import Parameter
from strategy.nodes import Node, Numbers, declare_reals

MOST_LEGS = 8
"""Targets of a ladder, at most."""

SUM_SLACK = 1e-9
"""Shares of a ladder may pass 1 by so much, which is rounding."""


@dataclass(frozen=True)
class StopAt(PriceForm):
    """An order that buys once prices rise to a level, or sells short once they fall to it.

    `price` is read at the signal bar, `expires` counts the bars in which the order stands.
    """

    price: Expression  # level, read at the signal bar
    expires: Setting | None = None  # bars in which it stands; None: without end
    written: ClassVar[str] = "stop_at"
    numbers: ClassVar[Numbers] = {"expires": Parameter("expires")}


@dataclass(frozen=True)
class LimitAt(PriceForm):
    """An order that buys once prices fall to a level, or sells short once they rise to it.

    With `through` prices must pass the level by so many ticks before it counts as touched.
    """

    price: Expression  # level, read at the signal bar
    expires: Setting | None = None  # bars in which it stands; None: without end
    through: Setting = field(default=Number(0.0))
    written: ClassVar[str] = "limit_at"
    numbers: ClassVar[Numbers] = {
        "expires": Parameter("expires"),
        "through": Parameter("through", least=0),
    }


@dataclass(frozen=True)
class Leg(Node):
    """One target of several, and the share of the position that leaves there."""

    target: Node  # `RMultiple`, `FromEntry`, `Share` or `Level`
    share: Setting  # above 0, of the position at its entry
    written: ClassVar[str] = "leg"
    numbers: ClassVar[Numbers] = declare_reals("share", most=1.0)

    def __post_init__(self) -> None:
        check_side("a target", self.target, TARGETS)
        check_settings(self)


@dataclass(frozen=True)
class Ladder(Node):
    """Several targets, each of a share of the position; what is left goes on."""

    legs: tuple[Leg, ...]  # 1 to `MOST_LEGS`, in the order in which their results are added
    written: ClassVar[str] = "targets"

    def __post_init__(self) -> None:
        if not 1 <= len(self.legs) <= MOST_LEGS:
            raise StrategyError(f"targets are 1 to {MOST_LEGS}, got {len(self.legs)}")
        most = sum(_largest(leg.share) for leg in self.legs)
        if most > 1.0 + SUM_SLACK:
            raise StrategyError(
                f"the shares of targets may sum to {most:g}, and the position is 1; "
                "genes count by their upper bounds"
            )


@dataclass(frozen=True)
class AfterLeg(Node):
    """For `break_even`: the stop moves to the entry once the target of this number was reached."""

    leg: int  # the first is 1
    written: ClassVar[str] = "after_leg"

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
