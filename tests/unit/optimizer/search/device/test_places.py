"""Orders and selections on a device, on an interpreter and on a GPU."""

import pytest

from tests.support.comparisons import interpreted, needs_gpu, on_gpu

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")


def test_interpreted_places_are_those_of_numpy():
    """Counted and sorted, with ties, zeros of both signs, and lists that are not full."""
    assert "every place equal" in interpreted("device_places")


@needs_gpu
def test_places_on_a_gpu_are_those_of_numpy():
    """The same on a GPU."""
    assert "every place equal" in on_gpu("device_places")
