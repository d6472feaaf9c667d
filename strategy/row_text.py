"""Rows of the language read from text that may come from anywhere; nothing of it runs as Python."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from strategy import words
from strategy.errors import StrategyError
from strategy.expressions import Expression, GeneValue, check_settings, holds_row
from strategy.language import Term
from strategy.nodes import walk
from strategy.other_names import suggest_word
from strategy.source_location import here

LONGEST = 4000
"""Characters of a text; a row that a person writes has a hundred."""

MOST_QUOTED = 60
"""Characters of a text that a message quotes."""

OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
"""Operators of rows, conditions and numbers; a power could take endless time."""

NAMES: Mapping[str, Any] = {"abs": abs, **{name: getattr(words, name) for name in words.__all__}}
"""Words of the language by their names."""

ALLOWED = "a row is columns, words, numbers, + - * / and brackets, such as rsi(close, 14) / 100"


def parse_row(text: str) -> Expression:
    """Row that a text describes in the words of a strategy's file, such as ``rsi(close, 14)``.

    Raises:
        StrategyError: When it is anything else, or a row with genes.
    """
    parts, shown = _parse(text, text), _shorten(text)
    if len(parts) > 1:
        raise StrategyError(f"'{shown}' is several rows: write one such as rsi(close, 14)")
    try:
        made = _evaluate(parts[0])
    except StrategyError as error:
        raise StrategyError(f"'{shown}': {str(error).removeprefix(f'{here()}: ')}") from None
    except (TypeError, ArithmeticError, RecursionError, AttributeError, ValueError) as error:
        raise StrategyError(f"'{shown}' is no row ({error}): {ALLOWED}") from None
    if not isinstance(made, Term) or not holds_row(made.tree):
        raise StrategyError(f"'{shown}' is no row: write one such as rsi(close, 14)")
    for node in walk(made.tree):
        if isinstance(node, GeneValue):
            raise StrategyError(f"'{shown}' has genes, which nothing searches here: write numbers")
        check_settings(node)
    return made.tree


def split_rows(text: str) -> list[str]:
    """Texts of rows that stand in a list, such as ``close, rsi(close, 14)``.

    Raises:
        StrategyError: When the text is no such list.
    """
    return [ast.unparse(part) for part in _parse(text.strip().removesuffix(","), text)]


def _parse(text: str, whole: str) -> list[ast.expr]:
    """Expressions of a list, which Python's own grammar reads and nothing runs."""
    if len(whole) > LONGEST:
        raise StrategyError(f"a text of {len(whole):,} characters is no row: {ALLOWED}")
    try:
        tree = ast.parse(f"({text}\n,)", mode="eval").body
    # The parser's own stack ends as a lack of memory.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise StrategyError(f"'{_shorten(whole)}' cannot be read: {ALLOWED}") from None
    if not isinstance(tree, ast.Tuple) or not tree.elts:
        raise StrategyError(f"'{_shorten(whole)}' cannot be read: {ALLOWED}")
    return tree.elts


def _evaluate(node: ast.AST) -> Any:  # noqa: ANN401 - a row, a condition, a number or a name
    """Value of an expression; only the language's own forms are known."""
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.Name(id=name):
            return _find_word(name)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            named = {
                str(keyword.arg): _evaluate(keyword.value) for keyword in keywords if keyword.arg
            }
            if len(named) == len(keywords):
                return _find_word(name)(*map(_evaluate, args), **named)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return _operate(op, operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return _operate(op, left, right)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
            return _operate(op, left, right)
    raise StrategyError(f"'{_shorten(ast.unparse(node))}' has no meaning here: {ALLOWED}")


def _operate(op: ast.AST, *operands: ast.AST) -> Any:  # noqa: ANN401 - a row, condition or number
    """Result of an operator; of a text there is none, which could be repeated for ever."""
    values = [_evaluate(operand) for operand in operands]
    if any(isinstance(value, str) for value in values):
        raise StrategyError(f"a text is no number: {ALLOWED}")
    return OPERATORS[type(op)](*values)


def _shorten(text: str) -> str:
    """Text as a message quotes it."""
    return text if len(text) <= MOST_QUOTED else f"{text[:MOST_QUOTED]}..."


def _find_word(name: str) -> Any:  # noqa: ANN401 - a row, or what makes one
    """Meaning of a name."""
    if name not in NAMES:
        raise StrategyError(f"the name '{name}' is unknown{suggest_word(name)}")
    return NAMES[name]
