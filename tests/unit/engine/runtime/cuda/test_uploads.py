"""Arrays of different kinds in one copy."""

import numpy as np
import torch

from engine.runtime.cuda.uploads import Uploads
from tests.support.comparisons import needs_gpu


def test_arrays_arrive_as_they_are():
    """Each with its own kind and shape, also without an entry; what was sent before stays."""
    assert_arrives("cpu")


@needs_gpu
def test_arrays_arrive_on_a_gpu():
    """From a buffer that is written again while copies are under way."""
    assert_arrives("cuda")


def assert_arrives(device):
    """Four times arrays of other sizes, all looked at in the end."""
    send, rng, before = Uploads(torch.device(device)), np.random.default_rng(3), []
    for size in (3, 1, 1000, 17):
        arrays = {
            "numbers": rng.standard_normal((size, 3)),
            ("whole", size): rng.integers(-9, 9, size).astype(np.int32),
            "none": np.empty((0, 2)),
            "column": np.asfortranarray(rng.integers(0, 9, (size, 2)).astype(np.int32))[:, 1],
        }
        before.append((arrays, send(arrays)))
    for arrays, there in before:
        assert there.keys() == arrays.keys()
        for name, array in arrays.items():
            arrived = there[name].cpu().numpy()
            assert arrived.dtype == array.dtype
            np.testing.assert_array_equal(arrived, array)
