"""Contributions of three objectives are exact volumes of whole cells; who leaves follows."""

import numpy as np
import pytest

from optimizer.search.archive import REFERENCE, contributions, truncate_front
from optimizer.search.compiled.contributions import CELLS, MOST
from tests.support.looping import each


def draw_front(seed, count):
    """Points of many kinds: on a sphere, in a cube, ties, copies, crowds, and one far off."""
    rng = np.random.default_rng([seed, count])
    cube = rng.random((count, 3))
    outlier = np.where(np.arange(count) == count // 2, 1.0, 1e-5)[:, None]
    kinds = [
        1.0 - cube / np.sqrt((cube**2).sum(axis=1, keepdims=True)),
        cube,
        np.round(cube, 1),
        cube[rng.integers(0, count, count)],
        0.5 + cube * 2.0**-51,
        cube * outlier,
        np.column_stack([cube[:, 0], 1.0 - cube[:, 0], cube[:, 2] * outlier[:, 0]]),
        (cube - 0.5) * 2.0**1023,
    ]
    return kinds[seed % len(kinds)]


def round_to_cells(objectives):
    """The definition: whole cells of objectives in units of the front's extent."""
    halves = objectives * 0.5
    low, high = halves.min(axis=0), halves.max(axis=0)
    scaled = (halves - low) / np.where(high > low, high - low, 1.0)
    return np.floor(scaled * CELLS).astype(np.int64)


def compute_volumes(cells):
    """What each of cells [F, 3] alone dominates: box by box of the grid that all of them span."""
    edges = [np.unique([*cells[:, j], REFERENCE]) for j in range(3)]
    covers = [cells[:, j, None] <= edges[j][:-1] for j in range(3)]
    covers = covers[0][:, :, None, None] & covers[1][:, None, :, None] & covers[2][:, None, None, :]
    x, y, z = (np.diff(edge).astype(object) for edge in edges)
    boxes = x[:, None, None] * y[:, None] * z
    is_alone = covers & (covers.sum(axis=0) == 1)
    return [sum(boxes[own].tolist()) for own in is_alone]


def stated_contributions(objectives, volumes=compute_volumes):
    """The definition: volumes, and above all of them the best of each objective."""
    contributions = np.array(volumes(round_to_cells(objectives)))
    contributions[objectives.argmin(axis=0)] = MOST
    return contributions


def stated_truncated(objectives, keep, rounds, stated=stated_contributions):
    """The definition: in rounds those leave that contribute least, of equals the later one."""
    places = np.arange(len(objectives))
    step = -(-(len(places) - keep) // rounds)
    while len(places) > keep:
        missed = stated(objectives[places]).tolist()
        leaving = sorted(range(len(places)), key=lambda i: (missed[i], -i))
        places = np.delete(places, leaving[: min(step, len(places) - keep)])
    return places


def numbers_to_keep(count):
    """One, a third, all but one, all, and more than there are."""
    return {1, count // 3 + 1, max(1, count - 1), count, count + 5}


@pytest.mark.parametrize("count", [1, 3, 24])
@each("seed", range(24))
def test_contributions_and_truncation_are_as_defined(seed, count):
    """Ties, copies and members that others dominate included; in one round and in four."""
    objectives = draw_front(seed, count)
    assert stated_contributions(objectives).tolist() == contributions(objectives).tolist()
    for keep in numbers_to_keep(count):
        for rounds in (1, 4):
            expected = stated_truncated(objectives, keep, rounds)
            assert expected.tolist() == truncate_front(objectives, keep, rounds).tolist()
