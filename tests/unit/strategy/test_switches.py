"""Switches: what is left of conditions that genes leave out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import Window
from engine.conditions.switches import lower_switches
from engine.reference import Reference
from strategy.conditions import (
    AllOf,
    AnyOf,
    Compare,
    Held,
    Switch,
    Within,
    negate_condition,
    settle_switches,
)
from strategy.expressions import Column, GeneValue, Number
from strategy.gene import Gene
from strategy.nodes import transform_nodes
from strategy.resolved import resolve_options
from strategy.rows import Rows
from strategy.series import Series
from strategy.signals import truth
from strategy.words import choice, close, ema, length, share, sma, strategy, switch, volume
from tests.support.worlds import make_bars, markets

GENES = [GeneValue(Gene(name, "int", 0, 1, 1, options=("off", "on"))) for name in "abc"]
UP = Compare(Column("close"), ">", Column("open"))
BUSY = Compare(Column("volume"), ">", Number(1.0))
WIDE = Compare(Column("true_range"), ">", Number(0.5))
ALWAYS, NEVER = (Compare(Column("close"), relation, Number(0.0)) for relation in "><")
A, B = (Switch(gene, part) for gene, part in zip(GENES, (BUSY, WIDE), strict=False))


def join_conditions(inner):
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


CONDITIONS = st.recursive(st.sampled_from((UP, BUSY, WIDE, A, B)), join_conditions, max_leaves=8)
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


@pytest.mark.parametrize("flags", [{}, {"reverse": True, "break_even": 1, "named_stops": True}])
def test_one_member_has_no_choice_left(flags):
    """Its strategy trades the same, and has only the genes that it reads."""
    bars = make_bars(3, 400)
    average = choice("average", sma, ema)(close, length("n", 5, 3, 9))
    busy = switch("busy", volume > sma(volume, length("m", 5, 3, 9)))
    spec = strategy(
        "One.", long=(close > average) & busy, exit_long=switch("out", close < average),
        short=switch("shorts", close < average, default=False), stop=share(0.01), **flags,
    )  # fmt: skip
    for values in ({}, {"average": 1, "busy": 0}, {"shorts": 1, "out": 0}):
        genome = spec.layout.encode(values)
        genes = spec.layout.decode(genome)
        alone = resolve_options(spec, genes)
        assert not alone.layout.is_category.any()
        assert ("m" in alone.layout.names) == bool(genes["busy"])
        known = alone.layout.encode({name: genes[name] for name in alone.layout.names})
        whole, part = (
            Reference(each, [bars], [Window.whole(bars)]).accumulators(some)
            for each, some in ((spec, genome), (alone, known))
        )
        assert whole.tobytes() == part.tobytes()
        assert whole[0, 0] > 0
