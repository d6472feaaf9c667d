"""Charts of an individual's trades: R, groups, costs."""

from collections.abc import Callable, Sequence

import numpy as np

from engine.accounts.costs import Costs
from optimizer.formatting import evenly, format_count, number
from optimizer.report.charts.chart import (
    BLUE,
    GREEN,
    LEGEND,
    MOST_POINTS,
    ORANGE,
    RED,
    Chart,
    Layout,
    Trace,
    axis,
    bar,
    name,
    scatter,
)
from optimizer.report.trades import Bools, CostFacts, Groups, Trades
from optimizer.search.generation import Floats

Grouping = Callable[[Trades, Bools], Groups]

BIN_R = 0.25
"""Width of a bar of the distribution of R."""

OUTERMOST_R = 15.0
"""Results further out than this are put into the outermost bars."""

MOST_GROUPS = 30
"""Most groups that a chart of bars shows apart."""


def distribution(trades: Trades) -> Chart:
    """How results are spread, in bars of `BIN_R`."""
    edges = np.arange(-OUTERMOST_R, OUTERMOST_R + BIN_R, BIN_R)
    middle = edges[:-1] + BIN_R / 2
    r = np.clip(trades.r, -OUTERMOST_R, OUTERMOST_R - 1e-9)
    everything, _ = np.histogram(r, bins=edges)
    used = np.flatnonzero(everything)
    kept = slice(used[0], used[-1] + 1) if len(used) else slice(0, 0)
    data: list[Trace] = []
    for label, chosen, colour in split_by_sample(trades):
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


def excursions(r: Floats, best: Floats, worst: Floats) -> Chart:
    """How far each trade [K] went for it and against it, by its result, all in R."""
    at = evenly(len(r), MOST_POINTS)
    reaches = (("for it (MFE)", best, GREEN), ("against it (MAE)", worst, RED))
    data = [
        scatter(
            "markers",
            r[at],
            reach[at],
            name=label,
            customdata=np.array(at),
            marker={"color": colour, "size": 6, "opacity": 0.7},
            hovertemplate=f"trade %{{customdata}}: {label} %{{y:.3f}} R<extra></extra>",
        )
        for label, reach, colour in reaches
    ]
    layout = {"xaxis": axis("result in R"), "yaxis": axis("R while it was open"), "legend": LEGEND}
    alt = format_count(len(r), "trade")
    if len(r):
        gave = number(float((best - r).mean()))
        alt += f"; on average {number(float(best.mean()))} R for it, {number(float(worst.mean()))}"
        alt += f" R against it, {gave} R of the best were not kept"
    return Chart("how far trades went", alt, data, layout)


def split_by_sample(trades: Trades) -> list[tuple[str, Bools, str]]:
    """In-sample and held-out trades apart, where there are both.

    For each part its name, which trades are in it, and its colour: empty for a single part,
    which is coloured by what it shows.
    """
    if not trades.has_held_out:
        return [("", np.ones(len(trades), np.bool_), "")]
    return [("in-sample", ~trades.is_held_out, BLUE), ("held out", trades.is_held_out, ORANGE)]


def draw_group_results(
    trades: Trades, group: Grouping, title: str, *, show: str = "sum_r"
) -> Chart:
    """Results of groups of trades; `group` puts those of a part into the same groups.

    `show` is ``"sum_r"`` or ``"trades"``.
    """
    data: list[Trace] = []
    sentences: list[str] = []
    for label, chosen, colour in split_by_sample(trades):
        groups = group(trades, chosen)
        values = groups.sum_r if show == "sum_r" else groups.trades.astype(np.float64)
        signs = [GREEN if value > 0 else RED for value in values.tolist()]
        data.append(
            bar(
                [name(group_label) for group_label in groups.labels],
                values,
                name=label,
                customdata=groups.trades,
                marker={"color": colour or (signs if show == "sum_r" else BLUE)},
                hovertemplate=f"%{{x}}: %{{y:.4g}}, %{{customdata}} trades<extra>{label}</extra>",
            )
        )
        sentences.append(
            f"{label}: {_group_words(groups, show)}" if label else _group_words(groups, show)
        )
    layout = {
        "xaxis": {"type": "category", "automargin": True},
        "yaxis": axis("sum of R" if show == "sum_r" else "trades"),
        **_legend(data),
    }
    return Chart(title, "; ".join(sentences), data, layout)


def extremes(groups: Groups) -> list[int]:
    """Places of the best and the worst groups, best first; all when they are few.

    A group without a trade is neither.
    """
    order = np.argsort(-groups.sum_r, kind="stable")
    if len(order) > MOST_GROUPS:
        order = order[groups.trades[order] > 0]
    if len(order) > MOST_GROUPS:
        half = MOST_GROUPS // 2
        order = np.concatenate([order[:half], order[-half:]])
    return [int(index) for index in order]


def cost_line(facts: CostFacts, costs: Costs, *, has_trades: bool, is_uncharged: bool) -> Chart:
    """The sum of R at other costs: where it crosses 0, trading only pays the broker."""
    paid = costs.per_side * 10_000
    furthest = max(2 * paid, 10.0, 1.3 * facts.break_even_bp if has_trades else 0.0)
    x = np.linspace(0.0, furthest, 41)
    per_bp = facts.cost_r / paid if paid else 0.0
    before = facts.gross_r - facts.held_r
    if not paid and has_trades and facts.break_even_bp:
        per_bp = before / facts.break_even_bp
    y: Floats = before - per_bp * x
    line, mark = {"color": BLUE, "width": 2}, {"color": ORANGE, "size": 11}
    traded = np.array([paid]), np.array([facts.net_r])
    data = [
        scatter("lines", x, y, line=line, name="sum of R"),
        scatter("markers", *traded, marker=mark, name="as traded"),
    ]
    alt = "no trade, no cost"
    held = f"{number(facts.held_r)} R of fees a unit, funding and borrowing, " * bool(facts.held_r)
    if has_trades:
        alt = (
            f"{number(facts.gross_r)} R before costs, {number(facts.cost_r)} R of costs, {held}"
            f"{number(facts.net_r)} R left; nothing would be left at "
            f"{number(facts.break_even_bp)} basis points a side, {number(paid)} were paid"
        )
    if is_uncharged:
        alt += "; borrowing and funding of shorts are not charged"
    layout = {
        "xaxis": axis("fee and slippage a side, basis points"),
        "yaxis": axis("sum of R", zeroline=True, zerolinewidth=2),
        "legend": LEGEND,
    }
    return Chart("costs", alt, data, layout)


def _legend(data: Sequence[Trace]) -> Layout:
    """A legend where there is more than one trace."""
    if len(data) < 2:
        return {"showlegend": False}
    return {"legend": LEGEND}


def _spread_words(trades: Trades) -> str:
    if not len(trades):
        return "no trade"
    low, mid, high = np.percentile(trades.r, [10, 50, 90]).tolist()
    sentence = (
        f"{format_count(len(trades), 'trade')}; one in ten gives less than {number(low)} R, half "
        f"less than {number(mid)} R, one in ten more than {number(high)} R"
    )
    out = int((np.abs(trades.r) > OUTERMOST_R).sum())
    return sentence + (
        f"; {format_count(out, 'trade')} beyond {OUTERMOST_R:g} R in the last bars" if out else ""
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
    texts = (
        f"{groups.labels[i]} with {number(float(groups.sum_r[i]))} R in "
        f"{format_count(int(groups.trades[i]), 'trade')}"
        for i in (best, worst)
    )
    return "best " + ", worst ".join(texts)
