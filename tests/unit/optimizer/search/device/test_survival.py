"""Archive and survivors on a device, generation after generation, in the bits of the host."""

import pytest

from tests.support.comparisons import interpreted, needs_gpu, on_gpu

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")


@pytest.mark.slow
def test_interpreted_survivors_equal_those_of_the_host():
    """Who is archived, who survives, where they stand and which operators made them."""
    assert interpreted("device_survival").count("every bit equal") == 1


@needs_gpu
def test_survivors_of_a_gpu_equal_those_of_the_host():
    """The same on a GPU, for all small populations and for very large ones."""
    assert on_gpu("device_survival").count("every bit equal") == 4
