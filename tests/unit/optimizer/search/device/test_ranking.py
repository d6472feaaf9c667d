"""Ranks, crowding and the order of standing on a device, in the bits of the host."""

import pytest

from optimizer.errors import OptimizerError
from tests.support.comparisons import interpreted, needs_gpu, on_gpu

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")


@pytest.mark.slow
def test_interpreted_ranks_equal_those_of_the_host():
    """Ties, copies, chains and the infeasible, counted and sorted, in one block and in five."""
    assert interpreted("device_ranking").count("every bit equal") == 2


@needs_gpu
def test_ranks_of_a_gpu_equal_those_of_the_host():
    """The same on a GPU, for all small populations and for very large ones."""
    assert on_gpu("device_ranking").count("every bit equal") == 10


def test_too_many_for_a_key_are_refused():
    """A slot must fit the twenty bits that a key has for it."""
    from optimizer.search.device.ranking import Pool

    with pytest.raises(OptimizerError, match="below 524288, got 524288"):
        Pool(2**19, 8, torch.device("cpu"))
