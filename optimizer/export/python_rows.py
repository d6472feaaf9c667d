"""Rows and conditions of a strategy as lines of Python, and the text of the functions they call."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterable, Mapping
from keyword import iskeyword
from types import FunctionType
from typing import TypeVar, cast

import numpy as np

from data.timeframe import MINUTE_NS, find_bar_ends
from strategy.clock import days_of_week, minutes_of_day, number_sessions
from strategy.conditions import AllOf, AnyOf, Compare, Held, OverBars, Within
from strategy.expressions import Arithmetic, Call, Clock, Column, GeneValue, Higher, Number
from strategy.functions import collect_functions, constants
from strategy.indicator_registry import COMPUTED_COLUMNS, KINDS
from strategy.indicators.bars import opening_high, opening_low, vwap
from strategy.nodes import Node
from strategy.pretty_print import format_tree
from strategy.rows import bars_within, held_bars

INDENT = "    "

Kind = TypeVar("Kind", bound=Node)

TIMES = "bars.timestamp, find_bar_ends(bars.timestamp, BAR_NS)"

CLOCKED: dict[str, tuple[Callable[..., object], str]] = {
    "minute_of_day": (minutes_of_day, "{local}"),
    "day_of_week": (days_of_week, "{local}"),
    "vwap": (vwap, "{hlc3}, bars.volume, number_sessions({local})"),
    "opening_high": (
        opening_high,
        f"bars.high, {TIMES}, number_sessions({{local}}), {{span}}",
    ),
    "opening_low": (
        opening_low,
        f"bars.low, {TIMES}, number_sessions({{local}}), {{span}}",
    ),
}
"""Rows ruled by the clock: the function, and what it is given."""


def name_in_python(gene: str) -> str:
    """A gene's name; an underscore follows a word of Python."""
    return f"{gene}_" if iskeyword(gene) else gene


def assign_genes(genes: Mapping[str, int | float]) -> list[str]:
    """Values of genes as arguments by name."""
    return [f"{name_in_python(name)}={value!r}" for name, value in genes.items()]


class ExpressionLines:
    """Python that computes rows of `bars`, each row once, in the order of their use.

    Attributes:
        lines: Code that has to stand before the requested rows.
        functions: Functions that these lines call.
    """

    comment, joints = "#", {AllOf: " & ", AnyOf: " | "}

    def __init__(self, functions: dict[Callable[..., object], None] | None = None) -> None:
        self.lines: list[str] = []
        self.functions = {} if functions is None else functions
        self._names: dict[Node, str] = {}

    def text(self, node: Node) -> str:
        """An expression, a condition or a number as Python; its rows are named in `lines`."""
        if isinstance(node, Number):
            return repr(int(node.value) if node.value.is_integer() else node.value)
        if isinstance(node, GeneValue):
            return f"genes.{name_in_python(node.gene.name)}"
        if isinstance(node, Column):
            return self._column(node)
        if isinstance(node, Arithmetic):
            return self._format_arithmetic(node)
        if isinstance(node, Call | Higher | Clock):
            return self._name_row(node, node.label, self._row)
        if isinstance(node, AllOf | AnyOf):
            return f"({self.joints[type(node)].join(map(self.text, node.conditions))})"
        return self._condition(node)

    def name_at_bars(self, node: Node) -> str:
        """The name of a line that has the value of an expression at every bar of `size`."""
        return self._name_row(node, "row", lambda row: f"np.broadcast_to({self.text(row)}, size)")

    def _column(self, node: Column) -> str:
        if node.is_extra:
            return f"bars.extra({node.name!r})"
        if node.name not in COMPUTED_COLUMNS:
            return f"bars.{node.name}"
        return self._name_row(node, node.name, self._format_computed_column)

    def _format_computed_column(self, node: Column) -> str:
        loop, names = COMPUTED_COLUMNS[node.name]
        return f"{self._register_function(loop)}({', '.join(f'bars.{name}' for name in names)})"

    def _format_arithmetic(self, node: Arithmetic) -> str:
        sides = [self.text(side) for side in (node.left, node.right) if side is not None]
        if node.operation in ("minimum", "maximum", "abs"):
            return f"known(np.{node.operation}({', '.join(sides)}))"
        if node.operation == "/":
            return f"known(np.divide({', '.join(sides)}))"
        return f"known({f' {node.operation} '.join(sides)})"

    def _row(self, node: Call | Higher | Clock) -> str:
        if isinstance(node, Higher):
            inner = ExpressionLines(self.functions)
            value = inner.text(node.inner)
            name = f"row_of_{node.minutes}_minutes_{len(self._names) + 1}"
            self.lines += [f"def {name}(bars):"]
            self.lines += [f"{INDENT}{line}" for line in (*inner.lines, f"return {value}")]
            return f"from_higher(bars, {node.minutes}, {node.offset}, {name})"
        if isinstance(node, Clock):
            loop, inputs = CLOCKED[node.name]
            self._register_function(number_sessions)
            self._register_function(find_bar_ends)
            span = f"{self.text(node.parameters[0])} * {MINUTE_NS}" if node.parameters else ""
            hlc3 = self.text(Column("hlc3")) if node.name == "vwap" else ""
            local = f"local_time(bars.timestamp, {node.offset!r})"
            arguments = inputs.format(local=local, span=span, hlc3=hlc3)
            return f"{self._register_function(loop)}({arguments})"
        kind = KINDS[cast(str, node.indicator)]
        read = [node.source] if node.source is not None else map(Column, kind.columns)
        inputs = ", ".join(map(self.text, (*read, *node.parameters)))
        return f"{self._register_function(kind.loop)}({inputs})"

    def _condition(self, node: Node) -> str:
        if isinstance(node, Compare):
            comparison = f"({self.text(node.left)} {node.relation} {self.text(node.right)})"
            return f"ago{comparison[:-1]}, {node.bars_ago})" if node.bars_ago else comparison
        assert isinstance(node, OverBars)
        loop = {Held: held_bars, Within: bars_within}[type(node)]
        return (
            f"{self._register_function(loop)}({self.text(node.condition)}, {self.text(node.bars)})"
        )

    def _name_row(self, node: Kind, label: str, computed: Callable[[Kind], str]) -> str:
        """The name of a row, which a line of its own computes."""
        if node not in self._names:
            text = computed(node)
            count = sum(name.startswith(f"{label}_") for name in self._names.values())
            self._names[node] = f"{label}_{count + 1}"
            self.lines.append(f"{self._names[node]} = {text}  {self.comment} {format_tree(node)}")
        return self._names[node]

    def _register_function(self, loop: Callable[..., object]) -> str:
        self.functions[loop] = None
        return loop.__name__


def collect_source_code(functions: Iterable[Callable[..., object]]) -> str:
    """The text of functions, of all that they call, and of the constants that these read.

    They are the readable definitions themselves; of a docstring its first line is left.
    """
    needed: dict[FunctionType, None] = {}
    for function in functions:
        needed |= dict.fromkeys(collect_functions(cast(FunctionType, function)))
    values = {name: value for callee in needed for name, value in constants(callee).items()}
    lines = [f"{name} = {_literal(value)}" for name, value in sorted(values.items())]
    by_name = sorted(needed, key=lambda callee: callee.__name__)
    texts = [_shorten_docstring(callee) for callee in by_name]
    return "\n".join(lines) + "\n\n\n" * bool(lines) + "\n\n".join(texts)


def _literal(value: object) -> str:
    return f"np.array({value.tolist()!r})" if isinstance(value, np.ndarray) else repr(value)


def _shorten_docstring(function: FunctionType) -> str:
    """The text of a function with one line of its docstring."""
    text = textwrap.dedent(inspect.getsource(function))
    (made,) = ast.parse(text).body
    assert isinstance(made, ast.FunctionDef)
    docstring, first = ast.get_docstring(made), made.body[0]
    if docstring is None:
        return text
    lines = text.splitlines(keepends=True)
    summary = f'{INDENT}"""{docstring.splitlines()[0]}"""\n'
    return "".join([*lines[: first.lineno - 1], summary, *lines[first.end_lineno :]])
