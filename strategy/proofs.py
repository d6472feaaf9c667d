"""The proof, before a search, that no own indicator of a strategy looks ahead."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from data.bars import Bars
from strategy.expressions import Call, Higher
from strategy.model import Strategy
from strategy.narrow import AnyStrategy
from strategy.nodes import Node
from strategy.own import OwnIndicator, prove_causal
from strategy.rows import Rows, bound, whole
from strategy.series import Series

Genes = Mapping[str, float]


def prove_causal_on(strategy: AnyStrategy, markets: Iterable[Bars]) -> None:
    """Prove on some markets that no own indicator of a strategy in words looks ahead.

    Raises:
        IndicatorError: As `prove_strategy_causal` says.
    """
    if isinstance(strategy, Strategy):
        for bars in markets:
            prove_strategy_causal(strategy, Series.of(bars))


def prove_strategy_causal(
    strategy: Strategy,
    series: Series,
    individuals: Iterable[Genes] = (),
    signals: Sequence[int] = (),
) -> int:
    """Prove on one series that a strategy's own indicators do not look ahead.

    They are asked with the default genes and with each gene at its bounds; and with the genes of
    individuals that will be shown, also at the bars at which these signal.

    Args:
        strategy: Whose indicators.
        series: Bars to prove it on.
        individuals: Values of genes by name.
        signals: Further bars to cut after.

    Returns:
        How many calls were proved, each with its parameters once.

    Raises:
        IndicatorError: Naming function, parameters, and the first bar that differs.
    """
    if not strategy.own:
        return 0
    rows = Rows(series)
    asked: dict[tuple[Series, OwnIndicator, tuple[int, ...]], None] = {}
    for genes in (*_corners(strategy), *individuals):
        asked |= dict.fromkeys(_calls(strategy, rows, genes))
    for shown, own, values in asked:
        # Bars of other lengths have other numbers.
        prove_causal(own, values, shown, signals if shown is series else ())
    return len(asked)


def _corners(strategy: Strategy) -> Iterator[Genes]:
    layout = strategy.layout
    defaults = layout.decode(layout.defaults)
    yield defaults
    for gene in layout.genes:
        yield {**defaults, gene.name: gene.low}
        yield {**defaults, gene.name: gene.high}


def _calls(
    strategy: Strategy, rows: Rows, genes: Genes
) -> Iterator[tuple[Series, OwnIndicator, tuple[int, ...]]]:
    for part in strategy.parts:
        yield from _calls_below(bound(part, genes), rows)


def _calls_below(node: Node, rows: Rows) -> Iterator[tuple[Series, OwnIndicator, tuple[int, ...]]]:
    if isinstance(node, Higher):
        rows, _ = rows.higher(node.minutes, node.offset)
    if isinstance(node, Call) and isinstance(node.indicator, OwnIndicator):
        yield rows.series, node.indicator, tuple(whole(one) for one in node.parameters)
    for part in node.parts:
        yield from _calls_below(part, rows)
