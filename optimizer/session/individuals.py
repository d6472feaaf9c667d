"""Individuals for people and JSON: genes, objectives, metrics of all windows and of each."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.batch import Engine
from engine.metrics import METRICS, OVERFLOW, UNDEFINED, MetricTable, compute_metrics
from optimizer.goals.constraints import MEAN, over_windows
from optimizer.runs.result import Figure, Figures, Member
from optimizer.search.generation import Floats
from optimizer.session.task import Task

BY_WINDOW = ("trades", "win_rate", "mean_r", "sum_r", "total_return", "max_drawdown")
"""Metrics that a result holds of each window, beside the objectives."""


def describe_individuals(
    task: Task, engine: Engine, genomes: Floats, objectives: Floats | None = None
) -> tuple[Member, ...]:
    """Individuals for people and JSON.

    `engine` is the task's full one, `genomes` [N, G], `objectives` [N, O] minimised, as the
    search found them. Figures are over the windows to search on, beside them over those held
    out, and with several windows some metrics of each, in the order of `Markets.all_windows`.
    """
    if not len(genomes):
        return ()
    markets, goals = task.markets, task.goals
    table = compute_metrics(engine.evaluate(genomes), markets.spans(markets.all_windows))
    places = markets.places("held_out")
    reached = goals.achieved(table.over(places)) if places else np.empty((len(genomes), 0))
    searched = markets.places("search")
    shown = dict.fromkeys([*(goal.metric for goal in goals.objectives), *BY_WINDOW])
    names = shown if len(markets.all_windows) > 1 else ()
    found = []
    for i, genome in enumerate(genomes):
        figures = mean_figures(table, i, searched)
        kept = None
        if places:
            values = [None if np.isnan(value) else value for value in reached[i].tolist()]
            by_name = dict(zip(goals.names, values, strict=False))
            kept = replace(mean_figures(table, i, places), objectives=by_name)
        found.append(
            Member(
                genes=task.spec.layout.decode(genome),
                metrics=figures.metrics,
                undefined=figures.undefined,
                objectives={} if objectives is None else goals.named(objectives[i]),
                held_out=kept,
                by_window={name: _defined(table, i, name) for name in names},
            )
        )
    return tuple(found)


def mean_figures(table: MetricTable, individual: int, windows: Sequence[int]) -> Figures:
    """Metrics of an individual over some windows: their means.

    `table` is [P, W, M]; a metric is None where it is undefined in any of the windows, with the
    reason in the first such window.
    """
    values = table.values[individual, windows].T  # [M, W]
    reasons = table.reasons[individual, windows].T
    first = np.argmax(reasons > 0, axis=1)
    why = reasons[np.arange(len(METRICS)), first]
    means = over_windows(values, MEAN, more_is_better=True)
    # Numbers whose sum is beyond all numbers have no mean.
    why = np.where((why == 0) & np.isnan(means), OVERFLOW, why).tolist()
    return Figures(
        metrics={
            name: None if reason else mean
            for name, mean, reason in zip(METRICS, means.tolist(), why, strict=True)
        },
        undefined={
            name: UNDEFINED[reason] for name, reason in zip(METRICS, why, strict=True) if reason
        },
    )


def _defined(table: MetricTable, individual: int, name: str) -> tuple[Figure, ...]:
    pairs = zip(table.column(name)[individual].tolist(), table.why(name)[individual], strict=True)
    return tuple(None if reason else value for value, reason in pairs)
