"""Trees of plain data: walked, changed, and written down in one way whatever they say."""

from collections.abc import Callable, Iterator
from dataclasses import Field, fields
from typing import Any, ClassVar, TypeVar

from strategy.indicators import Parameter

Kind = TypeVar("Kind", bound="Node")


class Node:
    """A frozen dataclass; those of its fields that are nodes, or tuples of them, are its parts."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def label(self) -> str:
        """What a person calls it."""
        return type(self).__name__

    @property
    def settings(self) -> "tuple[tuple[Parameter, Node], ...]":
        """Its numbers that must be constants or genes, each with what is legal."""
        return ()

    @property
    def parts(self) -> "tuple[Node, ...]":
        """The nodes that it holds, in the order of its fields."""
        values = [getattr(self, one.name) for one in fields(self) if one.compare]
        spread = [value if isinstance(value, tuple) else (value,) for value in values]
        return tuple(part for values in spread for part in values if isinstance(part, Node))


def walk(node: Node | None) -> Iterator[Node]:
    """A node and all below it, depth first, left to right."""
    if node is not None:
        yield node
        for part in node.parts:
            yield from walk(part)


def changed(node: Kind, change: Callable[[Node], Node]) -> Kind:
    """The same tree with every node replaced by what `change` makes of it, leaves first."""
    given = {one.name: getattr(node, one.name) for one in fields(node)}
    made = {name: _changed(value, change) for name, value in given.items()}
    is_same = all(made[name] is value for name, value in given.items())
    return change(node if is_same else type(node)(**made))  # type: ignore[return-value]


def _changed(value: object, change: Callable[[Node], Node]) -> object:
    if isinstance(value, Node):
        return changed(value, change)
    if isinstance(value, tuple) and any(isinstance(part, Node) for part in value):
        return tuple(_changed(part, change) for part in value)
    return value
