"""The schedule of a run drawn: the account of all steps, and their genes over time."""

from dataclasses import dataclass

import numpy as np

from optimizer.errors import ConfigError
from optimizer.evidence.figures import Number
from optimizer.evidence.folds import FoldRow
from optimizer.evidence.schedule import ScheduleRecord, ScheduleStep
from optimizer.report.account import Curve, equity_curve
from optimizer.report.charts.chart import words
from optimizer.report.tables import Tables
from optimizer.report.trades import collect_trades
from optimizer.run.search import on_other_bars
from optimizer.run.task import Task
from optimizer.schedule.dates import parse_schedule, plan_steps
from optimizer.schedule.stitched import Stitched, stitch
from optimizer.search.generation import Floats
from optimizer.shown import number

STEP_COLUMNS = ("step", "date", "strength in training", "trades", "mean R", "efficiency")


@dataclass(frozen=True, eq=False)
class StepGenes:
    """Genes of the picks of all steps."""

    dates_ns: Floats  # [K], nanoseconds UTC
    names: tuple[str, ...]  # [G], as people read them
    shares: Floats  # [K, G], from 0 at the lower bound to 1 at the upper; NaN without a pick


def require_schedule(run: Tables) -> ScheduleRecord:
    """The schedule of a run.

    Raises:
        ConfigError: When it was not judged by one.
    """
    made = None if run.judgement is None else run.judgement.schedule
    if made is None:
        raise ConfigError(
            f"run '{run.id}' was not searched again through time: judge it with --schedule 30d,180d"
        )
    return made


def build_schedule_curve(run: Tables) -> tuple[Curve, list[int]]:
    """Equity of the account of all steps from 1, and when each step began, nanoseconds UTC."""
    made = require_schedule(run)
    task, stitched = _stitch_recorded(run, made)
    trades = collect_trades(stitched.ledgers, stitched.windows, task.markets.series, task.costs)
    accounts = [task.markets.names[window.series] for window in stitched.windows]
    dates = [int(date) for date in parse_dates(made)]
    return equity_curve(trades, accounts, task.costs.risk_fraction, dates[0]), dates


def collect_step_genes(run: Tables) -> StepGenes:
    """Genes of the picks of all steps, as shares of their spans."""
    made = require_schedule(run)
    low, high = run.bounds.T
    free = np.flatnonzero(high > low)
    shares = np.full((len(made.rows), len(free)), np.nan)
    for k, row in enumerate(made.rows):
        if row.genes:
            values = run.task.spec.layout.encode(row.genes)
            shares[k] = ((values - low) / np.where(high > low, high - low, 1.0))[free]
    return StepGenes(parse_dates(made), tuple(words(run.genes[g]) for g in free), shares)


def list_step_cells(made: ScheduleRecord) -> tuple[tuple[str, ...], ...]:
    """Cells of a row a step, in `STEP_COLUMNS`."""
    return tuple(
        (
            str(step),
            row.date[:10],
            number(row.strength),
            number(row.trades),
            format_figure(row, "mean_r"),
            format_figure(row, "efficiency"),
        )
        for step, row in enumerate(made.rows, start=1)
    )


def parse_dates(made: ScheduleRecord) -> Floats:
    """Dates of the steps [K], nanoseconds UTC."""
    dates = np.array([row.date for row in made.rows], "datetime64[ns]")
    return dates.astype(np.int64).astype(np.float64)


def _stitch_recorded(run: Tables, made: ScheduleRecord) -> tuple[Task, Stitched]:
    """Trades of the recorded picks, on the searched bars alone."""
    markets = run.task.markets
    task = on_other_bars(run.task, markets.series, markets.uncut)
    schedule = parse_schedule(made.every, made.train, made.purge, is_anchored=made.anchored)
    steps = plan_steps(task.markets.series, task.markets.uncut, schedule)
    layout = task.spec.layout
    picks = [layout.encode(row.genes) if row.genes else None for row in made.rows]
    uncut = task.markets.uncut
    return task, stitch(task.build_reference(uncut), uncut, steps, picks)


def format_figure(row: ScheduleStep | FoldRow, name: str) -> str:
    """A number of a step or a fold, or why there is none."""
    value: Number = getattr(row, name)
    return f"{value:.3g}" if value is not None else f"undefined: {row.why.get(name, 'unknown')}"
