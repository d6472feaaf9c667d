"""Charts of an individual's results: equity, R, groups of trades, costs."""

from collections.abc import Sequence

import numpy as np

from engine.costs import Costs
from optimizer.generation import Floats
from optimizer.report.charts.chart import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    Chart,
    Trace,
    axis,
    milliseconds,
    name,
    thinned,
    words,
)
from optimizer.report.trades import CostFacts, Curve, Groups, Trades, drawdown
from optimizer.shown import counted, fraction, number

BIN_R = 0.25
"""Width of a bar of the distribution of R."""

OUTERMOST_R = 15.0
"""Results further out than this are put into the outermost bars."""

MOST_GROUPS = 30
"""Most groups that a chart of bars shows apart."""

EQUITY_LAYOUT = {
    "xaxis": {"type": "date", "anchor": "y2", "automargin": True},
    "yaxis": axis("equity", domain=[0.36, 1.0], tickformat=".2f"),
    "yaxis2": axis("drawdown", domain=[0.0, 0.3], tickformat=".0%", rangemode="tozero"),
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    "hovermode": "closest",
}


def equity_frame(hold: Curve, others: Sequence[Curve]) -> Chart:
    """What the equity of one individual is seen against.

    Args:
        hold: Buying and holding.
        others: Members of the front.
    """
    x, y = _broken([_drawn(curve) for curve in others])
    faint = {"color": GREY, "width": 0.8, "shape": "hv"}
    data: list[Trace] = []
    if others:
        data.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": x,
                "y": y,
                "name": "other members",
                "opacity": 0.35,
                "line": faint,
                "hoverinfo": "skip",
            }
        )
    data += _curve(hold, "buy and hold", ORANGE, shape="linear")
    alt = f"buying and holding ends at {number(float(hold.value[-1]))}"
    return Chart("equity and drawdown", alt, data, EQUITY_LAYOUT)


def equity(curve: Curve, label: str) -> Chart:
    """Equity and drawdown of one individual.

    Args:
        curve: Its equity after each trade, from 1.
        label: What to call it.
    """
    data = _curve(curve, label, BLUE, shape="hv")
    ends = float(curve.value[-1])
    alt = (
        f"{label}: equity ends at {number(ends)} after {counted(len(curve.value) - 1, 'trade')}, "
        f"its deepest drawdown is {fraction(float(-drawdown(curve).min()))}"
    )
    return Chart("equity and drawdown", alt, data, EQUITY_LAYOUT)


def distribution(trades: Trades) -> Chart:
    """How results are spread, in bars of `BIN_R`."""
    r = np.clip(trades.r, -OUTERMOST_R, OUTERMOST_R - 1e-9)
    edges = np.arange(-OUTERMOST_R, OUTERMOST_R + BIN_R, BIN_R)
    counts, _ = np.histogram(r, bins=edges)
    used = np.flatnonzero(counts)
    middle = edges[:-1] + BIN_R / 2
    kept = slice(used[0], used[-1] + 1) if len(used) else slice(0, 0)
    colours = [GREEN if value > 0 else RED for value in middle[kept].tolist()]
    data = {
        "type": "bar",
        "x": middle[kept],
        "y": counts[kept],
        "width": np.full(len(middle[kept]), BIN_R * 0.95),
        "marker": {"color": colours},
        "hovertemplate": "%{x:.3f} R: %{y} trades<extra></extra>",
    }
    alt = "no trade"
    if len(trades):
        low, mid, high = np.percentile(trades.r, [10, 50, 90]).tolist()
        alt = (
            f"{counted(len(trades), 'trade')}; one in ten gives less than {number(low)} R, half "
            f"less than {number(mid)} R, one in ten more than {number(high)} R"
        )
        out = int((np.abs(trades.r) > OUTERMOST_R).sum())
        alt += f"; {counted(out, 'trade')} beyond {OUTERMOST_R:g} R in the last bars" if out else ""
    layout = {"xaxis": axis("result in R"), "yaxis": axis("trades"), "bargap": 0}
    return Chart("distribution of results", alt, [data], layout)


def grouped(groups: Groups, title: str, *, show: str = "sum_r") -> Chart:
    """Results of groups of trades.

    Args:
        groups: In the order in which they stand side by side.
        title: What they have in common.
        show: ``"sum_r"`` or ``"trades"``.

    Returns:
        The chart. Of more than `MOST_GROUPS` groups that are no times, the best and the worst are
        shown, and `alt` says so.
    """
    values = groups.sum_r if show == "sum_r" else groups.trades.astype(np.float64)
    colours = [GREEN if value > 0 else RED for value in values.tolist()]
    if show != "sum_r":
        colours = [BLUE] * len(colours)
    data = {
        "type": "bar",
        "x": [name(label) for label in groups.labels],
        "y": values,
        "customdata": groups.trades,
        "marker": {"color": colours},
        "hovertemplate": "%{x}: %{y:.4g}, %{customdata} trades<extra></extra>",
    }
    layout = {
        "xaxis": {"type": "category", "automargin": True},
        "yaxis": axis("sum of R" if show == "sum_r" else "trades"),
    }
    return Chart(title, _group_words(groups, show), [data], layout)


def extremes(groups: Groups, most: int = MOST_GROUPS) -> Groups:
    """The best and the worst groups, best first; all of them when they are no more than `most`."""
    order = np.argsort(-groups.sum_r, kind="stable")
    if len(order) > most:
        order = np.concatenate([order[: most // 2], order[-(most // 2) :]])
    labels = tuple(groups.labels[i] for i in order.tolist())
    return Groups(labels, groups.trades[order], groups.sum_r[order], groups.wins[order])


def cost_line(facts: CostFacts, costs: Costs, has_trades: bool) -> Chart:
    """The sum of R at other costs: where it crosses 0, trading only pays the broker."""
    paid = costs.per_side * 10_000
    furthest = max(2 * paid, 10.0, 1.3 * facts.break_even_bp if has_trades else 0.0)
    x = np.linspace(0.0, furthest, 41)
    per_bp = facts.cost_r / paid if paid else 0.0
    if not paid and has_trades and facts.break_even_bp:
        per_bp = facts.gross_r / facts.break_even_bp
    y: Floats = facts.gross_r - per_bp * x
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": x,
            "y": y,
            "line": {"color": BLUE, "width": 2},
            "name": "sum of R",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": np.array([paid]),
            "y": np.array([facts.net_r]),
            "marker": {"color": ORANGE, "size": 11},
            "name": "as traded",
        },
    ]
    alt = "no trade, no cost"
    if has_trades:
        alt = (
            f"{number(facts.gross_r)} R before costs, {number(facts.cost_r)} R of costs, "
            f"{number(facts.net_r)} R left; nothing would be left at "
            f"{number(facts.break_even_bp)} basis points a side, {number(paid)} were paid"
        )
    layout = {
        "xaxis": axis("fee and slippage a side, basis points"),
        "yaxis": axis("sum of R", zeroline=True, zerolinewidth=2),
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    }
    return Chart("costs", alt, data, layout)


def _curve(curve: Curve, label: str, colour: str, *, shape: str) -> list[Trace]:
    """A line of equity and the drawdown below it."""
    fallen = drawdown(curve)
    parts = ((curve.value, "y", {"width": 2}), (fallen, "y2", {"width": 1}))
    traces: list[Trace] = []
    for values, place, width in parts:
        at = thinned(values)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": milliseconds(curve.time_ns[at]),
                "y": values[at],
                "yaxis": place,
                "name": name(label),
                "legendgroup": name(label),
                "showlegend": place == "y",
                "line": {"color": colour, "shape": shape, **width},
            }
        )
    return traces


def _drawn(curve: Curve) -> tuple[Floats, Floats]:
    at = thinned(curve.value, 400)
    return milliseconds(curve.time_ns[at]), curve.value[at]


def _broken(lines: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Many lines as one, a gap after each."""
    gap = np.array([np.nan])
    x = [part for line in lines for part in (line[0], gap)]
    y = [part for line in lines for part in (line[1], gap)]
    return (np.concatenate(x), np.concatenate(y)) if lines else (gap, gap)


def _group_words(groups: Groups, show: str) -> str:
    traded = np.flatnonzero(groups.trades)
    if not len(traded):
        return "no trade"
    if show == "trades":
        return ", ".join(
            f"{words(groups.labels[i])} {number(int(groups.trades[i]))}" for i in traded.tolist()
        )
    best = int(traded[groups.sum_r[traded].argmax()])
    worst = int(traded[groups.sum_r[traded].argmin()])
    told = (
        f"{words(groups.labels[i])} with {number(float(groups.sum_r[i]))} R in "
        f"{counted(int(groups.trades[i]), 'trade')}"
        for i in (best, worst)
    )
    return "best " + ", worst ".join(told)
