"""Charts of prices: a whole market with an individual's trades, and one trade bar by bar."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from data.bars import Bars, Window
from engine.accounts.ledger import REASONS
from optimizer.formatting import format_count, number
from optimizer.report.charts.chart import (
    BLUE,
    GREEN,
    GREY,
    LEGEND,
    OF_ROWS,
    ORANGE,
    PURPLE,
    RED,
    Chart,
    Layout,
    Trace,
    axis,
    milliseconds,
    name,
    scatter,
    select_plot_points,
    words,
)
from optimizer.report.trade_marks import list_aims, list_partial_exits
from optimizer.report.trades import Ints, Trades
from optimizer.run.backtest import list_legs
from optimizer.search.generation import Floats

BARS_AROUND = 40
"""Bars before and after a trade that its chart shows."""

MOST_MARKS = 1_500
"""Most trades that are marked in a chart of a whole market."""

WAY_MARKER: Trace = {"size": 11, "symbol": ["triangle-up", "x"], "color": BLUE}
"""Entry and exit of a long in the chart of one trade."""


class DrawnRow(NamedTuple):
    """A row of a strategy, as its conditions and exits read it."""

    name: str  # as it is written
    values: Floats  # [T], NaN in the warm-up
    is_price: bool  # whether it is drawn on the price; else it has an axis of its own


def market(bars: Bars, window: Window) -> Chart:
    """The closes of a window as a line; of many bars the extremes of each stretch."""
    close = bars.close[window.start : window.end]
    at = select_plot_points(close)
    data = scatter(
        "lines",
        milliseconds(bars.timestamp[window.start + at]),
        close[at],
        line={"color": GREY, "width": 1},
        name="close",
        hoverinfo="skip",
    )
    alt = f"{bars.symbol} closes between {number(float(close.min()))} and "
    alt += f"{number(float(close.max()))}"
    layout = {
        "xaxis": {"type": "date", "automargin": True},
        "yaxis": axis("price"),
        "legend": LEGEND,
        "hovermode": "closest",
    }
    return Chart("price and trades", alt, [data], layout)


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
    opened, left = milliseconds(trades.entry_ns), milliseconds(trades.exit_ns)
    entries = [("entry", chosen[trades.side[chosen] > 0], "triangle-up")]
    if len(shorts):
        entries.append(("entry of a short", shorts, "triangle-down"))
    data = [
        *(
            _marks(label, opened[part], trades.entry[part], part, BLUE, symbol)
            for label, part, symbol in entries
        ),
        *(
            _marks(label, left[part], trades.exit[part], part, colour, "circle")
            for label, part, colour in (
                ("exit with a gain", chosen[won], GREEN),
                ("exit with a loss", chosen[~won], RED),
            )
        ),
    ]
    partial = list_partial_exits(trades, chosen)
    if len(partial[0]):
        # Below the others, which they would cover.
        data.insert(0, _marks("partial exit", *partial, PURPLE, "diamond"))
    alt = format_count(len(in_series), "trade")
    if len(chosen) < len(in_series):
        alt += f", {len(chosen):,} of them, evenly chosen, are marked; the table holds all"
    return Chart("price and trades", alt, data)


def draw_rows(rows: Sequence[DrawnRow], times: Ints, bars: slice) -> list[Trace]:
    """Lines of rows at some bars; rows of another scale than prices below, one of them shown."""
    lines: list[Trace] = []
    n_below = 0
    for nth, row in enumerate(rows):
        values = row.values[bars]
        at = select_plot_points(np.where(np.isfinite(values), values, 0.0))
        line = {"color": OF_ROWS[nth % len(OF_ROWS)], "width": 1.5}
        below = {} if row.is_price else {"yaxis": "y2"}
        if not row.is_price:
            below |= {"visible": "legendonly"} if n_below else {}
            n_below += 1
        x = milliseconds(times[bars][at])
        lines.append(scatter("lines", x, values[at], name=name(row.name), line=line, **below))
    return lines


def add_axis(layout: Layout, rows: Sequence[DrawnRow]) -> Layout:
    """A layout with an axis below for rows of another scale than prices, where there are some."""
    if all(row.is_price for row in rows):
        return layout
    xaxis = {**cast("Layout", layout["xaxis"]), "anchor": "y2"}
    yaxis = {**cast("Layout", layout["yaxis"]), "domain": [0.32, 1.0]}
    return {**layout, "xaxis": xaxis, "yaxis": yaxis, "yaxis2": axis("row", domain=[0.0, 0.26])}


def trade(bars: Bars, trades: Trades, number_of_trade: int, rows: Sequence[DrawnRow] = ()) -> Chart:
    """One trade bar by bar: its entry, stops, exits, and each target for as long as it stood.

    `rows` of its strategy are drawn with it.
    """
    k = number_of_trade
    first = max(int(trades.signal_bar[k]) - BARS_AROUND, 0)
    last = min(int(trades.exit_bar[k]) + BARS_AROUND, len(bars) - 1)
    x = milliseconds(bars.timestamp[first : last + 1])
    prices = {part: getattr(bars, part)[first : last + 1] for part in ("open", "high", "low")}
    held = milliseconds(bars.timestamp[[int(trades.entry_bar[k]), int(trades.exit_bar[k])]])
    frame = trade_frame(has_legs=bool(list_legs(trades.details)))
    candles, stop, target, way, *legs = (dict(trace) for trace in frame.data)
    candles |= {"x": x, **prices, "close": bars.close[first : last + 1]}
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
    alt = f"trade {k}: {_describe_trade(trades, k)}"
    lines = draw_rows(rows, bars.timestamp, slice(first, last + 1))
    drawn = [candles, stop, target, way, *legs, *lines]
    return Chart(f"trade {k}", alt, drawn, add_axis(frame.layout, rows))


def trade_frame(*, has_legs: bool) -> Chart:
    """The chart of a trade without its numbers: bars, stop, target, and the way through it."""

    def draw_dashed_line(label: str, colour: str) -> Trace:
        return scatter("lines", name=label, line={"color": colour, "width": 2, "dash": "dash"})

    candles: Trace = {
        "type": "candlestick",
        "name": "bars",
        "increasing": {"line": {"color": GREEN, "width": 1}},
        "decreasing": {"line": {"color": RED, "width": 1}},
    }
    line = {"color": BLUE, "width": 2}
    way = scatter("lines+markers", name="entry and exit", line=line, marker=WAY_MARKER)
    data = [candles, draw_dashed_line("stop", ORANGE), draw_dashed_line("target", PURPLE), way]
    if has_legs:
        mark = {"size": 10, "symbol": "diamond", "color": PURPLE}
        data.append(scatter("markers", name="partial exits", marker=mark))
    layout = {
        "xaxis": {"type": "date", "rangeslider": {"visible": False}, "automargin": True},
        "yaxis": axis("price"),
        "legend": LEGEND,
        "hovermode": "closest",
    }
    return Chart("one trade", "", data, layout)


def _levels(begin: float, prices: Sequence[tuple[float, float]]) -> Trace:
    """A line for each price, from the time of the entry to its own end."""
    return {
        "x": np.array([x for _, end in prices for x in (begin, end, np.nan)]),
        "y": np.array([y for price, _ in prices for y in (price, price, np.nan)]),
    }


def _describe_trade(trades: Trades, k: int) -> str:
    """A trade in words."""
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
    return scatter(
        "markers",
        time_ms,
        price,
        customdata=numbers,
        name=label,
        hovertemplate=f"trade %{{customdata}}: {label} %{{y:.6g}}<extra></extra>",
        marker={"color": colour, "size": 8, "symbol": symbol},
    )
