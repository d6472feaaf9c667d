"""Variation gene by gene, one pass over the numbers drawn (see `breeding`); and repeats.

Genes are described by `GenomeLayout.table`. One with a step is varied as the number of its step.
Repeats are found by a table of places with open addressing, rows compared in full: a hash is only
where to look first.
"""

import numpy as np
import numpy.typing as npt

from engine.runtime.compiling.loops import compiled_part, compiled_unlocked
from optimizer.search.compiled.fronts import ONE, ZERO, Bools, Floats, Places, Unsigned
from strategy.gene import NEARLY

LOW, HIGH, WHOLE, CATEGORY, STEP, BASE, TOP = range(7)
"""Rows of a table of genes: bounds of what is varied, whether that is whole or without order; the
step, or 0, and bounds of values."""

SHARES = (0.125, 0.5, 1.0)
"""Chances of a gene to be moved by a difference."""

Table = npt.NDArray[np.int32]

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
HALF = np.uint64(32)


@compiled_part
def power(value: float, n_squarings: int) -> float:
    """The power of order 2 ** n_squarings."""
    for _ in range(n_squarings):
        value = value * value
    return value


@compiled_part
def root(value: float, n_squarings: int) -> float:
    """The root of that order."""
    for _ in range(n_squarings):
        value = np.sqrt(value)
    return value


@compiled_part
def clip_gene(value: float, low: float, high: float, is_int: bool) -> float:
    """A gene inside its bounds, whole if it has to be; NaN stays NaN."""
    inside = np.rint(value) if is_int else value
    inside = low if inside < low else inside
    return high if inside > high else inside


@compiled_part
def to_grid(value: float, genes: Floats, g: int) -> float:
    """Number of the nearest step of a gene that has one, else its value."""
    step = genes[STEP, g]
    return float(np.rint((value - genes[BASE, g]) / step)) if step > 0.0 else value


@compiled_part
def from_grid(number: float, genes: Floats, g: int) -> float:
    """Value of what `to_grid` gives."""
    step, top = genes[STEP, g], genes[TOP, g]
    value = genes[BASE, g] + number * step if step > 0.0 else number
    return top if step > 0.0 and value > top - NEARLY * step else value


@compiled_part
def mutate_gene(old: float, draw: float, low: float, high: float, n_squarings: int) -> float:
    """A gene that is not whole after polynomial mutation, inside its bounds."""
    is_down = draw < 0.5
    room = (old - low if is_down else high - old) / (high - low)
    tail = 2.0 * min(draw, 1.0 - draw)
    reach = 1.0 - root(tail + (1.0 - tail) * power(1.0 - room, n_squarings), n_squarings)
    direction = -1.0 if is_down else 1.0
    return min(max(old + direction * (reach * (high - low)), low), high)


@compiled_part
def draw_other(old: float, draw: float, low: float, high: float) -> float:
    """An option that is not the old one, each as likely."""
    other = low + float(np.floor(draw * (high - low)))
    return other + 1.0 if other >= old else other


@compiled_unlocked
def mutate(
    genomes: Floats, rows: Places, count: int, draws: Floats, start: int, genes: Floats,
    chance: float, n_squarings: int,
) -> None:  # fmt: skip
    """Polynomial mutation of the first P of some rows; see `breeding.mutate_polynomial`.

    Args:
        genomes: [N, G], of which some become mutants.
        rows: [C], of these the first P.
        count: P.
        draws: [M], from `start` on [2, P, G]: which genes move and how far.
        start: Where they begin.
        genes: [7, G].
        chance: Of a gene to move.
        n_squarings: Of the power eta + 1.
    """
    n_genes = genes.shape[1]
    for i in range(count):
        for g in range(n_genes):
            at, low, high = start + i * n_genes + g, genes[LOW, g], genes[HIGH, g]
            old = to_grid(genomes[rows[i], g], genes, g)
            moved = old
            if draws[at] < chance and low < high:
                draw = draws[at + count * n_genes]
                if genes[CATEGORY, g] != 0.0:
                    moved = draw_other(old, draw, low, high)
                else:
                    moved = mutate_gene(old, draw, low, high, n_squarings)
                    if genes[WHOLE, g] != 0.0:
                        moved = np.rint(moved)
                        # A gene that rounding brings back moves by one, inside if it can.
                        if moved == old:
                            direction = -1.0 if draw < 0.5 else 1.0
                            moved = old + direction
                            is_inside = low <= moved and moved <= high
                            moved = moved if is_inside else old - direction
            genomes[rows[i], g] = from_grid(moved, genes, g)


@compiled_unlocked
def sample(
    genomes: Floats, rows: Places, count: int, draws: Floats, start: int, genes: Floats
) -> None:
    """Individuals between their bounds; see `breeding.sample_genomes`.

    Draws from `start` on are [P, G]; other arguments as of `mutate`.
    """
    n_genes = genes.shape[1]
    for i in range(count):
        for g in range(n_genes):
            draw, low, high = draws[start + i * n_genes + g], genes[LOW, g], genes[HIGH, g]
            is_int = genes[WHOLE, g] != 0.0
            step = float(np.floor(draw * (high - low + 1.0))) if is_int else draw * (high - low)
            value = clip_gene(low + step, low, high, is_int)
            genomes[rows[i], g] = from_grid(value, genes, g)


@compiled_part
def spread(draw: float, gap: float, room: float, n_squarings: int) -> float:
    """Distance of children in units of their parents' gap, so that none leaves its bounds."""
    nearness = gap / (gap + 2.0 * max(room, 0.0))
    scaled = draw * (2.0 - power(nearness, n_squarings))
    return root(scaled if scaled <= 1.0 else 1.0 / (2.0 - scaled), n_squarings)


@compiled_unlocked
def cross(
    parents: Floats, is_crossed: Bools, draws: Floats, genes: Floats, n_squarings: int, out: Floats
) -> None:
    """Simulated binary crossover; see `breeding.cross_simulated_binary`.

    Args:
        parents: [P, G], neighbours are pairs.
        is_crossed: [N, 1], which pairs.
        draws: [3, N, G]: which genes, how far, and to which side.
        genes: [7, G]; of those without order the child has that of one parent.
        n_squarings: Of the power eta + 1.
        out: [N, G] receives a child of each pair.
    """
    for i in range(is_crossed.shape[0]):
        for g in range(parents.shape[1]):
            first = to_grid(parents[2 * i, g], genes, g)
            second = to_grid(parents[2 * i + 1, g], genes, g)
            low, high, is_int = genes[LOW, g], genes[HIGH, g], genes[WHOLE, g] != 0.0
            value = first
            if is_crossed[i, 0] and draws[0, i, g] < 0.5 and first != second:
                if genes[CATEGORY, g] != 0.0:
                    value = second
                else:
                    # As far as the bound of its side allows.
                    below, above = min(first, second), max(first, second)
                    gap, is_high = above - below, draws[2, i, g] < 0.5
                    room = high - above if is_high else below - low
                    reach = spread(draws[1, i, g], gap, room, n_squarings) * gap
                    value = 0.5 * (below + above + (reach if is_high else -reach))
            out[i, g] = from_grid(clip_gene(value, low, high, is_int), genes, g)


@compiled_unlocked
def move(
    parents: Floats, ahead: Floats, behind: Floats, draws: Floats, chances: Floats, genes: Floats,
    out: Floats,
) -> None:  # fmt: skip
    """Differences of two added to a third, all [P, G]; see `breeding.move_by_difference`.

    `draws` [3, P] say how far, how many genes, and which one in any case; `chances` [P, G] which
    other genes.
    """
    n_genes = parents.shape[1]
    for i in range(parents.shape[0]):
        step = 0.25 + 0.75 * draws[0, i]
        share = SHARES[int(draws[1, i] * len(SHARES))]
        certain = int(draws[2, i] * n_genes)
        for g in range(n_genes):
            low, high, old = genes[LOW, g], genes[HIGH, g], to_grid(parents[i, g], genes, g)
            end, begin, moved = to_grid(ahead[i, g], genes, g), to_grid(behind[i, g], genes, g), old
            if chances[i, g] < share or g == certain:
                if genes[CATEGORY, g] == 0.0:
                    moved = old + step * (end - begin)
                elif end != begin:
                    moved = end
            if moved < low:
                moved = 0.5 * (old + low)
            if moved > high:
                moved = 0.5 * (old + high)
            moved = clip_gene(moved, low, high, genes[WHOLE, g] != 0.0)
            out[i, g] = from_grid(moved, genes, g)


@compiled_unlocked
def repair(
    genomes: Floats, rows: Places, count: int, genes: Floats, ordered: Places, first: int,
    is_broken: Bools,
) -> None:  # fmt: skip
    """Bounds, whole numbers, steps and constraints; the definition is `GenomeLayout.repair`.

    Some genomes become legal, without negative zeros; rows as of `mutate`. Of `ordered` [N, 2] the
    first gene must be below the second. `is_broken` [C], from row `first` on, receives who had to
    be changed beyond rounding and bounds.
    """
    for i in range(count):
        row = rows[i]
        for g in range(genes.shape[1]):
            value = from_grid(to_grid(genomes[row, g], genes, g), genes, g)
            is_int = genes[WHOLE, g] != 0.0 and genes[STEP, g] == 0.0
            genomes[row, g] = clip_gene(value, genes[BASE, g], genes[TOP, g], is_int) + 0.0
        is_broken[row - first] = False
        for c in range(ordered.shape[0]):
            left, right = ordered[c, 0], ordered[c, 1]
            if not genomes[row, left] < genomes[row, right]:
                genomes[row, right] = min(genomes[row, left] + 1.0, genes[TOP, right])
                genomes[row, left] = min(genomes[row, left], genomes[row, right] - 1.0)
                is_broken[row - first] = True


@compiled_unlocked
def choose_winners(contestants: Places, ranks: Places, crowding: Floats, out: Places) -> None:
    """Winners [N] of tournaments between neighbours [2 N]; see `breeding.select_parents`."""
    for i in range(out.size):
        first, second = contestants[2 * i], contestants[2 * i + 1]
        is_wider = crowding[second] > crowding[first]
        is_better = ranks[second] < ranks[first] or (ranks[second] == ranks[first] and is_wider)
        out[i] = second if is_better else first


class Seen:
    """Genomes [N, G] by place, to find repeats; the first `n_known` are in it already.

    They may change until they are admitted or compared, and have no negative zero then.
    """

    def __init__(self, rows: Floats, n_known: int) -> None:
        self.rows, self.bits = rows, rows.view(np.uint64)
        self.table: Table = np.full(1 << (2 * len(rows)).bit_length(), -1, dtype=np.int32)
        self.admit(np.arange(n_known))

    def admit(self, numbers: Places) -> Bools:
        """Flags of rows [P] that equal one admitted before; the others are admitted."""
        is_known = np.empty(len(numbers), dtype=np.bool_)
        admit(self.bits, numbers, len(numbers), self.table, is_known)
        return is_known


@compiled_unlocked
def admit(rows: Unsigned, numbers: Places, count: int, table: Table, is_known: Bools) -> None:
    """Admit rows that are new, of `numbers` [C] the first P; see `Seen.admit`.

    The table [S] has places that were admitted, else -1; S is a power of two, more than twice all
    rows [N, G], given as bits. `is_known` [C] receives which rows equal an admitted one.
    """
    n_genes, mask = np.uint64(rows.shape[1]), np.uint64(table.size - 1)
    for i in range(count):
        row = np.uint64(numbers[i])
        at = ZERO
        for k in range(n_genes):
            at = (at ^ rows[row, k]) * MULTIPLIER
        # Keys that differ in high bits only do so in high bits of a product.
        at = (at ^ (at >> HALF)) * MULTIPLIER >> HALF & mask
        is_known[i] = False
        while table[at] >= 0 and not is_known[i]:
            other, g = np.uint64(table[at]), ZERO
            while g < n_genes and rows[other, g] == rows[row, g]:
                g += ONE
            is_known[i] = g == n_genes
            at = (at + ONE) & mask
        if not is_known[i]:
            table[at] = np.int32(row)
