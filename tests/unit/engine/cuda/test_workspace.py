"""Results come out of a workspace as they went in, few or many, in one piece or not."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from engine.accounts.ledger import ACCUMULATORS  # noqa: E402
from engine.cuda import workspace  # noqa: E402
from engine.cuda.workspace import Workspace  # noqa: E402

N_WINDOWS = 4

MANY = 4096
"""From so many numbers on several threads copy, in these tests."""


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    """Several threads copy sooner than they would."""
    monkeypatch.setattr(workspace, "MANY", MANY)


def download_results(individuals):
    """A workspace in a host's memory and the results that were brought into it."""
    device = torch.device("cpu")
    work = Workspace(individuals + 3, N_WINDOWS, 2, 1, 16, device)
    work.lay_out(np.ones((individuals, 2)))
    work.results.copy_(torch.arange(len(work.results), dtype=torch.float64) / 3)
    work.download(individuals)
    count = individuals * N_WINDOWS * len(ACCUMULATORS)
    return work, work.results[:count].numpy().reshape(individuals, N_WINDOWS, -1)


@pytest.mark.parametrize("individuals", [1, MANY // (N_WINDOWS * len(ACCUMULATORS)) + 1])
@pytest.mark.parametrize("step", [1, 2])
def test_results_are_copied_whole(individuals, step):
    """By one thread or by several, into an array of its own or into every second line of one."""
    work, expected = download_results(individuals)
    room = np.full((step * individuals, *expected.shape[1:]), -1.0)
    assert work.read(room[::step]) == (0, False)
    assert room[::step].tolist() == expected.tolist()
    assert (room[1::step] == -1.0).all() or step == 1
