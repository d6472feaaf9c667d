"""Keys of compiled loops: what is reached changes them, and nothing else does."""

import pytest

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
