"""Definitions compiled as they read: what they call goes along, what changes is compiled anew."""

import shutil
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import engine
import strategy
from engine.runtime.compiling.forms import NotCompiledError, compiled_definition
from tests.support.commands import printed

STEP = 3.0

RULE = """
from constants import OFFSET
from helpers import inner
import helpers

def rule(x):
    return inner(x) + helpers.outer(x) + OFFSET
"""
HELPERS = """
def inner(x):
    return x * {inner}

def outer(x):
    return deep(x)

def deep(x):
    return x * {deep}
"""
ASK = """
from engine.runtime.compiling.forms import compiled_definition
from rule import rule
found = compiled_definition(rule)
print(found(1.0), rule(1.0))
"""


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


def ask(folder):
    """What a fresh process computes, compiled and not."""
    env = {"PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": "", "PYTHONDONTWRITEBYTECODE": "1"}
    return [float(number) for number in printed(ASK, cwd=folder, env=env).split()]


@pytest.mark.slow
def test_a_change_anywhere_reaches_what_is_kept(tmp_path):
    """In a function that is called, in one that it calls, in a constant of yet another file."""
    source = Path(engine.__file__).parent
    (tmp_path / "engine" / "runtime" / "compiling").mkdir(parents=True)
    compiling = [
        f"runtime/compiling/{file.name}" for file in (source / "runtime/compiling").glob("*.py")
    ]
    runtime = ("runtime/__init__.py", "runtime/collector.py")
    for name in ("__init__.py", "errors.py", *runtime, *compiling):
        shutil.copy(source / name, tmp_path / "engine" / name)
    shutil.copytree(Path(strategy.__file__).parent, tmp_path / "strategy")
    (tmp_path / "rule.py").write_text(RULE)
    for inner, deep, offset in [(2, 3, 5), (7, 3, 5), (7, 4, 5), (7, 4, 6)]:
        (tmp_path / "helpers.py").write_text(HELPERS.format(inner=inner, deep=deep))
        (tmp_path / "constants.py").write_text(f"OFFSET = {offset}\n")
        expected = [float(inner + deep + offset)] * 2
        assert ask(tmp_path) == expected
    kept = tmp_path / "engine" / "__pycache__" / "loops"
    versions = {file.name.split("-")[1] for file in kept.glob("rule.rule-*")}
    assert len(versions) == 4
    assert ask(tmp_path) == expected
    assert {file.name.split("-")[1] for file in kept.glob("rule.rule-*")} == versions
