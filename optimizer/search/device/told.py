"""What a device is told of a generation: whole numbers, by their places in one small tensor."""

from enum import IntEnum


class Told(IntEnum):
    """Places in the int64 tensor that a caller fills before each generation.

    The counts from `CROSSED` to `IMMIGRANTS` are children by operator, in the order of their
    places; their sum is the population. `ARCHIVED` is how many the archive holds, and `SERIAL` the
    number of the first newcomer in the order of evaluation.
    """

    SEED = 0
    GENERATION = 1
    CROSSED = 2
    EXCHANGED = 3
    DIFFERING = 4
    NUDGED = 5
    IMMIGRANTS = 6
    ARCHIVED = 7
    SERIAL = 8


class Chance(IntEnum):
    """Places in the float64 tensor of chances, the same for a whole run.

    Of a parent to come from the archive, of a pair to be crossed, and of a gene to be mutated or
    nudged.
    """

    ELITE = 0
    CROSSING = 1
    MUTATION = 2
    NUDGE = 3
