"""Which searches a device takes."""

import pytest

from optimizer.search.device.fit import why_not
from tests.support.searches import Analytic, float_layout, settings


@pytest.mark.parametrize(
    ("n_objectives", "others", "why"),
    [
        (3, {}, ""),
        (3, {"survival": "hypervolume"}, ""),
        (2, {}, "it has 2 objectives"),
        (4, {}, "it has 4 objectives"),
        (3, {"islands": 2}, "it has islands"),
        (3, {"survival": "crowding"}, "survival is by crowding"),
        (3, {"archive": 2**16 + 1}, "up to 65,536"),
    ],
)
def test_what_a_device_does_not_take_is_named(n_objectives, others, why):
    """Objectives, islands, survival, sizes: one reason each, and none for the usual search."""
    said = why_not(Analytic(float_layout(3), n_objectives), settings(8, 2, **others))
    assert why in said
    assert bool(said) == bool(why)
