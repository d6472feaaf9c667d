"""Keys of compiled loops: what is reached changes them, and nothing else does."""

import os

import numpy as np
import pytest
from llvmlite import ir
from numba import types

from engine.runtime.compiling import loops
from engine.runtime.compiling.reach import UnknownReachError, digest_reach


class Opaque:
    """An object of no kind that can be followed."""


STRANGE = Opaque()


def reads_strange():
    """Reads it."""
    return STRANGE


def reads_by_name(name):
    """Reads what only a running program knows."""
    return globals()[name]


def reads_of_a_module(name):
    """Likewise."""
    return getattr(loops, name)


def imports(x):
    """Reads what it imports only then."""
    from tests.support import doubling

    return doubling.double_values(x)


@pytest.mark.parametrize("function", [reads_strange, reads_by_name, reads_of_a_module, imports])
def test_what_cannot_be_followed_has_no_key(function):
    """Rather than one that leaves something out."""
    with pytest.raises(UnknownReachError, match="test_reach"):
        digest_reach(function)


VALUES = (
    0, 0.0, -0.0, float("nan"), np.float64(0), np.float32(0), True, 1, "1", b"1", (1,), [1],
    {1: 2}, {1: 3}, np.zeros(2), np.zeros(2, np.float32), np.zeros((2, 1)), np.zeros((1, 2)),
    np.zeros((2, 2)), np.zeros((2, 2), order="F"), np.dtype("<i4"),
    np.dtype("<i8"), len, max, np.add, np.sqrt, {1}, frozenset({1}), None, ..., slice(1), range(2),
    1j, -1j, (0, (1, 2)), ((0, 1), 2), float, int, np, os, ir.DoubleType(), types.int64,
    types.Array(types.int64, 1, "C"), types.Array(types.int64, 1, "A"), types.Omitted(1.0),
    types.Omitted(2.0),
)  # fmt: skip


def test_values_that_differ_have_different_keys():
    """Also where Python calls them equal."""
    keys = [digest_reach(value) for value in VALUES]
    assert keys == [digest_reach(value) for value in VALUES]
    assert len({*keys}) == len(VALUES)
