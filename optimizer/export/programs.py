"""A member of a front as a program of another platform."""

from collections.abc import Sequence

import numpy as np

from data.bars import has_finer
from optimizer.errors import ConfigError
from optimizer.evidence.schedule import ScheduleRecord, ScheduleStep, name_duration
from optimizer.export.member import ExportedMember
from optimizer.export.pine import build_pine_script
from optimizer.export.scripts import ExportedStep, build_python_script, find_newest
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from strategy.errors import StrategyError, unknown
from strategy.model import resolve_options

ENDINGS = {
    "backtesting.py": ".py",
    "freqtrade": ".py",
    "nautilus_trader": ".py",
    "vectorbt": ".py",
    "pine": ".pine",
}
"""Platforms, each with the ending of its programs."""


def build_program(task: Task, genome: Floats, title: str, platform: str) -> str:
    """The text of a program that trades a genome [G], legal, by another platform's engine.

    `title` names the member, `platform` is a name of `ENDINGS`. A strategy that does what the
    platform cannot say is a ConfigError.
    """
    member = _describe_member(task, genome, title, platform)
    return (
        build_pine_script(member) if platform == "pine" else build_python_script(member, platform)
    )


def build_schedule_program(
    task: Task, rows: Sequence[ScheduleStep], title: str, platform: str
) -> str:
    """The same of the picks of a schedule, in the order of time, each from its date on."""
    steps = [
        ExportedStep(
            row.date_ns,
            _describe_member(task, task.spec.layout.encode(row.genes), title, platform)
            if row.genes
            else None,
        )
        for row in rows
    ]
    return build_python_script(find_newest(steps, platform), platform, steps)


def build_judged_schedule_program(
    task: Task, made: ScheduleRecord | None, run: str, platform: str
) -> str:
    """The same of the schedule that a run was judged by; refused where there is none."""
    if made is None:
        raise ConfigError(f"run {run} was not judged by a schedule: judge it with --every")
    title = (
        f"Schedule of run {run}: searched every {name_duration(made.every)} on the "
        f"{name_duration(made.train)} before, next due {made.next_date}; STEPS has "
        "the genes of each date, and those of the newest stand here:"
    )
    return build_schedule_program(task, made.rows, title, platform)


def _describe_member(task: Task, genome: Floats, title: str, platform: str) -> ExportedMember:
    if platform not in ENDINGS:
        raise StrategyError(unknown("platform", platform, list(ENDINGS)))
    layout, whole = task.spec.layout, np.asarray(genome)
    values = layout.decode(whole)
    strategy = resolve_options(task.spec, values)
    genes = {name: values[name] for name in strategy.layout.names}
    if has_finer(task.markets.series):
        raise ConfigError(
            "finer: no exported program reads bars by finer ones, and its trades would be others; "
            "it is not exported"
        )
    bar_ns = task.markets.series[0].timeframe_ns
    shown = layout.show(whole)
    warm_up = task.spec.warm_up(values)
    return ExportedMember(platform, title, strategy, genes, warm_up, task.costs, bar_ns, shown)
