"""A member of a front as a program of another platform."""

import numpy as np

from data.bars import has_finer
from optimizer.errors import ConfigError
from optimizer.export.member import ExportedMember
from optimizer.export.pine import build_pine_script
from optimizer.export.scripts import build_python_script
from optimizer.run.task import Task
from optimizer.search.generation import Floats
from strategy.errors import StrategyError, unknown
from strategy.resolved import resolve_options

ENDINGS = {
    "backtesting.py": ".py",
    "freqtrade": ".py",
    "nautilus_trader": ".py",
    "vectorbt": ".py",
    "pine": ".pine",
}
"""Platforms, each with the ending of its programs."""


def build_program(task: Task, genome: Floats, title: str, platform: str) -> str:
    """The text of a program that trades a genome [G] by another platform's engine.

    Args:
        task: What the genome was found for.
        genome: Legal.
        title: Whose it is, for people.
        platform: A name of `ENDINGS`.

    Raises:
        ConfigError: When the strategy does what the platform cannot say.
        StrategyError: When the platform is unknown, or the member's switches leave no entry.
    """
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
    member = ExportedMember(platform, title, strategy, genes, task.costs, bar_ns, shown)
    return (
        build_pine_script(member) if platform == "pine" else build_python_script(member, platform)
    )
