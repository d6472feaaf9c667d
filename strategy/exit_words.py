"""The words of stops, targets and other ways out of a position."""

from typing import Any, NamedTuple

from strategy.clock import Offset
from strategy.errors import StrategyError, quote_value
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
)
from strategy.language import Claim, Operand, as_expression, as_setting, word
from strategy.order_words import as_ladder
from strategy.orders import AfterLeg


@word
def beyond_bar(distance: Operand) -> BeyondBar:
    """A stop so far below the signal bar's low, or above its high for a short."""
    return BeyondBar(as_expression(distance))


@word
def from_entry(distance: Operand) -> FromEntry:
    """A price so far from the entry."""
    return FromEntry(as_expression(distance))


@word
def share(fraction: Operand) -> Share:
    """A price at this fraction of the entry from it."""
    return Share(as_setting(fraction))


@word
def level(price: Operand) -> Level:
    """The price in a row at the signal bar."""
    return Level(as_expression(price))


@word
def r_multiple(multiple: Operand) -> RMultiple:
    """A target at so many times the risk from the entry."""
    return RMultiple(as_setting(multiple))


@word
def trail(form: FromEntry | Share | Level, after: Operand = 0) -> Trail:
    """A stop that follows once the best price is `after` times the risk from the entry.

    It stays behind that price, or with `level` at the value of a row at each close.
    """
    return Trail(form, as_setting(after))


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
    settings = (None if bound is None else as_setting(bound) for bound in bounds)
    return InTrade(condition, PositionBounds(*settings))


def split_exit(leave: Claim | InTrade | None) -> tuple[Claim | None, PositionBounds | None]:
    """The condition of an exit, and its bounds."""
    return leave if isinstance(leave, InTrade) else (leave, None)


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


def split_break_even(
    break_even: Operand | AfterLeg | BreakEven | None,
) -> tuple[Operand | AfterLeg | None, RMultiple | Share | None]:
    """The gain or the target of a break-even, and its offset."""
    if isinstance(break_even, BreakEven):
        return break_even.gain, break_even.offset
    if isinstance(break_even, PriceForm | Trail):
        raise StrategyError(
            "break_even takes a gain in units of risk, after_leg(k) or break_even(1, offset=...), "
            f"got {quote_value(break_even)}"
        )
    return break_even, None


@word
def by_side(long: Any, short: Any) -> BySide:  # noqa: ANN401 - forms, lists of targets, or None
    """One form for longs, another one for shorts; None where a side has none."""
    return BySide(as_ladder(long), as_ladder(short))


@word
def session_exit(minute: Operand = 1440, offset: Offset = 0) -> SessionExit:
    """Out at a minute of the local day, and whenever another session has begun."""
    return SessionExit(as_setting(minute), offset)
