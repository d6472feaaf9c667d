"""Stop, target and trail of a strategy in the words of a platform."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from strategy.exits import FromEntry, Level, Share, Trail, split_sides
from strategy.model import Strategy
from strategy.nodes import Node


@dataclass(frozen=True)
class Phrases:
    """Phrases of a platform for a bracket."""

    places: Mapping[type, str]  # where stops and targets stand, by the type of their form
    either: str  # the text of a long, or that of a short
    no_target: str  # where a target stands that is never reached
    no_trail: str  # the gain from which on a stop follows that never does
    is_beyond: str  # that a target lies on its side of the entry
    is_apart: str  # that a trail has a distance
    true: str  # what always holds
    also: str  # one more condition


def format_bracket(strategy: Strategy, read: Callable[[Node], str], say: Phrases) -> dict[str, str]:
    """Where stop and target stand, how far and from when a stop follows, what a trade needs.

    `read` is the text of an expression at the bar of a signal.
    """

    def by_side(form: object, text: Callable[[object], str]) -> str:
        long, short = (text(side) for side in split_sides(form))
        return long if long == short else say.either.format(long, short)

    def format_price(sign: str, form: object) -> str:
        if form is None:
            return say.no_target
        assert isinstance(form, Node)
        return say.places[type(form)].format(read(form.parts[0]), sign=sign)

    def format_trail_distance(kind: type[FromEntry | Share], trail: object) -> str:
        is_it = isinstance(trail, Trail) and isinstance(trail.form, kind)
        return read(trail.form.parts[0]) if is_it else "0.0"  # type: ignore[attr-defined]

    def after(trail: object) -> str:
        return read(trail.after) if isinstance(trail, Trail) else say.no_trail

    def lies(target: object) -> str:
        return say.is_beyond if isinstance(target, FromEntry | Level) else say.true

    def reaches(trail: object) -> str:
        is_read = isinstance(trail, Trail) and isinstance(trail.form, FromEntry)
        return say.is_apart if is_read else say.true

    needs = by_side(strategy.target, lies), by_side(strategy.trail, reaches)
    return {
        "stop": by_side(strategy.stop, partial(format_price, "-")),
        "target": by_side(strategy.target, partial(format_price, "+")),
        "reach": by_side(strategy.trail, partial(format_trail_distance, FromEntry)),
        "share": by_side(strategy.trail, partial(format_trail_distance, Share)),
        "after": by_side(strategy.trail, after),
        "worth": "".join(say.also.format(need) for need in needs if need != say.true),
    }
