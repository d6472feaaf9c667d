"""The bank keeps the newest rows and never loses one that is in use."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.indicators import row_bank
from engine.indicators.row_bank import RowBank, RowRead

ODD = [0.0, -0.0, 0.5, 1.0, 3.0, np.nextafter(3.0, 4.0), -2.0, 2.0**20, 1e300, 5e-324]
READS = [
    RowRead((0,), lambda length: ("ema", length)),
    RowRead((1,), lambda length: ("ema", length)),
    RowRead((), lambda _: "close"),
    RowRead((1, 0), lambda lengths: ("pair", lengths)),
]
"""Two of which are one row where their lengths are equal."""


class Recorder:
    """Stands in for a device: remembers which row was written into which slot."""

    def __init__(self):
        self.rows = {}
        self.calls = 0
        self.fails = False

    def fill(self, names, slots):
        """Write each row's name into its slot, or fail as a device may."""
        self.calls += 1
        for name, slot in zip(names, slots.tolist(), strict=True):
            self.rows[slot] = None if self.fails else name
        if self.fails:
            raise MemoryError("no room")


def list_asked(genomes):
    """What each individual reads."""
    return [[read.name(tuple(genome[c] for c in read.columns)) for read in READS]
            for genome in genomes.tolist()]  # fmt: skip


def assert_in_place(recorder, names, slots):
    """Every slot holds the row that was asked for."""
    assert [[recorder.rows[slot] for slot in row] for row in slots.tolist()] == names


@given(
    st.lists(st.tuples(*[st.sampled_from(ODD)] * 2), min_size=1, max_size=12),
    st.integers(4, 9),
    st.integers(1, 3),
    st.sampled_from([4, 2**20]),
)
def test_any_values_are_found_again(values, capacity, together, most_keys):
    """Whole or not, huge, with a sign, however often the bank turns over and forgets keys."""
    recorder, genomes = Recorder(), np.array(values)
    bank = RowBank(READS, capacity, recorder.fill)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(row_bank, "MOST_KEYS", most_keys)
        for begin in range(0, len(genomes), together):
            some = genomes[begin : begin + together]
            slots = bank.bring(some)
            n_rows = len({name for names in list_asked(some) for name in names})
            assert (slots is None) == (n_rows > capacity)
            if slots is not None:
                assert_in_place(recorder, list_asked(some), slots)
            assert len(bank) <= capacity
            assert set(recorder.rows) <= set(range(capacity))
            problems = bank.find(some + 0.0)
            assert (problems is None) == (slots is None)
            if problems is not None:
                assert problems.tolist() == slots.tolist()
