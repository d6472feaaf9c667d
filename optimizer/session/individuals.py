"""Individuals for people and JSON: genes, objectives, metrics of all windows and of each."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from engine.batch import Engine
from engine.metrics import METRICS, OVERFLOW, UNDEFINED, MetricTable, compute_metrics
from optimizer.goals.aggregation import MEAN, over_windows
from optimizer.goals.objectives import is_maximised
from optimizer.search.generation import Floats
from optimizer.session.task import Task

Member = TypeVar("Member", bound=Mapping[str, object])

SHOWN_BY_WINDOW = ("trades", "win_rate", "mean_r", "sum_r", "total_return", "max_drawdown")
"""Metrics that are told of each window, beside the objectives."""


def describe_individuals(
    task: Task, engine: Engine, genomes: Floats, objectives: Floats | None = None
) -> list[dict[str, object]]:
    """Individuals for people and JSON.

    Args:
        task: What they were found for.
        engine: The task's full engine.
        genomes: [N, G].
        objectives: [N, O] minimised, as the search found them; left out when None.

    Returns:
        For each its genes, its objectives in natural sign, its metrics over the windows to search
        on (None where undefined), and why the undefined ones are. Under ``held_out`` the same over
        the windows that are held out, objectives taken together as in the search; and where there
        are several windows, under ``by_window`` some metrics of each, in the order of
        `Markets.all_windows`.
    """
    if not len(genomes):
        return []
    windows, n_searched = task.markets.all_windows, len(task.markets.windows)
    table = compute_metrics(engine.evaluate(genomes), task.markets.spans(windows))
    names = task.goals.names
    held_out = table.over(slice(n_searched, None))
    kept = task.goals.achieved(held_out) if task.markets.held_out else np.empty((0, 0))
    told = tuple(
        dict.fromkeys([*(goal.metric for goal in task.goals.objectives), *SHOWN_BY_WINDOW])
    )
    found: list[dict[str, object]] = []
    for i, genome in enumerate(genomes):
        individual: dict[str, object] = {"genes": task.spec.layout.decode(genome)}
        if objectives is not None:
            natural = task.goals.natural(objectives[i]).tolist()
            individual["objectives"] = dict(zip(names, natural, strict=True))
        individual |= mean_metrics(table, i, slice(0, n_searched))
        if task.markets.held_out:
            reached = [None if np.isnan(value) else value for value in kept[i].tolist()]
            individual["held_out"] = {
                "objectives": dict(zip(names, reached, strict=False)),
                **mean_metrics(table, i, slice(n_searched, None)),
            }
        if len(windows) > 1:
            individual["by_window"] = {name: _defined(table, i, name) for name in told}
        found.append(individual)
    return found


def best_first(members: Sequence[Member], objectives: Sequence[str]) -> list[Member]:
    """Members of a front in the order of their numbers: the best in the first objective first.

    Args:
        members: As `describe_individuals` tells of them; equal ones stay in their order.
        objectives: Names, the first one counts.
    """
    if not objectives:
        return list(members)
    sign = -1.0 if is_maximised(objectives[0]) else 1.0

    def merit(member: Member) -> float:
        found = member["objectives"]
        return sign * float(found[objectives[0]]) if isinstance(found, Mapping) else 0.0

    return sorted(members, key=merit)


def mean_metrics(table: MetricTable, individual: int, windows: slice) -> dict[str, object]:
    """Metrics of an individual over some windows: their means.

    Args:
        table: Metrics [P, W, M].
        individual: Place on P.
        windows: Places on W.

    Returns:
        ``metrics`` by name, None where one is undefined in any of the windows, and ``undefined``,
        which names the reason in the first such window.
    """
    values = table.values[individual, windows].T  # [M, W]
    reasons = table.reasons[individual, windows].T
    first = np.argmax(reasons > 0, axis=1)
    why = reasons[np.arange(len(METRICS)), first]
    means = over_windows(values, MEAN, more_is_better=True)
    # Numbers whose sum is beyond all numbers have no mean.
    why = np.where((why == 0) & np.isnan(means), OVERFLOW, why).tolist()
    return {
        "metrics": {
            name: None if reason else mean
            for name, mean, reason in zip(METRICS, means.tolist(), why, strict=True)
        },
        "undefined": {
            name: UNDEFINED[reason] for name, reason in zip(METRICS, why, strict=True) if reason
        },
    }


def _defined(table: MetricTable, individual: int, name: str) -> list[float | None]:
    pairs = zip(table.column(name)[individual].tolist(), table.why(name)[individual], strict=True)
    return [None if reason else value for value, reason in pairs]
