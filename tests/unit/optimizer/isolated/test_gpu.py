"""A search beside a real GPU's engine, in its process: the generations are those of the CPU."""

import sys
from dataclasses import replace

import pytest

from data.bars import Window
from engine.backends import count_gpus, why_absent
from engine.backends.chosen import Device, choose_device
from engine.backends.isolated import IsolatedMaker
from engine.batch import Engine
from engine.metrics import span_of
from engine.parity import certify
from optimizer.isolated import CHILD
from optimizer.isolated.parent import evolve_apart
from optimizer.objectives import Goals, parse_objectives
from optimizer.problem import EngineProblem
from optimizer.search import evolve
from tests.support.recording import assert_same_generation
from tests.support.searches import settings
from tests.support.worlds import SHORT_SPECS, make_bars

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(7, 2000, jump=0.1)
WINDOWS = [Window.whole(BARS), Window(0, 300, 1500)]
GOALS = Goals(parse_objectives("sharpe,total_return,max_drawdown"), min_trades=3)

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(bool(why_absent("cuda")), reason=f"no cuda device: {why_absent('cuda')}"),
]


def a_problem(device):
    """The problem on a device, in little memory."""
    engine = Engine(SPEC, [BARS], WINDOWS, device=device, memory_bytes=2**30)
    return EngineProblem(GOALS, [span_of(BARS, window) for window in WINDOWS], engine)


def assert_same_search(wanted, problem):
    """Every generation has the bits that the CPU gives."""
    pairs = zip(evolve(a_problem("cpu"), wanted), evolve_apart(problem, wanted), strict=True)
    for left, right in pairs:
        assert_same_generation(left, replace(right, seconds=left.seconds))


@pytest.mark.parametrize("population", [64, 2048])
@pytest.mark.parametrize("device", ["cuda:0", "cuda:0,1"])
def test_a_search_in_the_gpu_s_process(device, population):
    """On one GPU or several, rows looked up by the host or by the device, then the certificate."""
    if "," in device and count_gpus() < 2:
        pytest.skip("one GPU")
    problem = a_problem(choose_device(device, on_loss="stop", module=CHILD))
    wanted = settings(population, 6)
    assert_same_search(wanted, problem)
    assert problem.engine.is_apart
    assert certify(problem.engine, SPEC.layout.defaults[None]).is_green
    assert_same_search(replace(wanted, seed=8), problem)


def test_an_illegal_address_costs_no_bit(tmp_path, caplog):
    """Evaluations break the device in the middle of the search, which goes on elsewhere."""
    module = "tests.support.faulty_gpu_child"
    command = [sys.executable, "-m", module, "3,5", str(tmp_path / "calls")]
    device = Device("cuda:0", "a test", IsolatedMaker("cuda", (0,), command=command))
    assert_same_search(settings(64, 6), a_problem(device))
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert all("illegal memory access" in line and "failure 1 in a row" in line for line in said)
