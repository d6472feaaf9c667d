"""Strategies read back from what a run recorded of them, without the file that they came from."""

from collections.abc import Mapping
from typing import Any

from strategy.canonical import decoded
from strategy.errors import StrategyError
from strategy.genes import Gene, GenomeLayout, LessThan
from strategy.model import PARTS, Strategy
from strategy.own import OwnIndicator


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
    try:
        return _from_described(described, name, summary, own)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        wrong = f"{type(error).__name__}: {error}"
        raise StrategyError(f"what is recorded of '{name}' is no strategy: {wrong}") from None


def _from_described(
    described: Mapping[str, object],
    name: str,
    summary: str,
    own: Mapping[str, OwnIndicator] | None,
) -> Strategy:
    told: Any = described
    genes = {one["name"]: _gene(one) for one in told["genes"]}
    pairs = tuple(LessThan(left, right) for left, right in told["constraints"])
    parts: Any = {part: decoded(told[part], genes, own) for part in PARTS}
    return Strategy(
        name,
        summary,
        **parts,
        timeframe_s=told["timeframe_s"],
        version=told["version"],
        layout=GenomeLayout(tuple(genes.values()), pairs),
    )


def _gene(told: Mapping[str, Any]) -> Gene:
    unit = "bars" if told["is_length"] else "1"
    if not str(told["name"]).isidentifier():
        # It stands in programs for other platforms.
        raise StrategyError(f"{told['name']!r} is no name of a gene")
    bounds = told["low"], told["high"], told["default"]
    return Gene(told["name"], told["kind"], *bounds, unit, told["positive"])
