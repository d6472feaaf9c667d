"""Groups of individuals, each of which meets windows of its own, evaluated together."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.batch import Engine
from strategy.genes import Floats


class Group(NamedTuple):
    """Individuals that meet the same windows."""

    genomes: Floats  # [P, G], P at least 1
    windows: Sequence[int]  # [W] numbers of an engine's windows
    is_account: bool = False  # whether all of these as one account are wanted too


def evaluate_groups(engine: Engine, groups: Sequence[Group]) -> list[tuple[Floats, Floats | None]]:
    """Accumulators [P, W, A] of each group, and those of its windows as one account, if wanted.

    Groups without accounts are evaluated side by side.
    """
    plain = [(group.genomes, group.windows) for group in groups if not group.is_account]
    answers = iter(engine.evaluate_groups(plain))
    return [
        _on(engine, group.windows).evaluate_account(group.genomes)
        if group.is_account
        else (next(answers), None)
        for group in groups
    ]


def _on(engine: Engine, windows: Sequence[int]) -> Engine:
    """An engine for some of its windows, by number."""
    return engine.on([engine.windows[number] for number in windows])
