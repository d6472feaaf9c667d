"""Laws of backtests, genomes and conditions, and of what is said of trades around the engine."""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.bars import Window
from engine.accounts.account import Account
from engine.accounts.ledger import ACCUMULATOR_INDEX, COUNTED_REASONS, REASONS
from engine.accounts.strategy_stakes import build_stake
from engine.batch import Engine
from engine.reference import list_terms
from optimizer.evidence.pick import compute_strengths
from optimizer.evidence.robust import break_even_bp, evaluate_costs
from strategy import STRATEGIES
from strategy.conditions import AllOf, AnyOf, Compare, Held, Within, negate_condition
from strategy.expressions import Call, Column, Number
from strategy.indicators.windows import zscore
from strategy.rows import Rows, as_it_reads, truth
from strategy.series import Series
from tests.support.random_strategies import drawn_exits, drawn_orders
from tests.support.references import BACKEND_PARAMETERS, compiled_reference, create_engine
from tests.support.worlds import (
    SHORT_SPECS,
    costs,
    draw_order_costs,
    make_bars,
    markets,
    random_genomes,
)

SPEC = SHORT_SPECS["seller_exhaustion"]
SEEDS = st.integers(0, 2**32)


@pytest.fixture(scope="module", params=["compiled_reference", *BACKEND_PARAMETERS])
def backtest_genome(request):
    """A function that backtests one genome on one series, on every engine."""

    def run(bars, genome):
        engine = create_engine(request.param, SPEC, [bars], [Window.whole(bars)])
        return engine.trades(genome)[0]

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


LAYOUTS = {name: spec.layout for name, spec in STRATEGIES.items()}


NAMES = st.sampled_from(sorted(LAYOUTS))


@settings(max_examples=100)
@given(name=NAMES, seed=st.integers(0, 2**32), spread=st.sampled_from([0.2, 2, 50]))
def test_repair_makes_every_genome_legal(name, seed, spread):
    """Far outside of bounds, with fractions: what comes out is whole, in bounds and in order.

    Done twice is done once.
    """
    layout, rng = LAYOUTS[name], np.random.Generator(np.random.PCG64(seed))
    drawn = rng.normal(0.5, spread, (8, len(layout)))
    genomes = layout.low + (layout.high - layout.low) * drawn
    legal, _ = layout.repair(genomes)
    assert layout.is_legal(legal).all()
    assert ((legal >= layout.low) & (legal <= layout.high)).all()
    again, broken = layout.repair(legal)
    assert (again.tobytes(), broken) == (legal.tobytes(), 0)
    clipped = layout.clip(genomes)
    np.testing.assert_array_equal(clipped, layout.clip(clipped))


ROWS = (
    Column("close"),
    Column("open"),
    Column("close_location"),
    Call("sma", Column("close"), (Number(3),)),
    Call("rsi", Column("close"), (Number(2),)),
    Call("zscore", Column("volume"), (Number(4),)),
)
SIDES = st.sampled_from((*ROWS, Number(0.5), Number(70.0)))


@st.composite
def compares(draw):
    """A comparison, now or at an earlier bar."""
    relation = draw(st.sampled_from((">", "<", ">=", "<=")))
    ago = draw(st.integers(0, 2))
    return Compare(draw(st.sampled_from(ROWS)), relation, draw(SIDES), ago)


def join_conditions(inner):
    """Conditions of conditions."""
    parts = st.lists(inner, min_size=1, max_size=3).map(tuple)
    bars = st.integers(1, 5).map(Number)
    return st.one_of(
        st.builds(AllOf, parts),
        st.builds(AnyOf, parts),
        st.builds(Held, inner, bars),
        st.builds(Within, inner, bars),
        inner.map(negate_condition),
    )


CONDITIONS = st.recursive(compares(), join_conditions, max_leaves=8)


def three_valued(condition, rows):
    """1 where it is true, 0 where it is false, a half where it is neither, [T]."""
    length = len(rows.series)
    if isinstance(condition, Compare):
        sides = [np.broadcast_to(rows.of(s), length) for s in (condition.left, condition.right)]
        compared = {
            ">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal,
        }[condition.relation](*sides)  # fmt: skip
        known = ~(np.isnan(sides[0]) | np.isnan(sides[1]))
        return earlier(np.where(known, compared, 0.5), condition.bars_ago)
    if isinstance(condition, AllOf | AnyOf):
        parts = [three_valued(part, rows) for part in condition.conditions]
        return (np.minimum if isinstance(condition, AllOf) else np.maximum).reduce(parts)
    inner = three_valued(condition.condition, rows)
    window = [earlier(inner, ago) for ago in range(int(condition.bars.value))]
    return (np.minimum if isinstance(condition, Held) else np.maximum).reduce(window)


def earlier(values, ago):
    """Values so many bars ago; before bar 0 nothing is known."""
    return np.concatenate((np.full(ago, 0.5), values))[: len(values)]


@given(bars=markets(60), condition=CONDITIONS)
def test_two_values_are_enough(bars, condition):
    """A condition is true where the third value is true, its opposite where it is false."""
    rows = Rows(Series.of(bars))
    expected = three_valued(condition, rows)
    np.testing.assert_array_equal(truth(condition, rows, {}), expected == 1.0)
    np.testing.assert_array_equal(truth(negate_condition(condition), rows, {}), expected == 0.0)


@given(bars=markets(60), condition=CONDITIONS, cut=st.integers(1, 60))
def test_no_condition_depends_on_later_bars(bars, condition, cut):
    """Cut after any bar."""
    whole = truth(condition, Rows(Series.of(bars)), {})
    part = truth(condition, Rows(Series.of(bars.until(cut))), {})
    np.testing.assert_array_equal(part, whole[:cut])


def draw_account(seed, strategy=None, length=220):
    """An individual on two symbols in three windows: its reference, ledgers and account."""
    strategy = strategy or (drawn_exits if seed % 3 else drawn_orders)(seed)
    bars = [make_bars(number, length, gaps=0.02, jump=0.04) for number in (seed, seed + 1)]
    forecast = {"forecast": as_it_reads(zscore)(bars[0].close, 20)}
    bars = [
        replace(each, symbol=name, extra=forecast) for name, each in zip("AB", bars, strict=True)
    ]
    cut = length // 2
    windows = Window(0, 0, cut), Window(0, cut, length), Window(1, 30, length)
    costs = draw_order_costs(seed, strategy)
    costs = costs if costs.per_side else replace(costs, fee_bp=4.0, slippage_bp=3.0)
    return trade(strategy, bars, windows, costs)


def trade(strategy, bars, windows, costs):
    """An individual of default genes: its reference, genome, ledgers and account."""
    reference, genome = compiled_reference(strategy, bars, windows, costs), strategy.layout.defaults
    names = tuple(bars[window.series].symbol for window in windows)
    terms, stakes = list_terms(reference, genome, windows), ()
    if strategy.account is not None:
        stakes = (build_stake(strategy, costs, strategy.layout.decode(genome)),) * len(windows)
    account = Account(tuple(bars), tuple(windows), names, costs, terms=terms, stakes=stakes)
    return reference, genome, reference.trades(genome), account


def check_costs(reference, genome, ledgers, account):
    """Strength at what was charged in every bit, and nothing left at the break-even."""
    folded = reference.account(ledgers, range(len(ledgers)), genome)
    front = compute_strengths(folded[None])[0]
    charged = evaluate_costs(account, ledgers)[2]
    assert charged.times == 1.0
    assert np.array([charged.strength or np.nan]).tobytes() == np.array([front or np.nan]).tobytes()
    assert charged.sum_r == folded[ACCUMULATOR_INDEX["sum_r"]]
    even, count = break_even_bp(account, ledgers), sum(map(len, ledgers))
    if count and even.value >= 0:
        at_even = replace(account.costs, fee_bp=even.value, slippage_bp=0.0)
        again = compiled_reference(reference.spec, reference.series, reference.windows, at_even)
        left = sum(ledger.r.sum() for ledger in again.trades(genome))
        assert abs(left) / count < 1e-9
    return count


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_costs_are_repriced_as_the_engine_has_them(seed):
    """Ladders, payments, fees a unit, slippage and accounts, two symbols, several windows."""
    check_costs(*draw_account(seed))
