"""Groups of individuals, each with windows of its own, evaluated together."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from engine.batch import Engine
from engine.out_of_core import ApartEngine
from strategy.genes import Floats


class Group(NamedTuple):
    """Individuals that meet the same windows."""

    genomes: Floats  # [P, G], P at least 1
    windows: Sequence[int]  # [W] numbers of an engine's windows
    is_account: bool = False  # whether to fold them as one account too


def evaluate_groups(engine: Engine, groups: Sequence[Group]) -> list[tuple[Floats, Floats | None]]:
    """Accumulators [P, W, A] of each group, and those of its windows as one account, if wanted.

    They are evaluated together if the device can; else parts of an engine with its series
    apart work on groups without accounts side by side.
    """
    if engine.meets_own:
        return _evaluate_together(engine, groups)
    plain = [(group.genomes, group.windows) for group in groups if not group.is_account]
    answers: Iterator[Floats]
    if isinstance(engine, ApartEngine):
        answers = iter(engine.evaluate_groups(plain))
    else:
        answers = (_on(engine, windows).evaluate(genomes) for genomes, windows in plain)
    return [
        _on(engine, group.windows).evaluate_account(group.genomes)
        if group.is_account
        else (next(answers), None)
        for group in groups
    ]


def _evaluate_together(
    engine: Engine, groups: Sequence[Group]
) -> list[tuple[Floats, Floats | None]]:
    """The same, all at once that have as many windows."""
    alike: dict[tuple[int, bool], list[int]] = {}
    for number, group in enumerate(groups):
        alike.setdefault((len(group.windows), bool(group.is_account)), []).append(number)
    answers: list[tuple[Floats, Floats | None]] = [(np.empty(0), None)] * len(groups)
    for (_, is_account), numbers in alike.items():
        sizes = [len(groups[number].genomes) for number in numbers]
        genomes = np.concatenate([groups[number].genomes for number in numbers])
        own = np.array([groups[number].windows for number in numbers], np.int32).repeat(sizes, 0)
        account = None
        if is_account:
            accumulators, account = engine.evaluate_account(genomes, own)
        else:
            accumulators = engine.evaluate_own(genomes, own)
        begin = 0
        for number, size in zip(numbers, sizes, strict=True):
            part = slice(begin, begin + size)
            answers[number] = accumulators[part], None if account is None else account[part]
            begin += size
    return answers


def _on(engine: Engine, windows: Sequence[int]) -> Engine:
    """An engine for some of its windows, by number."""
    return engine.on([engine.windows[number] for number in windows])
