"""Runs side by side: numbers, fronts, settings that differ, equity, correlation of days."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from data.checks import Ints
from data.timeframe import UNITS_NS
from optimizer.errors import OptimizerError
from optimizer.evidence.returns import daily_returns
from optimizer.formatting import format_count, number, words
from optimizer.portfolios.portfolio import FEWEST_DAYS, correlate_common_days
from optimizer.report.account import Curve
from optimizer.report.charts.account import draw_curve
from optimizer.report.charts.chart import COLOURS, DATES, Chart, axis, name, plane, scatter
from optimizer.report.charts.front import metric_axis
from optimizer.report.schedule import build_schedule_account, find_schedule
from optimizer.report.summary import align_outcomes, compare_side_by_side, describe_outcome
from optimizer.report.tables import Tables
from optimizer.report.trades import Plain
from optimizer.run.compared import WORDS, RunComparison, compare_runs
from optimizer.run.record import PLACES, different_lines
from optimizer.run.tables import newest_front
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.caveats import mapping_or_empty

MARKS = ("circle", "square", "diamond", "triangle-up", "x", "cross")
"""Of the fronts, so that they differ without colours too."""

MOST_COMPARED = len(COLOURS)

DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


class Side(NamedTuple):
    """A run with its newest front."""

    run: Tables
    front: Floats  # [F, O] in natural sign
    command: Mapping[str, object]  # what it was asked to do


@dataclass(frozen=True, eq=False)
class PickDays:
    """Returns of a run's pick by day."""

    run: str
    curve: Curve
    days: Ints  # [D] with a bar, days since 1970 UTC
    r: Floats  # [D], R of the trades that were closed on each


def build_comparison(paths: Sequence[Path]) -> Plain:
    """Runs as plain data with charts; sentences name what cannot be compared."""
    problems: list[str] = []
    sides = [side for path in paths if (side := _load(path, problems)) is not None]
    tables = [side.run for side in sides]
    picks = [days for run in tables if (days := _read_days(run, problems)) is not None]
    comparisons = _compare(paths, problems)
    return {
        "runs": [path.name for path in paths],
        "rows": [[label, *cells] for label, cells in _list_rows(sides, comparisons)],
        "heads": [run.id for run in tables],
        "differs": [[run.run, *run.differs, *run.limits] for run in comparisons[1:]]
        # Where they cannot be held against each other, what they were asked at least.
        or [
            [side.run.id, *different_lines(sides[0].command, side.command, WORDS)]
            for side in sides[1:]
        ],
        "equity": _draw_equity(picks) if picks else None,
        "front": _draw_fronts(sides) if sides else None,
        "correlations": [_describe_pair(*pair) for pair in combinations(picks, 2)],
        "problems": problems,
    }


def _load(path: Path, problems: list[str]) -> Side | None:
    try:
        run = Tables(path)
        with RunStore.open(path) as store:
            front = run.header.natural(newest_front(store).objectives)
            command = mapping_or_empty(store.header.get("command"))
            asked = {name: value for name, value in command.items() if name not in PLACES}
            return Side(run, front, asked)
    except OptimizerError as error:
        problems.append(str(error))
        return None


def _read_days(run: Tables, problems: list[str]) -> PickDays | None:
    """Equity and days that a run's verdict is about; None where there is no pick, or no bars."""
    if run.pick is None or run.bars_problem:
        why = run.bars_problem or "it has no pick yet"
        problems.append(f"{run.id}: no equity and no days of its pick: {why}")
        return None
    if find_schedule(run) is not None:
        made = build_schedule_account(run)
        account, days = made.holding, made.holding.days
        r = daily_returns([made.ledgers], account.series, account.windows, days)[:, 0]
        return PickDays(run.id, made.curve, days, r.astype(np.float64))
    trades = run.trade_columns(run.pick.member)
    day_numbers = np.searchsorted(run.days, trades.exit_ns // UNITS_NS["d"])
    r = np.zeros(len(run.days))
    np.add.at(r, day_numbers, trades.r)
    return PickDays(run.id, run.equity_curve(trades), run.days, r)


def _compare(paths: Sequence[Path], problems: list[str]) -> list[RunComparison]:
    try:
        with ExitStack() as opened:
            return compare_runs([opened.enter_context(RunStore.open(path)) for path in paths])
    except OptimizerError as error:
        problems.append(str(error))
        return []


def _list_rows(
    sides: Sequence[Side], comparisons: Sequence[RunComparison]
) -> list[tuple[str, Sequence[str]]]:
    """Lines of the table, a cell a run; without comparisons each run's own."""
    tables = [side.run for side in sides]
    outcomes = [
        {} if run.result is None else describe_outcome(run.result, run.judgement) for run in tables
    ]
    known = {run.run: run for run in comparisons}
    rows = [("strategy", [run.header.strategy for run in tables])]
    if known and all(run.id in known for run in tables):
        rows += compare_side_by_side([known[run.id] for run in tables], tables[0].objectives)
    return [*rows, *align_outcomes(outcomes)]


def _draw_equity(picks: Sequence[PickDays]) -> Chart:
    """Equity of the picks on one axis."""
    data = []
    for pick, colour, dash in zip(picks, COLOURS, DASHES, strict=False):
        line = {"color": colour, "width": 2, "shape": "hv", "dash": dash}
        data.append(draw_curve(pick.curve, name(pick.run), line))
    ends = ", ".join(f"{pick.run} {number(float(pick.curve.value[-1]))}" for pick in picks)
    up = axis("equity", type="log", tickformat=".3g")
    return plane("equity of the picks, from 1", f"at the end {ends}", data, DATES, up)


def _draw_fronts(sides: Sequence[Side]) -> Chart | None:
    """Fronts of runs with the last and the first objective of the first run, by these."""
    y, x = sides[0].run.objectives[0], sides[0].run.objectives[-1]
    alike = [side for side in sides if {x, y} <= set(side.run.objectives) and len(side.front)]
    data = []
    for side, colour, mark in zip(alike, COLOURS, MARKS, strict=False):
        column = side.run.objectives.index
        marker = {"color": colour, "size": 8, "symbol": mark}
        points = side.front[:, column(x)], side.front[:, column(y)]
        data.append(scatter("markers", *points, name=name(side.run.id), marker=marker))
    alt = f"fronts of {format_count(len(alike), 'run')}, each with a mark of its own"
    title = f"{words(y)} against {words(x)}"
    return plane(title, alt, data, metric_axis(x), metric_axis(y)) if alike else None


def _describe_pair(first: PickDays, second: PickDays) -> list[str]:
    """Correlation of the days of two picks, as a line of a table."""
    days, value = correlate_common_days((first.days, first.r), (second.days, second.r))
    text = number(value) if value is not None else f"undefined below {FEWEST_DAYS} common days"
    if value is None and days >= FEWEST_DAYS:
        text = "undefined: one of them does not vary"
    return [first.run, second.run, text, format_count(days, "day")]
