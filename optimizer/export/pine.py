"""A member of a front as a Pine script for TradingView, if Pine can express it."""

import re
import textwrap
from collections.abc import Iterator

from data.timeframe import MINUTE_NS
from optimizer.errors import ConfigError
from optimizer.export.bracket import Phrases, format_bracket
from optimizer.export.member import ExportedMember
from optimizer.export.pine_orders import DIFFERENCES as ORDERS
from optimizer.export.pine_orders import (
    format_constants,
    format_legs,
    refuse_in_pine,
)
from optimizer.export.pine_orders import format_signals as format_order_signals
from optimizer.export.python_rows import ExpressionLines
from optimizer.export.scripts import asset
from strategy.conditions import AllOf, AnyOf, Compare, Condition, OverBars
from strategy.expressions import Arithmetic, Call, Clock, Column, GeneValue, Higher, Number
from strategy.forms import SessionExit, Ticks
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
    no_target="float(na)",
    no_trail="float(na)",
    is_beyond="s * target > s * entry",
    is_apart="reach > 0.0",
    true="true",
    also=" and ({})",
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

    Raises:
        ConfigError: Naming the word that has no form in Pine, or that means other bars there.
    """
    for name in member.genes:
        if not re.fullmatch("[A-Za-z0-9_]+", name):
            raise ConfigError(f"gene '{name}' is no name in Pine and cannot be exported")
    lines = PineLines()
    has_orders = member.strategy.has_orders
    if has_orders:
        refuse_in_pine(member)
    rows = "\n".join([*_format_signals(member, lines), ""])
    forms = format_bracket(member.strategy, lines.format_at_signal, PHRASES)
    if has_orders:
        forms |= format_legs(member, lines.format_at_signal, PHRASES)
        forms["worth"] = (" and (reach > 0.0)" if PHRASES.is_apart in forms["worth"] else "") + (
            f" and ({forms['needs']})"
        )
    plan = "\n".join([*lines.lines, rows])
    ledger = asset("orders.pine" if has_orders else "ledger.pine").substitute(forms)
    functions = _functions(f"{plan}\n{ledger}")
    return f"{_head(member)}\n{_constants(member)}\n{functions}\n\n{plan}{ledger}"


class PineLines(ExpressionLines):
    """Pine that computes rows at every bar, each row once, in the order in which it is needed."""

    comment = "//"

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
        if isinstance(node, AllOf | AnyOf):
            joint = " and " if isinstance(node, AllOf) else " or "
            return f"({joint.join(map(self.text, node.conditions))})"
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
        *(f"- {difference}" for difference in ORDERS if member.strategy.has_orders),
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
    lines = [f"{name} = {value}" for name, value in values.items()]
    if member.strategy.has_orders:
        lines += format_constants(member)
    seconds = member.bar_ns / 10**9
    lines += [
        f"if timeframe.in_seconds() != {seconds:g}",
        f'    runtime.error("The member trades bars of {seconds / 60:g} minutes.")',
    ]
    return "\n".join([*lines, ""])


def _format_signals(member: ExportedMember, lines: PineLines) -> Iterator[str]:
    """Signals of the strategy at the close of a bar."""
    strategy = member.strategy

    def holds(condition: Condition | None) -> str:
        return "false" if condition is None else lines.text(condition)

    long, short = holds(strategy.long), holds(strategy.short)
    yield f"bool asks_long = {long}"
    yield f"bool asks_short = {short}"
    if not strategy.has_orders:
        yield "// Where both ask, neither does."
        yield "int asked = bar_index < WARM_UP or asks_long == asks_short ? 0 : asks_long ? 1 : -1"
    yield f"bool leave_long = {holds(strategy.exit_long)}"
    yield f"bool leave_short = {holds(strategy.exit_short)}"
    if strategy.has_orders:
        yield from format_order_signals(member, lines.text)
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
    """Functions that a text calls, and those that these call, in the order of their file."""
    blocks = asset("rows.pine").template.strip().split("\n\n")
    named = {block.split("(")[0]: block for block in blocks}
    needed: set[str] = set()
    called = set(re.findall(r"\bf_\w+", text)) & set(named)
    while called - needed:
        needed |= called
        called = {call for name in needed for call in re.findall(r"\bf_\w+", named[name])}
    return "\n\n".join(block for name, block in named.items() if name in needed)
