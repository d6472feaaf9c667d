"""Genes, how genomes are laid out, what switches leave, and the law's own strategy."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import Window
from engine.conditions.switches import lower_switches
from engine.reference import Reference
from strategy import STRATEGIES, Gene, GenomeLayout, LessThan
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
from strategy.errors import GeneError
from strategy.expressions import Column, GeneValue, Number
from strategy.model import resolve_options
from strategy.nodes import transform_nodes
from strategy.rows import Rows, truth
from strategy.series import Series
from strategy.words import choice, close, ema, length, share, sma, strategy, switch, volume
from tests.support.worlds import make_bars, markets

LAYOUT = GenomeLayout(
    genes=(
        Gene("fast", "int", 5, 20, 10, "bars"),
        Gene("slow", "int", 10, 40, 30, "bars"),
        Gene("level", "float", -1.0, 1.0, 0.25),
        Gene("mult", "float", 0.5, 2.0, 1.0, positive=True),
    ),
    constraints=(LessThan("fast", "slow"),),
)


def change(**given):
    """A gene of bars with other bounds."""
    values = {"name": "fast", "kind": "int", "low": 5, "high": 20, "default": 10, "unit": "bars"}
    return Gene(**{**values, **given})


def whole(name, low=1, high=9, default=5, kind="int"):
    """A gene without a unit."""
    return Gene(name, kind, low, high, default)


REFUSED = [
    (lambda: change(low=float("nan")), "low must be a finite number"),
    (lambda: change(low=5.5), "whole"),
    (lambda: change(high=2**40), "2147483647"),
    (lambda: GenomeLayout((whole("a"), whole("a"))), "repeat"),
    # Pairs that nothing satisfies, of numbers that are not whole, and that share a gene.
    (lambda: GenomeLayout((whole("a", 10, 20, 15), whole("b")), (LessThan("a", "b"),)), "'a'"),
    (lambda: GenomeLayout((whole("a", kind="float"), whole("b", kind="float")),
                          (LessThan("a", "b"),)), "int"),
    (lambda: GenomeLayout((whole("a"), whole("b"), whole("c")),
                          (LessThan("a", "b"), LessThan("b", "c"))), "one constraint only"),
    (lambda: LAYOUT.encode({"fsat": 3}), "did you mean 'fast'"),
    (lambda: LAYOUT.scaled(0.01), "0.01"),
    (lambda: LAYOUT.encode({"fast": 7, "FAST": 8}), "'fast' is given twice"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "word"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_is_refused_by_name(make, word):
    """Bounds, pairs of genes, values of a genome, bars too long for lengths."""
    with pytest.raises(GeneError, match=re.escape(word)):
        make()


def test_genomes_are_encoded_and_decoded():
    """Defaults are filled in, bounds of a search bind no person, whole genes are ints."""
    np.testing.assert_array_equal(LAYOUT.encode({"level": 0.5}), [10, 30, 0.5, 1.0])
    assert LAYOUT.encode({"slow": 500})[1] == 500
    genes = LAYOUT.decode(LAYOUT.defaults)
    assert genes == {"fast": 10, "slow": 30, "level": 0.25, "mult": 1.0}
    assert [type(value) for value in genes.values()] == [int, int, float, float]


def test_repair_moves_one_gene_of_a_pair():
    """The larger one rises by a bar; at its bound the smaller one falls."""
    legal, repaired = LAYOUT.repair(np.array([[20.0, 12.0, 0.0, 1.0], [5.0, 12.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(legal[:, :2], [[20, 21], [5, 12]])
    assert repaired == 1
    bounded = LAYOUT.with_bounds({"slow": (10, 20)})
    legal, repaired = bounded.repair(np.array([[20.0, 15.0, 0.0, 1.0]]))
    assert (legal[0, :2].tolist(), repaired) == ([19, 20], 1)


def test_other_bounds_and_other_bars_move_genes():
    """A default follows its bounds; lengths alone are scaled to bars four times as long."""
    assert LAYOUT.with_bounds({"Lev": (0.5, 0.75)}).gene("level").default == 0.5
    assert [(gene.low, gene.high, gene.default) for gene in LAYOUT.scaled(0.25).genes] == [
        (2, 5, 2), (2, 10, 8), (-1.0, 1.0, 0.25), (0.5, 2.0, 1.0),
    ]  # fmt: skip


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


SPEC = STRATEGIES["seller_exhaustion"]


def test_seller_exhaustion_has_the_published_genes():
    """Names, defaults and bounds are those of the law; so is its warm-up, and that of hours."""
    assert [(g.name, g.default, g.low, g.high) for g in SPEC.layout.genes] == [
        ("ema_fast", 96, 12, 192), ("ema_slow", 672, 96, 1344), ("z_window", 672, 96, 1344),
        ("atr_window", 96, 12, 192), ("vol_z_min", 2.0, 0.5, 4.0), ("tr_z_min", 1.2, 0.3, 3.0),
        ("close_location_min", 0.6, 0.3, 0.9), ("atr_stop_mult", 0.7, 0.1, 3.0),
        ("reward_r", 2.0, 0.5, 5.0), ("max_hold", 96, 4, 384),
    ]  # fmt: skip
    assert SPEC.warm_up(SPEC.layout.decode(SPEC.layout.defaults)) == 671
    hourly = SPEC.for_timeframe(3600)
    assert hourly.warm_up(hourly.layout.decode(hourly.layout.defaults)) == 167
