"""Every chart of a run, by what it shows."""

from typing import TYPE_CHECKING

import numpy as np

from optimizer.errors import ConfigError
from optimizer.generation import Floats
from optimizer.report.charts import front as front_charts
from optimizer.report.charts import price, progress, results
from optimizer.report.charts import sensitivity as sensitivity_charts
from optimizer.report.charts.chart import Chart
from optimizer.report.sensitivity import Line, Plane
from optimizer.report.trades import (
    Groups,
    Trades,
    buy_and_hold,
    by_hour,
    by_month,
    by_reason,
    by_symbol,
    by_weekday,
    cost_facts,
)
from strategy.errors import unknown

if TYPE_CHECKING:
    from optimizer.report.run import Run

GROUPS = ("month", "hour", "weekday", "symbol", "reason")
"""What trades can be put together by."""

HOLD_POINTS = 1_000
"""Points of the line of buying and holding."""


def columns_of(run: "Run") -> dict[str, Floats]:
    """Every number of the front's members by name, each [F]."""
    frame = run.front
    return {str(name): frame[name].to_numpy(np.float64) for name in frame.columns}


def front(run: "Run", x: str | None, y: str | None, colour: str | None) -> Chart:
    """Members by two numbers; the last and the first objective unless others are named."""
    columns = columns_of(run)
    first, *others = run.objectives
    x = x or (others[-1] if others else "trades")
    y = y or first
    free = [name for name in run.objectives if name not in (x, y)]
    colour = colour or (free[0] if free else None)
    for one in filter(None, (x, y, colour)):
        if one not in columns:
            raise ConfigError(unknown("column", one, list(columns)))
    return front_charts.front_2d(columns, x, y, colour)


def front_3d(run: "Run") -> Chart:
    """Members by their first three objectives.

    Raises:
        ConfigError: When the run has fewer.
    """
    if len(run.objectives) < 3:
        raise ConfigError(f"run '{run.id}' has {len(run.objectives)} objectives, 3 are needed")
    return front_charts.front_3d(columns_of(run), run.objectives[:3])


def parallel(run: "Run") -> Chart:
    """Members as lines through all genes and objectives."""
    return front_charts.parallel(columns_of(run), (*run.genes, *run.objectives), run.objectives[0])


def convergence(run: "Run") -> list[Chart]:
    """Hypervolume, then the best of each objective, over the generations."""
    history = run.history
    charts = []
    if np.isfinite(history.volume).any():
        charts.append(progress.hypervolume(history.generations, history.volume))
    best, median = run.natural(history.best), run.natural(history.median)
    for o, objective in enumerate(run.objectives):
        charts.append(
            progress.best_objective(history.generations, objective, best[:, o], median[:, o])
        )
    return charts


def genes(run: "Run") -> list[Chart]:
    """How each gene spread over the population, generation by generation."""
    history = run.history
    return [
        progress.gene_fan(
            gene, history.generations, history.quantiles[:, g], run.bounds[g], run.genomes[:, g]
        )
        for g, gene in enumerate(run.genes)
    ]


def along(run: "Run", line: Line, own: Floats, objective: int) -> Chart:
    """An objective while one gene of an individual [G] changes."""
    found = run.natural(line.objectives)[:, objective]
    gene, name = run.genes[line.gene], run.objectives[objective]
    return sensitivity_charts.along(gene, name, line.values, found, float(own[line.gene]))


def heat_map(run: "Run", plane: Plane, own: Floats, objective: int) -> Chart:
    """An objective over a pair of genes of an individual [G]."""
    names = [run.genes[g] for g in plane.genes]
    found = run.natural(plane.objectives)[:, :, objective]
    at = [float(own[g]) for g in plane.genes]
    return sensitivity_charts.heat_map(
        names, run.objectives[objective], plane.x, plane.y, found, at
    )


def equity_frame(run: "Run", others: list[Trades]) -> Chart:
    """Buying and holding, and the equity of members beside it."""
    hold = buy_and_hold(run.windows, run.series, run.task.costs, HOLD_POINTS)
    return results.equity_frame(hold, [run.equity_curve(trades) for trades in others])


def equity(run: "Run", member: int, trades: Trades) -> Chart:
    """Equity and drawdown of a member."""
    return results.equity(run.equity_curve(trades), f"member {member}")


def market(run: "Run", window: int) -> Chart:
    """Prices of a window."""
    found = run.windows[window]
    return price.market(run.series[found.series], found)


def grouped(run: "Run", trades: Trades, by: str) -> Chart:
    """Results of trades by something that they share, one of `GROUPS`."""
    if by == "month":
        return results.grouped(by_month(trades), "results by month")
    if by == "hour":
        return results.grouped(by_hour(trades), "results by hour, UTC")
    if by == "weekday":
        return results.grouped(by_weekday(trades), "results by weekday")
    if by == "symbol":
        groups = by_symbol(trades, run.symbols)
        return results.grouped(results.extremes(groups), symbol_title(groups))
    if by == "reason":
        return results.grouped(by_reason(trades), "exits by reason", show="trades")
    raise ConfigError(unknown("group", by, list(GROUPS)))


def costs(run: "Run", trades: Trades) -> Chart:
    """What trading cost, and how dear it could be."""
    return results.cost_line(
        cost_facts(trades, run.task.costs), run.task.costs, has_trades=len(trades) > 0
    )


def symbol_title(groups: Groups) -> str:
    """What the chart of symbols shows."""
    if len(groups.labels) <= results.MOST_GROUPS:
        return "results by symbol"
    half = results.MOST_GROUPS // 2
    return f"results by symbol, the best and the worst {half} of {len(groups.labels):,}"
