"""Definitions compiled as they read: what they call goes along, what changes is compiled anew."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from engine.runtime.compiling.forms import NotCompiledError, compiled_definition

STEP = 3.0


def third(x):
    """Called by `second` only."""
    return x + STEP


def second(x):
    """Calls another one."""
    return 2.0 * third(x)


def with_fractions(x):
    """Uses what numba knows nothing of."""
    return float(Fraction(x) / 3)


def divide(x, y):
    """Follows IEEE 754 where plain Python raises."""
    return x / y


def test_division_by_zero_follows_the_standard():
    """No error, no check: infinite, as arrays do it."""
    assert compiled_definition(divide)(1.0, 0.0) == np.inf


def test_what_cannot_be_compiled_says_why():
    """By the call where numba finds out, at once where there is no function to compile."""
    with pytest.raises(NotCompiledError, match="Fraction"):
        compiled_definition(with_fractions)(1.0)
    with pytest.raises(NotCompiledError, match="no plain function"):
        compiled_definition(partial(second, 1.0))
