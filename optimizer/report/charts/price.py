"""Charts of prices: a whole market with an individual's trades, and one trade bar by bar."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from data.checks import PRICES, Ints
from engine.accounts.ledger import REASONS
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer.formatting import format_count, number, words
from optimizer.report.charts import chart as draw
from optimizer.report.charts.account import mark_held_out
from optimizer.report.charts.chart import Chart, Layout, RunCharts, Trace
from optimizer.report.pick import require_place
from optimizer.report.tables import Tables
from optimizer.report.trades import Trades, list_aims, list_partial_exits
from optimizer.run.backtest import list_legs
from optimizer.run.task import Task
from optimizer.search.generation import Floats

MOST_ROWS = 8
"""Rows that a chart draws; a strategy reads more seldom."""

MOST_COMPARED = 20_000
"""Bars by which it is seen whether a row is a price."""

NEAR = 2.0
"""Times the close, or a part of it, that a row of prices is from it."""


class DrawnRow(NamedTuple):
    """A row of a strategy, as its conditions and exits read it."""

    name: str  # as it is written
    values: Floats  # [T], NaN in the warm-up
    is_price: bool  # whether it is drawn on the price; else it has an axis of its own


def find_rows(run: Tables, member: int, series: int) -> list[DrawnRow]:
    """Rows of a member on a whole series, those of prices first."""
    task, genes = run.task, run.task.spec.layout.decode(run.genomes[run.check_member(member)])
    bars = task.markets.series[series]
    columns = _compute_rows(task, task.markets.series, series, genes)
    # A row of prices doubles with the prices, and lies near them.
    few = bars.until(min(len(bars), MOST_COMPARED))
    doubled = replace(few, **{name: 2.0 * getattr(few, name) for name in PRICES})
    twice = _compute_rows(task, [doubled], 0, genes)
    known = {"open", "high", "low", "close"}
    rows = [
        DrawnRow(name, values, _is_price(values[: len(few)], twice[name], few.close))
        for name, values in columns.items()
        if name not in known and np.isfinite(values).any()
    ]
    return sorted(rows, key=lambda row: not row.is_price)[:MOST_ROWS]


def _compute_rows(
    task: Task, series: Sequence[Bars], number: int, genes: Mapping[str, float]
) -> dict[str, Floats]:
    reference = Reference(task.spec, series, [], task.costs, form=CompiledForm())
    return reference.rows(genes, number)


def _is_price(values: Floats, doubled: Floats, close: Floats) -> bool:
    known = np.isfinite(values) & np.isfinite(doubled)
    if not known.any() or not np.allclose(doubled[known], 2.0 * values[known], rtol=1e-6):
        return False
    ratio = float(np.median(values[known] / close[known]))
    return 1 / NEAR < ratio < NEAR


BARS_AROUND = 40
"""Bars before and after a trade that its chart shows."""

MOST_MARKS = 1_500
"""Most trades that are marked in a chart of a whole market."""

WAY_MARKER: Trace = {"size": 11, "symbol": ["triangle-up", "x"], "color": draw.BLUE}
"""Entry and exit of a long in the chart of one trade."""


class PriceCharts(RunCharts):
    """Charts of prices with trades of a run's members."""

    def price(self, member: int, series: int = 0) -> Chart:
        """Prices of a series with rows of the strategy, entries and exits of a member."""
        run = self._run
        frame = draw_market(run, require_place("the run", "series", series, len(run.series)))
        lines = draw_price_rows(run, member, series)
        marks = entries_and_exits(self._trades(member), series)
        return replace(frame, alt=marks.alt, data=[*frame.data, *lines, *marks.data])

    def trade(self, member: int, number: int) -> Chart:
        """One trade of a member bar by bar, with rows of the strategy.

        `number` is its row in ``run.trades(member)``.
        """
        trades = self._trades(member)
        k = require_place("the member", "trade", number, len(trades))
        series = int(trades.series[k])
        bars, rows = self._run.series[series], find_rows(self._run, member, series)
        first = max(int(trades.signal_bar[k]) - BARS_AROUND, 0)
        shown = slice(first, min(int(trades.exit_bar[k]) + BARS_AROUND, len(bars) - 1) + 1)
        prices = {part: getattr(bars, part)[shown] for part in ("open", "high", "low", "close")}
        held = draw.milliseconds(
            bars.timestamp[[int(trades.entry_bar[k]), int(trades.exit_bar[k])]]
        )
        frame = trade_frame(has_legs=bool(list_legs(trades.details)))
        candles, stop, target, way, *legs = (dict(trace) for trace in frame.data)
        candles |= {"x": draw.milliseconds(bars.timestamp[shown]), **prices}
        begin, end = held.tolist()
        stops = sorted({float(trades.stop[k]), float(trades.last_stop[k])})
        stop |= _levels(begin, [(price, end) for price in stops])
        target |= _levels(begin, [(aim.price, aim.end_ms) for aim in list_aims(trades, k)])
        way |= {"x": held, "y": np.array([trades.entry[k], trades.exit[k]])}
        if trades.side[k] < 0:
            way["marker"] = {**WAY_MARKER, "symbol": ["triangle-down", "x"]}
        times, exits, _ = list_partial_exits(trades, np.array([k]))
        for trace in legs:
            trace |= {"x": times, "y": exits}
        drawn = [candles, stop, target, way, *legs, *_draw_rows(rows, bars.timestamp, shown)]
        alt = f"trade {k}: {_describe_trade(trades, k)}"
        return Chart(f"trade {k}", alt, drawn, _add_axis(frame.layout, rows))


def draw_market(run: Tables, series: int) -> Chart:
    """The closes of a series as a line; of many bars the extremes of each stretch."""
    bars, window = run.series[series], run.task.markets.ranges[series]
    close = bars.close[window.start : window.end]
    at = draw.select_plot_points(close)
    x = draw.milliseconds(bars.timestamp[window.start + at])
    alt = f"{bars.symbol} closes between {number(float(close.min()))} and "
    alt += f"{number(float(close.max()))}"
    data = [draw.line(x, close[at], draw.GREY, "close", 1, hoverinfo="skip")]
    border = mark_held_out(run, series)
    return draw.plane("price and trades", alt, data, draw.DATES, "price", **border)


def draw_price_rows(run: Tables, member: int, series: int) -> Sequence[Trace]:
    """Lines of those rows of a member's strategy that are prices, on a whole series."""
    window = run.task.markets.ranges[series]
    rows = [row for row in find_rows(run, member, series) if row.is_price]
    return _draw_rows(rows, run.series[series].timestamp, slice(window.start, window.end))


def entries_and_exits(trades: Trades, series: int) -> Chart:
    """Marks of an individual's entries and exits in one series.

    `customdata` of a mark is the trade's number. Of more than `MOST_MARKS` trades an even
    choice is marked, as `alt` notes.
    """
    in_series = np.flatnonzero(trades.series == series)
    chosen = in_series
    if len(in_series) > MOST_MARKS:
        chosen = in_series[np.linspace(0, len(in_series) - 1, MOST_MARKS).astype(np.int64)]
    won = trades.r[chosen] > 0
    shorts = chosen[trades.side[chosen] < 0]
    opened, left = draw.milliseconds(trades.entry_ns), draw.milliseconds(trades.exit_ns)
    entries = [("entry", chosen[trades.side[chosen] > 0], "triangle-up")]
    if len(shorts):
        entries.append(("entry of a short", shorts, "triangle-down"))
    left_with = (("gain", chosen[won], draw.GREEN), ("loss", chosen[~won], draw.RED))
    data = [
        _marks(label, opened[part], trades.entry[part], part, draw.BLUE, symbol)
        for label, part, symbol in entries
    ]
    data += [
        _marks(f"exit with a {label}", left[part], trades.exit[part], part, colour, "circle")
        for label, part, colour in left_with
    ]
    partial = list_partial_exits(trades, chosen)
    if len(partial[0]):
        # Below the others, which they would cover.
        data.insert(0, _marks("partial exit", *partial, draw.PURPLE, "diamond"))
    alt = format_count(len(in_series), "trade")
    if len(chosen) < len(in_series):
        alt += f", {len(chosen):,} of them, evenly chosen, are marked; the table holds all"
    return Chart("price and trades", alt, data)


def _draw_rows(rows: Sequence[DrawnRow], times: Ints, bars: slice) -> list[Trace]:
    """Lines of rows at some bars; rows of another scale than prices below, one of them shown."""
    lines: list[Trace] = []
    for nth, row in enumerate(rows):
        values = row.values[bars]
        at = draw.select_plot_points(np.where(np.isfinite(values), values, 0.0))
        has_one = any("yaxis" in drawn for drawn in lines)
        hidden = {"visible": "legendonly"} if has_one else {}
        below = {} if row.is_price else {"yaxis": "y2", **hidden}
        x, colour = draw.milliseconds(times[bars][at]), draw.OF_ROWS[nth % len(draw.OF_ROWS)]
        lines.append(draw.line(x, values[at], colour, draw.name(row.name), 1.5, **below))
    return lines


def _add_axis(layout: Layout, rows: Sequence[DrawnRow]) -> Layout:
    """A layout with an axis below for rows of another scale than prices, where there are some."""
    if all(row.is_price for row in rows):
        return layout
    xaxis = {**cast("Layout", layout["xaxis"]), "anchor": "y2"}
    yaxis = {**cast("Layout", layout["yaxis"]), "domain": [0.32, 1.0]}
    return {
        **layout,
        "xaxis": xaxis,
        "yaxis": yaxis,
        "yaxis2": draw.axis("row", domain=[0.0, 0.26]),
    }


def trade_frame(*, has_legs: bool) -> Chart:
    """The chart of a trade without its numbers: bars, stop, target, and the way through it."""

    def draw_dashed_line(label: str, colour: str) -> Trace:
        return draw.scatter("lines", name=label, line={"color": colour, "width": 2, "dash": "dash"})

    candles: Trace = {
        "type": "candlestick",
        "name": "bars",
        "increasing": {"line": {"color": draw.GREEN, "width": 1}},
        "decreasing": {"line": {"color": draw.RED, "width": 1}},
    }
    stroke = {"color": draw.BLUE, "width": 2}
    way = draw.scatter("lines+markers", name="entry and exit", line=stroke, marker=WAY_MARKER)
    data = [
        candles,
        draw_dashed_line("stop", draw.ORANGE),
        draw_dashed_line("target", draw.PURPLE),
        way,
    ]
    if has_legs:
        mark = {"size": 10, "symbol": "diamond", "color": draw.PURPLE}
        data.append(draw.scatter("markers", name="partial exits", marker=mark))
    across = {**draw.DATES, "rangeslider": {"visible": False}}
    return draw.plane("one trade", "", data, across, "price")


def _levels(begin: float, prices: Sequence[tuple[float, float]]) -> Trace:
    """A line for each price, from the time of the entry to its own end."""
    return {
        "x": np.array([x for _, end in prices for x in (begin, end, np.nan)]),
        "y": np.array([y for price, _ in prices for y in (price, price, np.nan)]),
    }


def _describe_trade(trades: Trades, k: int) -> str:
    entry, stop, leave, last_stop = (
        float(getattr(trades, name)[k]) for name in ("entry", "stop", "exit", "last_stop")
    )
    moved = f" moved to {number(last_stop)}" if last_stop != stop else ""
    aims = list_aims(trades, k)
    aim = ", ".join(
        number(price) if share == 1.0 else f"{number(price)} ({number(100 * share)}%)"
        for price, share, _ in aims
    )
    _, exits, _ = list_partial_exits(trades, np.array([k]))
    parts = f"parts left at {', '.join(map(number, exits.tolist()))}, " if len(exits) else ""
    return (
        f"{'short, ' if trades.side[k] < 0 else ''}entry {number(entry)}, "
        f"stop {number(stop)}{moved}, target {aim or 'none'}, {parts}exit {number(leave)} by "
        f"{words(REASONS[int(trades.reason[k])])}, {number(float(trades.r[k]))} R"
    )


def _marks(
    label: str,
    time_ms: npt.NDArray[np.float64],
    price: npt.NDArray[np.float64],
    numbers: Ints,
    colour: str,
    symbol: str,
) -> Trace:
    return draw.scatter(
        "markers",
        time_ms,
        price,
        customdata=numbers,
        name=label,
        hovertemplate=f"trade %{{customdata}}: {label} %{{y:.6g}}<extra></extra>",
        marker={"color": colour, "size": 8, "symbol": symbol},
    )
