"""Mutation and crossover gene by gene, one pass over the numbers drawn; see `operators`."""

import numpy as np
import numpy.typing as npt

from engine.backends.compiled import compiled
from optimizer.search.compiled.sorting import Floats

Bools = npt.NDArray[np.bool_]


@compiled
def power(value: float, n_squarings: int) -> float:
    """The power of order 2 ** n_squarings."""
    for _ in range(n_squarings):
        value = value * value
    return value


@compiled
def root(value: float, n_squarings: int) -> float:
    """The root of that order."""
    for _ in range(n_squarings):
        value = np.sqrt(value)
    return value


@compiled
def mutate_gene(old: float, draw: float, low: float, high: float, n_squarings: int) -> float:
    """A gene that is not whole after polynomial mutation, inside its bounds."""
    is_down = draw < 0.5
    room = (old - low if is_down else high - old) / (high - low)
    tail = 2.0 * min(draw, 1.0 - draw)
    reach = 1.0 - root(tail + (1.0 - tail) * power(1.0 - room, n_squarings), n_squarings)
    direction = -1.0 if is_down else 1.0
    return min(max(old + direction * (reach * (high - low)), low), high)


@compiled
def mutate(
    genomes: Floats, draws: Floats, chance: float, low: Floats, high: Floats, is_int: Bools,
    n_squarings: int, out: Floats,
) -> None:  # fmt: skip
    """Polynomial mutation; see `operators.mutate_polynomial`.

    Args:
        genomes: [P, G].
        draws: [2, P, G], which genes move and how far.
        chance: Of a gene to move.
        low: [G].
        high: [G].
        is_int: [G].
        n_squarings: Of the power eta + 1.
        out: [P, G] receives the mutants.
    """
    for i in range(genomes.shape[0]):
        for g in range(genomes.shape[1]):
            old, draw = genomes[i, g], draws[1, i, g]
            out[i, g] = old
            if not (draws[0, i, g] < chance and low[g] < high[g]):
                continue
            moved = mutate_gene(old, draw, low[g], high[g], n_squarings)
            if is_int[g]:
                moved = np.rint(moved)
                if moved == old:
                    direction = -1.0 if draw < 0.5 else 1.0
                    stepped = old + direction
                    is_inside = low[g] <= stepped and stepped <= high[g]
                    moved = stepped if is_inside else old - direction
            out[i, g] = moved


@compiled
def spread(draw: float, gap: float, room: float, n_squarings: int) -> float:
    """Distance of children in units of their parents' gap, so that none leaves its bounds."""
    nearness = gap / (gap + 2.0 * max(room, 0.0))
    scaled = draw * (2.0 - power(nearness, n_squarings))
    return root(scaled if scaled <= 1.0 else 1.0 / (2.0 - scaled), n_squarings)


@compiled
def cross(
    parents: Floats, is_crossed: Bools, draws: Floats, low: Floats, high: Floats,
    n_squarings: int, out: Floats,
) -> None:  # fmt: skip
    """Simulated binary crossover before rounding; see `operators.cross_simulated_binary`.

    Args:
        parents: [2 N, G], neighbours are pairs.
        is_crossed: [N, 1], which pairs.
        draws: [3, N, G]: which genes, how far, and which child gets which.
        low: [G].
        high: [G].
        n_squarings: Of the power eta + 1.
        out: [2 N, G] receives the children.
    """
    for i in range(is_crossed.shape[0]):
        for g in range(parents.shape[1]):
            first, second = parents[2 * i, g], parents[2 * i + 1, g]
            out[2 * i, g], out[2 * i + 1, g] = first, second
            if not (is_crossed[i, 0] and draws[0, i, g] < 0.5 and first != second):
                continue
            below, above = min(first, second), max(first, second)
            gap, middle, draw = above - below, below + above, draws[1, i, g]
            near_low = 0.5 * (middle - spread(draw, gap, below - low[g], n_squarings) * gap)
            near_high = 0.5 * (middle + spread(draw, gap, high[g] - above, n_squarings) * gap)
            is_swapped = draws[2, i, g] < 0.5
            out[2 * i, g] = near_high if is_swapped else near_low
            out[2 * i + 1, g] = near_low if is_swapped else near_high
