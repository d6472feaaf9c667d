"""Two genes as a grid: the best candidate of each cell, and ranges of many values."""

import numpy as np

from optimizer.run.points import build_grid


def test_a_cell_holds_the_best_and_how_many_there_are():
    """More is better or less is; what is undefined leaves a cell empty."""
    genomes = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, 5.0], [2.0, 6.0]])
    values = np.array([3.0, 4.0, np.nan, 1.0])
    grid = build_grid(genomes, (0, 1), values, maximise=True)
    assert grid.counts.tolist() == [[2, 1], [0, 1]]
    assert np.array_equal(grid.values, [[4.0, np.nan], [np.nan, 1.0]], equal_nan=True)
    least = build_grid(genomes, (0, 1), values, maximise=False)
    assert least.values[0, 0] == 3.0
