"""A search that moves to its device with its population: one law, wherever it is."""

import sys
from dataclasses import replace

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from data.bars import Window
from engine.backends.chosen import Device
from engine.backends.isolated import IsolatedMaker
from engine.batch import Engine
from engine.metrics import span_of
from engine.parity import certify
from optimizer.isolated import parent
from optimizer.isolated.parent import evolve_moving
from optimizer.objectives import Goals, parse_objectives
from optimizer.problem import EngineProblem
from optimizer.search import evolve
from tests.support.recording import assert_same_generation
from tests.support.searches import settings
from tests.support.worlds import SHORT_SPECS, make_bars

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(7, 260, jump=0.1)
GOALS = Goals(parse_objectives("sharpe,total_return,max_drawdown"), 1)


def a_problem(device):
    """The problem on a device."""
    engine = Engine(SPEC, [BARS], [Window.whole(BARS)], device=device)
    return EngineProblem(GOALS, [span_of(BARS, Window.whole(BARS))], engine)


@pytest.mark.slow
def test_a_population_moves_to_the_device(tmp_path, monkeypatch):
    """Its generations are made there, beside the engine, in the bits of a search on the host."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(parent, "PAYS_AFTER_S", 0.0)
    made = tmp_path / "made"
    command = [sys.executable, "-m", "tests.support.interpreted_searcher", str(made)]
    device = Device("cuda", "a test", IsolatedMaker("cuda", (0,), command=command))
    wanted, problem = settings(8, 4, archive=20, elite=0.25), a_problem(device)
    found = list(evolve_moving(problem, wanted))
    for left, right in zip(evolve(a_problem("cpu"), wanted), found, strict=True):
        assert_same_generation(left, replace(right, seconds=left.seconds))
    assert made.read_text().split() == ["1", "2", "3", "4"]
    assert certify(problem.engine, found[-1].archive.genomes[:1]).is_green
