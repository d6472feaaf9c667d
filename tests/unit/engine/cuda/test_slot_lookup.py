"""The table by which a device finds rows has their slots, also after they moved."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from engine.backend import RowRequest  # noqa: E402
from engine.conditions.cuda.candidate_lists import Packing  # noqa: E402
from engine.cuda.slot_lookup import Admission  # noqa: E402
from engine.fast_case import find_fast_case  # noqa: E402
from tests.support.worlds import SHORT_SPECS  # noqa: E402

CASE = find_fast_case(SHORT_SPECS["seller_exhaustion"])
ROW = next(place for place, row in enumerate(CASE.rows) if row.genes)
FORM = CASE.rows[ROW].form


@pytest.fixture
def admission():
    """A table in a host's memory."""
    nothing = np.empty(0)
    packing = Packing(nothing, 0, nothing, -1, nothing, nothing, nothing)
    return Admission(CASE, packing, capacity=8, device=torch.device("cpu"))


def fill(admission, length, slot):
    """Enter a row."""
    admission.note([RowRequest(FORM, np.array([[float(length)]]), np.array([slot]))])


def test_a_row_is_found_where_it_was_put_last(admission):
    """It may lie in an older slot too, which is then given to another row."""
    fill(admission, 5, 0)
    assert admission.places[ROW, 5] == 0
    fill(admission, 5, 3)
    fill(admission, 9, 0)
    assert admission.places[ROW, 5] == 3
    assert admission.places[ROW, 9] == 0


def test_a_row_whose_slot_is_taken_is_gone(admission):
    """And so are all of them once they are forgotten."""
    fill(admission, 5, 0)
    fill(admission, 9, 0)
    assert admission.places[ROW, 5] == -1
    admission.clear()
    assert (admission.places == -1).all()
