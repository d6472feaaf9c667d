"""Who leaves a front on a device, as on the host."""

import pytest

from tests.support.comparisons import interpreted, needs_gpu, on_gpu

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")


@pytest.mark.slow
def test_interpreted_thinning_keeps_whom_the_host_keeps():
    """Ties, copies, crowds and dominated members, with room for few and for many."""
    assert interpreted("device_thinning").count("every member equal") == 2


@needs_gpu
def test_thinning_on_a_gpu_keeps_whom_the_host_keeps():
    """The same on a GPU, with up to 100,000 members of every kind of front."""
    assert on_gpu("device_thinning").count("every member equal") == 28
