"""A member of a front, orders and ladders too, as a Pine script for TradingView."""

import math
import re
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence

from data.timeframe import MINUTE_NS
from engine.accounts.metrics import SIDES
from optimizer.errors import ConfigError
from optimizer.export.member import ExportedMember
from optimizer.export.orders import (
    Phrases,
    Read,
    format_away,
    format_bracket,
    list_bounds,
    list_followed,
    list_legs,
    refuse_unsupported,
)
from optimizer.export.python_rows import ExpressionLines
from optimizer.export.scripts import asset
from strategy.conditions import AllOf, AnyOf, Compare, OverBars
from strategy.expressions import Arithmetic, Call, Clock, Column, GeneValue, Higher, Number, Setting
from strategy.forms import SUM_SLACK, LimitAt, SessionExit, StopAt, Ticks, find_step, split_sides
from strategy.nodes import Node

HEAD = """\
This text was written by a program and checked by a parser and an interpreter of its own; it was
not run on TradingView. It keeps the run's own ledger, by all rules of the run on the bars of this
chart: the table has its sums, the log its trades (bar of entry and of exit, side, reason, prices,
R). The last trade stays open. Only the last digits of averages differ, and bars that differ.

The strategy tester is given the same trades as orders. Where its broker emulator fills by other
rules, the trade has another price there, and ends at the latest at the close at which the ledger
is flat:"""

DIFFERENCES = (
    "Stop and target in one bar: the emulator takes the one that is nearer to the open; the ledger "
    "takes the stop.",
    "Target gap: an open beyond the target fills at that open; the ledger takes the target.",
    "Entry bar: until its close the order has the stop and the target that an entry at the close "
    "before it would have, and the size of that risk.",
    "A trade whose risk is large enough at one of the two prices only is in one of them only; an "
    "open beyond the stop is a trade that ends at once.",
    "Prices are rounded to the symbol's ticks, sizes to its smallest unit.",
    "Size: a fraction of the tester's account is risked, and it may borrow.",
)

PHRASES = Phrases(
    side="s",
    bar="(s > 0 ? low[b] : high[b])",
    either="s > 0 ? {} : {}",
    never="float(na)",
    is_apart="reach > 0.0",
    true="true",
)
"""For a signal `b` bars ago."""

SUPPORTED = (
    *("atr", "adx", "ema", "ema_mean", "highest", "lag", "lowest", "minus_di", "obv", "plus_di"),
    *("rma", "roc", "rsi", "sma", "std", "stoch", "wma", "zscore"),
    *("cci", "mfi", "sar", "supertrend", "supertrend_side"),
)
"""Indicators that have a form in Pine."""

CLOCKS = {
    "minute_of_day": "math.floor(({time}) % 86400000 / 60000)",
    "day_of_week": "(math.floor(({time}) / 86400000) + 3) % 7",
}

COMPUTED = ("true_range", "close_location")

OPERATIONS = {"minimum": "f_smaller", "maximum": "f_larger", "abs": "math.abs", "/": "f_divided"}


def build_pine_script(member: ExportedMember) -> str:
    """A Pine script that keeps the ledger of a member, and orders the same trades.

    A word that has no form in Pine, or that means other bars there, is refused by its name.
    """
    for name in member.genes:
        if not re.fullmatch("[A-Za-z0-9_]+", name):
            plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
            raise ConfigError(
                f"gene '{name}' is no name in Pine, whose names have letters a to z, digits and _; "
                f"call it {plain or 'gene_1'} in the strategy, and search again"
            )
    _refuse_orders(member)
    lines = PineLines()
    rows = "\n".join([*_format_signals(member, lines), ""])
    forms = format_bracket(member.strategy, lines.format_at_signal, PHRASES)
    forms |= _format_legs(member, lines.format_at_signal, PHRASES)
    plan = "\n".join([*lines.lines, rows])
    ledger = asset("ledger.pine").substitute(forms)
    functions = _functions(f"{plan}\n{ledger}")
    return f"{_head(member)}\n{_constants(member)}\n{functions}\n\n{plan}{ledger}"


class PineLines(ExpressionLines):
    """Pine that computes rows at every bar, each row once, in the order in which it is needed."""

    comment, joints = "//", {AllOf: " and ", AnyOf: " or "}

    def text(self, node: Node) -> str:
        """An expression, a condition or a number as Pine; its rows are named in `lines`."""
        if isinstance(node, Number):
            return repr(node.value)
        if isinstance(node, GeneValue):
            return f"g_{node.gene.name}"
        return super().text(node)

    def format_at_signal(self, node: Node) -> str:
        """The name of a line that has the value of an expression, to be read bars later."""
        if isinstance(node, Number | GeneValue):
            return self.text(node)
        return f"{self._name_row(node, 'row', self.text)}[b]"

    def _column(self, node: Column) -> str:
        if node.is_extra:
            raise _refuse(f'column("{node.name}")', "a chart has no extra columns")
        if node.name not in COMPUTED:
            return node.name
        return self._name_row(node, node.name, lambda _: f"f_{node.name}()")

    def _format_arithmetic(self, node: Arithmetic) -> str:
        sides = [self.text(side) for side in (node.left, node.right) if side is not None]
        if node.operation in OPERATIONS:
            return f"{OPERATIONS[node.operation]}({', '.join(sides)})"
        return f"({f' {node.operation} '.join(sides)})"

    def _row(self, node: Call | Higher | Clock) -> str:
        if isinstance(node, Higher):
            raise _refuse("higher", "TradingView begins its bars with the exchange's session")
        if isinstance(node, Clock):
            if node.name not in CLOCKS:
                raise _refuse(node.name, f"of the clock's rows {', '.join(CLOCKS)} can be said")
            return CLOCKS[node.name].format(time=_time(node.name, node.offset))
        if node.label not in SUPPORTED:
            raise _refuse(node.label, f"its indicators are {', '.join(SUPPORTED)}")
        sources = [] if node.source is None else [self.text(node.source)]
        whole = [self._whole(parameter) for parameter in node.parameters]
        return f"f_{node.label}({', '.join(sources + whole)})"

    def _condition(self, node: Node) -> str:
        if isinstance(node, Compare):
            comparison = f"({self.text(node.left)} {node.relation} {self.text(node.right)})"
            if not node.bars_ago:
                return comparison
            return f"{self._name_row(node, 'before', lambda _: comparison)}[{node.bars_ago}]"
        assert isinstance(node, OverBars)
        name = node.label
        arguments = f"{self.text(node.condition)}, {self._whole(node.bars)}"
        return self._name_row(node, name, lambda _: f"f_{name}({arguments})")

    def _whole(self, node: Node) -> str:
        return str(int(node.value)) if isinstance(node, Number) else self.text(node)


def _refuse(word: str, why: str) -> ConfigError:
    return ConfigError(f"'{word}' cannot be exported as Pine: {why}")


def _time(word: str, offset: int | str) -> str:
    """Milliseconds of local time at a bar's open."""
    if isinstance(offset, str):
        raise _refuse(word, f"its offset is the zone '{offset}'; give a fixed offset")
    return f"time + {offset * 60_000}" if offset else "time"


def _head(member: ExportedMember) -> str:
    first, second = (" ".join(part.split()) for part in HEAD.split("\n\n"))
    paragraphs = [
        *member.summary,
        "",
        first,
        "",
        second,
        *(f"- {difference}" for difference in DIFFERENCES),
        *(f"- {difference}" for difference in ORDER_DIFFERENCES if member.strategy.has_orders),
    ]
    wrapped = (part for line in paragraphs for part in textwrap.wrap(line, 96) or [""])
    # A name of a record may be anything, and Pine reads what ends its text as a program.
    title = re.sub(r"[^\w .-]", " ", member.strategy.name or "Member")
    return "\n".join(
        [
            "//@version=6",
            *(f"// {line}".rstrip() for line in wrapped),
            f'strategy("{title}", overlay = true, pyramiding = 2, initial_capital = 1000000, '
            "commission_type = strategy.commission.percent, "
            f"commission_value = {float(member.costs.per_side) * 100!r}, "
            f"margin_long = 0, margin_short = 0, max_bars_back = 5000{_format_slippage(member)})",
            "",
        ]
    )


def _format_slippage(member: ExportedMember) -> str:
    """Ticks by which the tester's orders slip, where the strategy has some."""
    slips = member.strategy.slippage
    return f", slippage = {int(member.value(slips.count, 0.0))}" if isinstance(slips, Ticks) else ""


def _constants(member: ExportedMember) -> str:
    values = {
        **{f"g_{name}": value for name, value in member.genes.items()},
        **{name.upper(): value for name, value in member.constants("float(na)").items()},
    }
    seconds = member.bar_ns / 10**9
    lines = [
        *(f"{name} = {value}" for name, value in values.items()),
        *_format_order_constants(member),
        f"if timeframe.in_seconds() != {seconds:g}",
        f'    runtime.error("The member trades bars of {seconds / 60:g} minutes.")',
    ]
    return "\n".join([*lines, ""])


def _format_signals(member: ExportedMember, lines: PineLines) -> Iterator[str]:
    """Signals of the strategy and its orders at the close of a bar."""
    strategy, delay, entries = member.strategy, member.delay, split_sides(member.strategy.entry)
    conditions = {f"asks_{side}": getattr(strategy, side) for side in SIDES}
    conditions |= {f"leave_{side}": getattr(strategy, f"exit_{side}") for side in SIDES}
    conditions["cancels"] = strategy.cancel
    for name, condition in conditions.items():
        yield f"bool {name} = {'false' if condition is None else lines.text(condition)}"
    rests = all(form is not None for form in entries)
    both = "" if rests else " or asks_long == asks_short"
    if not rests:
        yield "// Where both ask neither does, unless both wait for prices to come."
    for side in SIDES:
        yield f"int asks_of_{side} = bar_index < WARM_UP{both} ? 0 : asks_{side} ? 1 : 0"
        yield f"int leaves_{side} = leave_{side} ? 1 : 0"
    yield "int cancelled = cancels ? 1 : 0"
    if delay:
        yield f"float late = math.sum(cancelled, {delay})"
    for side, form, row in zip(SIDES, entries, list_followed(strategy), strict=True):
        level = lines.text(form.price) if isinstance(form, StopAt | LimitAt) else "float(na)"
        yield f"float {side}_at = {level}"
        if row is not None:
            yield f"float follow_{side} = {lines.text(row)}"
    day, is_over = _session(member, strategy.session)
    yield f"int day = {day}"
    yield f"bool is_over = {is_over}"


def _session(member: ExportedMember, session: SessionExit | None) -> tuple[str, str]:
    """The local day of each bar, and whether a position is left at its close."""
    if session is None:
        return "0", "false"
    local = _time("session_exit", session.offset)
    if session.begins:
        local = f"{local} - {session.begins * MINUTE_NS // 10**6}"
    minute = session.last_minute(member.value(session.minute, 0.0))
    lasts = member.bar_ns // 10**6
    over = f"({local}) % 86400000 + {lasts} >= {minute * MINUTE_NS // 10**6}"
    return f"math.floor(({local}) / 86400000)", over


def _functions(text: str) -> str:
    """Functions that a text calls, and all below them, in the order of their file."""
    blocks = asset("rows.pine").template.strip().split("\n\n")
    named = {block.split("(")[0]: block for block in blocks}
    needed: set[str] = set()
    called = set(re.findall(r"\bf_\w+", text)) & set(named)
    while called - needed:
        needed |= called
        called = {call for name in needed for call in re.findall(r"\bf_\w+", named[name])}
    return "\n\n".join(block for name, block in named.items() if name in needed)


LONGEST_WAIT = 5_000
"""Bars back that a script may read, at most."""

ORDER_DIFFERENCES = (
    "Resting orders: the emulator fills them along the path of a bar, and looks at stop and target "
    "from there on; the ledger assumes the worse where a bar does not tell.",
    "Legs: each target is an exit of a part of the units.",
)

BOUNDS = (
    ("bars", ">=", ""),
    ("bars", "<=", ""),
    ("gain", ">=", " * p.risk"),
    ("gain", "<=", " * p.risk"),
)
"""Series that bounds of an exit are held against."""


def _refuse_orders(member: ExportedMember) -> None:
    """Refuse orders that Pine cannot say."""
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


def _format_order_constants(member: ExportedMember) -> Iterator[str]:
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


def _format_legs(member: ExportedMember, read: Read, say: Phrases) -> dict[str, str]:
    """Phrases of the template of orders that each target repeats."""
    ladders = [list_legs(member.strategy, side) for side in range(2)]
    count, delay = max(map(len, ladders)), member.delay
    legs = range(1, count + 1)
    after = member.strategy.after_leg
    return {
        "leg_fields": "\n".join(
            f"    float target_{k} = na\n    bool out_{k} = false" for k in legs
        ),
        "leg_functions": "\n".join(_format_functions(ladders, k, read, say) for k in legs)
        + _format_rest(ladders, read, say),
        "leg_hits": "\n".join(_format_hit(k) for k in legs),
        "leg_plots": "\n".join(
            f'plot(p.side != 0 and not p.out_{k} ? p.target_{k} : na, "Target {k}", color.green, '
            "style = plot.style_linebr)"
            for k in legs
        ),
        "leg_opens": "\n".join(
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


def _format_bool(value: object) -> str:
    return "true" if value else "false"
