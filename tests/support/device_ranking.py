"""Ranks and survivors on a device, against the search on the host.

Run as ``python -m tests.support.device_ranking DEVICE``; with TRITON_INTERPRET=1 the device is
``cpu``. Prints what it compared; ends with an assertion where bits differ.
"""

import sys
from contextlib import nullcontext
from itertools import product

import numpy as np
import torch

from optimizer.generation import Population
from optimizer.search.device import places, ranking
from optimizer.search.device.members import Members
from optimizer.search.ranking import rank_individuals
from tests.support.program_order import from_last_to_first

N_GENES = 5
KINDS = ("front", "chain", "ties", "plain")
SHARES = (0.0, 0.3, 0.9, 1.0)
COUNTED = ranking.COUNTED


def drawn(rng, count, kind, share):
    """Individuals with ties, copies and negative zeros, some of them infeasible, by kind."""
    if kind == "front":
        x = rng.integers(0, 4 * count, (count, 2)) / (4 * count)
        objectives = np.column_stack([x, 2.0 - x.sum(axis=1)])
    elif kind == "chain":
        objectives = rng.integers(0, count, count)[:, None] * np.array([1.0, 0.5, 2.0])
    elif kind == "ties":
        objectives = rng.integers(-2, 3, (count, 3)) * 1.0
        objectives = np.where(objectives == 0, rng.choice([0.0, -0.0], (count, 3)), objectives)
    else:
        objectives = rng.normal(size=(count, 3))
        copied = rng.integers(0, count, count)
        objectives = np.where(rng.random((count, 1)) < 0.2, objectives[copied], objectives)
    is_out = rng.random(count) < share
    violations = np.where(is_out, rng.integers(1, 5, count) / 3.0, 0.0)
    objectives[is_out] = np.nan
    lineage = rng.integers(0, 10, (count, 4))
    failures = is_out.astype(np.int16)
    return Population(rng.random((count, N_GENES)), objectives, violations, failures, lineage)


def put(members, first, some):
    """Some individuals in rows from `first` on."""
    for name in Members._fields:
        given = torch.from_numpy(np.array(getattr(some, name)))
        getattr(members, name)[first : first + len(some)] = given


def same(expected, actual, what):
    """Equal in every bit, NaN and signs of zero included."""
    expected, actual = np.ascontiguousarray(expected), np.ascontiguousarray(actual)
    assert expected.dtype == actual.dtype, f"{what}: {expected.dtype}, {actual.dtype}"
    assert expected.shape == actual.shape, f"{what}: {expected.shape}, {actual.shape}"
    assert expected.tobytes() == actual.tobytes(), f"{what}:\n{expected}\n{actual}"


def copies_last(found, violations):
    """Class of each: its front, whether it is a copy, or nothing but that it is not feasible."""
    ranks = found.ranks + (found.is_copy.astype(np.int64) << ranking.WIDTH)
    return np.where(violations > 0, 2 << ranking.WIDTH, ranks)


def standing_keys(found, violations):
    """What decides within a class, smallest first."""
    return np.where(violations > 0, violations, -found.crowding)


def compare_pool(rng, device, size, born, kind, share):
    """Fronts, copies, crowding and the order of standing of one pool."""
    archive = 3
    members = Members.empty(2 * size + archive, N_GENES, device)
    some = drawn(rng, size + born, kind, share)
    put(members, 0, some.take(np.arange(size)))
    put(members, size + archive, some.take(np.arange(size, size + born)))
    pool = ranking.Pool(size, archive, device)
    count = torch.tensor([born], dtype=torch.int32, device=device)
    for _ in range(2):
        pool.launch(members.objectives, members.violations, count)
    what = f"{kind}, {size} and {born} newcomers, {share} infeasible"
    found = rank_individuals(some.objectives, some.violations)
    there = slice(0, size + born)
    is_in = some.violations == 0
    fronts = np.where(is_in, found.ranks, -1).astype(np.int32)
    same(fronts, pool.fronts[there].cpu().numpy(), f"fronts: {what}")
    classes = copies_last(found, some.violations)
    same(classes, pool.classes[there].cpu().numpy(), f"classes: {what}")
    details = pool.details[there].cpu().numpy()
    same(found.crowding[is_in], (~details[is_in]).view(np.float64), f"crowding: {what}")
    order = np.lexsort([standing_keys(found, some.violations), classes]).astype(np.int32)
    same(order, pool.order[there].cpu().numpy(), f"order: {what}")
    return int(fronts.max()) + 1


def compare_pools(rng, device, sizes):
    """Pools of many kinds, their orders counted, then sorted; the most fronts of one."""
    most = 0
    for size, is_counted in product(sizes, (True, False)):
        ranking.COUNTED = COUNTED if is_counted else 0
        born = int(rng.integers(0, size + 1))
        kind, share = rng.choice(KINDS), rng.choice(SHARES)
        most = max(most, compare_pool(rng, device, int(size), born, kind, share))
    ranking.COUNTED = COUNTED
    return most


def main():
    """Compare on the device that is named."""
    device = torch.device(sys.argv[1])
    rng = np.random.default_rng(7)
    if device.type == "cpu":
        # An interpreter takes as long for a large tile as for a small one.
        ranking.CROWDED = ranking.ROWS = places.ROWS = 256
        ranking.MARKED = ranking.TARGETS = 1024
        ranking.COLUMNS = places.COLUMNS = 1024
        sizes, large = rng.integers(1, 151, 6), ()
    else:
        sizes, large = np.arange(1, 301), (5_000, 33_000)
    print(f"{compare_pools(rng, device, sizes)} fronts at most")
    with from_last_to_first() if device.type == "cpu" else nullcontext():
        for kind, size in (("plain", 530), ("ties", 2_100), *product(KINDS, large)):
            n_fronts = compare_pool(rng, device, size, size - 7, kind, 0.1)
            print(f"{kind}, {size}: {n_fronts} fronts, every bit equal")


if __name__ == "__main__":
    main()
