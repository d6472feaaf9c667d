"""Rows of the CUDA backend equal the readable loops, however a launch cuts them."""

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from tests.support.comparisons import needs_gpu, on_gpu, run_interpreted


@pytest.mark.slow
def test_interpreted_rows_equal_the_readable_loops():
    """EMAs in segments, rolling rows in shares and rows in parts; unchecked segments do not."""
    assert run_interpreted("device_rows").count("every bit equal") == 6


@needs_gpu
def test_rows_of_a_gpu_equal_the_readable_loops():
    """The same on a device."""
    assert on_gpu("device_rows").count("every bit equal") == 6
