"""Laws of backtests, over worlds: causality, scale, costs, one position at a time."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX, COUNTED_REASONS, REASONS
from engine.batch import Engine
from engine.reference import Reference
from tests.support.backends import BACKEND_PARAMETERS
from tests.support.references import FORMS
from tests.support.worlds import SHORT_SPECS, costs, markets, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module", params=["compiled_reference", *BACKEND_PARAMETERS])
def backtest_genome(request):
    """A function that backtests one genome on one series, on every engine."""

    def run(bars, genome, *, charged=None, end=None):
        windows = [Window(0, 0, end or len(bars))]
        if request.param in FORMS:
            form = FORMS[request.param]
            return Reference(SPEC, [bars], windows, charged, form=form).trades(genome)[0]
        return Engine(SPEC, [bars], windows, charged, device=request.param).trades(genome)[0]

    return run


@given(bars=markets(), seed=SEEDS, data=st.data())
def test_no_trade_depends_on_later_bars(backtest_genome, bars, seed, data):
    """Cut after bar t: every trade that had closed before t is there, in every bit."""
    genome = random_genomes(SPEC, 1, seed)[0]
    cut = data.draw(st.integers(1, len(bars)))
    whole, part = backtest_genome(bars, genome), backtest_genome(bars.until(cut), genome)
    closed = int((whole.exit_bar < cut - 1).sum())
    for name, column in whole.columns().items():
        np.testing.assert_array_equal(column[:closed], part.columns()[name][:closed], name)
    # The part may hold one trade more: the one that its own end closed.
    assert len(part) <= closed + 1


@given(bars=markets(), seed=SEEDS, power=st.sampled_from([-3, 1, 10]))
def test_units_of_prices_and_volume_change_no_trade(backtest_genome, bars, seed, power):
    """Prices times 2 ** n and volume times 4 ** n: the same R, prices scaled exactly."""
    genome, factor = random_genomes(SPEC, 1, seed)[0], 2.0**power
    prices = {name: getattr(bars, name) * factor for name in ("open", "high", "low", "close")}
    scaled = dataclasses.replace(bars, **prices, volume=bars.volume * factor * factor)
    before, after = backtest_genome(bars, genome), backtest_genome(scaled, genome)
    for name, column in before.columns().items():
        in_price = name in ("entry", "stop", "target", "exit", "last_stop")
        expected = column * factor if in_price else column
        np.testing.assert_array_equal(expected, after.columns()[name], name)


@given(bars=markets(), seed=SEEDS)
def test_trades_never_overlap_and_keep_the_law(backtest_genome, bars, seed):
    """One position at a time, entered on the next bar, held no longer than allowed."""
    genome = random_genomes(SPEC, 1, seed)[0]
    genes = SPEC.layout.decode(genome)
    ledger = backtest_genome(bars, genome)
    np.testing.assert_array_equal(ledger.entry_bar, ledger.signal_bar + 1)
    assert (ledger.exit_bar >= ledger.entry_bar).all()
    assert (ledger.exit_bar - ledger.entry_bar + 1 <= genes["max_hold"]).all()
    assert (ledger.signal_bar[1:] >= ledger.exit_bar[:-1]).all()
    assert (ledger.signal_bar >= SPEC.warm_up(genes)).all()
    assert (ledger.stop < ledger.entry).all()
    assert (ledger.target > ledger.entry).all()
    np.testing.assert_array_equal(ledger.entry, bars.open[ledger.entry_bar])
    is_stop = ledger.reason == REASONS.index("stop")
    np.testing.assert_array_equal(ledger.exit[is_stop], ledger.stop[is_stop])
    assert (ledger.exit <= bars.high[ledger.exit_bar]).all()
    assert (ledger.exit >= bars.low[ledger.exit_bar]).all()


@given(bars=markets(), seed=SEEDS, charged=costs())
def test_accumulators_are_the_ledger_folded(bars, seed, charged):
    """Counts, reasons and sums of the batch are those of the listed trades."""
    genomes = random_genomes(SPEC, 3, seed)
    engine = Engine(SPEC, [bars], [Window.whole(bars)], charged)
    for genome, (sums,) in zip(genomes, engine.evaluate(genomes), strict=True):
        (ledger,) = engine.trades(genome)
        value = {name: sums[i] for name, i in ACCUMULATOR_INDEX.items()}
        assert value["trades"] == len(ledger)
        assert value["wins"] == (ledger.r > 0).sum()
        assert value["rejected"] == ledger.rejected
        lasted = ledger.exit_bar - ledger.entry_bar + (ledger.reason != REASONS.index("stop_gap"))
        np.testing.assert_array_equal(ledger.held, lasted)
        assert value["bars_in_market"] == lasted.sum() <= len(bars)
        counts = [value[f"exits_{reason}"] for reason in COUNTED_REASONS]
        assert counts == np.bincount(ledger.reason, minlength=len(COUNTED_REASONS)).tolist()
        # Sums in another order, so only nearly equal.
        np.testing.assert_allclose(value["gain_r"] - value["loss_r"], ledger.r.sum(), atol=1e-6)
