"""Registry of the charts of a run, which page, Python and live pages share."""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

from optimizer.report.charts.account import AccountCharts
from optimizer.report.charts.chart import Chart
from optimizer.report.charts.front import FrontCharts
from optimizer.report.charts.judged import EvidenceCharts
from optimizer.report.charts.price import PriceCharts
from optimizer.report.charts.progress import SearchCharts
from optimizer.report.charts.results import ResultCharts
from optimizer.report.tables import Tables

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


class Charts(FrontCharts, SearchCharts, AccountCharts, PriceCharts, ResultCharts, EvidenceCharts):
    """Charts of one run by name; ``run.plot`` has each as a figure of plotly.

    >>> from optimizer import load_run
    >>> figure = load_run(example).plot.front()
    >>> figure.layout.title.text
    'strength against max drawdown'

    Args:
        run: Of which they are.
        trades: Trades of members, where they are known already.
    """


class Plots:
    """Charts of a run as figures of plotly, by the names of `Charts`."""

    def __init__(self, run: Tables) -> None:
        self._charts = Charts(run)

    def __getattr__(self, name: str) -> "Callable[..., Figure]":
        if name.startswith("_"):
            raise AttributeError(name)
        chart = getattr(self._charts, name)

        @wraps(chart)
        def draw(*values: object, **named: object) -> "Figure":
            drawn: Chart = chart(*values, **named)
            return drawn.figure()

        return draw

    def __dir__(self) -> list[str]:
        return [name for name in dir(Charts) if not name.startswith("_")]
