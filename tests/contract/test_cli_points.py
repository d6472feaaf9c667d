"""Every point of a lattice with all metrics, as a file, as a frame, and as a grid of two genes."""

import csv

import numpy as np
import pytest

from engine.metrics import METRICS
from optimizer import backtest, load_run
from optimizer.errors import ConfigError
from optimizer.session.points import MOST_VALUES, grid_of
from tests.support.commands import SMALL

STEPS = ("--search", "lattice", "--step", "reward_r=0.5", "--step", "max_hold=100")


@pytest.fixture
def lattice(command, market, tmp_path):
    """A run that judged all points of a small lattice."""
    found = command("evolve", "--data", market, *STEPS, "--min-trades", "3", "--no-judge", "--json")
    assert found.code == 0, found.err
    return load_run(runs=tmp_path / "runs")


def test_all_points_are_exported_with_all_metrics(command, market, lattice, tmp_path):
    """10 rewards times 4 times to hold are 40 rows, each what a backtest of it says."""
    outcome = command("runs", "export", "latest", "points.csv", "--what", "points")
    assert outcome.code == 0, outcome.err
    with open(tmp_path / "points.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 40 > len(lattice.front)
    assert {f"metrics.{name}" for name in METRICS} < set(rows[0])
    for row in (rows[0], rows[17], rows[-1]):
        genes = {name: float(row[f"genes.{name}"]) for name in ("reward_r", "max_hold")}
        alone = backtest(genes, data=[market]).front
        for name in METRICS:
            text = row[f"metrics.{name}"]
            assert (float(text) if text else np.nan) == pytest.approx(alone[name][0], nan_ok=True)
    assert any(row["infeasible"] for row in rows) or all(
        float(row["metrics.trades"]) >= 3 for row in rows
    )


def test_a_grid_of_two_genes_is_the_points_in_their_places(lattice):
    """Rows are one gene, columns the other; each cell is its point's metric."""
    grid, points = lattice.grid("reward_r", "max_hold", "total_return"), lattice.points
    assert grid.shape == (4, 10)
    assert (grid.index.name, grid.columns.name) == ("max_hold", "reward_r")
    for _, point in points.iterrows():
        assert grid.loc[point["max_hold"], point["reward_r"]] == point["total_return"]
    with pytest.raises(ConfigError, match="did you mean"):
        lattice.grid("reward", "max_hold")
    with pytest.raises(ConfigError, match="unknown"):
        lattice.grid("reward_r", "max_hold", "nothing")


def test_a_genetic_search_has_a_grid_too(command, market, tmp_path):
    """Of every candidate on record, in ranges where a gene has many values."""
    command("evolve", "--data", market, *SMALL, "--keep", "all")
    run = load_run(runs=tmp_path / "runs")
    assert len(run.points) > len(run.front)
    grid = run.grid("ema_fast", "reward_r", "max_drawdown")
    assert grid.shape[0] <= MOST_VALUES
    assert np.nanmin(grid.to_numpy()) == run.points["max_drawdown"].min()


def test_a_cell_holds_the_best_and_how_many_there_are():
    """More is better or less is; what is undefined leaves a cell empty."""
    genomes = np.array([[1.0, 5.0], [1.0, 5.0], [2.0, 5.0], [2.0, 6.0]])
    values = np.array([3.0, 4.0, np.nan, 1.0])
    found = grid_of(genomes, (0, 1), values, maximise=True)
    assert found.counts.tolist() == [[2, 1], [0, 1]]
    assert np.array_equal(found.values, [[4.0, np.nan], [np.nan, 1.0]], equal_nan=True)
    least = grid_of(genomes, (0, 1), values, maximise=False)
    assert least.values[0, 0] == 3.0


def test_many_values_are_put_into_ranges():
    """More than forty values make forty ranges, whose ends are the least and the greatest."""
    genomes = np.column_stack([np.linspace(0.0, 1.0, 200), np.zeros(200)])
    found = grid_of(genomes, (0, 1), np.arange(200.0), maximise=True)
    assert found.values.shape == (1, MOST_VALUES)
    assert found.counts.sum() == 200
    assert found.values[0, -1] == 199.0
    assert (np.diff(found.x) > 0).all()
