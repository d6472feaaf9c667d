"""Whole backtests: every backend against the reference, and against itself in other shapes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import load_bars
from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.reference import Reference
from engine.replay.parity import compare_ledgers
from strategy import STRATEGIES
from tests.support.parity import assert_same_bits, assert_same_trades
from tests.support.references import compiled_reference
from tests.support.slot_rows import list_rows
from tests.support.worlds import (
    SHORT_SPECS,
    costs,
    draw_window,
    loosen_genomes,
    make_bars,
    markets,
    populations,
    random_genomes,
)

SPEC = SHORT_SPECS["seller_exhaustion"]


@pytest.mark.parametrize("name", sorted(SHORT_SPECS))
@given(data=st.data())
def test_worlds_give_the_same_trades(name, data):
    """Ledgers and accumulators equal the reference's for any market, windows and costs."""
    spec = SHORT_SPECS[name]
    series = [data.draw(markets()) for _ in range(data.draw(st.integers(1, 3)))]
    windows = [data.draw(draw_window(bars, s)) for s, bars in enumerate(series) for _ in range(2)]
    charged = data.draw(costs())
    engine = Engine(spec, series, windows, charged, threads=data.draw(st.sampled_from([1, None])))
    genomes = data.draw(populations(spec))
    assert_same_trades(Reference(spec, series, windows, charged), engine, genomes)


@pytest.mark.parametrize("name", sorted(SHORT_SPECS))
def test_ruined_accounts_are_the_same(name, device):
    """Where all of equity is at risk, some accounts end and some do not, in the same bits."""
    spec = SHORT_SPECS[name]
    series = [make_bars(seed, 1200, jump=0.3) for seed in range(3)]
    windows = [Window(s, start, 1200) for s in range(3) for start in (0, 1100)]
    charged = Costs(fee_bp=5.0, slippage_bp=0.0, risk_fraction=1.0)
    engine = Engine(spec, series, windows, charged, device=device)
    genomes = random_genomes(spec, 12, seed=2)
    genomes[:6] = loosen_genomes(spec, genomes[:6])
    assert_same_trades(Reference(spec, series, windows, charged), engine, genomes)
    values = engine.evaluate(genomes)
    equity, trades = (values[:, :, ACCUMULATOR_INDEX[of]] for of in ("equity", "trades"))
    assert (equity == 0.0).sum() > 10
    assert ((equity > 0.0) & (trades > 0.0)).sum() > 10


@pytest.mark.parametrize("name", sorted(SHORT_SPECS))
def test_sample_gives_the_same_trades(name, device):
    """On the embedded sample, published bounds, 30 individuals trade as in the reference."""
    bars, spec = load_bars("sample"), STRATEGIES[name]
    windows = [Window.whole(bars), Window(0, len(bars) // 2, len(bars) - 100)]
    engine = Engine(spec, [bars], windows, device=device)
    genomes = random_genomes(spec, 30, seed=3)
    assert_same_trades(compiled_reference(spec, [bars], windows), engine, genomes)
    trades = engine.evaluate(genomes)[:, :, ACCUMULATOR_INDEX["trades"]]
    assert trades.sum() > 1000, "a comparison of engines that hardly trade says little"


@pytest.mark.parametrize("size", [1, 7, 512, 65_537], ids="P{}".format)
def test_population_size_changes_no_bit(size, device):
    """An individual's accumulators do not depend on how many others are evaluated with it."""
    bars = make_bars(11, 1500, jump=0.1)
    windows = [Window.whole(bars), Window(0, 300, 1100)]
    engine = Engine(SPEC, [bars], windows, device=device)
    genomes = random_genomes(SPEC, size, seed=size)
    together = engine.evaluate(genomes)
    assert np.isfinite(together).all()
    for i in sorted({0, size // 3, size - 1}):
        alone = Engine(SPEC, [bars], windows, device=device).evaluate(genomes[i : i + 1])
        assert_same_bits(alone[0], together[i], f"individual {i} of {size}")


@pytest.mark.parametrize(("chunk", "threads"), [(1, None), (7, 1), (64, None), (None, 1)])
def test_chunk_threads_and_order_change_no_bit(chunk, threads, device):
    """Chunked at any size, on any number of threads, in any order: the same bits."""
    bars = make_bars(12, 1200, gaps=0.05, jump=0.1)
    genomes = random_genomes(SPEC, 90, seed=8)
    expected = Engine(SPEC, [bars], [Window.whole(bars)]).evaluate(genomes)
    order = np.random.Generator(np.random.PCG64(1)).permutation(len(genomes))
    engine = Engine(SPEC, [bars], [Window.whole(bars)], device=device, chunk=chunk, threads=threads)
    # Rows may be there from the second call on, and are from the third.
    for call in range(3):
        actual = engine.evaluate(genomes[order])
        assert_same_bits(expected[order], actual, f"shuffled and chunked, call {call}")


def make_small_engine(rows, bars, device):
    """An engine on all bars, with memory for so many rows or a few more."""
    plan = Engine(SPEC, [bars], [Window.whole(bars)], device=device).memory_plan(1)
    series_bytes = 0 if device == "cpu" else plan.series_bytes
    memory_bytes = -(-rows * plan.slot_bytes * 4 // 3) + series_bytes
    return Engine(SPEC, [bars], [Window.whole(bars)], device=device, memory_bytes=memory_bytes)


@pytest.mark.parametrize("share", [5, None], ids=["a_fifth", "one_individual"])
def test_more_rows_than_memory_holds_change_no_bit(device, share):
    """Bars or individuals are taken in parts, rows come and go, and results stay."""
    bars = make_bars(15, 2500, jump=0.1)
    genomes = random_genomes(SPEC, 60, seed=3)
    roomy = Engine(SPEC, [bars], [Window.whole(bars), Window(0, 700, 2100)], device=device)
    n_rows = len(list_rows(SPEC, genomes)) // share if share else 8
    crowded = make_small_engine(n_rows, bars, device)
    for _ in range(2):
        actual = crowded.evaluate(genomes)
        assert_same_bits(roomy.evaluate(genomes)[:, :1], actual, "more rows than fit")
        for genome in genomes[:4]:
            (left,), (right, _) = crowded.trades(genome), roomy.trades(genome)
            assert not compare_ledgers(left, right)
    assert crowded.rows_computed > 8


def test_bars_after_the_window_are_never_read(device):
    """Trades inside a window do not change when everything at and after its end does."""
    bars, other = make_bars(21, 900, jump=0.1), make_bars(22, 900, jump=0.3)
    end = 600
    spliced = type(bars)(
        **{
            name: np.concatenate((getattr(bars, name)[:end], getattr(other, name)[end:] * 3))
            for name in ("open", "high", "low", "close", "volume")
        },
        timestamp=bars.timestamp,
        symbol="SPLICED",
        timeframe_ns=bars.timeframe_ns,
    )
    genomes = random_genomes(SPEC, 40, seed=6)
    expected = Engine(SPEC, [bars], [Window(0, 0, end)], device=device).evaluate(genomes)
    actual = Engine(SPEC, [spliced], [Window(0, 0, end)], device=device).evaluate(genomes)
    assert_same_bits(expected, actual, "future changed")
    assert expected[:, 0, ACCUMULATOR_INDEX["trades"]].sum() > 100
