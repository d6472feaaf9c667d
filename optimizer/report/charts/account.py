"""Charts of an individual's account: equity and drawdown, months, Sharpe ratio over time."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from optimizer.formatting import format_count, fraction, number
from optimizer.report.account import NS_PER_DAY, SHARPE_DAYS, Curve, drawdown
from optimizer.report.charts.chart import (
    BLUE,
    GREEN,
    GREY,
    LEGEND,
    MOST_POINTS,
    ORANGE,
    PURPLE,
    RED,
    RED_TO_GREEN,
    Chart,
    Layout,
    Trace,
    axis,
    milliseconds,
    name,
    scatter,
    select_plot_points,
    upright,
)
from optimizer.report.trades import Ints
from optimizer.search.generation import Floats

HOLD = "buy and hold, at equal volatility"

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

MOST_OTHER_POINTS = 400
"""Points of the line of each other member."""

MOST_SHARPES = 500
"""Points of a line of Sharpe ratios."""

FOLDED, HELD = "searched; folds tested here", "held out"
"""Names of parts of the bars."""

SHADES = ("rgba(142, 107, 191, 0.14)", "rgba(217, 130, 43, 0.16)")
"""Of the parts of an equity curve, in their order."""


class BarsPart(NamedTuple):
    """A part of the bars, by name, such as ``folds`` or ``held out``."""

    name: str
    start_ns: int
    end_ns: int


class HeldBars(NamedTuple):
    """Buying and holding beside an account."""

    matched: Curve | None  # at the volatility of the account; None where one does not vary
    ends: float  # at which it ends unscaled

    def describe(self) -> str:
        """Where both end."""
        unscaled = f"unscaled at {number(self.ends)}"
        if self.matched is None:
            return f"buying and holding {unscaled}"
        end = number(float(self.matched.value[-1]))
        return f"buying and holding at equal volatility at {end} ({unscaled})"


EQUITY_LAYOUT = {
    "xaxis": {"type": "date", "anchor": "y2", "automargin": True},
    "yaxis": axis("equity", domain=[0.36, 1.0], tickformat=".2f"),
    "yaxis2": axis("drawdown", domain=[0.0, 0.3], tickformat=".0%", rangemode="tozero"),
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
    "hovermode": "closest",
}


def equity_frame(
    hold: Curve, ends: float, others: Sequence[Curve], held_out_ns: int | None
) -> Chart:
    """Equity of one individual beside holding, and members of the front.

    `ends` is where holding ends unscaled, `held_out_ns` when the bars begin that were held out;
    None without any.
    """
    data: list[Trace] = []
    if others:
        x, y = _join_curves(others)
        faint = {"color": GREY, "width": 0.8, "shape": "hv"}
        data.append(
            scatter("lines", x, y, name="other members", opacity=0.55, line=faint, hoverinfo="skip")
        )
    # Every point: a page scales its steps to the volatility of the member that is shown.
    data += _curve(hold, HOLD, ORANGE, shape="linear", most=len(hold.value))
    alt = f"buying and holding, unscaled, ends at {number(ends)}"
    return Chart("equity and drawdown", alt, data, {**EQUITY_LAYOUT, **border(held_out_ns)})


def answer(curve: Curve, hold: HeldBars, parts: Sequence[BarsPart]) -> Chart:
    """Equity of the pick, with the parts of the bars that it was searched, tested and held out on.

    Beside it buying and holding at the same volatility.
    """
    line = {"color": BLUE, "width": 2, "shape": "hv"}
    data = [*_draw_held(hold), draw_curve(curve, "the pick", line)]
    with_held = ", held-out bars included" if any(part.name == HELD for part in parts) else ""
    ends = [f"the pick ends at {number(float(curve.value[-1]))}{with_held}"]
    ends.append(hold.describe())
    firsts = {part.name: part for part in reversed(parts)}
    names = list(dict.fromkeys(part.name for part in parts))
    if FOLDED in names:
        ends.append("where folds were tested, each traded a pick of its own, not this one")
    alt = "; ".join(ends)
    layout = {
        "xaxis": {"type": "date", "automargin": True},
        "yaxis": axis("equity", tickformat=".2f"),
        "legend": LEGEND,
        "hovermode": "x unified",
        "shapes": [_shade(part, names.index(part.name)) for part in parts],
        "annotations": [_label(part) for part in firsts.values()],
    }
    return Chart("equity of the pick", alt, data, layout)


def draw_fold_equity(curve: Curve, borders_ns: Sequence[int]) -> Chart:
    """Equity of the picks of folds, each in its test, with a line where a fold begins."""
    count = format_count(len(curve.value) - 1, "trade")
    alt = f"{count} on bars that each fold's search had not seen; ends at "
    alt += number(float(curve.value[-1]))
    data = [draw_curve(curve, "folds", {"color": PURPLE, "width": 2, "shape": "hv"})]
    return Chart("folds as one account", alt, data, _mark_borders(borders_ns, GREY))


def draw_schedule_equity(curve: Curve, hold: HeldBars, dates_ns: Sequence[int]) -> Chart:
    """Equity of the account of all steps of a schedule; a line where each step begins."""
    alt = (
        f"one account over {format_count(len(dates_ns), 'step')}, a pick each; it ends at "
        f"{number(float(curve.value[-1]))}; {hold.describe()}"
    )
    line = {"color": BLUE, "width": 2, "shape": "hv"}
    data = [*_draw_held(hold), draw_curve(curve, "all steps", line)]
    layout = {**_mark_borders(dates_ns, GREY), "showlegend": True, "legend": LEGEND}
    return Chart("searched again through time", alt, data, layout)


def _draw_held(hold: HeldBars) -> list[Trace]:
    """Line of buying and holding at equal volatility, where there is one."""
    faint = {"color": ORANGE, "width": 1}
    return [] if hold.matched is None else [draw_curve(hold.matched, HOLD, faint)]


def border(held_out_ns: int | None) -> Layout:
    """A line where the bars begin that were held out."""
    return {} if held_out_ns is None else upright(held_out_ns / 1e6, "held out", side="left")


def draw_accounts(curves: Sequence[tuple[str, Curve]]) -> Chart:
    """Equity and drawdown of an account, and of its components alone, by their names."""
    colours = (BLUE, ORANGE, GREEN, PURPLE, RED, GREY)
    data = [
        trace
        for number_of, (label, curve) in enumerate(curves)
        for trace in _curve(curve, label, colours[number_of % len(colours)], shape="hv")
    ]
    alt = "; ".join(f"{label} ends at {number(float(curve.value[-1]))}" for label, curve in curves)
    return Chart("equity and drawdown", alt, data, EQUITY_LAYOUT)


def equity(curve: Curve, label: str) -> Chart:
    """Equity and drawdown of one individual."""
    data = _curve(curve, label, BLUE, shape="hv")
    ends = float(curve.value[-1])
    alt = (
        f"{label}: equity ends at {number(ends)} after "
        f"{format_count(len(curve.value) - 1, 'trade')}, "
        f"its deepest drawdown is {fraction(float(-drawdown(curve).min()))}"
    )
    return Chart("equity and drawdown", alt, data, EQUITY_LAYOUT)


def monthly(years: Ints, table: Floats, label: str, held: Floats | None = None) -> Chart:
    """Months by year, each with its return; `table` is [Y, 13], as it is computed.

    Beside each year [Y] that of buying and holding, unscaled, where it is known.
    """
    percent = 100.0 * (table if held is None else np.column_stack([table, held]))
    known = np.abs(percent[:, :12][np.isfinite(percent[:, :12])])
    reach = float(known.max()) if len(known) and known.max() > 0 else 1.0
    data = {
        "type": "heatmap",
        "x": [*MONTHS, "year", *([] if held is None else ["holding"])],
        "y": [str(year) for year in years.tolist()],
        "z": percent,
        "zmin": -reach,
        "zmax": reach,
        "colorscale": RED_TO_GREEN,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "texttemplate": "%{z:.1f}",
        "textfont": {"size": 10},
        "hovertemplate": "%{x} %{y}: %{z:.2f}%<extra></extra>",
        "hoverongaps": False,
    }
    layout = {
        "xaxis": {
            "type": "category",
            "side": "top",
            "showgrid": False,
            "dtick": 1,
            "tickangle": 0,
            "tickfont": {"size": 10},
        },
        "yaxis": {"type": "category", "autorange": "reversed", "showgrid": False},
        "margin": {"l": 38, "r": 4, "t": 30, "b": 8},
        "height": 46 + 34 * len(years),
    }
    return Chart(
        "return of each month, percent", f"{label}: {_months_words(years, table)}", [data], layout
    )


def sharpe_over_time(days: Ints, ratios: Floats, label: str) -> Chart:
    """Sharpe ratio a day over the days up to each [D], from day `SHARPE_DAYS` on."""
    at = np.arange(0, len(ratios), max(-(-len(ratios) // MOST_SHARPES), 1))
    x = milliseconds(days[len(days) - len(ratios) :] * NS_PER_DAY)
    line = {"color": BLUE, "width": 2}
    data = scatter("lines", x[at], ratios[at], line=line, name=label, connectgaps=False)
    known = ratios[np.isfinite(ratios)]
    alt = f"{label}: the R of each day over the {SHARPE_DAYS} days with bars up to it, per day"
    if len(known):
        alt += f"; between {number(float(known.min()))} and {number(float(known.max()))}"
        alt += f", above 0 on {fraction(float((known > 0).mean()))} of days"
    else:
        alt += "; undefined: fewer days, or no trade in them"
    layout = {
        "xaxis": {"type": "date", "automargin": True},
        "yaxis": axis("sharpe a day", zeroline=True, zerolinewidth=2),
        "showlegend": False,
    }
    return Chart(f"rolling sharpe, {SHARPE_DAYS} days", alt, [data], layout)


def _curve(
    curve: Curve, label: str, colour: str, *, shape: str, most: int = MOST_POINTS
) -> list[Trace]:
    """A line of equity and the drawdown below it."""
    fallen = drawdown(curve)
    lines = ((curve.value, "y", {"width": 2}), (fallen, "y2", {"width": 1}))
    traces: list[Trace] = []
    for values, y_axis, width in lines:
        at = select_plot_points(values, max(most, MOST_POINTS))
        traces.append(
            scatter(
                "lines",
                milliseconds(curve.time_ns[at]),
                values[at],
                yaxis=y_axis,
                name=name(label),
                legendgroup=name(label),
                showlegend=y_axis == "y",
                line={"color": colour, "shape": shape, **width},
            )
        )
    return traces


def draw_curve(curve: Curve, label: str, line: Layout) -> Trace:
    """A curve as one line."""
    at = select_plot_points(curve.value)
    times = milliseconds(curve.time_ns[at])
    return scatter("lines", times, curve.value[at], line=line, name=label)


def _mark_borders(borders_ns: Sequence[int], colour: str) -> Layout:
    """Layout of an equity curve with a dotted line at each of some times."""
    dotted = {"color": colour, "width": 1, "dash": "dot"}
    lines = [
        {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": dotted}
        for x in (border / 1e6 for border in borders_ns)
    ]
    return {
        "xaxis": {"type": "date", "automargin": True},
        "yaxis": axis("equity", tickformat=".2f"),
        "showlegend": False,
        "shapes": lines,
    }


def _shade(part: BarsPart, kind: int) -> Layout:
    """A band over the time of a part."""
    ends = {"x0": part.start_ns / 1e6, "x1": part.end_ns / 1e6, "y0": 0, "y1": 1}
    fill = SHADES[kind % len(SHADES)]
    return {
        "type": "rect",
        "yref": "paper",
        "layer": "below",
        "line": {"width": 0},
        "fillcolor": fill,
        **ends,
    }


def _label(part: BarsPart) -> Layout:
    """The name of a part, at its top left."""
    anchor = {
        "x": part.start_ns / 1e6,
        "xanchor": "left",
        "y": 1,
        "yref": "paper",
        "yanchor": "top",
    }
    return {**anchor, "text": part.name, "showarrow": False, "font": {"size": 11}}


def _join_curves(curves: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Many lines as one, a gap after each."""
    x, y = [], []
    for curve in curves:
        at = select_plot_points(curve.value, MOST_OTHER_POINTS)
        x.append(np.append(milliseconds(curve.time_ns[at]), np.nan))
        y.append(np.append(curve.value[at], np.nan))
    return np.concatenate(x), np.concatenate(y)


def _months_words(years: Ints, table: Floats) -> str:
    """How many months gained, and the best and the worst of them."""
    months = [
        (value, f"{MONTHS[month]} {year}")
        for year, row in zip(years.tolist(), table.tolist(), strict=True)
        for month, value in enumerate(row[:12])
        if np.isfinite(value)
    ]
    if not months:
        return "no month"
    gained = sum(value > 0 for value, _ in months)
    extremes = (f"{when} with {fraction(value)}" for value, when in (max(months), min(months)))
    return f"{gained} of {format_count(len(months), 'month')} gained; best " + ", worst ".join(
        extremes
    )
