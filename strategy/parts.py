"""One table of the parts of a strategy.

`PARTS` has a row for each part by its name, in the order in which genes are counted. Words, checks,
records, pages and engines go over it. An engine reads what one strategy has like this:

    for name, part in PARTS.items():
        for side in part.split(strategy):       # of longs, then of shorts; None where it has none
            for form in list_forms(side):       # that of a trail, those of a ladder, an account's
                CODES[type(form)]               # number of the form in compiled loops
                form.reads                      # the expression that it reads, or None
                form.settings                   # its constants and genes, each with what is legal

A part that takes a number (`takes` is a `Parameter`) has that number in place of forms, and
`absent` where a strategy has none.
"""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

from strategy import forms
from strategy.conditions import Condition
from strategy.errors import StrategyError
from strategy.expressions import Number
from strategy.nodes import Node, Parameter, walk

Takes = tuple[type[Node], ...] | Parameter | type[bool]

Sides = Literal["long", "short", "one", "both", "any"]
"""Side of a part: longs' alone, shorts' alone; one for both; or also another one by `by_side`,
which both sides then have, or any of them."""


class Part(NamedTuple):
    """A row of the table."""

    name: str  # field of `Strategy`
    takes: Takes  # its forms, conditions among them; a number, with what is legal; or True
    sides: Sides
    about: str  # for people
    # Whether strategies had none at first: a record names it only where it is there, and a strategy
    # with it is walked as orders are.
    is_later: bool = False
    absent: float = 0.0  # number in its place where a strategy has none
    # Argument of the word `strategy` that gives it beside another part; empty: one of its own.
    given_by: str = ""
    default: object = None  # of that argument
    reason: str = ""  # name of the reason for which it ends trades

    def split(self, strategy: Any) -> tuple[Any, Any]:  # noqa: ANN401 - `Strategy` needs this file
        """The forms of longs and of shorts; None for nothing."""
        value = getattr(strategy, self.name)
        if self.sides in ("long", "short"):
            return (value, None) if self.sides == "long" else (None, value)
        return forms.split_sides(value)


_Later = partial(Part, is_later=True)

PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        Part("long", (Condition,), "long", "Signals a long; None for no longs."),
        Part("short", (Condition,), "short", "Signals a short; None for no shorts."),
        Part("exit_long", (Condition,), "long", "Ends a long at the next open.", reason="signal"),
        Part("exit_short", (Condition,), "short", "Ends a short at the next open.",
             reason="signal"),
        _Later("entry", forms.ENTRIES, "any",
               "How a side enters; None for a side that enters at the market."),
        _Later("cancel", (Condition,), "any", "Ends resting orders of earlier bars."),
        Part("stop", forms.STOPS, "both", "Where the first stop stands, which gives R its unit."),
        Part("target", forms.TARGETS, "both", "Where the target stands; None for no target.",
             reason="target"),
        _Later("targets", (forms.Ladder,), "both",
               "Several targets with their shares, in place of `target`.", reason="target"),
        Part("trail", (forms.Trail,), "both", "How the stop follows; None where it does not.",
             reason="trail"),
        Part("break_even", Parameter("break_even", least=0, is_whole=False), "one",
             "The stop moves to the entry after so many times the risk; None for never.",
             absent=math.nan, reason="break_even"),
        _Later("after_leg", (forms.AfterLeg,), "one",
               "The target after which the stop moves to the entry, in place of `break_even`.",
               given_by="break_even", reason="break_even"),
        Part("max_hold", Parameter("max_hold"), "one",
             "Bars after which a position is closed; None for no limit.", reason="time"),
        Part("session", (forms.SessionExit,), "one", "Out by the clock; None to hold over night.",
             reason="session"),
        Part("delay", Parameter("delay", least=0), "one",
             "Bars between the bar after the signal and the entry.", default=0),
        _Later("reverse", bool, "one",
               "Whether an entry of the other side ends a position; None where it does not.",
               default=False, reason="reverse"),
        _Later("market", (forms.MarketFacts,), "one",
               "Tick, worth of a point and lot of the symbol."),
        _Later("slippage", forms.SLIPPAGES, "any", "Loss of fills at the market and at stops."),
        _Later("funding", (forms.Funding,), "one", "Payments of longs to shorts."),
        _Later("borrow", (forms.Borrow,), "any", "Payments of positions for being held."),
        _Later("account", (forms.AccountOf,), "one",
               "Cash and size; None for a share of equity that follows from the risk.",
               reason="margin"),
        _Later("cooldown", Parameter("cooldown", least=0), "one",
               "Bars after a stop in which no signal counts; None for none."),
        _Later("even_offset", forms.OFFSETS, "one",
               "How far beyond the entry a break-even puts the stop.", given_by="break_even"),
        _Later("named_stops", bool, "one",
               "Whether exits at stops that moved have reasons of their own; None: they do not.",
               default=False),
        _Later("exit_bounds", (forms.PositionBounds,), "any", "Where exits by condition count.",
               given_by="exit_long"),
    )
}  # fmt: skip
"""Every part by its name, in the order in which genes are counted."""

CODES: Mapping[type[Node], int] = {
    kind: code
    for family in (forms.PRICES, forms.ENTRIES, forms.SLIPPAGES, forms.SIZES)
    for code, kind in enumerate(family, 1)
}
"""Number of each form in compiled loops, in its family; 0 is none of them."""


def list_forms(side: object) -> list[forms.PriceForm]:
    """Forms of one side of a part, in their order: of a trail, of each target, of a size."""
    nodes = walk(side) if isinstance(side, Node) else ()
    return [node for node in nodes if isinstance(node, forms.PriceForm) and type(node) in CODES]


def check_parts(strategy: Any) -> None:  # noqa: ANN401 - `Strategy` needs this file
    """Refuse a strategy with parts that are missing, of no legal form, or do not fit each other."""
    for is_wrong, message in _find_missing(strategy):
        if is_wrong:
            raise StrategyError(message)
    for part in PARTS.values():
        _check_forms(part, getattr(strategy, part.name))
    for is_wrong, message in _find_contradictions(strategy):
        if is_wrong:
            raise StrategyError(message)


def _check_forms(part: Part, value: object) -> None:
    """Refuse all but the forms of a part, on either side."""
    legal = part.takes
    if value is None or not isinstance(legal, tuple) or legal == (Condition,):
        return
    name = part.name.removeprefix("even_")
    if part.sides == "one":
        return forms.check_side(name, value, legal)
    for side in forms.split_sides(value):
        if side is not None or part.sides == "both":
            forms.check_side(name, side, legal, "by_side")


def _find_missing(strategy: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401 - likewise
    yield (
        strategy.long is None and strategy.short is None,
        "a strategy needs an entry: give it long=... or short=...",
    )
    for side in ("long", "short"):
        asks = getattr(strategy, f"exit_{side}") is not None
        yield (
            asks and getattr(strategy, side) is None,
            f"exit_{side} ends what is never begun: give it {side}=... too",
        )
    yield (
        strategy.stop is None,
        "a strategy needs a stop, which gives R its unit: give it "
        "stop=beyond_bar(...), from_entry(...), share(...) or level(...)",
    )


def _find_contradictions(strategy: Any) -> Iterator[tuple[bool, str]]:  # noqa: ANN401 - likewise
    moves_even = strategy.break_even is not None or strategy.after_leg is not None
    market, after_leg = strategy.market, strategy.after_leg
    yield (
        strategy.cancel is not None and not any(PARTS["entry"].split(strategy)),
        "cancel ends resting orders: give it entry=stop_at(...) too",
    )
    yield (
        strategy.target is not None and strategy.targets is not None,
        "target is one, targets are several: give it one of the two",
    )
    yield (
        after_leg is not None and after_leg.leg > forms.count_legs(strategy.targets),
        f"break_even=after_leg({getattr(after_leg, 'leg', 0)}) needs as many "
        "targets=[(form, share), ...]",
    )
    yield (
        strategy.even_offset is not None and not moves_even,
        "an offset is one of a break-even: give it a gain or after_leg(...)",
    )
    yield (
        strategy.named_stops and strategy.trail is None and not moves_even,
        "named_stops=True names stops that move: give it trail or break_even",
    )
    yield (
        strategy.reverse and (strategy.long is None or strategy.short is None),
        "reverse=True needs both sides: give it long=... and short=...",
    )
    yield (
        _counts_ticks(strategy) and (market is None or market.tick is None),
        "ticks are those of the symbol: give it market=market(tick='0.01')",
    )


def _counts_ticks(strategy: Any) -> bool:  # noqa: ANN401 - likewise
    """True if any part is in ticks, on either side."""
    sides = [side for name in ("slippage", "entry") for side in PARTS[name].split(strategy)]
    passes = [getattr(side, "through", Number(0.0)) != Number(0.0) for side in sides]
    return any(passes) or any(isinstance(side, forms.Ticks) for side in sides)
