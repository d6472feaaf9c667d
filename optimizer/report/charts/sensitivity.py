"""Charts of what happens near an individual: along each gene, and over pairs of genes."""

from collections.abc import Sequence

import numpy as np

from optimizer.report.charts.chart import (
    BLUE,
    ORANGE,
    SCALE,
    Chart,
    Trace,
    axis,
    name,
    scatter,
    words,
)
from optimizer.report.charts.front import metric_axis
from optimizer.search.generation import Floats
from optimizer.shown import is_fraction, metric, number


def along(gene: str, objective: str, values: Floats, results: Floats, own: float) -> Chart:
    """An objective while one gene alone changes.

    `results` are [N] at the values [N] of the gene, natural sign; NaN where infeasible. `own`
    is the gene of the individual itself.
    """
    at = int(np.abs(values - own).argmin())
    data: list[Trace] = [
        scatter(
            "lines+markers",
            values,
            results,
            line={"color": BLUE, "width": 2},
            marker={"size": 5},
            connectgaps=False,
        ),
        scatter(
            "markers",
            values[at : at + 1],
            results[at : at + 1],
            marker={"size": 12, "color": ORANGE, "symbol": "diamond"},
        ),
    ]
    layout = {"xaxis": axis(words(gene)), "yaxis": metric_axis(objective), "showlegend": False}
    known = np.flatnonzero(np.isfinite(results))
    alt = f"no value of {words(gene)} gives a feasible individual"
    if len(known):
        low, high = _reach(objective, results[known])
        alt = (
            f"{words(objective)} between {low} and {high} while {words(gene)} goes from "
            f"{number(float(values[0]))} to {number(float(values[-1]))}; here it is "
            f"{number(own)} and {metric(objective, float(results[at]))}; "
            f"{len(known)} of {len(values)} values are feasible"
        )
    return Chart(words(gene), alt, data, layout)


def heat_map(
    genes: Sequence[str],
    objective: str,
    x: Floats,
    y: Floats,
    results: Floats,
    own: Sequence[float],
) -> Chart:
    """An objective over a pair of genes.

    `results` are [M, N] over y [M] and x [N], natural sign; NaN where infeasible. `own` are
    both genes of the individual itself.
    """
    data: list[Trace] = [
        {
            "type": "heatmap",
            "x": x,
            "y": y,
            "z": results,
            "colorscale": SCALE,
            "hoverongaps": False,
            "colorbar": {
                "title": {"text": name(words(objective))},
                "thickness": 12,
                **({"tickformat": ".0%"} if is_fraction(objective) else {}),
            },
        },
        scatter(
            "markers",
            np.array([own[0]]),
            np.array([own[1]]),
            marker={"size": 13, "color": "#fff", "symbol": "diamond", "line": {"width": 2}},
            hoverinfo="skip",
            showlegend=False,
        ),
    ]
    known = np.isfinite(results)
    alt = f"{int(known.sum())} of {known.size} pairs are feasible"
    if known.any():
        low, high = _reach(objective, results[known])
        alt += f"; {words(objective)} between {low} and {high}"
    layout = {"xaxis": axis(words(genes[0])), "yaxis": axis(words(genes[1]))}
    return Chart(f"{words(genes[0])} and {words(genes[1])}", alt, data, layout)


def _reach(objective: str, results: Floats) -> tuple[str, str]:
    """The least and the greatest of results, as people read them."""
    return metric(objective, float(results.min())), metric(objective, float(results.max()))
