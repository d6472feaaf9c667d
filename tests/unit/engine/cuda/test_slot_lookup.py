"""The table by which a device finds rows has their slots, also after they moved."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from engine.accounts.costs import Costs  # noqa: E402
from engine.backend import RowRequest  # noqa: E402
from engine.conditions.cuda.candidate_lists import Packing  # noqa: E402
from engine.cuda import CudaBackend  # noqa: E402
from engine.cuda.slot_lookup import Admission  # noqa: E402
from engine.errors import DeviceError  # noqa: E402
from engine.fast_case import find_fast_case  # noqa: E402
from tests.support.worlds import SHORT_SPECS, make_bars  # noqa: E402

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


def test_rows_that_were_not_written_are_not_found(monkeypatch):
    """A fill that memory runs out for leaves nothing that the device would take for a row."""
    backend = CudaBackend(
        CASE, [make_bars(1, 100)], Costs(), capacity=8, work_bytes=2**20, torch_device="cpu"
    )

    def failing(*_, **__):
        raise torch.OutOfMemoryError("injected")

    monkeypatch.setattr(backend._filler, "run", failing)
    with pytest.raises(DeviceError, match="ran out of memory"):
        backend.fill([RowRequest(FORM, np.array([[5.0]]), np.array([0]))])
    assert (backend._admission.places == -1).all()
