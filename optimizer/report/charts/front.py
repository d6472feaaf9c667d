"""Charts of a front: its members in two and three dimensions, and all their numbers at once."""

from collections.abc import Mapping, Sequence

import numpy as np

from optimizer.formatting import format_count, is_fraction, metric
from optimizer.report.charts.chart import BLUE, SCALE, Chart, axis, name, scatter, words
from optimizer.search.generation import Floats

PERCENT = ".2~%"
"""Percent with the digits that tell two marks apart."""

MOST_LINES = 300
"""More lines than this are a grey wall."""


def front_2d(columns: Mapping[str, Floats], x: str, y: str, colour: str | None) -> Chart:
    """Members of a front by two of their numbers.

    `columns` maps names to values [F]; `customdata` of a point is its member.
    """
    members = np.arange(len(columns[x]))
    marker: dict[str, object] = {"size": 10, "color": BLUE, "line": {"width": 1, "color": "#fff"}}
    if colour is not None:
        form = {"tickformat": PERCENT} if is_fraction(colour) else {}
        marker |= {
            "color": columns[colour],
            "colorscale": SCALE,
            "colorbar": {"title": {"text": name(words(colour))}, "thickness": 12, **form},
        }
    data = scatter(
        "markers",
        columns[x],
        columns[y],
        customdata=members,
        text=hover_texts(columns, [x, y] if colour is None else [x, y, colour]),
        hoverinfo="text",
        marker=marker,
        name="front",
    )
    alt = (
        f"{format_count(len(members), 'member')} of the front; {_span(columns, x)}; "
        f"{_span(columns, y)}"
    )
    layout = {"xaxis": metric_axis(x), "yaxis": metric_axis(y), "hovermode": "closest"}
    return Chart(f"{words(y)} against {words(x)}", alt, [data], layout)


def front_3d(columns: Mapping[str, Floats], names: Sequence[str]) -> Chart:
    """Members of a front by three objectives, which can be turned.

    `columns` maps names to values [F]; `customdata` of a point is its member.
    """
    x, y, z = names
    members = np.arange(len(columns[x]))
    data = {
        "type": "scatter3d",
        "mode": "markers",
        "x": columns[x],
        "y": columns[y],
        "z": columns[z],
        "customdata": members,
        "text": hover_texts(columns, names),
        "hoverinfo": "text",
        "marker": {"size": 5, "color": columns[z], "colorscale": SCALE},
        "name": "front",
    }
    axes = {
        f"{direction}axis": {k: v for k, v in metric_axis(n).items() if k != "automargin"}
        for direction, n in zip("xyz", names, strict=True)
    }
    alt = f"{format_count(len(members), 'member')}; " + "; ".join(_span(columns, n) for n in names)
    camera = {"eye": {"x": 1.7, "y": 1.6, "z": 0.7}, "center": {"z": -0.12}}
    scene = {**axes, "camera": camera, "aspectmode": "cube"}
    layout = {"scene": scene, "hovermode": "closest", "margin": {"l": 0, "r": 0, "t": 0, "b": 0}}
    return Chart("three objectives", alt, [data], layout)


def parallel(
    columns: Mapping[str, Floats],
    names: Sequence[str],
    colour: str,
    options: Mapping[str, Sequence[str]] | None = None,
) -> Chart:
    """A line a member through all its genes and objectives, each on a scale of its own.

    `columns` maps genes and objectives to values [F], of which `options` names those that are
    numbers of options; `customdata` of a line is its member.
    With more than `MOST_LINES` members an even choice of them is drawn, as `alt` notes.
    """
    n_members = len(columns[colour])
    chosen = np.unique(
        np.linspace(0, max(n_members - 1, 0), min(n_members, MOST_LINES)).astype(np.int64)
    )
    scaled = np.stack([_unit(columns[objective]) for objective in names], axis=1)  # [F, N]
    shade = _unit(columns[colour])
    titles = [name(words(objective)) for objective in names]
    data = [
        scatter(
            "lines+markers",
            titles,
            scaled[member],
            customdata=np.full(len(names), member),
            text=[
                f"member {member}<br>{name(words(n))} "
                + _format_value(n, float(columns[n][member]), options or {})
                for n in names
            ],
            hoverinfo="text",
            line={"width": 1.2, "color": _mix_colour(float(shade[member]))},
            marker={"size": 4},
            opacity=0.75,
            showlegend=False,
            meta={"member": member},
        )
        for member in chosen.tolist()
    ]
    shown = "" if len(chosen) == n_members else f", {len(chosen)} of them evenly chosen"
    alt = (
        f"{format_count(n_members, 'member')}{shown}, each a line from the lowest (bottom) to the "
        "highest (top) value on the front: "
        + "; ".join(_span(columns, objective) for objective in names)
    )
    ticks = {"tickvals": [0, 1], "ticktext": ["lowest", "highest"], "range": [-0.05, 1.05]}
    layout = {
        "yaxis": axis("on the front", **ticks),
        "xaxis": {"automargin": True, "tickangle": -35, "type": "category"},
        "hovermode": "closest",
    }
    return Chart("genes and objectives", alt, data, layout)


def _format_value(column: str, value: float, options: Mapping[str, Sequence[str]]) -> str:
    """A metric, or the name of a gene's option."""
    return name(options[column][int(value)]) if column in options else metric(column, value)


def hover_texts(columns: Mapping[str, Floats], names: Sequence[str]) -> list[str]:
    """Texts beside each member when it is pointed at, [F]."""
    n_members = len(columns[names[0]])
    return [
        f"member {i}"
        + "".join(f"<br>{name(words(n))} {metric(n, float(columns[n][i]))}" for n in names)
        for i in range(n_members)
    ]


def metric_axis(column: str) -> dict[str, object]:
    """An axis of a metric, in percent where people read it so."""
    more = {"tickformat": PERCENT} if is_fraction(column) else {}
    return {**axis(words(column)), **more}


def _unit(values: Floats) -> Floats:
    """Values [F] from 0 for the lowest to 1 for the highest; 0.5 where all are equal."""
    known = values[np.isfinite(values)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    if high == low:
        return np.where(np.isfinite(values), 0.5, np.nan)
    scaled: Floats = (values - low) / (high - low)
    return scaled


def _mix_colour(share: float) -> str:
    """A colour between blue at 0 and orange at 1."""
    at = 0.5 if np.isnan(share) else share
    low, high = (58, 76, 192), (217, 130, 43)
    red, green, blue = (round(a + (b - a) * at) for a, b in zip(low, high, strict=True))
    return f"rgb({red},{green},{blue})"


def _span(columns: Mapping[str, Floats], column: str) -> str:
    """The range of a column in words."""
    known = columns[column][np.isfinite(columns[column])]
    if not len(known):
        return f"{words(column)} undefined"
    low, high = (metric(column, float(value)) for value in (known.min(), known.max()))
    return f"{words(column)} {low}" if low == high else f"{words(column)} {low} to {high}"
