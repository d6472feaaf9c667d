"""Laws of genomes, over random layouts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from strategy import STRATEGIES

LAYOUTS = {name: spec.layout for name, spec in STRATEGIES.items()}


NAMES = st.sampled_from(sorted(LAYOUTS))


@settings(max_examples=100)
@given(name=NAMES, seed=st.integers(0, 2**32), spread=st.sampled_from([0.2, 2, 50]))
def test_repair_makes_every_genome_legal(name, seed, spread):
    """Far outside of bounds, with fractions: what comes out is whole, in bounds and in order.

    Done twice is done once.
    """
    layout, rng = LAYOUTS[name], np.random.Generator(np.random.PCG64(seed))
    drawn = rng.normal(0.5, spread, (8, len(layout)))
    genomes = layout.low + (layout.high - layout.low) * drawn
    legal, _ = layout.repair(genomes)
    assert layout.is_legal(legal).all()
    assert ((legal >= layout.low) & (legal <= layout.high)).all()
    again, broken = layout.repair(legal)
    assert (again.tobytes(), broken) == (legal.tobytes(), 0)
    clipped = layout.clip(genomes)
    np.testing.assert_array_equal(clipped, layout.clip(clipped))
