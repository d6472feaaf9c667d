"""Charts of an individual's account: equity and drawdown, months, Sharpe ratio over time."""

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import NamedTuple

import numpy as np

from data.checks import Ints
from engine.accounts.account import Account
from optimizer.errors import ConfigError
from optimizer.formatting import format_count, fraction, number
from optimizer.report.account import (
    NS_PER_DAY,
    SHARPE_DAYS,
    Curve,
    build_hold_curve,
    drawdown,
    find_hold_scale,
    match_hold,
    monthly_returns,
    rolling_sharpe,
)
from optimizer.report.charts import chart as draw
from optimizer.report.charts.chart import Chart, Layout, RunCharts, Trace
from optimizer.report.schedule import (
    build_schedule_account,
    find_schedule,
    parse_ns,
    stitched_curve,
)
from optimizer.report.tables import Tables
from optimizer.report.trades import Trades
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


STEPS = {"width": 2, "shape": "hv"}
"""Of a line of equity, which changes where a trade ends."""

EQUITY = draw.axis("equity", tickformat=".2f")

EQUITY_LAYOUT = {
    "xaxis": {**draw.DATES, "anchor": "y2"},
    "yaxis": {**EQUITY, "domain": [0.36, 1.0]},
    "yaxis2": draw.axis("drawdown", domain=[0.0, 0.3], tickformat=".0%", rangemode="tozero"),
    "legend": draw.LEGEND,
}


class AccountCharts(RunCharts):
    """Charts of the accounts of a run's members, and of the answer."""

    def answer(self) -> Chart:
        """Equity of the pick, bars of folds and held-out bars shaded.

        Of a run with a schedule that of all its steps, which its verdict is about. Beside it buying
        and holding at the same volatility.
        """
        run = self._run
        if find_schedule(run) is not None:
            return self.schedule()
        curve = run.equity_curve(self._trades(0 if run.pick is None else run.pick.member))
        held, holding = _draw_held(build_holding(run), curve)
        parts = _list_parts(run)
        firsts = {part.name: part for part in reversed(parts)}
        names = list(dict.fromkeys(part.name for part in parts))
        with_held = ", held-out bars included" if HELD in names else ""
        ends = [f"the pick ends at {number(float(curve.value[-1]))}{with_held}", holding]
        if FOLDED in names:
            ends.append("where folds were tested, each traded a pick of its own, not this one")
        return draw.plane(
            "equity of the pick",
            "; ".join(ends),
            [*held, draw_curve(curve, "the pick", {"color": draw.BLUE, **STEPS})],
            draw.DATES,
            EQUITY,
            hovermode="x unified",
            shapes=[_shade(part, names.index(part.name)) for part in parts],
            annotations=[_label(part) for part in firsts.values()],
        )

    def folds(self) -> Chart:
        """Equity of one account that trades the pick of each fold in its test."""
        run = self._run
        curve = stitched_curve(run)
        if curve is None:
            raise ConfigError(f"run '{run.id}': no fold traded on bars that are here")
        tested = [part.start_ns for part in _list_parts(run) if part.name == FOLDED]
        alt = f"{format_count(len(curve.value) - 1, 'trade')} on bars that each fold's search had "
        alt += f"not seen; ends at {number(float(curve.value[-1]))}"
        data = [draw_curve(curve, "folds", {"color": draw.PURPLE, **STEPS})]
        return _draw_borders("folds as one account", alt, data, tested)

    def schedule(self) -> Chart:
        """Equity of the account of all steps of a schedule, a line where each begins."""
        stitched = build_schedule_account(self._run)
        curve, dates = stitched.curve, stitched.dates_ns
        held, holding = _draw_held(stitched.holding, curve)
        alt = f"one account over {format_count(len(dates), 'step')}, a pick each; it ends at "
        alt += f"{number(float(curve.value[-1]))}; {holding}"
        data = [*held, draw_curve(curve, "all steps", {"color": draw.BLUE, **STEPS})]
        return _draw_borders("searched again through time", alt, data, dates)

    def equity(self, *members: int) -> Chart:
        """Equity and drawdown of members against holding, at the volatility of the first."""
        run = self._run
        holding = build_holding(run)
        scale = find_hold_scale(holding, run.equity_curve(self._trades((*members, 0)[0])))
        frame = draw_equity_frame(run, holding, [], 1.0 if isnan(scale) else scale)
        lines = [self.member_equity(member) for member in members or (0,)]
        return replace(frame, data=[*frame.data, *(trace for line in lines for trace in line.data)])

    def member_equity(self, member: int) -> Chart:
        """Equity and drawdown of a member alone."""
        label, curve = self._run.name_member(member), self._run.equity_curve(self._trades(member))
        alt = (
            f"{label}: equity ends at {number(float(curve.value[-1]))} after "
            f"{format_count(len(curve.value) - 1, 'trade')}, "
            f"its deepest drawdown is {fraction(float(-drawdown(curve).min()))}"
        )
        data = _curve(curve, label, draw.BLUE, shape="hv")
        return Chart("equity and drawdown", alt, data, EQUITY_LAYOUT)

    def monthly(self, member: int) -> Chart:
        """Returns of a member by month, year by year, beside holding."""
        run, curve = self._run, self._run.equity_curve(self._trades(member))
        bar_times = run.days * NS_PER_DAY
        years, table = monthly_returns(curve, bar_times)
        _, held = monthly_returns(build_hold_curve(build_holding(run), 1.0), bar_times)
        return monthly(years, table, run.name_member(member), held[:, 12])

    def rolling_sharpe(self, member: int) -> Chart:
        """Sharpe ratio a day of a member over the 90 days up to each."""
        days, label = self._run.days, self._run.name_member(member)
        ratios = rolling_sharpe(self._trades(member), days)
        at = np.arange(0, len(ratios), max(-(-len(ratios) // MOST_SHARPES), 1))
        x = draw.milliseconds(days[len(days) - len(ratios) :] * NS_PER_DAY)
        data = draw.line(x[at], ratios[at], draw.BLUE, label, connectgaps=False)
        known = ratios[np.isfinite(ratios)]
        alt = f"{label}: the R of each day over the {SHARPE_DAYS} days with bars up to it, per day"
        if len(known):
            alt += f"; between {number(float(known.min()))} and {number(float(known.max()))}"
            alt += f", above 0 on {fraction(float((known > 0).mean()))} of days"
        else:
            alt += "; undefined: fewer days, or no trade in them"
        sharpe = draw.axis("sharpe a day", zeroline=True, zerolinewidth=2)
        return draw.plane(f"rolling sharpe, {SHARPE_DAYS} days", alt, [data], draw.DATES, sharpe)


def build_holding(run: Tables) -> Account:
    """An account of all bars of a run, to be bought and held."""
    markets, costs = run.task.markets, run.task.costs
    names = tuple(markets.names[window.series] for window in markets.ranges)
    return Account(tuple(markets.series), tuple(markets.ranges), names, costs)


def draw_equity_frame(
    run: Tables, holding: Account, others: Sequence[Trades], scale: float = 1.0
) -> Chart:
    """Buying and holding with a share of the account, and the equity of members beside it."""
    data: list[Trace] = []
    if others:
        x, y = _join_curves([run.equity_curve(trades) for trades in others])
        faint = {"color": draw.GREY, "width": 0.8, "shape": "hv"}
        data.append(
            draw.scatter(
                "lines", x, y, name="other members", opacity=0.55, line=faint, hoverinfo="skip"
            )
        )
    hold = build_hold_curve(holding, scale)
    # Every point: a page scales its steps to the volatility of the member that is shown.
    data += _curve(hold, HOLD, draw.ORANGE, shape="linear", most=len(hold.value))
    alt = f"buying and holding, unscaled, ends at {number(float(holding.hold_days[-1]))}"
    starts = {_held_out_ns(run, series) for series in range(len(run.series))}
    # One line is enough only where all series are held out from the same time on.
    border = mark_held_out(run, 0) if len(starts) == 1 else {}
    return Chart("equity and drawdown", alt, data, {**EQUITY_LAYOUT, **border})


def mark_held_out(run: Tables, series: int) -> Layout:
    """A line where the bars of a series begin that were held out; nothing without any."""
    start_ns = _held_out_ns(run, series)
    return {} if start_ns is None else draw.upright(start_ns / 1e6, "held out", side="left")


def _held_out_ns(run: Tables, series: int) -> int | None:
    starts = [window.start for window in run.task.markets.held_out if window.series == series]
    return int(run.series[series].timestamp[min(starts)]) if starts else None


def _list_parts(run: Tables) -> list[BarsPart]:
    """Parts of the bars that an equity curve is shaded by."""
    folds = None if run.judgement is None else run.judgement.folds
    tests = [] if folds is None else [row.test for row in folds.rows if row.test]
    parts = [
        BarsPart(
            FOLDED,
            min(parse_ns(bars.first) for bars in test),
            max(parse_ns(bars.last) for bars in test),
        )
        for test in tests
    ]
    for window in run.task.markets.held_out:
        times = run.series[window.series].timestamp[window.start : window.end]
        parts.append(BarsPart(HELD, int(times[0]), int(times[-1])))
    return parts


def _draw_held(holding: Account, curve: Curve) -> tuple[list[Trace], str]:
    """Buying and holding at the volatility of a curve: its line where there is one, and its end."""
    matched, ends = match_hold(holding, curve)
    unscaled = f"unscaled at {number(ends)}"
    if matched is None:
        return [], f"buying and holding {unscaled}"
    end = number(float(matched.value[-1]))
    sentence = f"buying and holding at equal volatility at {end} ({unscaled})"
    return [draw_curve(matched, HOLD, {"color": draw.ORANGE, "width": 1})], sentence


def draw_accounts(curves: Sequence[tuple[str, Curve]]) -> Chart:
    """Equity and drawdown of an account, and of its components alone, by their names."""
    colours = (draw.BLUE, draw.ORANGE, draw.GREEN, draw.PURPLE, draw.RED, draw.GREY)
    data = [
        trace
        for number_of, (label, curve) in enumerate(curves)
        for trace in _curve(curve, label, colours[number_of % len(colours)], shape="hv")
    ]
    alt = "; ".join(f"{label} ends at {number(float(curve.value[-1]))}" for label, curve in curves)
    return Chart("equity and drawdown", alt, data, EQUITY_LAYOUT)


def monthly(years: Ints, table: Floats, label: str, held: Floats | None = None) -> Chart:
    """Months by year, each with its return; `table` is [Y, 13], as it is computed.

    Beside each year [Y] that of buying and holding, unscaled, if known.
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
        "colorscale": draw.RED_TO_GREEN,
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


def _curve(
    curve: Curve, label: str, colour: str, *, shape: str, most: int = draw.MOST_POINTS
) -> list[Trace]:
    """A line of equity and the drawdown below it."""
    fallen = drawdown(curve)
    lines = ((curve.value, "y", {"width": 2}), (fallen, "y2", {"width": 1}))
    traces: list[Trace] = []
    for values, y_axis, width in lines:
        at = draw.select_plot_points(values, max(most, draw.MOST_POINTS))
        traces.append(
            draw.scatter(
                "lines",
                draw.milliseconds(curve.time_ns[at]),
                values[at],
                yaxis=y_axis,
                name=draw.name(label),
                legendgroup=draw.name(label),
                showlegend=y_axis == "y",
                line={"color": colour, "shape": shape, **width},
            )
        )
    return traces


def draw_curve(curve: Curve, label: str, line: Layout) -> Trace:
    """A curve as one line."""
    at = draw.select_plot_points(curve.value)
    times = draw.milliseconds(curve.time_ns[at])
    return draw.scatter("lines", times, curve.value[at], line=line, name=label)


def _draw_borders(title: str, alt: str, data: Sequence[Trace], borders_ns: Sequence[int]) -> Chart:
    """Equity with a dotted line at each of some times."""
    dotted = {"color": draw.GREY, "width": 1, "dash": "dot"}
    whole = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": dotted}
    shapes = [{**whole, "x0": x / 1e6, "x1": x / 1e6} for x in borders_ns]
    return draw.plane(title, alt, data, draw.DATES, EQUITY, shapes=shapes)


def _shade(part: BarsPart, kind: int) -> Layout:
    """A band over the time of a part."""
    ends = {"x0": part.start_ns / 1e6, "x1": part.end_ns / 1e6, "y0": 0, "y1": 1}
    look = {"layer": "below", "line": {"width": 0}, "fillcolor": SHADES[kind % len(SHADES)]}
    return {"type": "rect", "yref": "paper", **look, **ends}


def _label(part: BarsPart) -> Layout:
    """The name of a part, at its top left."""
    place = {"x": part.start_ns / 1e6, "xanchor": "left", "y": 1, "yref": "paper", "yanchor": "top"}
    return {**place, "text": part.name, "showarrow": False, "font": {"size": 11}}


def _join_curves(curves: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Many lines as one, a gap after each."""
    x, y = [], []
    for curve in curves:
        at = draw.select_plot_points(curve.value, MOST_OTHER_POINTS)
        x.append(np.append(draw.milliseconds(curve.time_ns[at]), np.nan))
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
