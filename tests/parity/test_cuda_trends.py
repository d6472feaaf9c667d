"""Adaptive trends on the CUDA kernels: interpreted on few bars, and on a real device."""

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from tests.support.comparisons import needs_gpu, on_gpu, run_interpreted


@pytest.mark.slow
def test_interpreted_kernels_equal_the_cpu():
    """Rows of both forms are equal in every bit."""
    assert "every bit equal" in run_interpreted("interpreted_trends")


@needs_gpu
def test_a_gpu_equals_the_cpu():
    """Hundreds of tuples on the sample, on short series, and with little memory."""
    assert "every bit equal" in on_gpu("interpreted_trends")
