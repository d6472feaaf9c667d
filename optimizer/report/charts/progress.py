"""Charts of searches: how a front grew, and where genes went, in one search and through time."""

from collections.abc import Mapping, Sequence

import numpy as np

from optimizer.formatting import format_count, is_fraction, metric, number
from optimizer.report.charts.chart import (
    BLUE,
    GREY,
    LEGEND,
    ORANGE,
    RED_TO_GREEN,
    TO_GREEN,
    Chart,
    axis,
    name,
    scatter,
    words,
)
from optimizer.report.charts.front import PERCENT, metric_axis
from optimizer.report.trades import Ints
from optimizer.run.points import Grid, wants_more
from optimizer.search.generation import Floats

MOST_TICKS = 12
"""Values of a gene that an axis names each."""

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""Quantiles of a gene in a population that a fan shows."""


def hypervolume(generations: Ints, volume: Floats) -> Chart:
    """The volume [N] that the best found so far dominate, as a share of the last one's."""
    data = scatter(
        "lines", generations, volume, line={"color": BLUE, "width": 2}, name="hypervolume"
    )
    known = np.flatnonzero(volume >= 0.99)
    alt = "the front is empty in every generation"
    if len(known):
        alt = f"99% of the final hypervolume is reached in generation {generations[known[0]]}"
    layout = {
        "xaxis": axis("generation"),
        "yaxis": axis("share of the final hypervolume", tickformat=".0%", rangemode="tozero"),
    }
    return Chart("hypervolume of the front", alt, [data], layout)


def best_objective(generations: Ints, objective: str, best: Floats, median: Floats) -> Chart:
    """The best and the median value of an objective, generation by generation.

    `best` and `median` are [N] in natural sign; NaN without a feasible individual.
    """
    lines = (("best", best, ORANGE, 2), ("median of the population", median, GREY, 1))
    data = [
        scatter("lines", generations, values, name=label, line={"color": colour, "width": width})
        for label, values, colour, width in lines
    ]
    known = best[np.isfinite(best)]
    alt = f"no candidate with a defined {words(objective)}"
    if len(known):
        first, last = (metric(objective, float(known[i])) for i in (0, -1))
        alt = f"best {words(objective)} from {first} to {last}"
    layout = {"xaxis": axis("generation"), "yaxis": metric_axis(objective), "legend": LEGEND}
    return Chart(f"best {words(objective)}", alt, data, layout)


def gene_fan(
    gene: str,
    generations: Ints,
    quantiles: Floats,
    bounds: Sequence[float],
    final: Floats,
    options: Sequence[str],
) -> Chart:
    """How a gene's values spread over the population, generation by generation.

    `quantiles` are [N, 7] at `LEVELS`; `final` [F] are the values of the final front; `options`
    names values 0, 1, ... of a gene without order.
    """
    last = int(generations[-1]) if len(generations) else 0
    line, mark = {"color": BLUE, "width": 2}, {"symbol": "line-ew-open", "line": {"width": 2}}
    data = [
        *_bands(generations, quantiles),
        scatter("lines", generations, quantiles[:, 3], name="median", line=line),
        scatter(
            "markers",
            np.full(len(final), last),
            final,
            name="final front",
            marker={"color": ORANGE, "size": 7, **mark},
        ),
    ]
    margin = (bounds[1] - bounds[0]) * 0.04
    layout = {
        "xaxis": axis("generation"),
        "yaxis": {
            "range": [bounds[0] - margin, bounds[1] + margin],
            "automargin": True,
            **_option_ticks(options),
        },
        "showlegend": False,
    }
    alt = f"{words(gene)} between its bounds {number(bounds[0])} and {number(bounds[1])}"
    if options:
        alt = f"{words(gene)}, of {', '.join(options)}"
    elif len(quantiles):
        low, middle, high = (number(float(quantiles[-1, i])) for i in (2, 3, 4))
        alt += f"; at the end half of the population lies from {low} to {high}, median {middle}"
    return Chart(words(gene), alt, data, layout)


def _bands(generations: Ints, quantiles: Floats) -> list[Mapping[str, object]]:
    """The areas between quantiles, the widest first."""
    bands: list[Mapping[str, object]] = []
    around = np.concatenate([generations, generations[::-1]])
    labels = ("whole population", "middle 80%", "middle 50%")
    for k, (label, opacity) in enumerate(zip(labels, (0.12, 0.2, 0.3), strict=True)):
        edge = np.concatenate([quantiles[:, 6 - k], quantiles[::-1, k]])
        bands.append(
            scatter(
                "lines",
                around,
                edge,
                fill="toself",
                fillcolor=f"rgba(59,130,196,{opacity})",
                line={"width": 0},
                hoverinfo="skip",
                name=name(label),
            )
        )
    return bands


def draw_step_genes(dates_ns: Floats, names: Sequence[str], shares: Floats) -> Chart:
    """Genes of the picks [K, G] over time, from 0 at the lower bound to 1 at the upper."""
    x = dates_ns / 1e6
    data = [
        scatter("lines+markers", x, shares[:, g], name=name(gene), line={"shape": "hv"})
        for g, gene in enumerate(names)
    ]
    layout = {
        "xaxis": {"type": "date", "automargin": True},
        "yaxis": axis("share of the bounds", range=[-0.03, 1.03]),
        "legend": LEGEND,
    }
    moved = np.abs(np.diff(shares, axis=0))
    known = moved[np.isfinite(moved)]
    alt = f"{format_count(len(names), 'gene')} of the picks of {format_count(len(x), 'step')}"
    if len(known):
        alt += f"; from one to the next they move by {float(known.mean()):.0%} of their bounds"
    return Chart("genes of each step", alt, data, layout)


def heat_map(
    cells: Grid,
    genes: tuple[str, str],
    metric_name: str,
    pick: Floats | None,
    options: Mapping[str, Sequence[str]] | None = None,
) -> Chart:
    """The best of a metric in each cell of two genes, and where the pick lies.

    `genes` run from left to right and from bottom to top; `pick` has its values of both, of which
    `options` names those that are numbers of options.
    """
    known = cells.values[np.isfinite(cells.values)]
    what, percent = words(metric_name), is_fraction(metric_name)
    form = {"tickformat": PERCENT} if percent else {}
    data: list[Mapping[str, object]] = [
        {
            "type": "heatmap",
            "x": cells.x,
            "y": cells.y,
            "z": cells.values,
            "customdata": cells.counts,
            "hovertemplate": f"{name(words(genes[0]))} %{{x:.4g}}<br>{name(words(genes[1]))} "
            f"%{{y:.4g}}<br>best {name(what)} %{{z:{'.2%' if percent else '.4g'}}} "
            "of %{customdata} candidates<extra></extra>",
            "hoverongaps": False,
            "colorbar": {"title": {"text": f"best<br>{name(what)}"}, "thickness": 12, **form},
            **_colours(known, maximise=wants_more(metric_name)),
        }
    ]
    if pick is not None:
        ring = {"symbol": "circle-open", "size": 14, "color": ORANGE, "line": {"width": 3}}
        data.append(scatter("markers", pick[:1], pick[1:], name="the pick", marker=ring))
    sides = zip(("xaxis", "yaxis"), genes, (cells.x, cells.y), strict=True)
    named = options or {}
    axes = {
        side: axis(words(gene), **(_option_ticks(named.get(gene, ())) or _ticks(values)))
        for side, gene, values in sides
    }
    layout = {**axes, "showlegend": False}
    title = f"{what} by {words(genes[0])} and {words(genes[1])}"
    return Chart(title, _heat_words(cells, known, metric_name, pick is not None), data, layout)


def _colours(known: Floats, *, maximise: bool) -> Mapping[str, object]:
    """Red for losses and green for gains where values have a sign, else grey to the better."""
    if not len(known) or known.min() >= 0:
        return {"colorscale": TO_GREEN, "reversescale": not maximise}
    reach = float(np.abs(known).max())
    return {"colorscale": RED_TO_GREEN, "zmin": -reach, "zmax": reach}


def _ticks(values: Floats) -> Mapping[str, object]:
    """A tick at each value of a gene that is short and where there is room; not at ranges."""
    texts = [f"{value:.4g}" for value in values.tolist()]
    if len(values) > MOST_TICKS or list(map(float, texts)) != values.tolist():
        return {}
    return {"tickvals": values, "ticktext": texts}


def _option_ticks(options: Sequence[str]) -> Mapping[str, object]:
    """A tick at each option, by its name."""
    texts = [name(option) for option in options]
    return {"tickvals": list(range(len(texts))), "ticktext": texts} if texts else {}


def _heat_words(cells: Grid, known: Floats, metric_name: str, has_pick: bool) -> str:
    """Sentences on a heat map, and on a flat part of it."""
    count = format_count(int(cells.counts.sum()), "candidate")
    if not len(known):
        return f"none of {count} is feasible"
    low, high = (metric(metric_name, float(value)) for value in (known.min(), known.max()))
    is_one = cells.counts.max() == 1
    sentences = [
        f"{count}, {'one' if is_one else 'the best of those'} in each cell, from {low} to {high}"
        + ("; the ring is the pick" if has_pick else ""),
        "A flat part means that settings nearby do as well, so that exact values matter little; a "
        "cell that stands out alone is more likely luck",
    ]
    if len(known) < cells.counts.size:
        sentences.append("Cells without a feasible candidate are empty")
    if not is_one:
        sentences.append("Where more were tried, the best looks better")
    return ". ".join(sentences)
