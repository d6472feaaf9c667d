"""Accounts with limits on the kernels of a GPU, against the CPU."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.cuda.answering import check_apart
from engine.errors import EngineError
from engine.replay.parity import compare_ledgers
from tests.parity.test_language import both
from tests.support.comparisons import needs_gpu
from tests.support.limited import draw_plain_account
from tests.support.parity import assert_same_accounts
from tests.support.worlds import make_bars, random_genomes
from tests.unit.engine.accounts.test_limits import CHECK_VALUES, G1, SPEC
from tests.unit.engine.accounts.test_one_account import worlds


def test_windows_that_overlap_are_no_strand():
    """Those of one series follow one another; those of others may lie anywhere."""
    check_apart(np.array([(0, 50, 90), (1, 20, 80), (0, 0, 50)]))
    with pytest.raises(EngineError, match="overlap"):
        check_apart(np.array([(0, 49, 90), (1, 20, 80), (0, 0, 50)]))


def assert_same_engines(strategy, series, windows, costs, genomes, **options):
    """Both accounts and all ledgers; gives the sums of all accumulators."""
    host = Engine(strategy, series, windows, costs, device="cpu")
    device = Engine(strategy, series, windows, costs, device="cuda", **options)
    assert_same_accounts(host, device, genomes)
    for left, right in zip(host.ledgers(genomes[:4]), device.ledgers(genomes[:4]), strict=True):
        for expected, actual in zip(left, right, strict=True):
            assert compare_ledgers(expected, actual) == ""
    return host.evaluate(genomes).sum(axis=(0, 1))


@needs_gpu
def test_a_gpu_keeps_limits_of_drawn_accounts():
    """Whatever strategies without ladders and money say; the reference too."""
    sums = np.zeros(len(ACCUMULATOR_INDEX))
    for seed in range(80):
        strategy, genomes, *world = draw_plain_account(seed, 40, is_finer=seed % 4 == 3)
        sums += assert_same_engines(strategy, *world, genomes)
        if seed < 10:
            series, windows, costs = world
            assert both(strategy, series, windows, genomes[:2], costs, device="cuda") == ""
    for name in ("trades", "skipped", "rejected", "shorts", "exits_signal", "exits_session"):
        assert sums[ACCUMULATOR_INDEX[name]] > 1000, name
    assert sums[ACCUMULATOR_INDEX["coarse"]] > 0


@needs_gpu
@pytest.mark.parametrize("name", CHECK_VALUES)
def test_a_gpu_has_the_check_values_of_limits(name, real_folder):
    """Three symbols, and 300 individuals around those of the check values."""
    costs, genome, _ = CHECK_VALUES[name]
    series, windows = worlds("three", real_folder)
    genomes = np.concatenate([genome[None], G1[None], random_genomes(SPEC, 298, seed=3)])
    assert_same_engines(SPEC, series, windows, costs, genomes)


@needs_gpu
def test_memory_and_order_change_no_bit_of_limits_on_a_gpu():
    """Few individuals at a time, lists that are too short at first, and 40 symbols."""
    series = [make_bars(seed, 3000 + 10 * seed) for seed in range(40)]
    windows = [Window(number, *some) for number in range(40) for some in ((0, 1300), (1300, 3000))]
    spec = SPEC.for_timeframe(900 * 16)
    costs = replace(CHECK_VALUES["leverage"][0], max_positions=7, rank="zscore(volume, 24)")
    genomes = random_genomes(spec, 200, seed=5)
    for options in ({}, {"chunk": 7}, {"memory_bytes": 2**28}):
        sums = assert_same_engines(spec, series, windows, costs, genomes, **options)
    assert sums[ACCUMULATOR_INDEX["skipped"]] > 0
