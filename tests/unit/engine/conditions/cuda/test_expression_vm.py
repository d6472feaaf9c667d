"""Arithmetic as instructions for a stack, and individuals by the genes that a part reads."""

import numpy as np
import pytest

from tests.support.looping import each

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from hypothesis import given
from hypothesis import strategies as st

from engine.conditions.cuda import expression_vm
from engine.conditions.cuda.expression_vm import DEPTH, Formulas
from engine.indicators.individuals import Individuals
from engine.indicators.warm_ups import WarmUps
from strategy.expressions import Arithmetic, Column, GeneValue, Number
from strategy.gene import Gene
from strategy.genes import GenomeLayout
from strategy.rows import Rows
from strategy.series import Series
from tests.support.random_strategies import drawn_strategy
from tests.support.worlds import make_bars, random_genomes

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


@given(
    values=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.booleans()), min_size=1),
    columns=st.sampled_from([(), (0,), (2,), (0, 1), (0, 1, 2)]),
)
def test_individuals_of_one_set_share_its_values(values, columns):
    """Each has its own values in the individual that stands for its set, and sets differ."""
    layout = GenomeLayout(
        tuple(Gene(f"n{k}", "int", -1, 10**6 * k + 5, 0) for k in range(3)),
    )
    # The last one is spread too widely to be counted through.
    genomes = np.array(values, np.float64) * [1.0, 1.0, 10**6]
    individuals = Individuals(genomes, layout)
    members, set_of = individuals.distinct(columns)
    cut = genomes[:, list(columns)]
    np.testing.assert_array_equal(cut[members][set_of], cut)
    assert len({row.tobytes() for row in cut[members]}) == len(members)


@each("seed", range(20))
def test_warm_ups_of_all_are_those_of_each(seed):
    """For any strategy."""
    strategy = drawn_strategy(seed)
    genomes = np.concatenate([strategy.layout.defaults[None], random_genomes(strategy, 5, seed)])
    layout = strategy.layout
    individuals = Individuals(genomes, layout)
    expected = [strategy.warm_up(layout.decode(genome)) for genome in genomes]
    actual = WarmUps(strategy).of(individuals)
    assert np.broadcast_to(actual, len(genomes)).tolist() == expected
