"""Charts of a front: its members in two and three dimensions, and all their numbers at once."""

from collections.abc import Mapping, Sequence

import numpy as np

from optimizer.errors import ConfigError
from optimizer.formatting import format_count, is_fraction, metric, words
from optimizer.report.charts.chart import BLUE, SCALE, Chart, RunCharts, axis, name, plane, scatter
from optimizer.report.tables import Tables
from optimizer.search.generation import Floats
from strategy.errors import unknown

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
        text=_hover_texts(columns, [x, y] if colour is None else [x, y, colour]),
        hoverinfo="text",
        marker=marker,
        name="front",
    )
    alt = (
        f"{format_count(len(members), 'member')} of the front; {_span(columns, x)}; "
        f"{_span(columns, y)}"
    )
    return plane(f"{words(y)} against {words(x)}", alt, [data], metric_axis(x), metric_axis(y))


class FrontCharts(RunCharts):
    """Charts of the members of a run's front; `customdata` of a mark is its member."""

    def front(self, x: str | None = None, y: str | None = None, colour: str | None = None) -> Chart:
        """Members of the front by two numbers, any columns of ``run.front``.

        The last and the first objective unless others are named.
        """
        columns = collect_front_columns(self._run)
        first, *others = self._run.objectives
        x = x or (others[-1] if others else "trades")
        y = y or first
        free = [name for name in self._run.objectives if name not in (x, y)]
        colour = colour or (free[0] if free else None)
        for column in filter(None, (x, y, colour)):
            if column not in columns:
                raise ConfigError(unknown("column", column, list(columns)))
        return front_2d(columns, x, y, colour)

    def front_3d(self) -> Chart:
        """Members of the front by their first three objectives."""
        run, names = self._run, self._run.objectives[:3]
        if len(names) < 3:
            raise ConfigError(f"run '{run.id}' has {len(names)} objectives, 3 are needed")
        columns = collect_front_columns(run)
        axes = {
            f"{direction}axis": {k: v for k, v in metric_axis(n).items() if k != "automargin"}
            for direction, n in zip("xyz", names, strict=True)
        }
        data = {
            "type": "scatter3d",
            "mode": "markers",
            **{place: columns[n] for place, n in zip("xyz", names, strict=True)},
            "customdata": np.arange(len(run.members)),
            "text": _hover_texts(columns, names),
            "hoverinfo": "text",
            "marker": {"size": 5, "color": columns[names[2]], "colorscale": SCALE},
            "name": "front",
        }
        members = format_count(len(run.members), "member")
        alt = f"{members}; " + "; ".join(_span(columns, n) for n in names)
        camera = {"eye": {"x": 1.7, "y": 1.6, "z": 0.7}, "center": {"z": -0.12}}
        scene = {**axes, "camera": camera, "aspectmode": "cube"}
        margin = dict.fromkeys("lrtb", 0)
        layout = {"scene": scene, "margin": margin}
        return Chart("three objectives", alt, [data], layout)

    def parallel(self) -> Chart:
        """Members of the front as lines through all their genes and objectives.

        Each on a scale of its own; of more than `MOST_LINES` members an even choice.
        """
        run, columns = self._run, collect_front_columns(self._run)
        names, options = (*run.genes, *run.objectives), run.header.options
        total = len(run.members)
        chosen = np.unique(np.linspace(0, total - 1, min(total, MOST_LINES)).astype(np.int64))
        scaled = np.stack([_unit(columns[n]) for n in names], axis=1)  # [F, N]
        shade = _unit(columns[run.objectives[0]])
        titles = [name(words(n)) for n in names]
        data = [
            scatter(
                "lines+markers",
                titles,
                scaled[member],
                customdata=np.full(len(names), member),
                text=[
                    f"member {member}<br>{title} "
                    + _format_value(n, float(columns[n][member]), options)
                    for n, title in zip(names, titles, strict=True)
                ],
                hoverinfo="text",
                line={"width": 1.2, "color": _mix_colour(float(shade[member]))},
                marker={"size": 4},
                opacity=0.75,
                meta={"member": member},
            )
            for member in chosen.tolist()
        ]
        shown = "" if len(chosen) == total else f", {len(chosen)} of them evenly chosen"
        alt = (
            f"{format_count(total, 'member')}{shown}, each a line from the lowest (bottom) to the "
            "highest (top) value on the front: " + "; ".join(_span(columns, n) for n in names)
        )
        ticks = {"tickvals": [0, 1], "ticktext": ["lowest", "highest"], "range": [-0.05, 1.05]}
        across = {"automargin": True, "tickangle": -35, "type": "category"}
        up = axis("on the front", **ticks)
        return plane("genes and objectives", alt, data, across, up, showlegend=False)


def collect_front_columns(run: Tables) -> dict[str, Floats]:
    """Every number of the front's members by name, each [F]; of an option its number."""
    frame, genes = run.front, dict(zip(run.genes, run.genomes.T, strict=True))
    return {
        str(name): genes[name] if name in genes else frame[name].to_numpy(np.float64)
        for name in frame.columns
    }


def _format_value(column: str, value: float, options: Mapping[str, Sequence[str]]) -> str:
    """A metric, or the name of a gene's option."""
    return name(options[column][int(value)]) if column in options else metric(column, value)


def _hover_texts(columns: Mapping[str, Floats], names: Sequence[str]) -> list[str]:
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
