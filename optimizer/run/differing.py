"""Members of a front that differ most, which come first wherever a front is shown."""

from collections.abc import Mapping, Sequence

import numpy as np

from optimizer.goals.objectives import is_maximised
from optimizer.store.result import Member

SHOWN_MEMBERS = 5
"""Members that a terminal and a notebook show."""


def find_differing(
    front: Sequence[Member],
    objectives: Sequence[str],
    pick: int | None = None,
    most: int = SHOWN_MEMBERS,
) -> Mapping[int, Member]:
    """Members of a front that are shown: all, or the pick and those that differ most.

    Neighbours on a front are nearly the same: its first members would show one corner of it. The
    best in each objective are therefore followed by those farthest from all that are chosen,
    each objective scaled to the range of the front.

    Args:
        front: Its members, in order.
        objectives: Names; the values of each decide who differs.
        pick: Number of a member that is shown in any case.
        most: Members that are shown at most.

    Returns:
        By their numbers in the front.
    """
    if len(front) <= most:
        return dict(enumerate(front))
    signs = [-1.0 if is_maximised(name) else 1.0 for name in objectives]
    values = np.array([[member.objectives[name] for name in objectives] for member in front])
    values *= signs
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = (values - low) / np.where(high > low, high - low, 1.0)
    first = [0 if pick is None else pick, 0, *scaled.argmin(axis=0).tolist()]
    chosen = list(dict.fromkeys(first))[:most]
    distance = np.min([((scaled - scaled[index]) ** 2).sum(axis=1) for index in chosen], axis=0)
    while len(chosen) < most and distance.max() > 0:
        chosen.append(int(distance.argmax()))
        distance = np.minimum(distance, ((scaled - scaled[chosen[-1]]) ** 2).sum(axis=1))
    return {index: front[index] for index in sorted(chosen)}
