"""The host's part of a launch: lay individuals out where the device will fetch them."""

import numpy as np
import numpy.typing as npt

from engine.backends.compiled import compiled
from engine.backends.contract import Floats, Ints, Slots

Bools = npt.NDArray[np.bool_]


@compiled
def lay_out(
    genomes: Floats,
    slots: Slots,
    lead: int,
    genes: Ints,
    is_greater: Bools,
    bounds: Floats,
    list_of: Slots,
    table: Slots,
) -> bool:
    """Write the slots and the list of each individual into a table for the device.

    Args:
        genomes: [P, G].
        slots: [P, R].
        lead: Row whose slot names an individual's list; -1 when one list serves all.
        genes: [N] gene of each packed comparison.
        is_greater: [N] whether the row must be greater.
        bounds: [N] what the weakest individual within the bounds asks for.
        list_of: [slots, 2] list by slot, for individuals within their bounds and for others; -1
            where there is none.
        table: [P, R + 1] receives the slots, then the list.

    Returns:
        Whether every list is there.
    """
    is_there = True
    last = slots.shape[1]
    for p in range(slots.shape[0]):
        for r in range(last):
            table[p, r] = slots[p, r]
        weaker = 0
        for n in range(genes.size):
            threshold = genomes[p, genes[n]]
            if is_greater[n]:
                weaker |= threshold < bounds[n]
            else:
                weaker |= threshold > bounds[n]
        found = list_of[slots[p, lead] if lead >= 0 else 0, weaker]
        table[p, last] = found
        is_there &= found >= 0
    return is_there
