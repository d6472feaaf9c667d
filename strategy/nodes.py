"""Trees of plain data: walked, changed, and written down in one way whatever they hold."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, ClassVar, TypeVar, dataclass_transform

from strategy.errors import StrategyError

Kind = TypeVar("Kind", bound="Node")

ANY = -(2.0**31)
"""Least of a parameter that may be any number, also a negative one."""

PERCENT = 100

ABOVE_ZERO = math.ulp(0.0)
"""The smallest positive number, for what must be positive."""


MOST_NODES, DEEPEST = 10_000, 100
"""Limits of a tree: every walk over it takes time by its nodes, and calls by its depth."""


@dataclass(frozen=True)
class Parameter:
    """A number that an indicator, a form or a strategy takes."""

    name: str  # for messages
    least: float = 1  # smallest legal value
    # True if only whole values are legal; the loop then takes an int, else a float.
    is_whole: bool = True
    most: float = math.inf  # largest legal value

    @property
    def wanted(self) -> str:
        """Demands on a value, in words."""
        least = "above 0" if self.least == ABOVE_ZERO else f"at least {self.least:g}"
        most = "" if self.most == math.inf else f"at most {self.most:g}"
        words = "whole" if self.is_whole else "", "" if self.least == ANY else least, most
        return " and ".join(filter(None, words))

    def explain(self, value: float) -> str:
        """End of a message about a value outside 0 to 1.

        >>> Parameter("share", least=0, is_whole=False, most=1).explain(50)
        '; 50 % is 0.5'
        """
        is_percent = self.most == 1 and not self.is_whole and 1 < value <= PERCENT
        return f"; {value:g} % is {value / PERCENT:g}" if is_percent else ""

    def admits(self, value: float) -> bool:
        """True if a value is finite, large enough, and whole if it must be."""
        is_number = self.least <= value <= self.most and math.isfinite(value)
        return is_number and (value % 1 == 0 or not self.is_whole)


Numbers = Mapping[str, Parameter]


class Node:
    """A frozen dataclass; those of its fields that are nodes, or tuples of them, are its parts."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    written: ClassVar[str] = ""
    """Its word, and name in records; its class's name where that is empty."""

    numbers: ClassVar[Numbers] = {}
    """Fields that must be constants or genes, each with what is legal; None is left out."""

    @property
    def label(self) -> str:
        """Name of the node for a person."""
        return self.written or type(self).__name__

    @property
    def settings(self) -> "tuple[tuple[Parameter, Node], ...]":
        """Its numbers that must be constants or genes, each with its legal range."""
        settings = ((legal, getattr(self, name)) for name, legal in self.numbers.items())
        return tuple((legal, setting) for legal, setting in settings if setting is not None)

    @cached_property
    def parts(self) -> "tuple[Node, ...]":
        """The nodes that it holds, in the order of its fields."""
        kind: Any = type(self)
        values = [getattr(self, one.name) for one in _list_fields(kind) if one.compare]
        spread = [value if isinstance(value, tuple) else (value,) for value in values]
        return tuple(part for values in spread for part in values if isinstance(part, Node))

    @cached_property
    def size(self) -> int:
        """Number of nodes of the tree; one that stands in it twice counts twice."""
        return 1 + sum(part.size for part in self.parts)

    @cached_property
    def depth(self) -> int:
        """Number of nodes that stand inside of one another."""
        return 1 + max((part.depth for part in self.parts), default=0)


NAMED: dict[str, type[Node]] = {}
"""Kinds of nodes by the name that stands for them in records."""


def real(least: float = ABOVE_ZERO, most: float = math.inf, default: Any = MISSING) -> Any:  # noqa: ANN401 - as `field`
    """Field of a number that need not be whole: a constant or a gene, and its legal range."""
    legal = Parameter("", least=least, is_whole=False, most=most)
    return field(default=default, metadata={"legal": legal})


def whole(least: float = 1, most: float = math.inf, default: Any = MISSING) -> Any:  # noqa: ANN401 - likewise
    """Field of a whole number: a constant or a gene, and its legal range."""
    return field(default=default, metadata={"legal": Parameter("", least=least, most=most)})


def later(default: Any) -> Any:  # noqa: ANN401 - likewise
    """Field that a kind had not at first: a record names it only off its default."""
    return field(default=default, metadata={"is_later": True})


def is_left_out(node: Node, one: "Field[Any]") -> bool:
    """True if a record of a node omits one of its fields, so that older digests stand."""
    return "is_later" in one.metadata and getattr(node, one.name) == one.default


@dataclass_transform(frozen_default=True, field_specifiers=(field, real, whole, later))
def declare(word: str) -> Callable[[type[Kind]], type[Kind]]:
    """A kind of node by its name in the language and in records."""

    def make(kind: type[Kind]) -> type[Kind]:
        made: type[Kind] = dataclass(frozen=True)(kind)
        legal = {one.name: one.metadata["legal"] for one in fields(made) if "legal" in one.metadata}
        made.written = word
        own = {name: replace(one, name=name) for name, one in legal.items()}
        made.numbers = {**kind.numbers, **own}
        NAMED[word] = made
        return made

    return make


def check_extent(node: Node) -> None:
    """Refuse a tree that is too large, or nested too deep, for the walks over it."""
    if node.size > MOST_NODES:
        raise StrategyError(
            f"this is {node.size:,} words and numbers once written out, more than {MOST_NODES:,}; "
            "does a loop join a row or a condition with itself?"
        )
    if node.depth > DEEPEST:
        raise StrategyError(
            f"this is nested {node.depth} deep, more than {DEEPEST}; join many conditions by "
            "all_of(...) or any_of(...), and add up many rows in pairs"
        )


def walk(node: Node | None) -> Iterator[Node]:
    """A node and all below it, depth first, left to right."""
    if node is not None:
        yield node
        for part in node.parts:
            yield from walk(part)


def transform_nodes(node: Kind, change: Callable[[Node], Node]) -> Kind:
    """The tree with every node replaced by what `change` makes of it, leaves first."""
    if not node.parts:
        return change(node)  # type: ignore[return-value]
    kind: Any = type(node)
    values = {one.name: getattr(node, one.name) for one in _list_fields(kind)}
    made = {name: _transform_value(value, change) for name, value in values.items()}
    is_same = all(made[name] is value for name, value in values.items())
    return change(node if is_same else kind(**made))  # type: ignore[return-value]


@cache
def _list_fields(kind: Any) -> "tuple[Field[Any], ...]":  # noqa: ANN401 - a type, which a cache takes
    """Fields of a kind of node."""
    return fields(kind)


def _transform_value(value: object, change: Callable[[Node], Node]) -> object:
    if isinstance(value, Node):
        return transform_nodes(value, change)
    if isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
        made = tuple(_transform_value(part, change) for part in value)
        is_same = all(new is old for new, old in zip(made, value, strict=True))
        return value if is_same else made
    return value
