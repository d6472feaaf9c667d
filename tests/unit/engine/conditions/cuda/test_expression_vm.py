"""Arithmetic as instructions for a stack, and individuals by the genes that a part reads."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from hypothesis import given
from hypothesis import strategies as st

from engine.conditions.cuda import expression_vm
from engine.conditions.cuda.expression_vm import DEPTH, Formulas
from strategy.expressions import Arithmetic, Column, GeneValue, Number
from strategy.gene import Gene
from strategy.genes import GenomeLayout
from strategy.rows import Rows
from strategy.series import Series
from tests.support.worlds import make_bars

BARS = make_bars(1, 40)
GENE = Gene("x", "float", -2.0, 2.0, 1.0)
LAYOUT = GenomeLayout((GENE,))
X = 1.25
"""The gene's value."""

ENDS = st.sampled_from(
    (
        *map(Column, ("close", "open", "volume")),
        *map(Number, (0.0, -3.5)),
        GeneValue(GENE),
    )
)
OPERATIONS = st.sampled_from(("+", "-", "*", "/", "minimum", "maximum", "abs"))


def join_sides(operation, left, right):
    """Arithmetic of two sides, or of one."""
    return Arithmetic(operation, left, None if operation == "abs" else right)


TREES = st.recursive(
    ENDS, lambda inner: st.builds(join_sides, OPERATIONS, inner, inner), max_leaves=40
)


def run(made, span):
    """What the instructions say at every bar, and the most places of the stack that were used."""
    rows, stack, most = Rows(Series.of(BARS)), [], 0
    by_place = list(made.rows)
    names = {number: name for name, number in expression_vm.OPERATIONS.items()}
    for k in range(*span):
        operation, operand = made.code[2 * k : 2 * k + 2]
        if operation == expression_vm.ROW:
            stack.append(rows.values(by_place[operand], {"x": X}))
        elif operation == expression_vm.GENE:
            stack.append(np.full(len(BARS), X))
        elif operation == expression_vm.CONSTANT:
            stack.append(np.full(len(BARS), made.constants[operand]))
        else:
            right = None if operation == expression_vm.ABS else stack.pop()
            left = stack.pop()
            sides = (right, left) if operand else (left, right)
            stack.append(calculate(names[operation], *sides))
        most = max(most, len(stack))
    (top,) = stack
    return top, most


def calculate(operation, left, right):
    """One operation, by the law."""
    functions = {
        "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide,
        "minimum": np.minimum, "maximum": np.maximum,
    }  # fmt: skip
    with np.errstate(all="ignore"):
        values = np.abs(left) if operation == "abs" else functions[operation](left, right)
    return np.where(np.isfinite(values), values, np.nan)


@given(tree=TREES)
def test_instructions_say_what_the_tree_says(tree):
    """In every bit, on a stack that is deep enough."""
    made = Formulas(LAYOUT)
    made.span(Column("low"))
    values, most = run(made, made.span(tree))
    np.testing.assert_array_equal(values, Rows(Series.of(BARS)).values(tree, {"x": X}))
    assert most <= DEPTH
