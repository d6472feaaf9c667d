"""Charts of a schedule: its account with the dates of searches, and genes over time."""

from collections.abc import Sequence

import numpy as np

from optimizer.report.account import Curve
from optimizer.report.charts.chart import (
    BLUE,
    LEGEND,
    ORANGE,
    Chart,
    Layout,
    axis,
    milliseconds,
    name,
    scatter,
    select_plot_points,
)
from optimizer.search.generation import Floats
from optimizer.shown import format_count, number


def draw_schedule_equity(curve: Curve, dates_ns: Sequence[int]) -> Chart:
    """Equity of the account of all steps; a line where each step begins."""
    at = select_plot_points(curve.value)
    style = {"line": {"color": BLUE, "width": 2, "shape": "hv"}, "name": "all steps"}
    data = [scatter("lines", milliseconds(curve.time_ns[at]), curve.value[at], **style)]
    layout = {
        "xaxis": {"type": "date", "automargin": True},
        "yaxis": axis("equity", tickformat=".2f"),
        "showlegend": False,
        "shapes": [_draw_border(date) for date in dates_ns],
    }
    alt = (
        f"one account over {format_count(len(dates_ns), 'step')}, a pick each; it ends at "
        f"{number(float(curve.value[-1]))}"
    )
    return Chart("searched again through time", alt, data, layout)


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


def _draw_border(date_ns: int) -> Layout:
    ends = {"x0": date_ns / 1e6, "x1": date_ns / 1e6, "y0": 0, "y1": 1, "yref": "paper"}
    return {"type": "line", **ends, "line": {"color": ORANGE, "width": 1, "dash": "dot"}}
