"""Grids of launches that make rows."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.indicators.cuda import row_launches  # noqa: E402

MOST = 65_535
"""Programs along any axis of a grid but the first."""


def test_short_windows_of_a_long_series_fit_a_grid(monkeypatch):
    """A window of one bar on four million of them has a block a bar."""
    grids, bars = [], 2**22
    monkeypatch.setattr(row_launches, "launch", lambda _, grid, *a, **k: grids.append(grid))
    windows = np.array([1, 100])
    shares = row_launches.share_blocks(windows, bars)
    rows = torch.empty(0, dtype=torch.float64)
    row_launches.launch_windows("sma", rows, rows, windows, shares, bars)
    ((first, *others),) = grids
    assert first >= len(windows) * bars // row_launches.LANES
    assert max(others) <= MOST
