"""Positions of both sides: the readable walk, the same compiled, and the CPU, in every bit."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.positions import asks, everywhere, jumping_markets
from tests.support.references import FORMS
from tests.support.worlds import costs, draw_window, make_bars

COMPILED = {name: FORMS[name] for name in ("compiled_reference",)}


@given(data=st.data(), bars=jumping_markets(), charged=costs(), threads=st.sampled_from([1, 2]))
def test_all_engines_take_the_same_trades(data, bars, charged, threads):
    """Any mixture of forms, conditions, sessions and delays, in windows from one bar on."""
    given_asks = data.draw(asks(bars))
    spans = [data.draw(draw_window(bars)) for _ in range(2)]
    windows = [(window.start, window.end) for window in spans]
    everywhere(bars, given_asks, charged, windows, forms=FORMS, threads=threads)


@given(data=st.data(), seed=st.integers(0, 2**32), gaps=st.sampled_from([0.0, 0.02]))
def test_all_engines_agree_where_trades_last_long(data, seed, gaps):
    """Thousands of bars, so that exits are found across many blocks and words."""
    bars = make_bars(seed, 6000, gaps=gaps, flat=data.draw(st.sampled_from([0.0, 0.9])))
    given_asks = data.draw(asks(bars, most=2))
    windows = [(0, len(bars)), (777, 5003)]
    everywhere(bars, given_asks, data.draw(costs()), windows, forms=COMPILED)
