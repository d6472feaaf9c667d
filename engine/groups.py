"""Groups of individuals, each of which meets windows of its own, evaluated together."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from engine.batch import Engine
from strategy.genes import Floats


class Group(NamedTuple):
    """Individuals that meet the same windows."""

    genomes: Floats  # [P, G], P at least 1
    windows: Sequence[int]  # [W] numbers of an engine's windows
    is_account: bool = False  # whether all of these as one account are wanted too


def evaluate_groups(engine: Engine, groups: Sequence[Group]) -> list[tuple[Floats, Floats | None]]:
    """Accumulators [P, W, A] of each group, and those of its windows as one account, if wanted.

    All groups without accounts are one call of the engine.
    """
    plain = iter(_evaluate_plain(engine, [group for group in groups if not group.is_account]))
    return [
        engine.on([engine.windows[w] for w in group.windows]).evaluate_account(group.genomes)
        if group.is_account
        else (next(plain), None)
        for group in groups
    ]


def _evaluate_plain(engine: Engine, groups: Sequence[Group]) -> list[Floats]:
    if not groups:
        return []
    begins = np.cumsum([0, *(len(group.genomes) for group in groups)])
    pairs = [
        np.stack(np.meshgrid(np.arange(begin, end), group.windows, indexing="ij"), axis=2).reshape(
            -1, 2
        )
        for group, (begin, end) in zip(groups, pairwise(begins), strict=True)
    ]
    genomes = np.concatenate([group.genomes for group in groups])
    accumulators = engine.evaluate_pairs(genomes, np.concatenate(pairs))
    ends = np.cumsum([len(pairs_of_one) for pairs_of_one in pairs])[:-1]
    return [
        of_group.reshape(len(group.genomes), len(group.windows), -1)
        for group, of_group in zip(groups, np.split(accumulators, ends), strict=True)
    ]
