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


def first(values):
    """Calls one that calls another one."""
    total = 0.0
    for value in values:
        total = total + second(value)
    return total


def with_fractions(x):
    """Uses what numba knows nothing of."""
    return float(Fraction(x) / 3)


def divide(x, y):
    """Follows IEEE 754 where plain Python raises."""
    return x / y


def test_a_definition_takes_along_what_it_calls():
    """Functions of functions, and constants beside them."""
    values = np.array([0.1, 0.7, -3.0])
    assert compiled_definition(first)(values) == first(values)


def test_division_by_zero_follows_the_standard():
    """No error, no check: infinite, as arrays do it."""
    assert compiled_definition(divide)(1.0, 0.0) == np.inf


def test_what_cannot_be_compiled_says_why():
    """By the call where numba finds out, at once where there is no function to compile."""
    with pytest.raises(NotCompiledError, match="Fraction"):
        compiled_definition(with_fractions)(1.0)
    with pytest.raises(NotCompiledError, match="no plain function"):
        compiled_definition(partial(second, 1.0))


def test_an_error_of_the_definition_is_not_one_of_the_compiler():
    """What it raises arrives as it is."""

    def refuses(x):
        if x > 0.0:
            raise ValueError("too large")
        return x

    assert compiled_definition(refuses)(-1.0) == -1.0
    with pytest.raises(ValueError, match="too large"):
        compiled_definition(refuses)(1.0)
