"""Rows of a member's own strategy, as charts of prices draw them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from data.bars import Bars
from data.checks import PRICES
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from optimizer.report.charts.price import DrawnRow
from optimizer.report.tables import Tables
from optimizer.run.task import Task
from optimizer.search.generation import Floats

MOST_ROWS = 8
"""Rows that a chart draws; a strategy reads more seldom."""

MOST_COMPARED = 20_000
"""Bars by which it is seen whether a row is a price."""

NEAR = 2.0
"""Times the close, or a part of it, that a row of prices is from it."""


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
