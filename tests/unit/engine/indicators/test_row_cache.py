"""The bank keeps the newest rows and never loses one that is in use."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.backend import RowForm
from engine.fast_case import find_fast_case
from engine.indicators.plan import RowGroup, plan_rows
from engine.indicators.row_cache import LONGEST_LISTED, RowBank
from tests.support.worlds import SHORT_SPECS, random_genomes

EMA, SMA = RowForm("ema", "close"), RowForm("sma", "true_range")
ODD = [0.0, 0.5, 1.0, 3.0, 7.25, -2.0, -0.5, LONGEST_LISTED - 1.0, LONGEST_LISTED, 1e300, 5e-324]


class Recorder:
    """Stands in for a device: remembers which row was written into which slot."""

    def __init__(self):
        self.rows = {}
        self.calls = 0
        self.fails = False

    def fill(self, requests):
        """Write each row's name into its slot, or fail as a device may."""
        self.calls += 1
        if self.fails:
            raise MemoryError("no room")
        for form, lengths, slots in requests:
            for length, slot in zip(lengths.tolist(), slots.tolist(), strict=True):
                self.rows[slot] = (form, tuple(length))


def group(form, *lengths):
    """Rows of one form by their single parameter."""
    return RowGroup(form, np.array(lengths, np.float64)[:, None])


def assert_in_place(recorder, groups, slots):
    """Every slot holds the row that was asked for."""
    asked = [(g.form, tuple(row)) for g in groups for row in g.parameters.tolist()]
    assert [recorder.rows[slot] for slot in slots.tolist()] == asked


def test_rows_are_computed_once():
    """What was computed is found again, in whatever company."""
    recorder = Recorder()
    bank = RowBank(10, recorder.fill)
    bank.slots([group(EMA, 3, 5), group(SMA, 3)])
    again = [group(SMA, 3, 9), group(EMA, 5)]
    assert_in_place(recorder, again, bank.slots(again))
    assert (bank.computed, len(bank)) == (4, 4)


def test_a_device_is_asked_once():
    """All forms that miss rows are computed in one call, and none without need."""
    recorder = Recorder()
    bank = RowBank(10, recorder.fill)
    for _ in range(2):
        bank.slots([group(EMA, 3, 5), group(SMA, 3), group(EMA, 7)])
    assert recorder.calls == 1


def test_least_recently_used_row_goes_first():
    """A full bank lets go of what was not asked for longest."""
    recorder = Recorder()
    bank = RowBank(3, recorder.fill)
    bank.slots([group(EMA, 1)])
    bank.slots([group(EMA, 2)])
    bank.slots([group(EMA, 3)])
    bank.slots([group(EMA, 1)])
    bank.slots([group(EMA, 4)])
    computed = bank.computed
    bank.slots([group(EMA, 1, 3, 4)])
    assert bank.computed == computed
    bank.slots([group(EMA, 2)])
    assert bank.computed == computed + 1


def test_rows_in_use_are_never_let_go():
    """A call that fills the bank gets all its rows, whatever was there before."""
    recorder = Recorder()
    bank = RowBank(4, recorder.fill)
    rng = np.random.Generator(np.random.PCG64(3))
    for _ in range(200):
        lengths = rng.choice(9, size=rng.integers(1, 5), replace=False).tolist()
        groups = [group(EMA, *lengths[:2])] + ([group(SMA, *lengths[2:])] if lengths[2:] else [])
        assert_in_place(recorder, groups, bank.slots(groups))
        assert len(bank) <= 4


def test_row_that_was_not_written_is_not_found():
    """After a failure of the device, the bank asks for the row again."""
    recorder = Recorder()
    bank = RowBank(2, recorder.fill)
    recorder.fails = True
    with pytest.raises(MemoryError):
        bank.slots([group(EMA, 7)])
    recorder.fails = False
    assert_in_place(recorder, [group(EMA, 7)], bank.slots([group(EMA, 7)]))


def test_rows_of_two_parameters_are_told_apart():
    """The key of a row is all its parameters."""
    recorder = Recorder()
    bank = RowBank(4, recorder.fill)
    pair = RowGroup(RowForm("pair", "close"), np.array([[3.0, 5.0], [5.0, 3.0]]))
    assert_in_place(recorder, [pair], bank.slots([pair]))
    assert bank.computed == 2


def test_nearly_equal_parameters_are_two_rows():
    """And a whole number is the same as an int and as a float."""
    recorder = Recorder()
    bank = RowBank(4, recorder.fill)
    near = [1, 1.0, np.nextafter(1.0, 2.0), 0.5]
    bank.slots([group(EMA, value) for value in near[:1]])
    groups = [group(EMA, *near[1:])]
    assert_in_place(recorder, groups, bank.slots(groups))
    assert bank.computed == 3


@given(st.lists(st.sampled_from(ODD), min_size=1, max_size=12), st.integers(1, 4))
def test_any_parameter_is_found_again(values, capacity):
    """Whole or not, small or huge, in a table or by name, also after the bank has turned over."""
    recorder = Recorder()
    bank = RowBank(capacity, recorder.fill)
    for value in values:
        assert_in_place(recorder, [group(EMA, value)], bank.slots([group(EMA, value)]))
        assert (bank.find(EMA, np.array([[value]])) >= 0).all()
    kept = {recorder.rows[slot] for slot in range(capacity) if slot in recorder.rows}
    found = {value for value in ODD if bank.find(EMA, np.array([[value]]))[0] >= 0}
    assert found == {value for form, (value,) in kept}
    both = np.array([[value] for value in ODD])
    assert (bank.find(EMA, both) >= 0).sum() == len(found)


def test_plan_finds_each_distinct_row_once():
    """The plan's numbers lead back to each individual's own lengths."""
    spec = SHORT_SPECS["seller_exhaustion"]
    genomes = random_genomes(spec, 200, seed=1)
    case = find_fast_case(spec)
    plan = plan_rows(case, genomes)
    rows = [(g.form, tuple(row)) for g in plan.groups for row in g.parameters.tolist()]
    assert len(rows) == len(set(rows)) == plan.n_rows
    for i, genome in enumerate(genomes):
        genes = spec.layout.decode(genome)
        for r, row in enumerate(case.rows):
            expected = (row.form, tuple(genes[name] for name in row.genes))
            assert rows[plan.row_of[i, r]] == expected
    assert sorted(plan.order.tolist()) == list(range(200))
