"""An individual's result as one picture, drawn without a browser."""

import io

import matplotlib.dates
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from optimizer.report.charts.chart import BLUE, GREEN, GREY, ORANGE, RED, thinned, words
from optimizer.report.gallery import hold_curve
from optimizer.report.tables import Tables
from optimizer.report.trades import Curve, Ints, Trades, drawdown
from optimizer.search.generation import Floats
from optimizer.shown import metric

SIZE_INCHES = (12.0, 10.0)
DOTS_PER_INCH = 120
SHOWN = ("trades", "win_rate", "mean_r", "sharpe_trade", "total_return", "max_drawdown")
NS_PER_DAY = 86_400_000_000_000
LONGEST_TITLE = 100


def picture(run: Tables, member: int = 0) -> bytes:
    """Equity and drawdown against holding, and price with trades of a member, as a PNG.

    With several series the price is that of the one with most trades.
    """
    trades = run.trade_columns(member)
    figure = Figure(figsize=SIZE_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    top, middle, bottom = figure.subplots(3, 1, height_ratios=[3, 1.2, 3])
    hold = hold_curve(run)
    for curve, label, colour in (
        (hold, "buy and hold", ORANGE),
        (run.equity_curve(trades), "the individual", BLUE),
    ):
        # An account without a position goes on as it is.
        whole = Curve(
            np.append(curve.time_ns, hold.time_ns[-1]), np.append(curve.value, curve.value[-1])
        )
        _line(top, whole, whole.value, label, colour)
        _line(middle, whole, drawdown(whole), label, colour)
    top.set_ylabel("equity")
    top.legend(loc="upper left")
    middle.set_ylabel("drawdown")
    _price(bottom, run, trades)
    title = figure.suptitle(_title(run, member), fontsize=11)
    title.set_parse_math(False)
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    return content.getvalue()


def _line(axes: Axes, curve: Curve, values: Floats, label: str, colour: str) -> None:
    at = thinned(values)
    axes.step(_days(curve.time_ns[at]), values[at], where="post", color=colour, label=label)
    _dates(axes)


def _price(axes: Axes, run: Tables, trades: Trades) -> None:
    """Closes of the series with most trades, and where it was entered and left."""
    series = int(np.bincount(trades.series, minlength=len(run.series)).argmax())
    bars, span = run.series[series], run.task.markets.ranges[series]
    close = bars.close[span.start : span.end]
    at = thinned(close)
    axes.plot(_days(bars.timestamp[span.start + at]), close[at], color=GREY, linewidth=0.8)
    own = trades.series == series
    entered = _days(trades.entry_ns[own]), trades.entry[own]
    axes.plot(*entered, "^", color=BLUE, markersize=4, label="entry")
    for label, chosen, colour in (
        ("exit with a gain", own & (trades.r > 0), GREEN),
        ("exit with a loss", own & (trades.r <= 0), RED),
    ):
        time = _days(trades.exit_ns[chosen])
        axes.plot(time, trades.exit[chosen], "o", color=colour, markersize=3, label=label)
    axes.set_ylabel(_plain(f"price, {run.task.markets.titles[series]}")).set_parse_math(False)
    axes.legend(loc="upper left")
    _dates(axes)


def _dates(axes: Axes) -> None:
    locator = matplotlib.dates.AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(matplotlib.dates.ConciseDateFormatter(locator))
    axes.grid(alpha=0.3)


def _days(time_ns: Ints) -> Floats:
    """Times as matplotlib takes them: days since 1970 UTC."""
    days: Floats = time_ns.astype(np.float64) / NS_PER_DAY
    return days


def _title(run: Tables, member: int) -> str:
    row = run.front.iloc[member]
    figures = ", ".join(f"{words(n)} {metric(n, float(row[n]))}" for n in SHOWN if n in row.index)
    simulated = " (SIMULATED)" if run.header.is_simulated else ""
    name = _plain(f"{run.header.strategy} on {run.header.data}{simulated}")
    return f"{name}\n{figures}"


def _plain(text: str) -> str:
    """Text in letters that every font has, and no longer than the picture is wide."""
    cut = text if len(text) <= LONGEST_TITLE else text[:LONGEST_TITLE] + "..."
    return cut.encode("ascii", "replace").decode("ascii")
