"""Which individuals a device fails on, found by asking for halves of a population."""

import json
import time
from collections.abc import Callable

import numpy as np

from engine.backends.contract import Floats, Ints
from strategy.genes import GenomeLayout

MOST_NAMED = 3
"""Individuals that a message names in full."""


def smallest_failing(
    fails: Callable[[Ints, float], bool], individuals: int, within_s: float
) -> Ints:
    """Narrow a population that fails down to few who fail without the others.

    Args:
        fails: Whether members [n] fail together; its second argument is when to give up, on the
            clock of `time.monotonic`.
        individuals: P, who fail together.
        within_s: Seconds that this may take.

    Returns:
        Members [n]: one when it fails alone; more when the time was over, or when neither half of
        them fails by itself.
    """
    until = time.monotonic() + within_s
    suspects = np.arange(individuals)
    while len(suspects) > 1:
        for half in np.array_split(suspects, 2):
            is_failing = fails(half, until)
            if time.monotonic() >= until:
                return suspects
            if is_failing:
                suspects = half
                break
        else:
            return suspects
    return suspects


def told(layout: GenomeLayout, genomes: Floats, members: Ints) -> str:
    """Who fails, in words and with every gene exactly.

    Args:
        layout: Names of the genes.
        genomes: [P, G].
        members: Those who fail, as `smallest_failing` gives them.

    Returns:
        Empty when it is the whole population.
    """
    if 1 < len(members) == len(genomes):
        return ""
    named = [json.dumps(layout.decode(genomes[member])) for member in members[:MOST_NAMED]]
    if len(members) == 1:
        return f"it fails on this individual alone, please report it: {named[0]}"
    more = f" and {len(members) - MOST_NAMED} more" if len(members) > MOST_NAMED else ""
    return (
        f"it fails on these {len(members)} together, please report them: {', '.join(named)}{more}"
    )
