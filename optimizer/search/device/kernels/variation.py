"""Genes of children: the formulas of `compiled.variation` on blocks of individuals and genes.

A block is [ROWS, GENES]; bounds and kinds of genes are [1, GENES], what belongs to an individual is
[ROWS, 1]. Beyond the last gene bounds are equal, so that nothing moves there. Lesser and greater
are chosen as Python does, so that a NaN goes where it goes on the host.
"""

import triton
import triton.language as tl


@triton.jit
def lesser(one, other):
    """The smaller of two numbers, the first of equals."""
    return tl.where(other < one, other, one)


@triton.jit
def greater(one, other):
    """The larger of two numbers, the first of equals."""
    return tl.where(other > one, other, one)


@triton.jit
def rounded(value):
    """The nearest whole number, the even one of two; a zero may lose its sign.

    Below 2**52 what is above the floor is exact, but close to zero from below, where it is rounded
    to 1/2 or 1 and the answer is 0 as well.
    """
    below = tl.floor(value)
    above = value - below
    is_odd = below - 2.0 * tl.floor(0.5 * below) == 1.0
    goes_up = (above > 0.5) | ((above == 0.5) & is_odd)
    return tl.where(goes_up, below + 1.0, below)


@triton.jit
def confined(value, low, high, is_int):
    """Genes inside their bounds, whole where they have to be."""
    inside = tl.where(is_int, rounded(value), value)
    inside = tl.where(inside < low, low, inside)
    return tl.where(inside > high, high, inside)


@triton.jit
def power(value, squarings, most):
    """Powers of order 2 ** squarings, of which none is above `most`."""
    for k in range(most):
        value = tl.where(k < squarings, value * value, value)
    return value


@triton.jit
def root(value, squarings, most):
    """The roots of that order."""
    for k in range(most):
        value = tl.where(k < squarings, tl.sqrt(value), value)
    return value


@triton.jit
def mutated(old, draw, low, high, is_int, squarings, most):
    """Genes after polynomial mutation; all of them move."""
    is_down = draw < 0.5
    span = high - low
    room = tl.where(is_down, old - low, high - old) / span
    tail = 2.0 * lesser(draw, 1.0 - draw)
    inner = tail + (1.0 - tail) * power(1.0 - room, squarings, most)
    reach = 1.0 - root(inner, squarings, most)
    ahead = tl.full(is_down.shape, 1.0, tl.float64)
    direction = tl.where(is_down, -ahead, ahead)
    moved = lesser(greater(old + direction * (reach * span), low), high)
    near = rounded(moved)
    stepped = old + direction
    is_inside = (low <= stepped) & (stepped <= high)
    forced = tl.where(is_inside, stepped, old - direction)
    return tl.where(is_int, tl.where(near == old, forced, near), moved)


@triton.jit
def spread(draw, gap, room, squarings: tl.constexpr):
    """Distance of children in units of their parents' gap, so that none leaves its bounds."""
    nearness = gap / (gap + 2.0 * greater(room, tl.zeros_like(room)))
    scaled = draw * (2.0 - power(nearness, squarings, squarings))
    return root(tl.where(scaled <= 1.0, scaled, 1.0 / (2.0 - scaled)), squarings, squarings)


@triton.jit
def crossed(one, other, is_crossed, which, far, swap, low, high, is_int,
            SQUARINGS: tl.constexpr):  # fmt: skip
    """The first child of each pair; `which`, `far` and `swap` are the three draws of each gene."""
    below = lesser(one, other)
    above = greater(one, other)
    gap = above - below
    middle = below + above
    to_low = spread(far, gap, below - low, SQUARINGS) * gap
    to_high = spread(far, gap, high - above, SQUARINGS) * gap
    child = tl.where(swap < 0.5, 0.5 * (middle + to_high), 0.5 * (middle - to_low))
    moves = is_crossed & (which < 0.5) & (one != other)
    return confined(tl.where(moves, child, one), low, high, is_int)


@triton.jit
def moved(old, ahead, behind, far, kind, one, chance, gene, low, high, is_int,
          N_GENES: tl.constexpr):  # fmt: skip
    """Genes moved by a difference; `far`, `kind` and `one` are the draws of each individual."""
    step = 0.25 + 0.75 * far
    which = (kind * 3).to(tl.int32)
    always = tl.full(which.shape, 1.0, tl.float64)
    share = tl.where(which == 0, 0.125 * always, tl.where(which == 1, 0.5 * always, always))
    moves = (chance < share) | (gene == (one * N_GENES).to(tl.int32))
    reached = tl.where(moves, old + step * (ahead - behind), old)
    reached = tl.where(reached < low, 0.5 * (old + low), reached)
    reached = tl.where(reached > high, 0.5 * (old + high), reached)
    return confined(reached, low, high, is_int)


@triton.jit
def sampled(draw, low, high, is_int):
    """Genes from anywhere; `repaired` confines them."""
    span = high - low
    return low + tl.where(is_int, tl.floor(draw * (span + 1.0)), draw * span)


@triton.jit
def column(genomes, gene, place: tl.constexpr):
    """The genes [ROWS, 1] in a column."""
    return tl.sum(tl.where(gene == place, genomes, 0.0), axis=1, keep_dims=True)


@triton.jit
def repaired(genomes, gene, low, high, is_int, p_high, ORDERED: tl.constexpr):
    """Legal genomes without negative zeros, and whose constraints were broken, [ROWS, 1].

    ORDERED: columns, of each two the first must be below the second.
    """
    legal = confined(genomes, low, high, is_int) + 0.0
    is_broken = tl.zeros([genomes.shape[0], 1], tl.int32)
    for c in tl.static_range(len(ORDERED) // 2):
        left = column(legal, gene, ORDERED[2 * c])
        right = column(legal, gene, ORDERED[2 * c + 1])
        is_wrong = (left < right) == 0
        raised = lesser(left + 1.0, tl.load(p_high + ORDERED[2 * c + 1]))
        lowered = lesser(left, raised - 1.0)
        legal = tl.where(is_wrong & (gene == ORDERED[2 * c + 1]), raised, legal)
        legal = tl.where(is_wrong & (gene == ORDERED[2 * c]), lowered, legal)
        is_broken = is_broken | is_wrong.to(tl.int32)
    return legal, is_broken
