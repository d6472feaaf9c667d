"""Strategies in words on the kernels of a GPU, against the CPU."""

import numpy as np
import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from data import Window, load_bars
from engine.accounts.costs import Costs
from engine.batch import Engine
from engine.replay.parity import compare_ledgers
from strategy.rules.adaptive_trend import ADAPTIVE_TREND
from strategy.rules.adaptive_trend_bracket import ADAPTIVE_TREND_BRACKET
from tests.parity.test_language import EXAMPLE, population
from tests.support.comparisons import needs_gpu
from tests.support.parity import assert_same_bits
from tests.support.random_strategies import drawn_strategy
from tests.support.worlds import make_bars

ALL = EXAMPLE | {"adaptive_trend": ADAPTIVE_TREND, "adaptive_trend_bracket": ADAPTIVE_TREND_BRACKET}


def engines(strategy, series, windows, charges=None):
    """The same engine on the host and on the GPU."""
    return (Engine(strategy, series, windows, charges, device=name) for name in ("cpu", "cuda"))


def assert_same_lists(host, device, genomes):
    """Ledgers and signals of some individuals."""
    for left, right in zip(host.ledgers(genomes), device.ledgers(genomes), strict=True):
        for expected, actual in zip(left, right, strict=True):
            assert not compare_ledgers(expected, actual)
    for genome in genomes:
        for expected, actual in zip(host.signals(genome), device.signals(genome), strict=True):
            assert_same_bits(expected, actual, "signals")


@needs_gpu
@pytest.mark.parametrize("name", sorted(ALL))
def test_a_gpu_equals_the_cpu(name, monkeypatch, caplog):
    """512 random individuals in several windows: forms get kernels of their own, calls a graph."""
    monkeypatch.setattr("engine.conditions.cuda.specialization.PAYS_AFTER", 0)
    strategy, sample = ALL[name], load_bars("sample")
    series = [sample, make_bars(5, 3000, gaps=0.02, flat=0.05)]
    windows = [Window.whole(sample), Window(0, 4321, 20_000), Window.whole(series[1], 1)]
    genomes = population(strategy, 512, seed=7)
    host, device = engines(strategy, series, windows)
    expected = host.evaluate(genomes)
    for _ in range(4):
        assert_same_bits(expected, device.evaluate(genomes), name)
    assert_same_lists(host, device, genomes[:8])
    assert "gives other bits" not in caplog.text


@needs_gpu
def test_a_gpu_equals_the_cpu_whatever_is_said():
    """Drawn strategies, some with stops that move, some whose entries are late."""
    series = [make_bars(11, 3000, gaps=0.01), make_bars(12, 65, tick=0.5)]
    windows = [Window.whole(series[0]), Window(0, 50, 1900), Window.whole(series[1], 1)]
    moving = 0
    for seed in range(100):
        strategy = drawn_strategy(seed)
        moving += strategy.trail is not None or strategy.break_even is not None
        charges = Costs(min_risk=0.001, risk_fraction=0.9, entry_delay=seed % 3)
        genomes = population(strategy, 40, seed)
        host, device = engines(strategy, series, windows, charges)
        assert_same_bits(host.evaluate(genomes), device.evaluate(genomes), f"strategy {seed}")
        assert_same_lists(host, device, genomes[:2])
    assert 20 < moving < 80


@needs_gpu
def test_order_and_chunks_change_no_bit_on_a_gpu():
    """Another order, few individuals at a time, and what was evaluated before."""
    strategy, bars = EXAMPLE["rsi_pullback"], make_bars(6, 5000)
    genomes = population(strategy, 300, seed=3)
    windows = [Window.whole(bars)]
    expected = Engine(strategy, [bars], windows, device="cpu").evaluate(genomes)
    for options in ({}, {"chunk": 7}, {"memory_bytes": 2**24}):
        engine = Engine(strategy, [bars], windows, device="cuda", **options)
        assert_same_bits(expected, engine.evaluate(genomes), f"{options}")
        turned = engine.evaluate(genomes[::-1].copy())[::-1]
        assert_same_bits(expected, np.ascontiguousarray(turned), f"{options}, turned")
