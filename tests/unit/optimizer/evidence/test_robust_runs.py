"""C1 to C5 of a pick, each made to pass and to fail, and what they follow from by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.batch import Engine
from optimizer.evidence.pick import select_pick
from optimizer.evidence.robust import list_neighbours
from optimizer.evidence.robust_runs import build_robust_record
from optimizer.run.search import search
from strategy import words as w
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task
from tests.support.markets import PAPER_SPEC

BARS = make_planted_market(7, 1500, 8)
HOUR_NS = 3600 * 10**9

QUIET = (100.0, 101.0, 99.0, 100.0, 1.0)
SIGNAL = (100.0, 101.0, 99.0, 100.0, 100.0)
RISE = (100.0, 110.0, 99.0, 100.0, 1.0)
BOTH = (100.0, 110.0, 90.0, 100.0, 1.0)
FALL = (100.0, 101.0, 90.0, 95.0, 1.0)


def market(*trades, quiet=8, symbol="PAPER"):
    """Quiet bars with signals in them, each followed by some bars of its own."""
    rows = [QUIET] * 4
    for bars in trades:
        rows += [SIGNAL, *bars, *[QUIET] * quiet]
    columns = dict(zip(("open", "high", "low", "close", "volume"), np.array(rows).T, strict=True))
    times = np.arange(len(rows), dtype=np.int64) * HOUR_NS
    return Bars(timestamp=times, **columns, symbol=symbol, timeframe_ns=HOUR_NS)


def paper(*series, costs=None, **genes):
    """The record of one member of the paper strategy, and its task."""
    spec = PAPER_SPEC
    task = make_task(*series, spec=spec, costs=costs or Costs(1.0, 1.0), min_trades=1)
    genome = spec.layout.encode(genes)
    engine = task.engine()
    pick = select_pick(engine, genome[None])
    return build_robust_record(task, engine, pick), task, pick


@pytest.fixture(scope="module")
def found():
    """A pick on a planted market, its task, engine and record."""
    task = make_task(BARS)
    engine = task.engine()
    pick = select_pick(engine, search(task, engine).front.genomes)
    return task, engine, pick, build_robust_record(task, engine, pick)


def compute_strength(ledgers):
    """By hand."""
    r = [gain for ledger in ledgers for gain in ledger.r.tolist()]
    return sum(r) / math.sqrt(sum(gain * gain for gain in r))


def test_the_plateau_is_the_share_of_neighbours_that_keep_half(found):
    """Each evaluated alone; who is infeasible keeps nothing."""
    task, engine, pick, record = found
    near = list_neighbours(task.spec.layout, pick.genome, pick.member, task.config.seed)
    kept = 0
    for genome in near:
        ledgers = engine.trades(genome)
        trades = sum(map(len, ledgers))
        kept += (
            trades >= task.config.min_trades
            and compute_strength(ledgers) >= pick.strength.value / 2
        )
    assert record.neighbours == len(near)
    assert record.plateau == kept / len(near)
    assert record.checks["plateau"] == (record.plateau >= 0.5)


def test_costs_are_a_line_and_break_even_lies_on_it(found):
    """At what was charged it is the pick itself; at break-even its sum is 0."""
    task, _, pick, record = found
    assert [point.times for point in record.costs] == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]
    assert record.costs[2].strength == pick.strength.value
    even = Costs(fee_bp=record.break_even_bp, slippage_bp=0.0)
    (ledger,) = replace(task, costs=even).engine().trades(pick.genome)
    assert sum(ledger.r.tolist()) == pytest.approx(0.0, abs=1e-9)
    for point in record.costs[::2]:
        costs = Costs(fee_bp=10 * point.times, slippage_bp=0.0)
        (ledger,) = replace(task, costs=costs).engine().trades(pick.genome)
        assert point.sum_r == pytest.approx(sum(ledger.r.tolist()), rel=1e-9, abs=1e-9)
    assert record.charged_bp == 10.0


def test_delay_is_another_backtest(found):
    """Every entry a bar later than the strategy's own."""
    task, _, pick, record = found
    late = replace(task, costs=replace(task.costs, entry_delay=1)).engine()
    assert record.delay == pytest.approx(compute_strength(late.trades(pick.genome)), rel=1e-9)


def test_trades_that_are_settled_within_a_bar_fail():
    """More than 5 % of them touched both; with the target first they had won."""
    record, _, pick = paper(market(*[[RISE]] * 7, [BOTH]))
    assert (record.undecided, record.checks["within_bar"]) == (1 / 8, False)
    assert record.target_first > pick.strength.value
    record, _, pick = paper(market(*[[RISE]] * 7, [QUIET, RISE]))
    assert (record.undecided, record.checks["within_bar"]) == (0.0, True)
    assert record.target_first == pytest.approx(pick.strength.value)


def test_stops_that_may_be_older_than_a_fill_fail_the_same_check():
    """Bought at 102 in a bar with a low of 90 that closes at 105, then on to the target at 126."""
    spec = w.strategy(
        "Breakout.", long=w.volume > 50, entry=w.stop_at(w.close * 0 + 102, 3),
        stop=w.level(w.close * 0 + 90), target=w.r_multiple(2),
    )  # fmt: skip
    inside, on = (100.0, 106.0, 89.0, 105.0, 1.0), (105.0, 130.0, 104.0, 128.0, 1.0)
    task = make_task(market(*[[inside, on]] * 8), spec=spec, costs=Costs(0.0, 0.0), min_trades=1)
    engine = task.engine()
    pick = select_pick(engine, spec.layout.defaults[None])
    record = build_robust_record(task, engine, pick)
    assert (record.undecided, record.at_fill, record.at_target) == (1.0, 8, 0)
    assert (record.undecided_r, record.better_r) == (-8.0, 16.0)
    assert not record.checks["within_bar"]


def test_one_symbol_that_made_it_all_fails():
    """Each symbol is left out in turn, all of its windows together."""
    good, bad = market(*[[RISE]] * 9, symbol="GOOD"), market(*[[FALL]] * 4, symbol="BAD")
    record, task, pick = paper(good, bad)
    sums = [
        Engine(task.spec, [bars], [Window.whole(bars)], task.costs, device="cpu").trades(
            pick.genome
        )
        for bars in (good, bad)
    ]
    means = [sum(ledger.r.tolist()) / len(ledger) for (ledger,) in sums]
    assert record.left_out["GOOD"] == pytest.approx(means[1])
    assert record.left_out["BAD"] == pytest.approx(means[0])
    assert not record.checks["left_out"]


def test_a_pick_without_trades_passes_nothing():
    """What is undefined passes no check, with the reason."""
    record, _, pick = paper(market([RISE]), volume_min=500.0)
    assert (pick.trades, set(record.checks.values())) == (0, {False})
    assert record.break_even_bp is None
    assert record.why["break_even_bp"] == "no trades"
    assert record.drawdowns == (None, None, None)
    assert record == type(record).read(record.payload())


def test_the_same_on_several_windows_of_one_series():
    """Quarters are found by time; no symbol is left out where there is one."""
    task = make_task(BARS, windows=[Window(0, 100, 700), Window(0, 800, 1500)])
    engine = task.engine()
    pick = select_pick(engine, search(task, engine).front.genomes)
    record = build_robust_record(task, engine, pick)
    quarters = []
    for start, end in ((800, 975), (975, 1150), (1150, 1325), (1325, 1500)):
        windows = [Window(0, start, end)]
        if start == 800:
            windows = [Window(0, 100, 700), *windows]
        quarters.append(engine.on(windows).evaluate(pick.genome[None])[0][:, [0, 2]].sum(0))
    for n, mean in enumerate(record.left_out.values()):
        trades, total = np.sum(quarters, axis=0) - quarters[n]
        assert mean == pytest.approx(total / trades)
