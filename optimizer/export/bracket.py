"""Stop, target and trail of a strategy in the words of a platform."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from strategy.expressions import Setting
from strategy.forms import BeyondBar, FromEntry, Level, RMultiple, Share, Trail, split_sides
from strategy.model import Strategy
from strategy.nodes import Node

PLACES: dict[type, str] = {
    BeyondBar: "{bar} - {side} * {0}",
    FromEntry: "entry {sign} {side} * {0}",
    Share: "entry {sign} {side} * (entry * {0})",
    Level: "{0}",
    RMultiple: "entry + {side} * ({0} * risk)",
}
"""Where stops and targets stand, by the type of their form."""

Read = Callable[[Node], str]
"""From an expression to its text at the bar of a signal."""


@dataclass(frozen=True)
class Phrases:
    """Phrases of a platform for a bracket."""

    side: str  # the name of the sign of a trade
    bar: str  # the low of the bar of a signal for a long, its high for a short
    either: str  # the text of a long, or that of a short
    no_target: str  # where a target stands that is never reached
    no_trail: str  # the gain from which on a stop follows that never does
    is_beyond: str  # that a target lies on its side of the entry
    is_apart: str  # that a trail has a distance
    true: str  # what always holds
    also: str  # one more condition

    def by_side(self, texts: Iterable[str]) -> str:
        """Texts for a long and for a short."""
        long, short = texts
        return long if long == short else self.either.format(long, short)

    def price(self, form: object, read: Read, sign: str = "+") -> str:
        """Where a stop, or a target, stands."""
        if form is None:
            return self.no_target
        assert isinstance(form, Node)
        amount = read(form.parts[0])
        return PLACES[type(form)].format(amount, sign=sign, side=self.side, bar=self.bar)

    def require_beyond(
        self, legs: Sequence[tuple[Node, Setting]], name: Callable[[int], str]
    ) -> str:
        """Conditions that read targets lie on their side of the entry, each by its name."""
        needs = (
            f"{self.side} * {name(leg)} > {self.side} * entry"
            for leg, (form, _) in enumerate(legs)
            if isinstance(form, FromEntry | Level)
        )
        return " and ".join(needs) or self.true


def format_bracket(strategy: Strategy, read: Read, say: Phrases) -> dict[str, str]:
    """Stop and target of a trade, distance and start of a stop that follows, needs of a trade."""

    def by_side(form: object, text: Callable[[object], str]) -> str:
        return say.by_side(map(text, split_sides(form)))

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
        "stop": by_side(strategy.stop, lambda stop: say.price(stop, read, "-")),
        "target": by_side(strategy.target, lambda target: say.price(target, read)),
        "reach": by_side(strategy.trail, partial(format_trail_distance, FromEntry)),
        "share": by_side(strategy.trail, partial(format_trail_distance, Share)),
        "after": by_side(strategy.trail, after),
        "worth": "".join(say.also.format(need) for need in needs if need != say.true),
    }
