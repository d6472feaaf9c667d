"""Text of a strategy that is words alone: nothing in it can reach beyond the language.

Python runs a file of strategies with all rights of its user. A text that a stranger wrote, such as
an agent, is let through here only where each statement gives a name to words, numbers and names
before it: no attribute, function, class, loop, index or import.
"""

import ast
import inspect

from data.errors import near_match
from strategy import words
from strategy.errors import StrategyError

LONGEST_TEXT = 20_000
"""Characters; strategies that people write have a tenth of them."""

MOST_NODES, LONGEST_QUOTE = 5_000, 60

IMPORT = ("strategy.words", "*")

WORDS = frozenset(words.__all__) - {"indicator"}
"""Words that run no function of a person's own."""

CALLED = frozenset(name for name in WORDS if inspect.isfunction(getattr(words, name)))
"""Words with brackets; columns have none, and `open` is a function of Python as well."""

OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr)

COMPARISONS = (ast.Gt, ast.Lt, ast.GtE, ast.LtE)


def require_words_only(text: str) -> None:
    """Refuse a text that holds anything but words of the language.

    Raises:
        StrategyError: In one line, with the line of the text.

    >>> require_words_only("A = strategy('', long=close > sma(close, 20), stop=share(0.02))")
    >>> require_words_only("import os")
    Traceback (most recent call last):
    strategy.errors.StrategyError: line 1: only words of the language, not 'import os'
    """
    if len(text) > LONGEST_TEXT:
        raise StrategyError(f"the text has {len(text):,} characters, {LONGEST_TEXT:,} at most")
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise StrategyError(f"line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise StrategyError("the text is no Python, or nested too deep") from None
    if sum(1 for _ in ast.walk(tree)) > MOST_NODES:
        raise StrategyError(f"the text has more than {MOST_NODES:,} words and signs")
    known: set[str] = set()
    for number, statement in enumerate(tree.body):
        if _is_docstring(statement, number) or _is_import(statement):
            continue
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise _refuse(statement, text)
        (target,) = statement.targets
        if not isinstance(target, ast.Name) or target.id in WORDS or target.id.startswith("_"):
            raise _refuse(statement, text)
        if isinstance(statement.value, ast.Tuple | ast.List) or _is_text(statement.value):
            raise _refuse(statement, text)
        _check(statement.value, known, text)
        known.add(target.id)


def _is_docstring(statement: ast.stmt, number: int) -> bool:
    return not number and isinstance(statement, ast.Expr) and _is_text(statement.value)


def _is_import(statement: ast.stmt) -> bool:
    is_from = isinstance(statement, ast.ImportFrom) and not statement.level
    return is_from and [(statement.module, name.name) for name in statement.names] == [IMPORT]  # type: ignore[attr-defined]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, int | float)


def _check(node: ast.expr, known: set[str], text: str) -> None:
    """Refuse an expression that is more than words, numbers, names before it and operators."""
    called = node.func if isinstance(node, ast.Call) else node
    if isinstance(called, ast.Name) and called.id not in WORDS and called.id not in known:
        line, near = node.lineno, near_match(called.id, {*WORDS, *known})
        raise StrategyError(f"line {line}: there is no word {called.id!r}{near}")
    parts = [] if isinstance(node, ast.Name) else _list_parts(node)
    if parts is None:
        raise _refuse(node, text)
    for part in parts:
        _check(part, known, text)


def _list_parts(node: ast.expr) -> list[ast.expr] | None:
    """Expressions within one that is let through; None of any other."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            is_plain = all(keyword.arg is not None for keyword in keywords)
            parts = [*args, *(keyword.value for keyword in keywords)]
            return parts if is_plain and name in CALLED else None
        case ast.Constant(value=bool() | int() | float() | str() | None):
            return []
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return parts
        case ast.BinOp(left=left, right=right, op=op) if isinstance(op, OPERATORS):
            # A text or a list could be multiplied.
            is_held = any(isinstance(p, ast.Tuple | ast.List) or _is_text(p) for p in (left, right))
            return None if is_held else [left, right]
        case ast.UnaryOp(operand=operand, op=ast.USub() | ast.UAdd() | ast.Invert()):
            return [operand]
        case ast.Compare(left=left, comparators=[right], ops=[op]) if isinstance(op, COMPARISONS):
            return [left, right]
    return None


def _refuse(node: ast.AST, text: str) -> StrategyError:
    shown, line = (ast.get_source_segment(text, node) or "").split(), getattr(node, "lineno", 1)
    quoted = " ".join(shown)[:LONGEST_QUOTE]
    return StrategyError(f"line {line}: only words of the language, not {quoted!r}")
