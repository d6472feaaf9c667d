"""Formulas of goals, such as ``cagr / max(max_drawdown, 0.05)``: grammar, tree, canonical text.

    formula = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
    sum     = product {("+" | "-") product}
    product = signed {("*" | "/") signed}
    signed  = "-" signed | atom ["^" exponent]
    atom    = NUMBER ["%"] | METRIC | "gene." NAME | "(" formula ")"
            | FUNCTION "(" formula {"," formula} ")"

An exponent is an atom without metrics and genes, or such a negative one. A comparison is a
condition, which `where` alone takes. Texts are read by this file, and nothing in them is executed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NoReturn

from data.errors import near_match
from engine.accounts.account import ACCOUNT_METRICS
from engine.accounts.metrics import FORMULAS
from optimizer.errors import ConfigError
from optimizer.other_programs import describe_unknown
from optimizer.printable import clean_text
from strategy.errors import unknown

ALIASES = {"expectancy": "mean_r"}
"""Other names of metrics, as traders call them."""

FUNCTIONS = {"abs": 1, "exp": 1, "log": 1, "max": 0, "min": 0, "sqrt": 1, "where": 3}
"""Values that each function takes; 0 stands for two or more."""

COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")

LEVELS = {**dict.fromkeys(COMPARISONS, 1), "+": 2, "-": 2, "*": 3, "/": 3, "^": 5}
"""How strongly operators bind."""

SUM, SIGN, POWER = 2, 4, 5

LONGEST, MOST_TERMS, DEEPEST = 1000, 100, 30
"""Characters of a formula, its terms, and brackets within each other."""

LONGEST_QUOTE = 100

LONGEST_NUMBER = 1e15
"""Whole numbers below are written without a point."""

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?P<percent>\s*%)?"
    r"|(?P<name>gene\.(?u:\w+)|[A-Za-z_]\w*(?:\.\w*)?)|(?P<sign>[<>=!]=|.))",
    re.ASCII | re.DOTALL,
)


@dataclass(frozen=True)
class FormulaNode:
    """A formula as a tree."""

    # ``number``, ``metric``, ``gene``, ``negative``, an operator or a function.
    kind: str
    parts: tuple["FormulaNode", ...] = ()
    name: str = ""  # of a metric or a gene
    number: float = 0.0

    @property
    def is_condition(self) -> bool:
        """True if it is a comparison, not a number."""
        return self.kind in COMPARISONS

    @property
    def text(self) -> str:
        """Canonical text, which reads back as the same tree.

        >>> read_formula("cagr/(max( max_drawdown,5%))").text
        'cagr / max(max_drawdown, 0.05)'
        """
        return _write(self, 0)

    def walk(self) -> Iterator["FormulaNode"]:
        """This term and all below it, in the order of reading."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def list_names(self, kind: str) -> tuple[str, ...]:
        """Names of its metrics, or of its genes, each once."""
        return tuple(dict.fromkeys(term.name for term in self.walk() if term.kind == kind))

    @property
    def is_constant(self) -> bool:
        """True if it reads neither a metric nor a gene."""
        return not any(term.name for term in self.walk())


class Token(NamedTuple):
    """Word of a formula."""

    kind: str  # "number", "name", "sign" or "end"
    text: str
    place: int  # of its first character, from 1
    number: float = 0.0


class WrittenBound(NamedTuple):
    """A bound on a formula, as a person wrote it."""

    left: FormulaNode
    over: str  # way of taking windows together; empty by default
    sign: str
    right: FormulaNode
    kind: str  # "soft", "hard" or empty


@lru_cache(maxsize=4096)
def read_formula(text: str) -> FormulaNode:
    """Formula of a text.

    Raises:
        ConfigError: Naming the place of the mistake, and the nearest name.
    """
    reader = _Reader(text)
    term = reader.read(0)
    reader.end()
    if term.is_condition:
        reader.refuse(
            "a condition is no number; where(..., 1, 0) makes one of it", reader.tokens[0]
        )
    return term


def read_comparison(text: str) -> WrittenBound | None:
    """Bound on a formula, such as ``cagr@worst > 2 * max_drawdown soft``; None without a sign.

    Raises:
        ConfigError: Naming the place of the mistake, and the nearest name.
    """
    reader = _Reader(text)
    if not any(token.text in COMPARISONS for token in reader.tokens):
        return None
    left = reader.read(SUM)
    over = reader.take("name") if reader.skip("@") else ""
    sign = reader.next
    if sign.text not in COMPARISONS[:4]:
        reader.refuse("<, <=, > or >= is missing")
    reader.advance()
    right = reader.read(SUM)
    kind = reader.next.text if reader.next.text in ("soft", "hard") else ""
    if kind:
        reader.advance()
    reader.end()
    return WrittenBound(left, over, sign.text, right, kind)


def quote(text: str) -> str:
    """A text as a message has it."""
    shown = text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 3]}..."
    return f"'{clean_text(shown, '')}'"


def split_list(text: str) -> list[str]:
    """Parts of a text between commas that stand in no brackets.

    >>> split_list("sharpe, max(cagr, 0.1):max")
    ['sharpe', 'max(cagr, 0.1):max']
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


class _Reader:
    """Reader of one text, token by token."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise ConfigError(f"at character {LONGEST:,}: a formula has no more characters")
        self.tokens = list(_list_tokens(text))
        self._index, self._depth, self._terms = 0, 0, 0

    @property
    def next(self) -> Token:
        """The token that is read next."""
        return self.tokens[self._index]

    def advance(self) -> Token:
        """Go on behind the next token."""
        token = self.next
        self._index += token.kind != "end"
        return token

    def skip(self, text: str) -> bool:
        """Go on behind the next token if it is this one."""
        is_next = self.next.kind != "end" and self.next.text == text
        if is_next:
            self.advance()
        return is_next

    def take(self, kind: str) -> str:
        """Text of the next token, which is of a kind."""
        if self.next.kind != kind:
            self.refuse(f"a {kind} is missing")
        return self.advance().text

    def end(self) -> None:
        """Refuse anything that is left."""
        if self.next.kind == "end":
            return
        if self.next.text in COMPARISONS:
            self.refuse("a second comparison")
        self.refuse(f"an operator is missing before {self.next.text!r}")

    def refuse(self, problem: str, token: Token | None = None) -> NoReturn:
        """Refuse the text at a token, the next one if none is named."""
        place = self.next if token is None else token
        where = "at the end" if place.kind == "end" else f"at character {place.place}"
        raise ConfigError(f"{where}: {problem}")

    def read(self, least: int) -> FormulaNode:
        """Read operators that bind at least so strongly, and their operands."""
        self._depth += 1
        if self._depth > DEEPEST:
            self.refuse(f"more than {DEEPEST} levels")
        term = self._read_signed()
        while (level := LEVELS.get(self.next.text, -1)) >= least:
            token = self.advance()
            if term.is_condition and token.text in COMPARISONS:
                self.refuse("a second comparison", token)
            if term.kind == "^" and token.text == "^":
                self.refuse("of two ^ brackets say which comes first", token)
            right = self.read(level + 1)
            if token.text == "^" and not right.is_constant:
                self.refuse("an exponent is a number; else write exp(y * log(x))", token)
            term = self._make_operator(token, token.text, (term, right))
        self._depth -= 1
        return term

    def _read_signed(self) -> FormulaNode:
        token = self.next
        if not self.skip("-"):
            return self._read_atom()
        return self._make_operator(token, "negative", (self.read(SIGN),))

    def _read_atom(self) -> FormulaNode:
        token = self.advance()
        if token.kind == "number":
            return self._make(token, "number", number=token.number)
        if token.kind == "name":
            return self._read_call(token) if self.skip("(") else self._read_name(token)
        if token.text == "(":
            term = self.read(0)
            self._close()
            return term
        missing = "a metric, a number or a bracket is missing"
        if token.text == "*":
            missing = "a power is written ^"
        self.refuse(missing if token.text in (*LEVELS, ")", ",", "") else _explain(token), token)

    def _read_call(self, token: Token) -> FormulaNode:
        name = token.text
        if name not in FUNCTIONS:
            self.refuse(unknown("function", name[:LONGEST_QUOTE], list(FUNCTIONS)), token)
        parts = [self.read(0)]
        while self.skip(","):
            parts.append(self.read(0))
        self._close()
        count = FUNCTIONS[name]
        if len(parts) != count and (count or len(parts) < 2):
            wanted = f"{count or 'two or more'} value{'' if count == 1 else 's'}"
            self.refuse(f"{name}(...) takes {wanted}, not {len(parts)}", token)
        for number, part in enumerate(parts):
            is_wanted = name == "where" and number == 0
            if part.is_condition != is_wanted:
                kinds = ("a condition such as trades > 30", "a number")
                wanted, got = kinds if is_wanted else kinds[::-1]
                self.refuse(f"value {number + 1} of {name}(...) must be {wanted}, not {got}", token)
        return self._make(token, name, tuple(parts))

    def _read_name(self, token: Token) -> FormulaNode:
        prefix, dot, gene = token.text.partition(".")
        if dot and prefix == "gene" and gene:
            return self._make(token, "gene", name=gene)
        name = ALIASES.get(token.text, token.text)
        if name not in FORMULAS:
            self.refuse(explain_metric(token.text), token)
        return self._make(token, "metric", name=name)

    def _make(
        self,
        token: Token,
        kind: str,
        parts: tuple[FormulaNode, ...] = (),
        name: str = "",
        number: float = 0.0,
    ) -> FormulaNode:
        self._terms += 1
        if self._terms > MOST_TERMS:
            self.refuse(f"more than {MOST_TERMS} terms", token)
        return FormulaNode(kind, parts, name, number)

    def _make_operator(
        self, token: Token, kind: str, parts: tuple[FormulaNode, ...]
    ) -> FormulaNode:
        """Node of an operator, which takes numbers."""
        if any(part.is_condition for part in parts):
            self.refuse(f"'{token.text}' takes numbers, and got a condition", token)
        return self._make(token, kind, parts)

    def _close(self) -> None:
        if not self.skip(")"):
            self.refuse("')' is missing")


def explain_metric(name: str) -> str:
    """Reason why a name is no metric of a search."""
    if name in ACCOUNT_METRICS:
        return f"'{name}' is measured of shown members only, a search has none"
    if name in FUNCTIONS:
        return f"{name} takes its values in brackets: '(' is missing"
    if name == "gene" or name.startswith("gene."):
        return "a gene is gene.NAME: its name is missing"
    if len(name) > LONGEST_QUOTE:
        return f"metric {quote(name)} is unknown"
    if near := near_match(name, [*FORMULAS, *FUNCTIONS]):
        return f"metric '{name}' is unknown{near}"
    return describe_unknown("metric", name, [*FORMULAS])


def _list_tokens(text: str) -> Iterator[Token]:
    end = len(text.rstrip())
    place = 0
    while place < end:
        match = _TOKEN.match(text, place)
        assert match is not None
        kind = "number" if match["number"] else "name" if match["name"] else "sign"
        found, first = match[kind], match.start(kind) + 1
        number = 0.0
        if kind == "number":
            number = float(found) / (100.0 if match["percent"] else 1.0)
            if number == float("inf"):
                raise ConfigError(f"at character {first}: {found} is too large a number")
        yield Token(kind, found, first, number)
        place = match.end()
    yield Token("end", "", end + 1)


def _explain(token: Token) -> str:
    if token.text == "=":
        return "= stands behind a name, and == compares"
    return f"{token.text!r} means nothing in a formula"


def _write(term: FormulaNode, least: int) -> str:
    """Text of a term, in brackets if it binds less strongly than it must."""
    if term.kind == "number":
        is_whole = term.number.is_integer() and term.number < LONGEST_NUMBER
        return str(int(term.number)) if is_whole else repr(term.number)
    if term.name:
        return term.name if term.kind == "metric" else f"gene.{term.name}"
    if term.kind in FUNCTIONS:
        return f"{term.kind}({', '.join(_write(part, 0) for part in term.parts)})"
    if term.kind == "negative":
        level, text = SIGN, f"-{_write(term.parts[0], SIGN)}"
    else:
        level = LEVELS[term.kind]
        # Powers and comparisons do not follow each other; of the others the left one comes first.
        first = level + (level in (1, POWER))
        left, right = _write(term.parts[0], first), _write(term.parts[1], level + 1)
        text = f"{left} {term.kind} {right}"
    return f"({text})" if level < least else text
