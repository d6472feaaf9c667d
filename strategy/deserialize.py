"""Strategies read back from what a run recorded of them, without the file that they came from."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from strategy.custom_indicator import OwnIndicator
from strategy.errors import StrategyError
from strategy.gene import Gene
from strategy.genes import GenomeLayout, LessThan
from strategy.model import Strategy
from strategy.nodes import Node
from strategy.parts import PARTS
from strategy.pretty_print import format_tree
from strategy.serialize import decode_node


def from_described(
    described: Mapping[str, object],
    name: str = "",
    summary: str = "",
    own: Mapping[str, OwnIndicator] | None = None,
) -> Strategy:
    """The strategy that `Strategy.described` wrote down; its digest is the same.

    Args:
        described: As written, through JSON or not.
        name: For people.
        summary: For people.
        own: A person's own indicators that it reads, by name.

    Raises:
        StrategyError: When it names an own indicator that is not given, or of another text, or is
            no strategy at all: a record may come from anywhere.
    """
    with _refuse_others(f"what is recorded of '{name}'"):
        record: Any = described
        genes = {entry["name"]: _gene(entry) for entry in record["genes"]}
        pairs = tuple(LessThan(left, right) for left, right in record["constraints"])
        parts: Any = {
            name: decode_node(record.get(name) if part.is_later else record[name], genes, own)
            for name, part in PARTS.items()
        }
        return Strategy(
            name,
            summary,
            **parts,
            timeframe_s=record["timeframe_s"],
            version=record["version"],
            layout=GenomeLayout(tuple(genes.values()), pairs),
        )


def write_value(value: object, described: Mapping[str, object]) -> str | None:
    """A value in what `Strategy.described` wrote down, as a person would write it.

    None where it is no tree, or reads a person's own indicator, whose text is not there.
    """
    if not isinstance(value, list):
        return None
    record: Any = described
    try:
        with _refuse_others("the value"):
            genes = {entry["name"]: _gene(entry) for entry in record["genes"]}
            decoded = decode_node(value, genes, None)
    except StrategyError:
        return None
    nodes = decoded if isinstance(decoded, tuple) else (decoded,)
    is_tree = bool(nodes) and all(isinstance(node, Node) for node in nodes)
    return ", ".join(map(format_tree, nodes)) if is_tree else None


@contextmanager
def _refuse_others(what: str) -> Iterator[None]:
    """Say that a record is no strategy where its values are of other kinds."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        wrong = f"{type(error).__name__}: {error}"
        raise StrategyError(f"{what} is no strategy: {wrong}") from None


def _gene(record: Mapping[str, Any]) -> Gene:
    unit = "bars" if record["is_length"] else "1"
    if not str(record["name"]).isidentifier():
        # It stands in programs for other platforms.
        raise StrategyError(f"{record['name']!r} is no name of a gene")
    bounds = record["low"], record["high"], record["default"]
    parts = record.get("step"), tuple(record.get("options", ()))
    return Gene(record["name"], record["kind"], *bounds, unit, record["positive"], *parts)
