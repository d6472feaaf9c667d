"""Trees and genes as a run records them: data that JSON can hold, and back again."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from strategy.custom_indicator import OwnIndicator
from strategy.errors import StrategyError, unknown
from strategy.expressions import GeneValue, Number
from strategy.gene import Gene
from strategy.nodes import NAMED, Node, is_left_out
from strategy.pretty_print import format_tree


def encode_node(value: object) -> object:
    """A node as lists, numbers, texts: its name, then its fields in their order.

    A number stands for itself and a gene for its name, because its bounds are written once.

    >>> from strategy.expressions import Call, Column
    >>> encode_node(Call("sma", Column("close"), (Number(20),)))
    ['call', 'sma', ['column', 'close', False], [20.0]]
    """
    if isinstance(value, Number):
        return value.value
    if isinstance(value, GeneValue):
        return {"gene": value.gene.name}
    if isinstance(value, OwnIndicator):
        return {
            "own": value.name,
            "parameters": list(value.parameters),
            "text_sha256": value.text_sha256,
            "uses": dict(value.uses),
            "line": value.line,
        }
    if isinstance(value, Node):
        kept = [one for one in fields(value) if not is_left_out(value, one)]
        return [value.written, *(encode_node(getattr(value, one.name)) for one in kept)]
    if isinstance(value, tuple):
        return [encode_node(item) for item in value]
    return value


def decode_node(
    data: object, genes: Mapping[str, Gene], own: Mapping[str, OwnIndicator] | None
) -> object:
    """The node that `encode_node` wrote down.

    Raises:
        StrategyError: When it names what is not there, or an own indicator of another text.
    """
    if isinstance(data, Mapping):
        return _resolve_reference(data, genes, own or {})
    if isinstance(data, float):
        return Number(data)
    if not isinstance(data, list):
        return data
    if not data or not isinstance(data[0], str):
        return tuple(decode_node(item, genes, own) for item in data)
    return NAMED[data[0]](*(decode_node(item, genes, own) for item in data[1:]))


def _resolve_reference(
    data: Mapping[str, object], genes: Mapping[str, Gene], own: Mapping[str, OwnIndicator]
) -> object:
    if "gene" in data:
        name = str(data["gene"])
        if name not in genes:
            raise StrategyError(unknown("gene", name, list(genes)))
        return GeneValue(genes[name])
    name = str(data["own"])
    if name not in own:
        raise StrategyError(unknown("own indicator", name, list(own)))
    if encode_node(own[name]) != data:
        raise StrategyError(f"own indicator '{name}' has another text or other libraries now")
    return own[name]


def describe_gene(gene: Gene) -> dict[str, object]:
    """All of a gene that decides which genomes there are, ready for JSON.

    Step and options are left out of a gene that has none.
    """
    described: dict[str, object] = {
        "name": gene.name,
        "kind": gene.kind,
        "low": float(gene.low),
        "high": float(gene.high),
        "default": float(gene.default),
        "is_length": gene.is_length,
        "positive": gene.positive,
    }
    if gene.step is not None:
        described["step"] = gene.step
    if gene.options:
        described["options"] = list(gene.options)
    return described


def hash_description(described: Mapping[str, object]) -> str:
    """SHA-256, hexadecimal, of the canonical JSON of a description."""
    text = json.dumps(described, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def write_value(value: object, described: Mapping[str, object]) -> str | None:
    """A value of `Strategy.described`, as a person would write it.

    None if it is no tree, or reads a person's own indicator without its text.
    """
    if not isinstance(value, list):
        return None
    try:
        with refuse_others("the value"):
            genes = read_genes(described)
            decoded = decode_node(value, genes, None)
    except StrategyError:
        return None
    nodes = decoded if isinstance(decoded, tuple) else (decoded,)
    is_tree = bool(nodes) and all(isinstance(node, Node) for node in nodes)
    return ", ".join(map(format_tree, nodes)) if is_tree else None


@contextmanager
def refuse_others(what: str) -> Iterator[None]:
    """Say that a record is no strategy where its values are of other kinds."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        wrong = f"{type(error).__name__}: {error}"
        raise StrategyError(f"{what} is no strategy: {wrong}") from None


def read_genes(described: Mapping[str, Any]) -> dict[str, Gene]:
    """Genes of what `Strategy.described` wrote down, by name."""
    return {entry["name"]: _read_gene(entry) for entry in described["genes"]}


def _read_gene(record: Mapping[str, Any]) -> Gene:
    unit = "bars" if record["is_length"] else "1"
    if not str(record["name"]).isidentifier():
        # It stands in programs for other platforms.
        raise StrategyError(f"{record['name']!r} is no name of a gene")
    bounds = record["low"], record["high"], record["default"]
    parts = record.get("step"), tuple(record.get("options", ()))
    return Gene(record["name"], record["kind"], *bounds, unit, record["positive"], *parts)
