"""Every point of a lattice with all metrics, as a file, as a frame, and as a grid of two genes."""

import contextlib
import csv
import io

import numpy as np
import pytest

from engine.accounts.metrics import METRICS
from optimizer import backtest, load_run
from optimizer.__main__ import main
from optimizer.errors import ConfigError
from optimizer.report import gallery, grids
from optimizer.run.tables import recorded_individuals
from optimizer.store import RunStore
from tests.support.commands import SMALL, write_market

LATTICE = ("--search", "lattice", "--step", "reward_r=0.5", "--step", "max_hold=100")


def record(folder, *flags):
    """A run in a folder that no test may change."""
    spec = write_market(folder / "bars.csv")
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        assert main(["evolve", "--data", spec, *flags, "--json", "--quiet"]) == 0
    return load_run(runs=folder / "runs")


@pytest.fixture(scope="module")
def lattice(tmp_path_factory):
    """A run that judged all points of a small lattice."""
    flags = (*LATTICE, "--min-trades", "3", "--no-judge", "--no-report")
    return record(tmp_path_factory.mktemp("lattice"), *flags)


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A genetic search that kept every candidate."""
    return record(tmp_path_factory.mktemp("searched"), *SMALL, "--keep", "all")


def test_all_points_are_exported_with_all_metrics(command, market, lattice, tmp_path):
    """10 rewards times 4 times to hold are 40 rows, each equal to a backtest of it."""
    outcome = command("runs", "export", lattice.path, "points.csv", "--what", "points")
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
    """Rows are one gene, columns the other; a cell has its point's metric, if that is feasible."""
    grid, points = lattice.grid("reward_r", "max_hold", "total_return"), lattice.points
    assert grid.shape == (4, 10)
    assert (grid.index.name, grid.columns.name) == ("max_hold", "reward_r")
    for _, point in points.iterrows():
        cell = grid.loc[point["max_hold"], point["reward_r"]]
        assert np.isnan(cell) if point["infeasible"] else cell == point["total_return"]
    with pytest.raises(ConfigError, match="did you mean"):
        lattice.grid("reword_r", "max_hold")
    with pytest.raises(ConfigError, match="unknown"):
        lattice.grid("reward_r", "max_hold", "nothing")


def test_a_heat_map_of_a_genetic_search_evaluates_nothing(searched, monkeypatch):
    """Objectives are on record; it has the numbers of the grid, and the pick in its place."""
    run = searched
    monkeypatch.setattr(grids, "measure_points", None)
    chart = gallery.main_heat_map(run)
    cells, ring = chart.data
    names = [chart.layout[side]["title"]["text"].replace(" ", "_") for side in ("xaxis", "yaxis")]
    assert set(names) < set(run.genes)
    expected = run.grid(*names)
    assert np.array_equal(cells["z"], expected.to_numpy(), equal_nan=True)
    assert [*ring["x"], *ring["y"]] == [run.front[name][run.pick.member] for name in names]
    with RunStore.open(run.path) as store:
        assert cells["customdata"].sum() == len(recorded_individuals(store).population)
    figure = run.plot.heatmap(*names)
    assert np.array_equal(figure.data[0].z, cells["z"], equal_nan=True)
    assert run.plot.heatmap().layout.title.text == chart.title
