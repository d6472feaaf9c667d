"""Orders, ladders and money on the kernels of a GPU, against the CPU."""

import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from data import Window
from engine.batch import Engine
from engine.replay.parity import compare_ledgers
from tests.parity.test_language import population
from tests.support.comparisons import needs_gpu
from tests.support.finer import make_coarse, open_apart
from tests.support.parity import assert_same_bits
from tests.support.random_strategies import (
    drawn_accounts,
    drawn_exits,
    drawn_orders,
    drawn_strategy,
)
from tests.support.worlds import draw_order_costs, make_bars

DRAWN_ON_GPU = (0, 4, 5, 16, 20, 22, 26, 31, 32, 33)
"""Seeds of strategies that a device compiles a kernel for: some ten seconds each."""


LOST_ON_GPU = (4, 22, 23, 34)
"""Of strategies whose accounts are lost in most trades of some individuals."""


@needs_gpu
@pytest.mark.parametrize(
    ("draw", "seed", "is_finer"),
    [(drawn_orders, seed, False) for seed in DRAWN_ON_GPU]
    + [(drawn_exits, seed, False) for seed in (1, 2, 7)]
    + [(drawn_orders, seed, True) for seed in (0, 5, 20)]
    + [(drawn_exits, 7, True), (drawn_strategy, 0, True)]
    + [(drawn_accounts, seed, False) for seed in LOST_ON_GPU]
    + [(drawn_accounts, LOST_ON_GPU[0], True)],
)
def test_a_gpu_equals_the_cpu_whatever_is_said(draw, seed, is_finer):
    """Drawn strategies, 200 individuals in several windows: sums, ledgers, accounts and signals.

    Bars of the first series are made up of finer ones, or not.
    """
    strategy = draw(seed)
    series = [make_bars(seed, 3000, gaps=0.01), make_bars(seed + 1, 65, tick=0.5)]
    if is_finer:
        series[0] = make_coarse(open_apart(make_bars(seed, 9000, gaps=0.01), seed), seed)
    windows = [Window.whole(series[0]), Window(0, 50, 1900), Window.whole(series[1], 1)]
    charges = draw_order_costs(seed, strategy)
    genomes = population(strategy, 200, seed)
    host, device = (
        Engine(strategy, series, windows, charges, device=name) for name in ("cpu", "cuda")
    )
    assert_same_bits(host.evaluate(genomes), device.evaluate(genomes), f"strategy {seed}")
    few = genomes[:3]
    for left, right in zip(host.ledgers(few), device.ledgers(few), strict=True):
        for expected, actual in zip(left, right, strict=True):
            assert not compare_ledgers(expected, actual)
    for sums, other in zip(host.evaluate_account(few), device.evaluate_account(few), strict=True):
        assert_same_bits(sums, other, f"account of strategy {seed}")
    for genome in few:
        for bars, actual in zip(host.signals(genome), device.signals(genome), strict=True):
            assert_same_bits(bars, actual, "signals")
