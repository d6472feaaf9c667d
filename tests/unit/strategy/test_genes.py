"""Genes, bounds, and how genomes are laid out."""

import numpy as np
import pytest

from strategy import Gene, GenomeLayout, LessThan
from strategy.errors import GeneError

LAYOUT = GenomeLayout(
    genes=(
        Gene("fast", "int", 5, 20, 10, "bars"),
        Gene("slow", "int", 10, 40, 30, "bars"),
        Gene("level", "float", -1.0, 1.0, 0.25),
        Gene("mult", "float", 0.5, 2.0, 1.0, positive=True),
    ),
    constraints=(LessThan("fast", "slow"),),
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"low": float("nan")}, "low must be a finite number"),
        ({"high": float("inf")}, "high must be a finite number"),
        ({"low": 25}, "low 25 is above high 20"),
        ({"default": 21}, "default 21 is outside 5 .. 20"),
        ({"low": 5.5}, "low must be whole"),
        ({"low": 0, "default": 5}, "at least 1 bar"),
        ({"high": 2**40}, "at most 2147483647"),
        ({"low": True}, "low must be a finite number"),
    ],
)
def test_gene_refuses_what_cannot_be(change, message):
    """A bound that is not finite, whole, ordered or sized is refused with its value."""
    values = {"name": "fast", "kind": "int", "low": 5, "high": 20, "default": 10, "unit": "bars"}
    with pytest.raises(GeneError, match=message):
        Gene(**{**values, **change})


def test_gene_with_equal_bounds_is_frozen():
    """Equal bounds are legal and leave one value."""
    gene = Gene("frozen", "float", 0.5, 0.5, 0.5)
    assert gene.low == gene.high == gene.default


def test_positive_gene_refuses_zero_bound():
    """A gene that must be positive cannot have 0 inside its bounds."""
    with pytest.raises(GeneError, match="low must be above 0"):
        Gene("mult", "float", 0.0, 2.0, 1.0, positive=True)


def test_layout_refuses_repeated_names():
    """Two genes of one name are refused."""
    gene = Gene("a", "float", 0, 1, 0.5)
    with pytest.raises(GeneError, match="repeat"):
        GenomeLayout((gene, gene))


def test_layout_refuses_constraint_that_nothing_satisfies():
    """A pair whose bounds leave no legal genome is refused before any search."""
    genes = (Gene("a", "int", 10, 20, 15), Gene("b", "int", 1, 10, 5))
    with pytest.raises(GeneError, match="no genome can have 'a' below 'b'"):
        GenomeLayout(genes, (LessThan("a", "b"),))


def test_layout_refuses_constraint_between_floats():
    """Only whole genes can be kept one apart."""
    genes = (Gene("a", "float", 0, 1, 0.5), Gene("b", "float", 0, 2, 1))
    with pytest.raises(GeneError, match="both genes must be int"):
        GenomeLayout(genes, (LessThan("a", "b"),))


def test_layout_refuses_gene_in_two_constraints():
    """A gene stands in one pair only, so that repairing one never breaks another."""
    genes = tuple(Gene(name, "int", 1, 9, 5) for name in "abc")
    with pytest.raises(GeneError, match="one constraint only"):
        GenomeLayout(genes, (LessThan("a", "b"), LessThan("b", "c")))


def test_encode_fills_in_defaults():
    """Genes that are not named keep their default."""
    np.testing.assert_array_equal(LAYOUT.encode({"level": 0.5}), [10, 30, 0.5, 1.0])


def test_encode_allows_values_outside_search_bounds():
    """A person may test a genome that the search would not propose."""
    assert LAYOUT.encode({"slow": 500})[1] == 500


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"fsat": 3}, "gene 'fsat' is unknown; known: fast, level, mult, slow; did you mean"),
        ({"fast": 7.5}, "must be whole"),
        ({"fast": 30}, "'fast' must be below 'slow', got 30 and 30"),
        ({"mult": 0.0}, "above 0"),
        ({"fast": 0}, "at least 1 bar"),
        ({"level": float("nan")}, "finite"),
        ({"level": True}, "finite number"),
    ],
)
def test_encode_refuses_what_no_engine_can_run(values, message):
    """An illegal value is refused by name."""
    with pytest.raises(GeneError, match=message):
        LAYOUT.encode(values)


def test_decode_gives_whole_genes_as_int():
    """Decoded genes have the types that a person expects."""
    genes = LAYOUT.decode(LAYOUT.defaults)
    assert genes == {"fast": 10, "slow": 30, "level": 0.25, "mult": 1.0}
    assert [type(value) for value in genes.values()] == [int, int, float, float]


def test_repair_raises_the_larger_gene():
    """A broken pair is restored by one bar, and counted."""
    legal, repaired = LAYOUT.repair(np.array([[20.0, 12.0, 0.0, 1.0], [5.0, 12.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(legal[:, :2], [[20, 21], [5, 12]])
    assert repaired == 1


def test_repair_lowers_the_smaller_gene_at_the_bound():
    """Where the larger gene cannot rise, the smaller one gives way."""
    layout = LAYOUT.with_bounds({"slow": (10, 20)})
    legal, repaired = layout.repair(np.array([[20.0, 15.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(legal[0, :2], [19, 20])
    assert repaired == 1


def test_with_bounds_moves_default_to_nearer_bound():
    """A default outside new bounds follows them."""
    layout = LAYOUT.with_bounds({"level": (0.5, 0.75)})
    assert layout.gene("level").default == 0.5


def test_with_bounds_refuses_reversed_bounds():
    """Low above high is refused, not swapped."""
    with pytest.raises(GeneError, match=r"low 9 is above high 4"):
        LAYOUT.with_bounds({"fast": (9, 4)})


def test_scaled_multiplies_lengths_only():
    """A quarter of the bars for bars four times as long; other genes stay."""
    layout = LAYOUT.scaled(0.25)
    assert [(gene.low, gene.high, gene.default) for gene in layout.genes] == [
        (2, 5, 2),
        (2, 10, 8),
        (-1.0, 1.0, 0.25),
        (0.5, 2.0, 1.0),
    ]


def test_bars_too_long_for_the_lengths_are_refused():
    """Where rounding leaves no genome in order, the message names the bars as too long."""
    with pytest.raises(GeneError, match=r"lengths times 0\.01 are too short for such bars"):
        LAYOUT.scaled(0.01)


def test_is_legal_names_each_kind_of_fault():
    """Fractions, disorder, NaN, short lengths and values that must be positive are all illegal."""
    genomes = np.tile(LAYOUT.defaults, (7, 1))
    genomes[1, 0] = 7.5
    genomes[2, 0] = 30
    genomes[3, 2] = np.nan
    genomes[4, 0] = 0
    genomes[5, 3] = 0.0
    genomes[6, 1] = 2.0**33
    np.testing.assert_array_equal(LAYOUT.is_legal(genomes), [True] + [False] * 6)
