"""Charts as data, and the look of all of them."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from data.plain import methods_take_plain
from optimizer.errors import ConfigError
from optimizer.report.tables import Tables
from optimizer.report.trades import Trades
from optimizer.search.generation import Floats

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Trace = Mapping[str, object]
Layout = Mapping[str, object]

BLUE, ORANGE, GREEN, RED, PURPLE, GREY = (
    "#3b82c4",
    "#d9822b",
    "#2f9e73",
    "#d1495b",
    "#8e6bbf",
    "#8a8f98",
)
"""Colours that stand out on white and on black, and apart for most colour-blind people."""

COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, GREY)
"""Of lines beside each other, in this order."""

SCALE = [[0.0, "#3a4cc0"], [0.5, "#b8b8b8"], [1.0, ORANGE]]
"""Colour scale of values without a sign of their own: blue is low, orange is high. Green and red
are gain and loss in every chart."""

OF_ROWS = ("#2aa7b8", "#b5a12a", "#c46bb0", "#6f7fd8", GREY)
"""Of a strategy's own rows, in this order."""

NEUTRAL = "#e6e6e6"
"""Neither good nor bad; the page has another one on black."""

RED_TO_GREEN = [[0.0, RED], [0.5, NEUTRAL], [1.0, GREEN]]
"""Colour scale of values that are bad below 0 and good above."""

TO_GREEN = [[0.0, NEUTRAL], [1.0, GREEN]]
"""Colour scale of values that are all gains: the greater the greener."""

LEGEND = {"orientation": "h", "y": 1.02, "yanchor": "bottom"}
"""A legend in a line above the chart."""

DATES = {"type": "date", "automargin": True}
"""An axis of times."""

MOST_CHARACTERS = 60
"""Longer names are cut in charts; tables hold them whole."""

MOST_POINTS = 2_000
"""Points of a line that a screen can show apart."""


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart in the words of plotly."""

    title: str
    alt: str  # what is to be seen in it, for people who cannot see it
    # Its traces; arrays are NumPy arrays, times are milliseconds since 1970 UTC.
    data: Sequence[Trace]
    layout: Layout = field(default_factory=dict)

    def figure(self) -> "Figure":
        """The chart as a figure of plotly, checked by it."""
        from plotly.graph_objects import Figure

        layout = {"title": {"text": name(self.title)}, "template": "plotly_white", **self.layout}
        return Figure(data=list(self.data), layout=layout)


def plane(
    title: str, alt: str, data: Sequence[Trace], x: str | Layout, y: str | Layout, **more: object
) -> Chart:
    """A chart over two axes, each by its title or whole; of several traces with a legend."""
    across, up = (axis(part) if isinstance(part, str) else part for part in (x, y))
    return Chart(title, alt, data, {"xaxis": across, "yaxis": up, "legend": LEGEND, **more})


class RunCharts:
    """Charts of one run; `trades` are those of members, where they are known already."""

    def __init_subclass__(cls) -> None:
        methods_take_plain(ConfigError)(cls)

    def __init__(self, run: Tables, trades: Mapping[int, Trades] | None = None) -> None:
        self._run, self._known = run, trades or {}

    def _trades(self, member: int) -> Trades:
        known = self._known.get(member)
        return self._run.trade_columns(member) if known is None else known


def name(text: object) -> str:
    """A name as plotly shows it: its marks of style do nothing, and it is not too long."""
    whole = str(text)
    cut = whole if len(whole) <= MOST_CHARACTERS else whole[: MOST_CHARACTERS - 1] + "…"
    return html.escape(cut, quote=False)


def axis(title: str, **more: object) -> Layout:
    """An axis with a title."""
    return {"title": {"text": name(title)}, "automargin": True, **more}


def line(x: object, y: object, colour: str, label: str, width: float = 2, **more: object) -> Trace:
    """A line of a colour, by the name in the legend."""
    return scatter("lines", x, y, line={"color": colour, "width": width}, name=label, **more)


def scatter(mode: str, x: object = None, y: object = None, **more: object) -> Trace:
    """Points or lines, by plotly's names of its properties; places may follow later."""
    coordinates = {} if x is None else {"x": x, "y": y}
    return {"type": "scatter", "mode": mode, **coordinates, **more}


def bar(x: object, y: object, **more: object) -> Trace:
    """Bars, likewise."""
    return {"type": "bar", "x": x, "y": y, **more}


def upright(x: float, text: str, *, side: str) -> Layout:
    """A dotted line at a place of the horizontal axis; its words are anchored at their `side`."""
    ends = {"x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "paper"}
    line = {"type": "line", **ends, "line": {"color": ORANGE, "width": 2, "dash": "dot"}}
    anchor = {"x": x, "xref": "x", "y": 1, "yref": "paper", "xanchor": side, "yanchor": "top"}
    return {"shapes": [line], "annotations": [{**anchor, "text": text, "showarrow": False}]}


def milliseconds(time_ns: npt.NDArray[np.int64]) -> Floats:
    """Times as plotly takes them: milliseconds since 1970 UTC."""
    times: Floats = time_ns.astype(np.float64) / 1e6
    return times


def select_plot_points(values: Floats, most: int = MOST_POINTS) -> npt.NDArray[np.int64]:
    """Places in values [N] to draw: the extremes of each stretch, the first and the last.

    All of them when there are no more than `most`, at least 4.
    """
    if len(values) <= most:
        return np.arange(len(values))
    edges = np.linspace(0, len(values), most // 2 + 1).astype(np.int64)
    low = [a + int(values[a:b].argmin()) for a, b in pairwise(edges)]
    high = [a + int(values[a:b].argmax()) for a, b in pairwise(edges)]
    return np.unique(np.array([0, len(values) - 1, *low, *high], np.int64))
