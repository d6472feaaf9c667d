"""Rows of the CPU equal the readable loops in every bit, however they are cut and shared out."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.indicators.cpu import rows as row_scheduler
from engine.indicators.cpu.rows import RowFiller, RowForm
from engine.runtime.cpu.threads import Threads
from strategy.indicator_registry import KINDS
from tests.support.parity import assert_same_bits

EMA, SMA, SCORE = (RowForm(name, "close") for name in ("ema", "sma", "zscore"))
LEVEL = RowForm("level", "close")
SLOTS, POISON = 40, -12345.0


class Rows:
    """Slots for rows of one series, and what computes them."""

    def __init__(self, values, threads=1):
        values = np.asarray(values, np.float64)
        self.rows = np.empty((SLOTS, len(values)))
        self.sources = {"open": values[::-1].copy(), "close": values}
        self.filler = RowFiller(self.sources, Threads(threads))

    def fill(self, asked):
        """Compute rows (form, length) in one call, and hold each against its definition."""
        self.rows[:] = POISON
        left = list(range(SLOTS))[::-1]
        slots = [left.pop(k % len(left)) for k in range(len(asked))]
        forms = [(form, 1 if form == LEVEL else length) for form, length in asked]
        places = np.array(slots) * self.rows.shape[1]
        self.filler.fill(forms, places, self.rows.reshape(-1))
        for (form, length), slot in zip(asked, slots, strict=True):
            self.check(form, length, slot)
        assert (self.rows[left] == POISON).all()

    def check(self, form, length, slot):
        """A slot holds the definition's values."""
        expected = self.sources[form.source]
        if form != LEVEL:
            with np.errstate(all="ignore"):
                expected = KINDS[form.indicator].loop(expected, length)
        assert_same_bits(expected, self.rows[slot], f"{form} {length}")


def hard_series(name, count):
    """Values [count] that bring a recurrence or a sum to its limits."""
    rng = np.random.Generator(np.random.PCG64(len(name)))
    walk = 100.0 + np.cumsum(rng.normal(0.0, 0.5, count))
    step = np.where(np.arange(count) < count // 2, 100.0, 101.1)
    return {
        "walk": walk,
        "ticks": np.round(walk),
        "constant": np.full(count, 0.1),
        "step": step,
        "steps_among_noise": np.where(np.arange(count) % 1000 < 300, walk, step),
        "alternating": np.where(np.arange(count) % 2 == 0, 1e-5, 1e9),
        "all_sizes": 10.0 ** rng.uniform(-300.0, 300.0, count),
        "tiny": 5e-324 * rng.integers(0, 1000, count),
        "huge": 1e308 * rng.choice([-1.0, 1.0], count),
        "zeros": rng.choice([0.0, 0.0, 3.0], count),
        "unknown": np.where(np.arange(count) == count // 3, math.nan, walk),
    }[name]


KNOWN = ["walk", "ticks", "constant", "step", "steps_among_noise", "alternating", "all_sizes",
         "tiny", "huge", "zeros"]  # fmt: skip
"""Without holes, which nothing has that an average reads here."""

HARD = [*KNOWN, "unknown"]


@pytest.mark.parametrize("name", KNOWN)
def test_few_averages_equal_the_recurrence(name):
    """Stretches that are begun early give what the recurrence gives from bar 0 on."""
    rows = Rows(hard_series(name, 4111), 3)
    rows.fill([(EMA, length) for length in (1, 2, 25)])
    rows.fill([(EMA, 12)])


@pytest.mark.parametrize("name", HARD)
def test_rolling_rows_equal_their_definition(name):
    """Means and scores are right where a division may be replaced and where it may not."""
    rows = Rows(hard_series(name, 700))
    rows.fill([(form, length) for form in (SMA, SCORE) for length in (2, 64, 233, 701)])


@given(
    name=st.sampled_from(KNOWN),
    count=st.integers(1, 400),
    threads=st.integers(1, 3),
    part_bars=st.sampled_from([1, 16, 100, 2**15]),
    asked=st.lists(
        st.tuples(st.sampled_from([EMA, SMA, SCORE, LEVEL, RowForm("sma", "open")]),
                  st.integers(2, 450)),
        min_size=1, max_size=SLOTS,
    ),
)  # fmt: skip
def test_rows_do_not_depend_on_their_company(name, count, threads, part_bars, asked):
    """However rows are mixed, cut and shared out, each equals its definition."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_scheduler, "PART_BARS", part_bars)
        Rows(hard_series(name, count), threads).fill(asked)
