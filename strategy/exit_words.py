"""The words of stops, targets and other ways out of a position."""

from typing import Any

from strategy.clock import Offset
from strategy.exits import (
    BeyondBar,
    BySide,
    FromEntry,
    Level,
    RMultiple,
    SessionExit,
    Share,
    Trail,
)
from strategy.language import Operand, as_expression, as_setting, word
from strategy.order_words import as_ladder


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
    """The price that a row says at the signal bar."""
    return Level(as_expression(price))


@word
def r_multiple(multiple: Operand) -> RMultiple:
    """A target at so many times the risk from the entry."""
    return RMultiple(as_setting(multiple))


@word
def trail(form: FromEntry | Share, after: Operand = 0) -> Trail:
    """A stop that follows the best price once it is `after` times the risk from the entry."""
    return Trail(form, as_setting(after))


@word
def by_side(long: Any, short: Any) -> BySide:  # noqa: ANN401 - forms, lists of targets, or None
    """One form for longs, another one for shorts; None where a side has none."""
    return BySide(as_ladder(long), as_ladder(short))


@word
def session_exit(minute: Operand = 1440, offset: Offset = 0) -> SessionExit:
    """Out at a minute of the local day, and whenever another session has begun."""
    return SessionExit(as_setting(minute), offset)
