"""Splits of a run's bars that a plan asks for, with the bars that are cut around tests."""

from optimizer.evidence.plan import Plan
from optimizer.evidence.splits import (
    Split,
    combinatorial,
    default_embargo,
    default_purge,
    walk_forward,
)
from optimizer.run.task import Task


def choose_purge(plan: Plan, task: Task) -> int:
    """Bars cut from the end of a training before its test."""
    return default_purge(task.spec) if plan.purge is None else plan.purge


def choose_embargo(plan: Plan, task: Task) -> int:
    """Bars cut from the start of a training after a test."""
    if plan.embargo is not None:
        return plan.embargo
    shortest = min(bars.timeframe_ns for bars in task.markets.series)
    return default_embargo(task.spec, shortest)


def split_walks(plan: Plan, task: Task) -> tuple[Split, ...]:
    """Folds of a task without held-out bars; none where the plan asks for none.

    Raises:
        ConfigError: When the bars are too few for them.
    """
    if not plan.folds:
        return ()
    return walk_forward(
        task.markets.series,
        task.markets.uncut,
        folds=plan.folds,
        train_groups=plan.train_groups,
        purge=choose_purge(plan, task),
        anchored=plan.anchored,
    )


def split_combinations(plan: Plan, task: Task) -> tuple[Split, ...]:
    """Combinatorial splits of the same; none where the plan asks for none.

    Raises:
        ConfigError: When the bars are too few for them.
    """
    if plan.groups is None:
        return ()
    count, tests = plan.groups
    return combinatorial(
        task.markets.series,
        task.markets.uncut,
        count=count,
        tests=tests,
        purge=choose_purge(plan, task),
        embargo=choose_embargo(plan, task),
    )
