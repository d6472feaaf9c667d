"""Remarks on a question that means other than it seems: lengths, stops, grids, a line each."""

from collections.abc import Iterator

from data.timeframe import format_timeframe
from optimizer.search.lattice import Lattice
from optimizer.shown import number
from strategy.conditions import OverBars
from strategy.exits import Share, split_sides
from strategy.expressions import Call, GeneValue, Number
from strategy.gene import NEARLY
from strategy.genes import GenomeLayout
from strategy.model import Strategy
from strategy.nodes import Node, walk
from strategy.pretty_print import format_tree

MOST_NAMED = 3

SIZED = (
    "trades are sized by account(...): equity, return, calmar and max_drawdown are that account's; "
    "curves, ratios of days, marked falls and leverage stake risk_fraction of equity on each trade"
)
"""What is told of an account that sizes trades, beside which other numbers stand."""


def question_remarks(
    spec: Strategy, lattice: Lattice | None, timeframe_ns: int, *, is_scaled: bool
) -> tuple[str, ...]:
    """A line for each part of a question that is likely to be misread.

    Args:
        spec: The strategy, scaled to the bars, with its bounds.
        lattice: Its grid; None for another search.
        timeframe_ns: Duration of a bar.
        is_scaled: Whether lengths were scaled from the duration that the strategy names.
    """
    lines = [*_stops(spec, spec.layout)]
    if spec.account is not None:
        lines.append(SIZED)
    if is_scaled:
        lines += _constants(spec, timeframe_ns)
    return (*lines, *(() if lattice is None else _missed_bounds(lattice)))


def _constants(strategy: Strategy, timeframe_ns: int) -> Iterator[str]:
    """Numbers of bars that stay as they are written where lengths are scaled."""
    bars_s = timeframe_ns / 1e9
    if strategy.timeframe_s is None or strategy.timeframe_s == bars_s:
        return
    fixed = list(dict.fromkeys(format_tree(node) for node in walk(strategy) if _counts_bars(node)))
    if not fixed and strategy.max_hold is not None and isinstance(strategy.max_hold, Number):
        fixed = [f"max_hold={format_tree(strategy.max_hold)}"]
    if fixed:
        named = ", ".join(fixed[:MOST_NAMED]) + (", ..." if len(fixed) > MOST_NAMED else "")
        timeframe = format_timeframe(round(strategy.timeframe_s * 1e9))
        yield (
            f"lengths are scaled from {timeframe} to {format_timeframe(timeframe_ns)} bars, "
            f"numbers that are written out are not: {named}; write length(...) for the same time "
            "in any bars"
        )


def _counts_bars(node: Node) -> bool:
    """Whether a number of bars is written out in it."""
    return isinstance(node, Call | OverBars) and any(
        parameter.is_whole and isinstance(setting, Number) for parameter, setting in node.settings
    )


def _stops(strategy: Strategy, layout: GenomeLayout) -> Iterator[str]:
    """Stops of longs that may lie at 0 or below, where no price ever is."""
    stop, _ = split_sides(strategy.stop)
    if strategy.long is None or not isinstance(stop, Share):
        return
    if isinstance(stop.fraction, GeneValue):
        name = stop.fraction.gene.name
        most, remedy = layout.gene(name).high, f"--bound {name}=LOW:HIGH"
    else:
        most, remedy = stop.fraction.value, "a smaller share"
    if most >= 1:
        yield (
            f"stop={format_tree(stop)} reaches {number(most)}: from 1 on a long's stop lies at 0 "
            f"or below and ends no trade; keep it below 1 with {remedy}"
        )


def _missed_bounds(lattice: Lattice) -> Iterator[str]:
    """Genes whose last value on a grid is not their high bound."""
    for gene, values in zip(lattice.layout.genes, lattice.values, strict=True):
        if len(values) < 2:
            continue
        step = float(values[1] - values[0])
        if gene.high - values[-1] > NEARLY * step:
            yield (
                f"the grid of '{gene.name}' ends at {number(float(values[-1]))}, below its bound "
                f"{number(gene.high)}, which steps of {number(step)} from {number(gene.low)} miss"
            )
