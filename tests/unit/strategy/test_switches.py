"""Switches: what is left of conditions that genes leave out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.conditions.switches import lower_switches
from strategy.conditions import AllOf, AnyOf, Compare, Held, Switch, Within, negate_condition
from strategy.expressions import Column, GeneValue, Number
from strategy.gene import Gene
from strategy.nodes import transform_nodes
from strategy.rows import Rows, count_warm_up
from strategy.series import Series
from strategy.signals import truth
from strategy.switches import settle_switches
from tests.support.worlds import make_bars, markets

GENES = [GeneValue(Gene(name, "int", 0, 1, 1, options=("off", "on"))) for name in "abc"]
UP = Compare(Column("close"), ">", Column("open"))
BUSY = Compare(Column("volume"), ">", Number(1.0))
WIDE = Compare(Column("true_range"), ">", Number(0.5))
ALWAYS, NEVER = (Compare(Column("close"), relation, Number(0.0)) for relation in "><")
A, B = (Switch(gene, part) for gene, part in zip(GENES, (BUSY, WIDE), strict=False))


def joined(inner):
    """Conditions of conditions."""
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    bars = st.integers(1, 4).map(Number)
    return st.one_of(
        st.builds(AllOf, parts),
        st.builds(AnyOf, parts),
        st.builds(Held, inner, bars),
        st.builds(Within, inner, bars),
        st.builds(Switch, st.sampled_from(GENES), inner),
        inner.map(negate_condition),
    )


CONDITIONS = st.recursive(st.sampled_from((UP, BUSY, WIDE, A, B)), joined, max_leaves=8)
VALUES = st.fixed_dictionaries(dict.fromkeys("abc", st.sampled_from((0.0, 1.0))))


@pytest.mark.parametrize(
    ("condition", "off", "on"),
    [
        (A, None, BUSY),
        (negate_condition(A), None, negate_condition(BUSY)),
        (AllOf((UP, A)), AllOf((UP,)), AllOf((UP, BUSY))),
        (AnyOf((UP, A)), AnyOf((UP,)), AnyOf((UP, BUSY))),
        (negate_condition(AllOf((UP, A))), AnyOf((negate_condition(UP),)), None),
        (Held(A, Number(3)), None, Held(BUSY, Number(3))),
        (AnyOf((UP, Within(A, Number(3)))), AnyOf((UP,)), None),
        (AllOf((UP, AnyOf((A, A)))), AllOf((UP,)), None),
        (AllOf((A, A)), None, AllOf((BUSY, BUSY))),
    ],
)  # fmt: skip
def test_what_is_off_is_as_if_it_had_not_been_written(condition, off, on):
    """Below and, or, not, held and within; where nothing is left, nothing is asked for."""
    assert settle_switches(condition, {"a": 0}) == off
    if on is not None:
        assert settle_switches(condition, {"a": 1}) == on


def test_a_side_of_which_nothing_is_left_never_asks():
    """Its rows need no bars before it."""
    rows = Rows(Series.of(make_bars(1, 50)))
    assert not truth(AllOf((A, B)), rows, {"a": 0, "b": 0}).any()
    assert truth(AllOf((A, B)), rows, {"a": 1, "b": 0}).any()


@given(bars=markets(40), condition=CONDITIONS, values=VALUES)
def test_comparisons_of_genes_say_the_same(bars, condition, values):
    """At every bar, of every condition, whatever is off."""
    rows = Rows(Series.of(bars))

    def decide(node):
        """A comparison of a gene as one that holds at every bar, or at none."""
        if not (isinstance(node, Compare) and isinstance(node.left, GeneValue)):
            return node
        is_on = values[node.left.gene.name] == 1.0
        return ALWAYS if is_on == (node.relation == ">") else NEVER

    lowered = transform_nodes(lower_switches(condition), decide)
    np.testing.assert_array_equal(truth(lowered, rows, values), truth(condition, rows, values))


@given(condition=CONDITIONS, values=VALUES)
def test_not_and_leaving_out_change_places(condition, values):
    """What is left of the opposite is the opposite of what is left, with its warm-up."""
    left, opposite = settle_switches(condition, values), negate_condition(condition)
    expected = None if left is None else negate_condition(left)
    assert settle_switches(opposite, values) == expected
    assert count_warm_up(opposite, values) == count_warm_up(condition, values)
