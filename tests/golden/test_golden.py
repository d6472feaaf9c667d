"""Blessed results, one file a strategy: what the numbers were, so that no change moves them unseen.

Single backtests compare exactly everywhere. Evolved results compare only on the platform that the
file names. `pytest tests/golden --bless` is the only writer; the commit explains why numbers moved.
"""

import json
import math
import platform
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from data import Window, load_bars
from engine import ENGINE_VERSION
from engine.accounts.ledger import ACCUMULATORS
from engine.accounts.metrics import compute_metrics, measure_span
from engine.batch import Engine
from engine.reference import Reference
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.search.evolution import evolve, front_hash
from optimizer.search.generation import final_front
from strategy import STRATEGIES
from strategy.indicators.rolling import zscore
from strategy.rows import as_it_reads
from tests.support.backends import ENGINE_PARAMETERS
from tests.support.commands import SHIPPED
from tests.support.references import FORMS
from tests.support.searches import settings

FOLDER = Path(__file__).parent

BARS = load_bars("sample")
# What stands in for a forecast: a number that is known at each bar's close.
STAND_IN = replace(BARS, extra={"forecast": as_it_reads(zscore)(BARS.close, 96) / 8})
WINDOWS = [Window.whole(BARS)]
PLATFORM = f"{sys.platform} {platform.machine()}"
ENGINES = [p for p in ENGINE_PARAMETERS if p.values != ("reference",)]
"""All but plain Python, in which a trend takes seconds: tests/parity compares it with these."""
SETTINGS = settings(population=32, generations=10, seed=1)


class GoldenProblem:
    """The default problem on the sample, without configuration or store."""

    def __init__(self, spec):
        self.layout, self.goals = (
            spec.layout,
            Goals(parse_objectives("sharpe_trade,total_return,max_drawdown"), min_trades=10),
        )
        self.n_objectives, self.failure_names = 3, self.goals.failure_names
        self.engine = Engine(spec, [load_series(spec)], WINDOWS)
        self.span = measure_span(BARS, WINDOWS[0])

    def evaluate(self, genomes):
        """Judge genomes [P, G]."""
        return self.goals.judge(compute_metrics(self.engine.evaluate(genomes), [self.span]))


def load_series(spec):
    """The sample, with what stands in for a forecast where a strategy reads one."""
    return STAND_IN if getattr(spec, "extra_columns", ()) else BARS


def run_backtest(name, engine_name):
    """Accumulators, first and last trade of the published genes."""
    spec = STRATEGIES[name]
    series = [load_series(spec)]
    if engine_name in FORMS:
        engine = Reference(spec, series, WINDOWS, form=FORMS[engine_name])
    else:
        engine = Engine(spec, series, WINDOWS, device=engine_name)
    (ledger,) = engine.trades(spec.layout.defaults)
    folded = Reference(spec, series, WINDOWS).fold(ledger, spec.layout.defaults)
    return {
        "accumulators": dict(zip(ACCUMULATORS, folded.tolist(), strict=True)),
        "first_trade": describe_trade(ledger.trade(0)),
        "last_trade": describe_trade(ledger.trade(len(ledger) - 1)),
    }


def describe_trade(trade):
    """A trade by column; a target that is not there is none."""
    nowhere = (math.inf, -math.inf)
    return {name: None if value in nowhere else value for name, value in trade._asdict().items()}


def evolve_front(name):
    """The front after ten generations of 32, by its hash and its first member."""
    spec = STRATEGIES[name]
    *_, last = evolve(GoldenProblem(spec), SETTINGS)
    front = final_front(last)
    genomes, objectives = front.genomes, front.objectives
    return {
        "members": len(front),
        "front_hash": front_hash(genomes, objectives),
        "first_genes": spec.layout.decode(genomes[0]),
        "first_objectives": objectives[0].tolist(),
    }


def golden(name):
    """What was blessed for a strategy."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def pytest_generate_tests(metafunc):
    """Each strategy, and where engines matter each of these."""
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", sorted(STRATEGIES))
    if "engine_name" in metafunc.fixturenames:
        metafunc.parametrize("engine_name", ENGINES)


@pytest.fixture(autouse=True, scope="module")
def bless(request):
    """Write the files anew when asked."""
    if not request.config.getoption("--bless"):
        return
    for name in STRATEGIES:
        golden = {
            "strategy_version": STRATEGIES[name].version,
            "engine_version": ENGINE_VERSION,
            "data_hash": load_series(STRATEGIES[name]).content_hash,
            "backtest": run_backtest(name, "compiled_reference"),
            "platform": PLATFORM,
            "evolved": evolve_front(name),
        }
        text = json.dumps(golden, indent=2, allow_nan=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def test_every_strategy_has_a_golden_and_every_golden_a_strategy():
    """Nothing ships without a blessed result, and none is left behind."""
    assert {path.stem for path in FOLDER.glob("*.json")} == set(SHIPPED)


def test_golden_was_made_with_this_data_and_law(name):
    """A file from other bars, another law or another strategy is not compared."""
    blessed = golden(name)
    assert blessed["data_hash"] == load_series(STRATEGIES[name]).content_hash
    assert blessed["engine_version"] == ENGINE_VERSION
    assert blessed["strategy_version"] == STRATEGIES[name].version


def test_published_genes_trade_as_blessed(name, engine_name):
    """Accumulators and trades of the published genes are equal, digit for digit, everywhere."""
    assert run_backtest(name, engine_name) == golden(name)["backtest"]


@pytest.mark.golden
def test_search_finds_the_blessed_front(name):
    """The same seed gives the same front on the platform that blessed it."""
    blessed = golden(name)
    if blessed["platform"] != PLATFORM:
        pytest.skip(f"blessed on {blessed['platform']}, this is {PLATFORM}")
    assert evolve_front(name) == blessed["evolved"]
