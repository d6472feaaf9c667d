"""The reference compiled against the same functions in plain Python: equal in every bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.reference import Reference
from engine.replay.parity import compare_forms
from tests.support.parity import assert_same_bits
from tests.support.references import FORMS, compiled_reference, fold_plain
from tests.support.worlds import (
    SHORT_SPECS,
    costs,
    draw_window,
    markets,
    populations,
)


@pytest.mark.parametrize("name", sorted(SHORT_SPECS))
@given(data=st.data())
def test_worlds_give_the_same(name, data):
    """Rows, ledgers and accumulators in any market, windows and costs."""
    spec = SHORT_SPECS[name]
    series = [data.draw(markets()) for _ in range(data.draw(st.integers(1, 3)))]
    windows = [data.draw(draw_window(bars, s)) for s, bars in enumerate(series) for _ in range(2)]
    arguments = (spec, series, windows, data.draw(costs()))
    plain, compiled = Reference(*arguments), compiled_reference(*arguments)
    for genome in data.draw(populations(spec)):
        assert compare_forms(plain, compiled, genome) == ""
        assert plain.signals(genome) == compiled.signals(genome)


@given(
    results=st.lists(
        st.tuples(
            st.floats(allow_nan=False, width=32) | st.sampled_from([0.0, -0.0, -1.0, -2.0, 1e200]),
            st.sampled_from([1, -1]),
        ),
        max_size=30,
    ),
    risk=st.sampled_from([0.01, 0.5, 1.0]),
)
def test_folding_gives_the_same_for_any_results(results, risk):
    """Also where equity is ruined, sums overflow, or infinities meet."""
    r, sides = np.array(results, np.float64).reshape(-1, 2).T.copy()
    sums = [fold_plain(form, r, sides.astype(np.int8), risk) for form in FORMS.values()]
    assert_same_bits(*map(np.array, sums), results)
