"""Genes, bounds, and how genomes are laid out."""

import re

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
