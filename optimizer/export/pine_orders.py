"""Orders, ladders, ticks and their slippage of a strategy as Pine."""

import math
from collections.abc import Callable, Iterator, Sequence

from optimizer.errors import ConfigError
from optimizer.export.bracket import Phrases, Read
from optimizer.export.member import ExportedMember
from optimizer.export.orders import (
    format_away,
    list_bounds,
    list_followed,
    list_legs,
    refuse_unsupported,
)
from strategy.expressions import Number, Setting
from strategy.forms import SUM_SLACK, LimitAt, StopAt, Ticks, find_step, split_sides
from strategy.nodes import Node

LONGEST_WAIT = 5_000
"""Bars back that a script may read, at most."""

DIFFERENCES = (
    "Resting orders: the emulator fills them along the path of a bar, and looks at stop and target "
    "from there on; the ledger assumes the worse where a bar does not tell.",
    "Legs: each target is an exit of a part of the units.",
)

SIDES = ("long", "short")

BOUNDS = (
    ("bars", ">=", ""),
    ("bars", "<=", ""),
    ("gain", ">=", " * p.risk"),
    ("gain", "<=", " * p.risk"),
)
"""Series that bounds of an exit are held against."""


def refuse_in_pine(member: ExportedMember) -> None:
    """Refuse orders that Pine cannot say.

    Raises:
        ConfigError: Naming the part.
    """
    refuse_unsupported(member)
    strategy, slippage = member.strategy, member.strategy.slippage
    for form in split_sides(strategy.entry):
        waits = member.value(form.expires, 0.0) if isinstance(form, StopAt | LimitAt) else 1.0
        if not 0.0 < waits < LONGEST_WAIT - 1:
            raise ConfigError(
                f"an order without expires cannot be exported as Pine: it reads {LONGEST_WAIT:,} "
                "bars back at most"
            )
    if slippage is None:
        return
    if not isinstance(slippage, Ticks) or member.value(slippage.count, 0.0) % 1:
        raise ConfigError(
            "slippage: Pine knows whole ticks of both sides alike, ticks(n); it is not exported"
        )


def format_constants(member: ExportedMember) -> Iterator[str]:
    """Constants that the ledger of orders reads."""
    strategy, slips = member.strategy, member.strategy.slippage
    over, under = find_step(strategy.market, "tick")
    yield f"TICK_OVER = {over!r}"
    yield f"TICK_UNDER = {under!r}"
    yield f"SLIP = {member.value(slips.count, 0.0) if isinstance(slips, Ticks) else 0.0!r}"
    yield f"COOLDOWN = {int(member.value(strategy.cooldown, 0.0))}"
    yield f"REVERSES = {_format_bool(bool(strategy.reverse))}"
    for side, form, buys in zip(SIDES, split_sides(strategy.entry), (True, False), strict=True):
        name, rests = side.upper(), isinstance(form, StopAt | LimitAt)
        expires = int(member.value(form.expires, 0.0)) if isinstance(form, StopAt | LimitAt) else 1
        yield f"{name}_RESTS = {_format_bool(rests)}"
        yield f"{name}_LIMIT = {_format_bool(isinstance(form, LimitAt))}"
        yield f"{name}_UP = {_format_bool(isinstance(form, StopAt) == buys)}"
        yield f"{name}_EXPIRES = {expires}"


def format_signals(member: ExportedMember, text: Callable[[Node], str]) -> Iterator[str]:
    """Statements on orders at the close of a bar, behind the conditions of both sides."""
    strategy, delay = member.strategy, member.constants("")["delay"]
    rests = all(side is not None for side in split_sides(strategy.entry))
    both = "" if rests else " or asks_long == asks_short"
    if not rests:
        yield "// Where both ask neither does, unless both wait for prices to come."
    for side in SIDES:
        yield f"int asks_of_{side} = bar_index < WARM_UP{both} ? 0 : asks_{side} ? 1 : 0"
        yield f"int leaves_{side} = leave_{side} ? 1 : 0"
    cancel = "false" if strategy.cancel is None else text(strategy.cancel)
    yield f"int cancelled = {cancel} ? 1 : 0"
    if delay:
        yield f"float late = math.sum(cancelled, {delay})"
    for side, form in zip(SIDES, split_sides(strategy.entry), strict=True):
        level = text(form.price) if isinstance(form, StopAt | LimitAt) else "float(na)"
        yield f"float {side}_at = {level}"
    for side, row in zip(SIDES, list_followed(strategy), strict=True):
        if row is not None:
            yield f"float follow_{side} = {text(row)}"


def format_legs(member: ExportedMember, read: Read, say: Phrases) -> dict[str, str]:
    """Phrases of the template of orders that each target repeats."""
    ladders = [list_legs(member.strategy, side) for side in range(2)]
    count, delay = max(map(len, ladders)), member.constants("")["delay"]
    legs = range(1, count + 1)
    after = member.strategy.after_leg
    return {
        "leg_fields": _join(f"    float target_{k} = na\n    bool out_{k} = false" for k in legs),
        "leg_functions": "\n".join(_format_functions(ladders, k, read, say) for k in legs)
        + _format_rest(ladders, read, say),
        "leg_hits": _join(_format_hit(k) for k in legs),
        "leg_opens": _join(
            f"    p.target_{k} := f_target_{k}(s, entry, p.risk, b)\n    p.out_{k} := false"
            for k in legs
        ),
        "away": format_away(member.strategy, read),
        "followed": say.by_side(
            [
                "behind" if row is None else f"follow_{side}"
                for side, row in zip(SIDES, list_followed(member.strategy), strict=True)
            ]
        ),
        "may_leave": say.by_side([_format_bounds(bounds) for bounds in list_bounds(member)]),
        "is_even": f"p.out_{after.leg}" if after is not None and after.leg <= count else "false",
        "late_cancel": "nz(late[1]) > 0" if delay else "false",
        "held_exits": _format_held(legs),
        "long_exits": _format_exits(ladders[0], "long", "1"),
        "short_exits": _format_exits(ladders[1], "short", "-1"),
        "needs": say.by_side(
            say.require_beyond(targets, lambda leg: f"f_target_{leg + 1}(s, entry, risk, b)")
            for targets in ladders
        ),
        **{f"{side}_kind": _format_kind(form, side) for side, form in
           zip(SIDES, split_sides(member.strategy.entry), strict=True)},
    }  # fmt: skip


def _format_bounds(bounds: tuple[float, float, float, float]) -> str:
    """The condition that a position lies within bounds."""
    parts = (
        f"{measure} {relation} {bound!r}{unit}"
        for bound, (measure, relation, unit) in zip(bounds, BOUNDS, strict=True)
        if math.isfinite(bound)
    )
    return " and ".join(parts) or "true"


def _format_functions(
    ladders: Sequence[Sequence[tuple[Node, Setting]]],
    k: int,
    read: Read,
    say: Phrases,
) -> str:
    targets, parts = [], []
    for legs in ladders:
        form, share = legs[k - 1] if k <= len(legs) else (None, Number(0.0))
        targets.append(say.price(form, read))
        parts.append(read(share))
    return (
        f"f_target_{k}(int s, float entry, float risk, int b) =>\n"
        f"    f_tick({say.by_side(targets)}, s > 0)\n\n"
        f"f_part_{k}(int s) =>\n    {say.by_side(parts)}\n"
    )


def _format_rest(
    ladders: Sequence[Sequence[tuple[Node, Setting]]], read: Read, say: Phrases
) -> str:
    """Share of each side that targets leave."""
    rests = [" - ".join(["1.0", *(read(share) for _, share in legs)]) for legs in ladders]
    return f"\nf_rest(int s) =>\n    {say.by_side(rests)}\n"


def _format_hit(k: int) -> str:
    reaches = f"s * far >= s * p.target_{k}"
    return (
        f"    bool hit_{k} = not p.out_{k} and f_part_{k}(s) > 0.0 and {reaches}\n"
        f"    if hit_{k}\n"
        f"        p.out_{k} := true\n"
        f"        p.legs := p.legs + f_part_{k}(s) * f_net(p, p.target_{k})\n"
        f"        p.rest := p.rest - f_part_{k}(s)\n"
        f"        farthest := na(farthest) ? p.target_{k} : "
        f"s * math.max(s * farthest, s * p.target_{k})"
    )


def _format_held(legs: Sequence[int]) -> str:
    lines = [
        "if p.side != 0",
        '    string held = p.side > 0 ? "long" : "short"',
        "    float units = p.side > 0 ? p.long_units : p.short_units",
    ]
    for k in legs:
        lines += [
            f"    if f_part_{k}(p.side) > 0.0 and not p.out_{k}",
            f'        strategy.exit(held + "{k}", held, qty = units * f_part_{k}(p.side), '
            f"stop = p.stop, limit = p.target_{k})",
        ]
    lines += [
        f"    if f_rest(p.side) > {SUM_SLACK!r}",
        "        strategy.exit(held, held, qty = units * f_rest(p.side), stop = p.stop)",
    ]
    return "\n".join(lines)


def _format_exits(legs: Sequence[tuple[Node, Setting]], side: str, sign: str) -> str:
    """Stop and targets of an order that waits."""
    lines = [
        f'    strategy.exit("{side}{k}", "{side}", qty = p.{side}_units * f_part_{k}({sign}), '
        f"stop = {side}_stop, limit = f_target_{k}({sign}, {side}_level, {side}_risk, "
        f"bar_index - next_{side}))"
        for k in range(1, len(legs) + 1)
    ]
    rest = (
        f'    if f_rest({sign}) > {SUM_SLACK!r}\n        strategy.exit("{side}", "{side}", '
        f"qty = p.{side}_units * f_rest({sign}), stop = {side}_stop)"
    )
    return "\n".join([*lines, rest])


def _format_kind(form: object, side: str) -> str:
    if isinstance(form, StopAt):
        return f", stop = {side}_level"
    return f", limit = {side}_level" if isinstance(form, LimitAt) else ""


def _join(texts: Iterator[str]) -> str:
    return "\n".join(texts)


def _format_bool(value: object) -> str:
    return "true" if value else "false"
