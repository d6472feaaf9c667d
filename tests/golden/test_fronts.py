"""Blessed fronts of short searches, by their hash: the same seed searches the same way.

They compare only on the platform that the file names. `pytest tests/golden --bless` is their only
writer; the commit explains why they moved.
"""

import json
import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from data import Window, load_bars
from engine.accounts.metrics import compute_metrics, measure_span
from engine.batch import Engine
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.search.evolution import front_hash
from optimizer.search.generation import final_front
from strategy import STRATEGIES
from strategy.indicators.rolling import zscore
from strategy.rows import as_it_reads
from tests.support.commands import SHIPPED
from tests.support.searches import evolve, settings

FILE = Path(__file__).with_name("fronts.json")
PLATFORM = f"{sys.platform} {platform.machine()}"

BARS = load_bars("sample")
# A number that is known at each bar's close stands in for a forecast.
BARS = replace(BARS, extra={"forecast": as_it_reads(zscore)(BARS.close, 96) / 8})
WINDOWS = [Window.whole(BARS)]
SETTINGS = settings(population=32, generations=10, seed=1)


class SampleProblem:
    """The default problem on the sample, without configuration or store."""

    def __init__(self, spec):
        self.layout, self.goals = (
            spec.layout,
            Goals(parse_objectives("sharpe_trade,total_return,max_drawdown"), min_trades=10),
        )
        self.n_objectives, self.failure_names = 3, self.goals.failure_names
        self.engine = Engine(spec, [BARS], WINDOWS)
        self.span = measure_span(BARS, WINDOWS[0])

    def evaluate(self, genomes):
        """Judge genomes [P, G]."""
        return self.goals.judge(compute_metrics(self.engine.evaluate(genomes), [self.span]))


def evolve_front(name):
    """The front after ten generations of 32: members and hash."""
    *_, last = evolve(SampleProblem(STRATEGIES[name]), SETTINGS)
    front = final_front(last)
    return {"members": len(front), "front_hash": front_hash(front.genomes, front.objectives)}


@pytest.fixture(scope="module")
def blessed(request):
    """Fronts by strategy, written anew when asked for."""
    if request.config.getoption("--bless"):
        fronts = {"platform": PLATFORM} | {name: evolve_front(name) for name in sorted(SHIPPED)}
        FILE.write_text(json.dumps(fronts, indent=1) + "\n", encoding="utf-8")
    return json.loads(FILE.read_text(encoding="utf-8"))


@pytest.mark.golden
@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_search_finds_the_blessed_front(name, blessed):
    """The same seed gives the same front on the platform that blessed it."""
    if blessed["platform"] != PLATFORM:
        pytest.skip(f"blessed on {blessed['platform']}, this is {PLATFORM}")
    assert evolve_front(name) == blessed[name]
