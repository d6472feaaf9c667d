"""Brackets of a strategy in a platform's phrases; orders, ladders and ticks as Python."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from optimizer.errors import ConfigError
from optimizer.export.member import ExportedMember
from optimizer.export.python_rows import ExpressionLines
from strategy.expressions import Expression, GeneValue, Number, Setting
from strategy.forms import (
    BasisPoints,
    BeyondBar,
    FromEntry,
    Ladder,
    Level,
    LimitAt,
    PriceOf,
    RMultiple,
    Share,
    StepSize,
    StopAt,
    Ticks,
    Trail,
    find_step,
    split_sides,
)
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
    never: str  # the gain from which on a stop follows that never does; a price of no target
    is_apart: str  # that a trail has a distance
    true: str  # what always holds

    def by_side(self, texts: Iterable[str]) -> str:
        """Texts for a long and for a short."""
        long, short = texts
        return long if long == short else self.either.format(long, short)

    def price(self, form: object, read: Read, sign: str = "+") -> str:
        """Where a stop, or a target, stands."""
        if form is None:
            return self.never
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
    """Stop of a trade, distance and start of a stop that follows, and what these need."""

    def by_side(form: object, text: Callable[[object], str]) -> str:
        return say.by_side(map(text, split_sides(form)))

    def format_trail_distance(kind: type[FromEntry | Share], trail: object) -> str:
        is_it = isinstance(trail, Trail) and isinstance(trail.form, kind)
        return read(trail.form.parts[0]) if is_it else "0.0"  # type: ignore[attr-defined]

    def after(trail: object) -> str:
        return read(trail.after) if isinstance(trail, Trail) else say.never

    def reaches(trail: object) -> str:
        is_read = isinstance(trail, Trail) and isinstance(trail.form, FromEntry)
        return say.is_apart if is_read else say.true

    need = by_side(strategy.trail, reaches)
    return {
        "stop": by_side(strategy.stop, lambda stop: say.price(stop, read, "-")),
        "reach": by_side(strategy.trail, partial(format_trail_distance, FromEntry)),
        "share": by_side(strategy.trail, partial(format_trail_distance, Share)),
        "after": by_side(strategy.trail, after),
        "worth": "" if need == say.true else f" and ({need})",
    }


PHRASES = Phrases(
    side="side",
    bar="(bars.low if side > 0 else bars.high)[t]",
    either="({} if side > 0 else {})",
    never="math.inf",
    is_apart="reach > 0",
    true="True",
)
"""For one signal, at bar `t`."""

KINDS = {StopAt: "stop", LimitAt: "limit"}

ENTRY_BAR = """\
Entry bar: in the bar that fills a resting order the library looks at no stop and no target; what
the run ends there is out at the next open."""

STRADDLE = """\
Straddle: where one bar reaches the orders of both sides, the second ends the first's trade; the
run cancels it."""

LEGS = """\
Legs: each target is a trade of its own, of whole units; R is by the stated shares."""


LEG_TRADES = """\
Legs: the library counts each part that leaves as a trade of its own; R is by the stated shares."""


def refuse_unsupported(member: ExportedMember) -> None:
    """Refuse orders that a platform fills by other rules than small ones."""
    strategy = member.strategy
    # vectorbt has no rules of its own for orders; its script holds those of the run.
    if member.platform == "vectorbt":
        return
    sides = zip(split_sides(strategy.entry), (strategy.long, strategy.short), strict=True)
    forms = [form for form, asks in sides if asks is not None]
    limits = [form for form in forms if isinstance(form, LimitAt)]
    for part, is_unsupported in (
        ("entry by_side of which one side rests", len({form is None for form in forms}) > 1),
        ("reverse=True with orders that rest", bool(strategy.reverse) and any(forms)),
        ("reverse=True with a delay", bool(strategy.reverse) and member.delay > 0),
        ("limit_at(through=...)", any(member.value(limit.through, 0.0) > 0.0 for limit in limits)),
    ):
        if is_unsupported:
            raise ConfigError(
                f"{part}: {member.platform} fills it by rules that end in other trades; it is not "
                "exported"
            )


def list_differences(member: ExportedMember) -> Iterator[str]:
    """Differences of the orders of a member from other programs'."""
    strategy = member.strategy
    if member.platform == "vectorbt":
        if strategy.targets is not None:
            yield LEG_TRADES
        return
    resting = [side is not None for side in split_sides(strategy.entry)]
    if any(resting):
        yield ENTRY_BAR
    if all(resting) and strategy.long is not None and strategy.short is not None:
        yield STRADDLE
    if strategy.targets is not None:
        yield LEGS


def format_orders(member: ExportedMember, lines: ExpressionLines) -> dict[str, str]:
    """Phrases of the template of orders, except for the common ones of every script."""
    strategy, tick = member.strategy, find_step(member.strategy.market, "tick")

    def read(node: Node) -> str:
        if isinstance(node, Number | GeneValue):
            return lines.text(node)
        return f"{lines.name_at_bars(node)}[t]"

    forms = format_bracket(strategy, read, PHRASES)
    ladders = [list_legs(strategy, side) for side in range(2)]
    levels = [
        lines.name_at_bars(form.price) if isinstance(form, StopAt | LimitAt) else "None"
        for form in split_sides(strategy.entry)
    ]
    return {
        **{name: forms[name] for name in ("stop", "reach", "share", "after")},
        "targets": PHRASES.by_side(
            f"[{', '.join(PHRASES.price(form, read) for form, _ in legs)}]" for legs in ladders
        ),
        "shares": PHRASES.by_side(
            f"[{', '.join(read(share) for _, share in legs)}]" for legs in ladders
        ),
        "worth": PHRASES.by_side(
            PHRASES.require_beyond(legs, "targets[{}]".format) for legs in ladders
        )
        + forms["worth"],
        "cancel": "nothing" if strategy.cancel is None else lines.text(strategy.cancel),
        "long_price": levels[0],
        "short_price": levels[1],
        "away": format_away(strategy, lines.text),
        **{
            f"{side}_follows": "None" if row is None else lines.name_at_bars(row)
            for side, row in zip(("long", "short"), list_followed(strategy), strict=True)
        },
        **{
            f"{side}_slips": format_slippage(slippage, lines, tick)
            for side, slippage in zip(
                ("long", "short"), split_sides(strategy.slippage), strict=True
            )
        },
    }


def format_slippage(slippage: object, lines: ExpressionLines, tick: StepSize) -> str:
    """A function of price and bar: by how much a fill at the market or at a stop is worse."""
    if isinstance(slippage, Ticks):
        text = f"{lines.text(slippage.count)} * {tick.numerator!r} / {tick.denominator!r}"
    elif isinstance(slippage, BasisPoints):
        text = f"price * {lines.text(slippage.points)} / 10000.0"
    elif isinstance(slippage, PriceOf):
        # The newest value that was known at the close before; NaN stays.
        text = f"max({lines.name_at_bars(slippage.row)}[bar - 1], 0.0)"
    else:
        return "None"
    return f"lambda price, bar: {text}"


def format_away(strategy: Strategy, read: Callable[[Node], str]) -> str:
    """How far beyond the entry a break-even puts the stop."""
    form = strategy.even_offset
    if not isinstance(form, RMultiple | Share):
        return "0.0"
    return f"{read(form.parts[0])} * {'risk' if isinstance(form, RMultiple) else 'entry'}"


def list_followed(strategy: Strategy) -> list[Expression | None]:
    """Rows that stops of longs and of shorts follow."""
    trails = split_sides(strategy.trail)
    forms = [trail.form if isinstance(trail, Trail) else None for trail in trails]
    return [form.price if isinstance(form, Level) else None for form in forms]


def list_bounds(member: ExportedMember) -> list[tuple[float, float, float, float]]:
    """Bounds of bars and of profit between which exits of longs and of shorts count."""
    names = {"bars_from": -math.inf, "bars_to": math.inf, "profit_from": -math.inf,
             "profit_to": math.inf}  # fmt: skip
    sides = []
    for bounds in split_sides(member.strategy.exit_bounds):
        settings = [getattr(bounds, name, None) for name in names]
        values = zip(settings, names.values(), strict=True)
        least, most, loss, gain = (member.value(setting, free) for setting, free in values)
        sides.append((least, most, loss, gain))
    return sides


def list_legs(strategy: Strategy, place: int) -> list[tuple[Node, Setting]]:
    """Targets of a side with their shares; one target takes all."""
    ladder, target = (split_sides(part)[place] for part in (strategy.targets, strategy.target))
    if isinstance(ladder, Ladder):
        return [(leg.target, leg.share) for leg in ladder.legs]
    return [(target, Number(1.0))] if isinstance(target, Node) else []


def format_constants(member: ExportedMember) -> dict[str, object]:
    """Constants of the template of orders."""
    strategy, tick = member.strategy, find_step(member.strategy.market, "tick")
    sides = (1, strategy.long), (-1, strategy.short)
    orders = {
        side: _describe_wait(member, form, tick)
        for (side, asks), form in zip(sides, split_sides(strategy.entry), strict=True)
        if asks is not None
    }
    # A side that never asks is as the other one, so that it makes no difference.
    whole = {side: orders.get(side, orders.get(-side)) for side in (1, -1)}
    return {
        "tick": tuple(tick) if tick.numerator else None,
        "orders": whole,
        "reverses": bool(strategy.reverse),
        "cooldown": int(member.value(strategy.cooldown, 0.0)),
        "bounds": _format_bounds(list_bounds(member)),
        "legs": max(len(list_legs(strategy, side)) for side in range(2)),
        "after_leg": 0 if strategy.after_leg is None else strategy.after_leg.leg,
    }


def _format_bounds(sides: Sequence[tuple[float, ...]]) -> str:
    long, short = (repr(bounds).replace("inf", "math.inf") for bounds in sides)
    return f"{{1: {long}, -1: {short}}}"


def _describe_wait(
    member: ExportedMember, form: object, tick: StepSize
) -> tuple[str, int, float] | None:
    if not isinstance(form, StopAt | LimitAt):
        return None
    passed = 0.0
    if isinstance(form, LimitAt):
        passed = member.value(form.through, 0.0) * tick.numerator / tick.denominator
    return KINDS[type(form)], int(member.value(form.expires, 0.0)), passed
