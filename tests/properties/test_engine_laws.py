"""Laws of backtests, over worlds: causality, scale, costs, one position at a time."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, COUNTED_REASONS, REASONS
from engine.batch import Engine
from engine.reference import Reference
from tests.support.backends import ENGINE_PARAMETERS
from tests.support.references import FORMS
from tests.support.worlds import SHORT_SPECS, costs, markets, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module", params=ENGINE_PARAMETERS)
def backtest_genome(request):
    """A function that backtests one genome on one series, on every engine."""

    def run(bars, genome, *, charged=None, end=None):
        windows = [Window(0, 0, end or len(bars))]
        if request.param in FORMS:
            form = FORMS[request.param]
            return Reference(SPEC, [bars], windows, charged, form=form).trades(genome)[0]
        return Engine(SPEC, [bars], windows, charged, device=request.param).trades(genome)[0]

    return run


def with_columns(bars, **columns):
    """The same bars with other columns."""
    names = ("timestamp", "open", "high", "low", "close", "volume")
    given_columns = {name: getattr(bars, name) for name in names} | columns
    return Bars(**given_columns, symbol=bars.symbol, timeframe_ns=bars.timeframe_ns)


def head(bars, length):
    """The first bars of a series."""
    names = ("timestamp", "open", "high", "low", "close", "volume")
    return with_columns(bars, **{name: getattr(bars, name)[:length] for name in names})


@given(bars=markets(), seed=SEEDS, data=st.data())
def test_no_trade_depends_on_later_bars(backtest_genome, bars, seed, data):
    """Cut after bar t: every trade that had closed before t is there, in every bit."""
    genome = random_genomes(SPEC, 1, seed)[0]
    cut = data.draw(st.integers(1, len(bars)))
    whole, part = backtest_genome(bars, genome), backtest_genome(head(bars, cut), genome)
    closed = int((whole.exit_bar < cut - 1).sum())
    for name, column in whole.columns().items():
        np.testing.assert_array_equal(column[:closed], part.columns()[name][:closed], name)
    # The part may hold one trade more: the one that its own end closed.
    assert len(part) <= closed + 1


@given(bars=markets(), seed=SEEDS, power=st.sampled_from([-3, 1, 10]))
def test_scaling_prices_by_a_power_of_two_changes_no_trade(backtest_genome, bars, seed, power):
    """Prices times 2 ** n: the same trades with the same R, prices scaled exactly."""
    genome = random_genomes(SPEC, 1, seed)[0]
    factor = 2.0**power
    prices = {name: getattr(bars, name) * factor for name in ("open", "high", "low", "close")}
    before, after = (
        backtest_genome(bars, genome),
        backtest_genome(with_columns(bars, **prices), genome),
    )
    for name in ("signal_bar", "entry_bar", "exit_bar", "reason", "r"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name), name)
    for name in ("entry", "stop", "target", "exit"):
        np.testing.assert_array_equal(getattr(before, name) * factor, getattr(after, name), name)


@given(bars=markets(), seed=SEEDS, factor=st.sampled_from([0.5, 4.0, 1024.0]))
def test_scaling_volume_by_a_power_of_two_changes_nothing(backtest_genome, bars, seed, factor):
    """A z-score has no unit: the unit of volume does not matter."""
    genome = random_genomes(SPEC, 1, seed)[0]
    scaled = with_columns(bars, volume=bars.volume * factor)
    before, after = backtest_genome(bars, genome), backtest_genome(scaled, genome)
    for name, column in before.columns().items():
        np.testing.assert_array_equal(column, after.columns()[name], name)


@given(bars=markets(), seed=SEEDS, charged=costs(), more=st.sampled_from([1.0, 50.0]))
def test_higher_costs_never_raise_a_result(backtest_genome, bars, seed, charged, more):
    """The same trades at a higher fee: no R is larger."""
    genome = random_genomes(SPEC, 1, seed)[0]
    dearer = dataclasses.replace(charged, fee_bp=charged.fee_bp + more)
    before = backtest_genome(bars, genome, charged=charged)
    after = backtest_genome(bars, genome, charged=dearer)
    np.testing.assert_array_equal(before.exit_bar, after.exit_bar)
    assert (after.r <= before.r).all()


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


@given(bars=markets(max_length=150), seed=SEEDS)
def test_free_zero_cost_result_is_the_price_move(backtest_genome, bars, seed):
    """Without costs, R is the move from entry to exit over the risk, and nothing else."""
    genome = random_genomes(SPEC, 1, seed)[0]
    ledger = backtest_genome(bars, genome, charged=Costs(0.0, 0.0))
    expected = (ledger.exit - ledger.entry) / (ledger.entry - ledger.stop)
    np.testing.assert_array_equal(expected, ledger.r)
