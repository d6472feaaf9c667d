"""Charts of an individual's results: equity, R, groups of trades, costs."""

from collections.abc import Callable, Sequence

import numpy as np

from engine.costs import Costs
from optimizer.report.charts.chart import (
    BLUE,
    GREEN,
    GREY,
    LEGEND,
    ORANGE,
    RED,
    Chart,
    Layout,
    Trace,
    axis,
    bar,
    milliseconds,
    name,
    scatter,
    thinned,
)
from optimizer.report.trades import Bools, CostFacts, Curve, Groups, Trades, drawdown
from optimizer.search.generation import Floats
from optimizer.shown import counted, fraction, number

Grouping = Callable[[Trades, Bools], Groups]

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


def equity_frame(hold: Curve, others: Sequence[Curve], held_out_ns: int | None) -> Chart:
    """What the equity of one individual is seen against: holding, and members of the front.

    `held_out_ns` is when the bars begin that were held out; None without any.
    """
    x, y = _broken([_drawn(curve) for curve in others])
    faint = {"color": GREY, "width": 0.8, "shape": "hv"}
    data: list[Trace] = []
    if others:
        data.append(
            scatter("lines", x, y, name="other members", opacity=0.55, line=faint, hoverinfo="skip")
        )
    data += _curve(hold, "buy and hold", ORANGE, shape="linear")
    alt = f"buying and holding ends at {number(float(hold.value[-1]))}"
    return Chart("equity and drawdown", alt, data, {**EQUITY_LAYOUT, **border(held_out_ns)})


def border(held_out_ns: int | None) -> Layout:
    """A line where the bars begin that were held out."""
    if held_out_ns is None:
        return {}
    at = held_out_ns / 1e6
    line = {"color": ORANGE, "width": 2, "dash": "dot"}
    shape = {"type": "line", "xref": "x", "yref": "paper", "x0": at, "x1": at, "y0": 0, "y1": 1}
    place = {"xref": "x", "yref": "paper", "x": at, "y": 1, "xanchor": "left", "yanchor": "top"}
    note = {**place, "text": "held out", "showarrow": False}
    return {"shapes": [{**shape, "line": line}], "annotations": [note]}


def equity(curve: Curve, label: str) -> Chart:
    """Equity and drawdown of one individual."""
    data = _curve(curve, label, BLUE, shape="hv")
    ends = float(curve.value[-1])
    alt = (
        f"{label}: equity ends at {number(ends)} after {counted(len(curve.value) - 1, 'trade')}, "
        f"its deepest drawdown is {fraction(float(-drawdown(curve).min()))}"
    )
    return Chart("equity and drawdown", alt, data, EQUITY_LAYOUT)


def distribution(trades: Trades) -> Chart:
    """How results are spread, in bars of `BIN_R`."""
    edges = np.arange(-OUTERMOST_R, OUTERMOST_R + BIN_R, BIN_R)
    middle = edges[:-1] + BIN_R / 2
    r = np.clip(trades.r, -OUTERMOST_R, OUTERMOST_R - 1e-9)
    everything, _ = np.histogram(r, bins=edges)
    used = np.flatnonzero(everything)
    kept = slice(used[0], used[-1] + 1) if len(used) else slice(0, 0)
    data: list[Trace] = []
    for label, chosen, colour in parts_of(trades):
        counts, _ = np.histogram(r[chosen], bins=edges)
        signs = [GREEN if value > 0 else RED for value in middle[kept].tolist()]
        data.append(
            bar(
                middle[kept],
                counts[kept],
                name=label,
                marker={"color": colour or signs},
                hovertemplate=f"%{{x:.3f}} R: %{{y}} trades<extra>{label}</extra>",
            )
        )
    layout = {
        "xaxis": axis("result in R"),
        "yaxis": axis("trades"),
        "bargap": 0.05,
        "barmode": "stack",
        **_legend(data),
    }
    return Chart("distribution of results", _spread_words(trades), data, layout)


def parts_of(trades: Trades) -> list[tuple[str, Bools, str]]:
    """In-sample and held-out trades apart, where there are both.

    For each part its name, which trades are in it, and its colour: empty for a single part,
    which is coloured by what it shows.
    """
    if not trades.has_held_out:
        return [("", np.ones(len(trades), np.bool_), "")]
    return [("in-sample", ~trades.is_held_out, BLUE), ("held out", trades.is_held_out, ORANGE)]


def grouped(trades: Trades, group: Grouping, title: str, *, show: str = "sum_r") -> Chart:
    """Results of groups of trades; `group` puts those of a part into the same groups.

    `show` is ``"sum_r"`` or ``"trades"``.
    """
    data: list[Trace] = []
    told: list[str] = []
    for label, chosen, colour in parts_of(trades):
        groups = group(trades, chosen)
        values = groups.sum_r if show == "sum_r" else groups.trades.astype(np.float64)
        signs = [GREEN if value > 0 else RED for value in values.tolist()]
        data.append(
            bar(
                [name(one) for one in groups.labels],
                values,
                name=label,
                customdata=groups.trades,
                marker={"color": colour or (signs if show == "sum_r" else BLUE)},
                hovertemplate=f"%{{x}}: %{{y:.4g}}, %{{customdata}} trades<extra>{label}</extra>",
            )
        )
        told.append(
            f"{label}: {_group_words(groups, show)}" if label else _group_words(groups, show)
        )
    layout = {
        "xaxis": {"type": "category", "automargin": True},
        "yaxis": axis("sum of R" if show == "sum_r" else "trades"),
        **_legend(data),
    }
    return Chart(title, "; ".join(told), data, layout)


def extremes(groups: Groups, most: int = MOST_GROUPS) -> list[int]:
    """Places of the best and the worst groups, best first; all when they are no more than `most`.

    A group without a trade is neither.
    """
    order = np.argsort(-groups.sum_r, kind="stable")
    if len(order) > most:
        order = order[groups.trades[order] > 0]
    if len(order) > most:
        order = np.concatenate([order[: most // 2], order[-(most // 2) :]])
    return [int(place) for place in order]


def cost_line(
    facts: CostFacts, costs: Costs, *, has_trades: bool, has_shorts: bool = False
) -> Chart:
    """The sum of R at other costs: where it crosses 0, trading only pays the broker."""
    paid = costs.per_side * 10_000
    furthest = max(2 * paid, 10.0, 1.3 * facts.break_even_bp if has_trades else 0.0)
    x = np.linspace(0.0, furthest, 41)
    per_bp = facts.cost_r / paid if paid else 0.0
    if not paid and has_trades and facts.break_even_bp:
        per_bp = facts.gross_r / facts.break_even_bp
    y: Floats = facts.gross_r - per_bp * x
    data = [
        scatter("lines", x, y, line={"color": BLUE, "width": 2}, name="sum of R"),
        scatter(
            "markers",
            np.array([paid]),
            np.array([facts.net_r]),
            marker={"color": ORANGE, "size": 11},
            name="as traded",
        ),
    ]
    alt = "no trade, no cost"
    if has_trades:
        alt = (
            f"{number(facts.gross_r)} R before costs, {number(facts.cost_r)} R of costs, "
            f"{number(facts.net_r)} R left; nothing would be left at "
            f"{number(facts.break_even_bp)} basis points a side, {number(paid)} were paid"
        )
    if has_shorts:
        alt += "; borrowing and funding of shorts are not charged"
    layout = {
        "xaxis": axis("fee and slippage a side, basis points"),
        "yaxis": axis("sum of R", zeroline=True, zerolinewidth=2),
        "legend": LEGEND,
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
            scatter(
                "lines",
                milliseconds(curve.time_ns[at]),
                values[at],
                yaxis=place,
                name=name(label),
                legendgroup=name(label),
                showlegend=place == "y",
                line={"color": colour, "shape": shape, **width},
            )
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


def _legend(data: Sequence[Trace]) -> Layout:
    """A legend where there is more than one trace."""
    if len(data) < 2:
        return {"showlegend": False}
    return {"legend": LEGEND}


def _spread_words(trades: Trades) -> str:
    if not len(trades):
        return "no trade"
    low, mid, high = np.percentile(trades.r, [10, 50, 90]).tolist()
    told = (
        f"{counted(len(trades), 'trade')}; one in ten gives less than {number(low)} R, half "
        f"less than {number(mid)} R, one in ten more than {number(high)} R"
    )
    out = int((np.abs(trades.r) > OUTERMOST_R).sum())
    return told + (
        f"; {counted(out, 'trade')} beyond {OUTERMOST_R:g} R in the last bars" if out else ""
    )


def _group_words(groups: Groups, show: str) -> str:
    traded = np.flatnonzero(groups.trades)
    if not len(traded):
        return "no trade"
    if show == "trades":
        return ", ".join(
            f"{groups.labels[i]} {number(int(groups.trades[i]))}" for i in traded.tolist()
        )
    best = int(traded[groups.sum_r[traded].argmax()])
    worst = int(traded[groups.sum_r[traded].argmin()])
    told = (
        f"{groups.labels[i]} with {number(float(groups.sum_r[i]))} R in "
        f"{counted(int(groups.trades[i]), 'trade')}"
        for i in (best, worst)
    )
    return "best " + ", worst ".join(told)
