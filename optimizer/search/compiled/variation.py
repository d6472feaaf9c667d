"""Mutation and crossover gene by gene, one pass over the numbers drawn; see `operators`."""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.loops import compiled_inline, compiled_unlocked
from optimizer.search.compiled.sorting import Floats, Places

Bools = npt.NDArray[np.bool_]

SHARES = (0.125, 0.5, 1.0)
"""Chances of a gene to be moved by a difference."""


@compiled_inline
def power(value: float, n_squarings: int) -> float:
    """The power of order 2 ** n_squarings."""
    for _ in range(n_squarings):
        value = value * value
    return value


@compiled_inline
def root(value: float, n_squarings: int) -> float:
    """The root of that order."""
    for _ in range(n_squarings):
        value = np.sqrt(value)
    return value


@compiled_inline
def clip_gene(value: float, low: float, high: float, is_int: bool) -> float:
    """A gene inside its bounds, whole where it has to be; NaN stays NaN."""
    inside = np.rint(value) if is_int else value
    inside = low if inside < low else inside
    return high if inside > high else inside


@compiled_inline
def mutate_gene(old: float, draw: float, low: float, high: float, n_squarings: int) -> float:
    """A gene that is not whole after polynomial mutation, inside its bounds."""
    is_down = draw < 0.5
    room = (old - low if is_down else high - old) / (high - low)
    tail = 2.0 * min(draw, 1.0 - draw)
    reach = 1.0 - root(tail + (1.0 - tail) * power(1.0 - room, n_squarings), n_squarings)
    direction = -1.0 if is_down else 1.0
    return min(max(old + direction * (reach * (high - low)), low), high)


@compiled_inline
def draw_other(old: float, draw: float, low: float, high: float) -> float:
    """An option that is not the old one, each as likely."""
    other = low + float(np.floor(draw * (high - low)))
    return other + 1.0 if other >= old else other


@compiled_unlocked
def mutate(
    genomes: Floats, draws: Floats, chance: float, low: Floats, high: Floats, is_int: Bools,
    is_category: Bools, n_squarings: int, out: Floats,
) -> None:  # fmt: skip
    """Polynomial mutation; see `operators.mutate_polynomial`.

    Args:
        genomes: [P, G].
        draws: [2, P, G], which genes move and how far.
        chance: Of a gene to move.
        low: [G].
        high: [G].
        is_int: [G].
        is_category: [G], of genes without order, which change to another option.
        n_squarings: Of the power eta + 1.
        out: [P, G] receives the mutants.
    """
    for i in range(genomes.shape[0]):
        for g in range(genomes.shape[1]):
            old, draw = genomes[i, g], draws[1, i, g]
            out[i, g] = old
            if not (draws[0, i, g] < chance and low[g] < high[g]):
                continue
            if is_category[g]:
                out[i, g] = draw_other(old, draw, low[g], high[g])
                continue
            moved = mutate_gene(old, draw, low[g], high[g], n_squarings)
            if is_int[g]:
                moved = np.rint(moved)
                # A gene that rounding brings back moves by one, towards the inside at a bound.
                if moved == old:
                    direction = -1.0 if draw < 0.5 else 1.0
                    stepped = old + direction
                    is_inside = low[g] <= stepped and stepped <= high[g]
                    moved = stepped if is_inside else old - direction
            out[i, g] = moved


@compiled_inline
def spread(draw: float, gap: float, room: float, n_squarings: int) -> float:
    """Distance of children in units of their parents' gap, so that none leaves its bounds."""
    nearness = gap / (gap + 2.0 * max(room, 0.0))
    scaled = draw * (2.0 - power(nearness, n_squarings))
    return root(scaled if scaled <= 1.0 else 1.0 / (2.0 - scaled), n_squarings)


@compiled_unlocked
def cross(
    parents: Floats, is_crossed: Bools, draws: Floats, low: Floats, high: Floats, is_int: Bools,
    is_category: Bools, n_squarings: int, out: Floats,
) -> None:  # fmt: skip
    """Simulated binary crossover; see `operators.cross_simulated_binary`.

    Args:
        parents: [P, G], neighbours are pairs.
        is_crossed: [N, 1], which pairs.
        draws: [3, N, G]: which genes, how far, and which child gets which.
        low: [G].
        high: [G].
        is_int: [G].
        is_category: [G], of genes without order, of which each child has those of one parent.
        n_squarings: Of the power eta + 1.
        out: [P, G] receives the children; with [N, G] the first of each pair.
    """
    n_children = 2 if out.shape[0] > is_crossed.shape[0] else 1
    for i in range(is_crossed.shape[0]):
        for g in range(parents.shape[1]):
            first, second = parents[2 * i, g], parents[2 * i + 1, g]
            is_moved = is_crossed[i, 0] and draws[0, i, g] < 0.5 and first != second
            below, above = min(first, second), max(first, second)
            gap, middle, draw = above - below, below + above, draws[1, i, g]
            for child in range(n_children):
                is_second = child == 1
                value = second if is_second else first
                if is_moved and is_category[g]:
                    value = first if is_second else second
                elif is_moved:
                    # One draw for both sides, each as far as its own bound allows.
                    is_high = (draws[2, i, g] < 0.5) != is_second
                    room = high[g] - above if is_high else below - low[g]
                    reach = spread(draw, gap, room, n_squarings) * gap
                    value = 0.5 * (middle + (reach if is_high else -reach))
                out[n_children * i + child, g] = clip_gene(value, low[g], high[g], is_int[g])


@compiled_unlocked
def move(
    parents: Floats, ahead: Floats, behind: Floats, draws: Floats, chances: Floats, low: Floats,
    high: Floats, is_int: Bools, is_category: Bools, out: Floats,
) -> None:  # fmt: skip
    """Differences of two added to a third; see `operators.move_by_difference`.

    Args:
        parents: [P, G].
        ahead: [P, G].
        behind: [P, G].
        draws: [3, P]: how far, how many genes, and which one in any case.
        chances: [P, G], which other genes.
        low: [G].
        high: [G].
        is_int: [G].
        is_category: [G], of genes without order, which become those ahead where these two differ.
        out: [P, G] receives the children.
    """
    n_genes = parents.shape[1]
    for i in range(parents.shape[0]):
        step = 0.25 + 0.75 * draws[0, i]
        share = SHARES[int(draws[1, i] * len(SHARES))]
        certain = int(draws[2, i] * n_genes)
        for g in range(n_genes):
            old = parents[i, g]
            moved = old
            if chances[i, g] < share or g == certain:
                if not is_category[g]:
                    moved = old + step * (ahead[i, g] - behind[i, g])
                elif ahead[i, g] != behind[i, g]:
                    moved = ahead[i, g]
            if moved < low[g]:
                moved = 0.5 * (old + low[g])
            if moved > high[g]:
                moved = 0.5 * (old + high[g])
            out[i, g] = clip_gene(moved, low[g], high[g], is_int[g])


@compiled_unlocked
def repair(
    genomes: Floats, low: Floats, high: Floats, is_int: Bools, ordered: Places,
    out: Floats, is_broken: Bools,
) -> None:  # fmt: skip
    """Bounds, whole numbers and constraints; the definition is `GenomeLayout.repair`.

    Args:
        genomes: [P, G].
        low: [G].
        high: [G].
        is_int: [G].
        ordered: [N, 2], genes of which the first must be below the second.
        out: [P, G] receives legal genomes without negative zeros.
        is_broken: [P] receives who had to be changed beyond rounding and bounds.
    """
    for i in range(genomes.shape[0]):
        for g in range(genomes.shape[1]):
            out[i, g] = clip_gene(genomes[i, g], low[g], high[g], is_int[g]) + 0.0
        is_broken[i] = False
        for c in range(ordered.shape[0]):
            left, right = ordered[c, 0], ordered[c, 1]
            if not out[i, left] < out[i, right]:
                out[i, right] = min(out[i, left] + 1.0, high[right])
                out[i, left] = min(out[i, left], out[i, right] - 1.0)
                is_broken[i] = True


@compiled_unlocked
def choose_winners(contestants: Places, ranks: Places, crowding: Floats, out: Places) -> None:
    """Binary tournaments; see `operators.select_parents`.

    Args:
        contestants: [2 N], neighbours meet.
        ranks: [P].
        crowding: [P].
        out: [N] receives the winners.
    """
    for i in range(out.size):
        first, second = contestants[2 * i], contestants[2 * i + 1]
        is_wider = crowding[second] > crowding[first]
        is_better = ranks[second] < ranks[first] or (ranks[second] == ranks[first] and is_wider)
        out[i] = second if is_better else first
