"""Positions of both sides: the readable walk, the same compiled, and the CPU, in every bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine.fast_case import find_fast_case
from engine.positions.exit_spec import BEYOND_BAR, R_MULTIPLE
from engine.reference import Reference
from strategy.pretty_print import format_tree
from tests.support.parity import assert_same_bits
from tests.support.positions import Ask, asks, by_reference, everywhere, jumping_markets
from tests.support.references import FORMS
from tests.support.worlds import SHORT_SPECS, costs, draw_window, make_bars, markets, populations

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


@given(data=st.data(), name=st.sampled_from(sorted(SHORT_SPECS)), bars=markets(), charged=costs())
def test_the_walk_takes_the_trades_of_the_bracket(data, name, bars, charged):
    """A stop beyond the bar, a multiple of the risk and a limit of time are what there was."""
    spec = SHORT_SPECS[name]
    genome = data.draw(populations(spec, 1))[0]
    window = data.draw(draw_window(bars))
    reference = Reference(spec, [bars], [Window.whole(bars), window], charged)
    genes, bracket = spec.layout.decode(genome), find_fast_case(spec).bracket
    signals = np.zeros(len(bars), np.bool_)
    signals[reference.signals(genome)[0]] = True
    # The last signals of a series have no bar to be entered on in any window.
    distance = reference.rows(genes, 0)[format_tree(spec.stop.distance)]
    ask = Ask(
        entries=(signals, np.zeros_like(signals)),
        stops=((BEYOND_BAR, 0.0, distance),) * 2,
        targets=((R_MULTIPLE, genes[bracket.reward], None),) * 2,
        max_hold=int(genes[bracket.max_hold]),
        delay=charged.entry_delay,
        warm_up=spec.warm_up(genes),
    )
    (expected,) = reference.trades(genome)[1:]
    for form in FORMS.values():
        actual = by_reference(bars, ask, charged, (window.start, window.end), form)
        assert actual.rejected == expected.rejected
        for column, values in expected.columns().items():
            assert_same_bits(values, actual.columns()[column], column)
