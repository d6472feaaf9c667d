"""Each stage of every backend against the reference, alone, so that a failure names its stage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine.batch import Engine
from engine.reference import Reference
from tests.support.looping import each
from tests.support.parity import assert_same_bits
from tests.support.slot_rows import FORMS, count_lengths, readable_row, readable_source
from tests.support.worlds import SHORT_SPECS, draw_window, make_bars, markets, populations

LENGTHS = (2, 3, 5, 16, 63, 64, 65)


def oracle_row(form, bars, length):
    """A row as the readable loops compute it."""
    lengths = (length,) * count_lengths(form)
    return readable_row(form, readable_source(bars, form.source), *lengths)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
@each("length", [1, 2, 65, 300])
def test_rows_equal_the_readable_loops(device, form, length, poisoned_slots):
    """Every form over every source equals its definition in every bit, on hard bars."""
    bars = make_bars(length, length, tick=0.5, flat=0.3, silent=0.3, jump=0.3)
    engine = Engine(SHORT_SPECS["seller_exhaustion"], [bars], [Window.whole(bars)], device=device)
    n_lengths = count_lengths(form)
    for row_length in LENGTHS if n_lengths else (0,):
        actual = engine.row(form, (row_length,) * n_lengths)
        assert_same_bits(oracle_row(form, bars, row_length), actual, f"{form} {row_length}")


@given(bars=markets(), length=st.integers(2, 90), form=st.sampled_from(FORMS))
def test_rows_equal_the_readable_loops_in_any_world(bars, length, form):
    """Rows equal their definition whatever the market and the length."""
    engine = Engine(SHORT_SPECS["seller_exhaustion"], [bars], [Window.whole(bars)])
    n_lengths = count_lengths(form)
    actual = engine.row(form, (length,) * n_lengths)
    assert_same_bits(oracle_row(form, bars, length), actual, f"{form} {length}")


@pytest.mark.parametrize("name", sorted(SHORT_SPECS))
@given(data=st.data())
def test_signals_equal_the_reference(name, data):
    """The same bars signal, before any position is looked at."""
    spec = SHORT_SPECS[name]
    bars = data.draw(markets())
    windows = [data.draw(draw_window(bars)) for _ in range(2)]
    engine, reference = Engine(spec, [bars], windows), Reference(spec, [bars], windows)
    for genome in data.draw(populations(spec)):
        expected = reference.signals(genome)
        for w, actual in enumerate(engine.signals(genome)):
            assert expected[w] == actual.tolist()
