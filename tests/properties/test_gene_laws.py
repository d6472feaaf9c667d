"""Laws of genomes, over random layouts."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from strategy import STRATEGIES
from tests.support.worlds import random_genomes

LAYOUTS = {name: spec.layout for name, spec in STRATEGIES.items()}


@st.composite
def wild_genomes(draw, layout):
    """Genomes far outside their bounds, fractions included."""
    rng = np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32))))
    spread = layout.high - layout.low
    return layout.low + spread * rng.normal(
        0.5, draw(st.sampled_from([0.2, 2, 50])), (8, len(layout))
    )


@pytest.mark.parametrize("name", sorted(LAYOUTS))
@given(data=st.data())
def test_repair_makes_every_genome_legal(name, data):
    """Whatever comes in, what comes out is whole, in bounds and in order."""
    layout = LAYOUTS[name]
    legal, _ = layout.repair(data.draw(wild_genomes(layout)))
    assert layout.is_legal(legal).all()
    assert (legal >= layout.low).all()
    assert (legal <= layout.high).all()


@pytest.mark.parametrize("name", sorted(LAYOUTS))
@given(data=st.data())
def test_clip_and_repair_are_idempotent(name, data):
    """Done twice is done once."""
    layout = LAYOUTS[name]
    genomes = data.draw(wild_genomes(layout))
    clipped = layout.clip(genomes)
    np.testing.assert_array_equal(clipped, layout.clip(clipped))
    legal, _ = layout.repair(genomes)
    again, broken = layout.repair(legal)
    np.testing.assert_array_equal(legal, again)
    assert broken == 0


@pytest.mark.parametrize("name", sorted(LAYOUTS))
@given(seed=st.integers(0, 2**32))
def test_encode_undoes_decode(name, seed):
    """A genome survives the way through its names, in every bit."""
    layout = LAYOUTS[name]
    (genome,) = random_genomes(STRATEGIES[name], 1, seed)
    np.testing.assert_array_equal(layout.encode(layout.decode(genome)), genome)


@pytest.mark.parametrize("name", sorted(LAYOUTS))
@given(factor=st.floats(0.01, 100))
@example(factor=1.0)
def test_scaled_layout_is_legal(name, factor):
    """From minutes to days, bounds stay in order and lengths have at least two bars."""
    layout = LAYOUTS[name].scaled(factor)
    assert factor != 1 or layout == LAYOUTS[name]
    for gene in layout.genes:
        assert gene.low <= gene.default <= gene.high
        assert factor == 1 or not gene.is_length or gene.low >= 2
