"""Whether bounds of genes are legal, and whether there are bars enough for the longest of them."""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping

from optimizer.errors import ConfigError
from optimizer.run.markets import Markets
from strategy import Gene, GenomeLayout
from strategy.errors import GeneError, StrategyError
from strategy.model import Strategy


def apply_bounds(spec: Strategy, bounds: Mapping[str, tuple[float | str, float | str]]) -> Strategy:
    """The strategy with other bounds; an error names every gene whose bounds are wrong."""
    problems: list[str] = []
    for name, pair in bounds.items():
        try:
            GenomeLayout((spec.layout.gene(name),)).with_bounds({name: pair})
        except GeneError as error:
            problems.append(f"{error}{spec.place_of(name)}")
    if problems:
        raise GeneError("; ".join(problems))
    try:
        return spec.with_bounds(bounds)
    except StrategyError as error:
        # The node that reads a gene knows its least.
        raise GeneError(f"{error}{spec.place_of(*bounds)}") from None


def bars_needed(spec: Strategy) -> int:
    """Bars that every genome within the bounds can trade on."""
    highs = {gene.name: gene.high for gene in spec.layout.genes}
    return max(spec.warm_up({**highs, **options}) for options in _list_options(spec)) + 2


def check_bounds_fit(spec: Strategy, markets: Markets) -> None:
    """Refuse bounds of which some ask for more history than there is."""
    n_bars, shown = fewest_bars(markets)
    layout = spec.layout

    def missing(**genes: float) -> int:
        """Bars too few, with the other genes as low as may be."""
        lows = {gene.name: gene.low for gene in layout.genes}
        least = min(spec.warm_up({**lows, **options, **genes}) for options in _list_options(spec))
        return least + 2 - n_bars

    if missing() > 0:
        least = n_bars + missing()
        raise ConfigError(too_few_bars(spec, shown, least))
    reading = spec.row_genes
    most = {
        gene: _largest_that_fits(gene, missing)
        for gene in layout.genes
        if gene.name in reading and not gene.options and missing(**{gene.name: gene.high}) > 0
    }
    if most:
        named = ", ".join(f"'{gene.name}' may be {gene.high:g}" for gene in most)
        bounds = [f"--bound {gene.name}={gene.low:g}:{value}" for gene, value in most.items()]
        raise ConfigError(
            f"{shown} are too few for windows that long: {named}; the largest legal value "
            f"is {', '.join(map(str, sorted(set(most.values()))))}: {' '.join(bounds)}"
            + spec.place_of(*(gene.name for gene in most))
        )


def _list_options(spec: Strategy) -> list[dict[str, float]]:
    """Every combination of options within the bounds, by gene; one of none without such genes."""
    names = [gene.name for gene in spec.layout.genes if gene.options]
    return list(spec.layout.corners(names))


def _largest_that_fits(gene: Gene, missing: Callable[..., int]) -> int:
    """The largest whole value of a gene for which no bar is missing."""
    values = range(math.ceil(gene.low), math.floor(gene.high) + 1)
    fitting = bisect_right(values, 0, key=lambda value: missing(**{gene.name: value}))
    return values.start + fitting - 1


def too_few_bars(spec: Strategy, shown: str, least: int) -> str:
    """Message for a strategy that needs more bars than there are, whatever is searched."""
    return f"{shown}, need at least {least} (longest window {least - 1}){spec.place_of()}"


def fewest_bars(markets: Markets) -> tuple[int, str]:
    """Bars up to the end of the window that has fewest, and the words for them."""
    index = min(markets.places("search"), key=lambda index: markets.all_windows[index].end)
    end = markets.all_windows[index].end
    shown = "1 bar" if end == 1 else f"{end:,} bars"
    if len(markets.windows) > 1:
        shown = f"{markets.labels[index]}: {shown}"
    return end, shown
