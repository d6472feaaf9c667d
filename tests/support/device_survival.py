"""Archive and survivors on a device, generation after generation, against the host.

Run as ``python -m tests.support.device_survival DEVICE``; with TRITON_INTERPRET=1 the device is
``cpu``. Prints what it compared; ends with an assertion where bits differ.
"""

import sys
from contextlib import nullcontext

import numpy as np
import torch

from optimizer.generation import Population
from optimizer.search.archive import extended
from optimizer.search.device import places, ranking, survival, thinning
from optimizer.search.device.members import Members
from optimizer.search.device.survival import Selection
from optimizer.search.ranking import rank_individuals, rank_survivors
from optimizer.search.survival import survive_by_hypervolume
from tests.support.device_ranking import (
    COUNTED,
    KINDS,
    N_GENES,
    SHARES,
    copies_last,
    drawn,
    put,
    same,
    standing_keys,
)
from tests.support.program_order import from_last_to_first


def taken(members, first, count):
    """Individuals of rows."""
    rows = slice(first, first + count)
    return Population(*(getattr(members, name)[rows].cpu().numpy() for name in Members._fields))


def compare_all(expected, actual, what):
    """Everything that is known of individuals."""
    for name in Members._fields:
        same(getattr(expected, name), getattr(actual, name), f"{name} of {what}")


def compare_counts(selection, newcomers, admitted, what):
    """Newcomers of each operator, and those in the archive."""
    code = newcomers.lineage[:, 3]
    for name, codes in (("tried", code), ("admitted", code[admitted])):
        counts = np.bincount(codes, minlength=10).astype(np.int32)
        same(counts, getattr(selection, name).cpu().numpy(), f"{name}: {what}")


def begun(rng, size, most, kind, share):
    """A population and an archive that is not empty."""
    population = drawn(rng, size, kind, share)
    archive = extended(population.take(np.empty(0, int)), drawn(rng, 3, kind, 0.0), most)[0]
    return population, archive


def compare_generations(rng, device, size, most, kind, share, count=3):
    """Some generations of newcomers; gives how many archives, and how many fronts, were thinned."""
    thinned = np.zeros(2, dtype=np.int64)
    population, archive = begun(rng, size, most, kind, share)
    members = Members.empty(2 * size + most, N_GENES, device)
    selection = Selection(members, size, most, device)
    put(members, 0, population)
    put(members, size, archive)
    selection.archive_count.fill_(len(archive))
    for number in range(count):
        born = int(rng.integers(0, size + 1)) if number else 0
        newcomers = drawn(rng, max(born, 1), kind, share).take(np.arange(born))
        put(members, size + most, newcomers)
        selection.launch(torch.tensor([born], dtype=torch.int32, device=device))
        what = f"{kind}, {share} infeasible, {size} + {born}, archive of {most}, step {number}"
        n_best = len(extended(archive, newcomers, size + most)[0])
        archive, admitted = extended(archive, newcomers, most)
        compare_counts(selection, newcomers, admitted, what)
        same(np.int32([len(archive)]), selection.archive_count.cpu().numpy(), what)
        compare_all(archive, taken(members, size, len(archive)), f"archive: {what}")
        pool = Population.joined(population, newcomers)
        found = rank_individuals(pool.objectives, pool.violations)
        order = survive_by_hypervolume(pool.objectives, pool.violations, size, found)
        classes = copies_last(found, pool.violations)
        standing = np.lexsort([standing_keys(found, pool.violations), classes])
        thinned += n_best > most, not np.array_equal(order, standing[:size])
        kept = rank_survivors(found, pool.objectives, pool.violations, order)
        population = pool.take(order)
        compare_all(population, taken(members, 0, size), f"population: {what}")
        own = slice(0, size)
        same(kept.ranks.astype(np.int32), selection.ranks[own].cpu().numpy(), f"ranks: {what}")
        same(kept.crowding, selection.crowding[own].cpu().numpy(), f"crowding: {what}")
    return thinned


def compare_small(rng, device, sizes):
    """Small populations of every kind, a half of them ordered as large ones are."""
    thinned = np.zeros(2, dtype=np.int64)
    for i, size in enumerate(sizes):
        ranking.COUNTED = places.COUNTED = COUNTED * (i // 4 % 2)
        most = int(rng.integers(1, size + 1))
        kind, share = KINDS[i % 4], SHARES[i // 2 % 4]
        thinned += compare_generations(rng, device, int(size), most, kind, share)
    ranking.COUNTED = places.COUNTED = COUNTED
    assert (thinned > 0).all(), thinned
    print(f"{len(sizes)} small populations, {thinned} thinned, every bit equal")


def retile():
    """Larger programs, as fast for an interpreter as small ones; shorter chunks, to have many."""
    survival.CHUNK = 64
    survival.FEW_ROWS = survival.MANY_ROWS = 256
    thinning.ROWS = ranking.CROWDED = ranking.ROWS = places.ROWS = 256
    thinning.COLUMNS = survival.COLUMNS = ranking.COLUMNS = places.COLUMNS = 1024
    survival.MOVED = ranking.MARKED = thinning.LANES = 1024
    thinning.SEGMENTS = 2


def main():
    """Compare on the device that is named."""
    device = torch.device(sys.argv[1])
    rng = np.random.default_rng(11)
    if device.type == "cpu":
        retile()
        sizes, large = rng.integers(1, 121, 8), ()
    else:
        sizes, large = np.arange(1, 301), (520, 5_000, 33_000)
    with from_last_to_first() if device.type == "cpu" else nullcontext():
        compare_small(rng, device, sizes)
    for size in large:
        compare_generations(rng, device, size, size // 2, "plain", 0.1)
        print(f"{size} individuals, every bit equal")


if __name__ == "__main__":
    main()
