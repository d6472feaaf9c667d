"""The adaptive trend over time: classes, the row, votes and earnings of the families."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from data.checks import Floats, Ints
from engine.runtime.compiling.forms import CompiledForm
from optimizer.formatting import number
from optimizer.report.charts import chart as draw
from optimizer.report.charts.chart import Chart, Trace
from strategy.indicators import adaptive_trend as law

PANELS = {"price": (0.66, 1.0), "trend": (0.46, 0.62), "votes": (0.24, 0.42), "equity": (0.0, 0.2)}
"""Range of each part of the chart, from the bottom, as shares of its height."""


class Layers(NamedTuple):
    """Parts of an adaptive trend."""

    row: Floats  # [T], -1 to 1
    votes: Ints  # [6, T], hundredths, families in the order of `FAMILIES`
    equities: Floats  # [6, T], what following each family's vote has earned
    averages: Floats  # [6, 9, T], what following each average has earned


def compute_layers(close: Floats, parameters: Sequence[int], *, is_script: bool = False) -> Layers:
    """The layers of a series [T] by the readable definition, compiled."""
    run = CompiledForm()
    robustness, growth, decay, cutout, vote_long, vote_short = parameters[6:12]
    steps = run(law.compute_steps)(close, growth, decay, cutout)
    votes, equities, averages = [], [], []
    for family, (base, weight) in enumerate(zip(parameters[:6], parameters[12:], strict=True)):
        lengths = law.list_lengths(base, robustness)
        signals = run(law.compute_signals)(close, family, lengths, is_script)
        vote, earned = run(law.compute_votes)(signals, steps, cutout)
        votes.append(vote)
        averages.append(earned)
        equities.append(run(law.compute_equity)(vote, weight / 10.0, steps, cutout, is_script))
    formulas = np.array(votes), np.array(equities)
    row = run(law.weigh_votes)(*formulas, vote_long, vote_short, cutout)
    return Layers(row, *formulas, np.array(averages))


def trend(
    symbol: str,
    timestamp: Ints,
    close: Floats,
    layers: Layers,
    *,
    high: float = 0.1,
    low: float = -0.1,
    last: int = 500,
) -> Chart:
    """The newest bars of a series: price by class, the row, votes, and equities of the families.

    Times [T] are nanoseconds UTC. A trend above `high` is long, below `low` short; at most the
    `last` bars are drawn.
    """
    shown = slice(max(len(close) - last, 0), len(close))
    x, row = draw.milliseconds(timestamp[shown]), layers.row[shown]
    families = zip(law.FAMILIES, layers.equities, draw.COLOURS, strict=True)
    data = [
        *_price(x, close[shown], row, high, low),
        draw.line(x, row, draw.BLUE, "trend", 1, yaxis="y2"),
        *(_level(x, value, colour) for value, colour in ((high, draw.GREEN), (low, draw.RED))),
        _votes(x, layers.votes[:, shown]),
        *(
            draw.line(x, equity[shown], colour, f"equity of {name}", 1, yaxis="y4")
            for name, equity, colour in families
        ),
    ]
    layout: dict[str, object] = {
        "height": 900,
        "xaxis": {"type": "date", "anchor": "y4", "automargin": True},
        "legend": draw.LEGEND,
        "hovermode": "x",
        "yaxis": draw.axis("price", domain=PANELS["price"]),
        "yaxis2": draw.axis("trend", domain=PANELS["trend"]),
        "yaxis3": draw.axis("votes", domain=PANELS["votes"], autorange="reversed"),
        "yaxis4": draw.axis("equity", domain=PANELS["equity"], type="log"),
    }
    alt = f"{symbol}: the trend is {number(float(row[-1]))} at the last bar; votes of "
    votes = zip(law.FAMILIES, layers.votes[:, -1].tolist(), strict=True)
    alt += ", ".join(f"{name} {vote}" for name, vote in votes)
    return Chart(f"adaptive trend of {symbol}", alt, data, layout)


def _price(x: Floats, close: Floats, row: Floats, high: float, low: float) -> list[Trace]:
    """The closes as a line, and marks in the colour of each bar's class."""
    line = draw.line(x, close, draw.GREY, "close", 1, hoverinfo="skip")
    classes = (("long", row > high, draw.GREEN), ("short", row < low, draw.RED))
    return [
        line,
        *(
            draw.scatter(
                "markers", x, np.where(holds, close, np.nan), name=name,
                marker={"color": colour, "size": 4},
            )
            for name, holds, colour in classes
        ),
    ]  # fmt: skip


def _level(x: Floats, value: float, colour: str) -> Trace:
    """A threshold."""
    return draw.scatter(
        "lines", x[[0, -1]], [value, value], yaxis="y2", showlegend=False, hoverinfo="skip",
        line={"color": colour, "width": 1, "dash": "dot"},
    )  # fmt: skip


def _votes(x: Floats, votes: Ints) -> Trace:
    """Votes of the families as a strip each: green is long, red is short."""
    return {
        "type": "heatmap",
        "x": x,
        "y": list(law.FAMILIES),
        "z": votes,
        "zmin": -100,
        "zmax": 100,
        "colorscale": draw.RED_TO_GREEN,
        "showscale": False,
        "yaxis": "y3",
        "hovertemplate": "%{y}: %{z}<extra></extra>",
    }
