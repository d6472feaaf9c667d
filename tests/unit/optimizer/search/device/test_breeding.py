"""Newcomers bred on a device: those of the host, on an interpreter and on a GPU."""

import pytest

from tests.support.comparisons import interpreted, needs_gpu, on_gpu

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")


@pytest.mark.slow
def test_interpreted_newcomers_are_those_of_the_host():
    """Whole and frozen genes, pairs in order, repeats until none is left: every bit is equal."""
    assert interpreted("device_breeding").count("every bit equal") == 8


@needs_gpu
def test_newcomers_on_a_gpu_are_those_of_the_host():
    """The same on a GPU, where programs run at the same time, with more individuals."""
    assert on_gpu("device_breeding").count("every bit equal") == 8
