"""Little changes to a pick are judged by what they keep, and drift by bets: the law's values."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Bars, Window
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.stake import plain_stake
from engine.accounts.strategy_stakes import build_stake
from optimizer.evidence.drift import (
    ALARM,
    DriftRecord,
    build_drift_reference,
    compute_drift_evidence,
    find_alarm,
)
from optimizer.evidence.figures import Figure, make_undefined
from optimizer.evidence.pick import select_pick
from optimizer.evidence.robust import (
    CHECKS,
    CLOUD,
    break_even_bp,
    build_robust_record,
    compute_plateau,
    evaluate_checks,
    list_neighbours,
    simulate_other_orders,
)
from optimizer.evidence.statistic import AGAINST
from optimizer.goals.near import compute_reach
from optimizer.run.runner import search
from optimizer.search.randomness import draw_words, scale_to_index, scale_to_unit
from strategy import words as w
from tests.support.evidence import compute_plain_strength, make_ledger, make_planted_market
from tests.support.judging import make_task
from tests.support.markets import PAPER_SPEC
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

PLANTED = make_planted_market(7, 1500, 8)
HOUR_NS = 3600 * 10**9

QUIET = (100.0, 101.0, 99.0, 100.0, 1.0)
SIGNAL = (100.0, 101.0, 99.0, 100.0, 100.0)
RISE = (100.0, 110.0, 99.0, 100.0, 1.0)
BOTH = (100.0, 110.0, 90.0, 100.0, 1.0)
FALL = (100.0, 101.0, 90.0, 95.0, 1.0)


def market(*trades, symbol="PAPER"):
    """Quiet bars with signals in them, each followed by some bars of its own."""
    rows = [QUIET] * 4
    for bars in trades:
        rows += [SIGNAL, *bars, *[QUIET] * 8]
    columns = dict(zip(("open", "high", "low", "close", "volume"), np.array(rows).T, strict=True))
    times = np.arange(len(rows), dtype=np.int64) * HOUR_NS
    return Bars(timestamp=times, **columns, symbol=symbol, timeframe_ns=HOUR_NS)


def judge(task, genomes=None):
    """The record of the pick of genomes, by default those of a search, and its engine."""
    engine = task.engine()
    pick = select_pick(engine, search(task, engine).front.genomes if genomes is None else genomes)
    run = SimpleNamespace(task=task, engine=engine, pick=pick, watch=lambda progress: None)
    return build_robust_record(run), pick, engine


def judge_paper(*series, spec=PAPER_SPEC, costs=None, **genes):
    """The record of one member of the paper strategy, and the pick."""
    task = make_task(*series, spec=spec, costs=costs or Costs(1.0, 1.0), min_trades=1)
    return judge(task, spec.layout.encode(genes)[None])[:2]


@pytest.fixture(scope="module")
def planted():
    """A task on a planted market, the record of its pick, the pick and an engine."""
    task = make_task(PLANTED)
    return task, *judge(task)


@pytest.mark.parametrize("name", SHORT_SPECS)
@given(seed=st.integers(0, 2**32), member=st.integers(0, 500))
def test_neighbours_equal_the_letter(name, seed, member):
    """Legal, inside the bounds, near, each once, none the member, and in the order of the law."""
    layout = SHORT_SPECS[name].layout
    genome = random_genomes(SHORT_SPECS[name], 1, seed)[0]
    reach, count = compute_reach(layout), len(layout)
    made = []
    for sign in (1, -1):
        for gene in np.flatnonzero(layout.high > layout.low):
            made.append(genome.copy())
            made[-1][gene] += sign * reach[gene]
    drawn = scale_to_unit(draw_words(seed, member, "near", CLOUD * count))
    for point in range(CLOUD):
        delta = (2 * drawn[point * count : (point + 1) * count] - 1) * reach
        made.append(genome + np.where(layout.is_int, np.floor(delta + 0.5), delta))
    expected = []
    for row in layout.repair(np.array(made))[0].tolist():
        if row not in expected and row != genome.tolist():
            expected.append(row)
    neighbours = list_neighbours(layout, genome, member, seed)
    assert expected == neighbours.tolist()
    assert layout.is_legal(neighbours).all()
    assert ((neighbours >= layout.low) & (neighbours <= layout.high)).all()


def test_the_plateau_is_the_share_of_neighbours_that_keep_half(planted):
    """Each evaluated alone; who is infeasible keeps nothing."""
    task, record, pick, engine = planted
    near = list_neighbours(task.spec.layout, pick.genome, pick.member, task.config.seed)
    kept = 0
    for genome in near:
        ledgers = engine.trades(genome)
        is_feasible = sum(map(len, ledgers)) >= task.config.min_trades
        kept += is_feasible and compute_plain_strength(ledgers) >= pick.strength.value / 2
    assert (record.neighbours, record.plateau) == (len(near), kept / len(near))
    assert record.checks["plateau"] == (record.plateau >= 0.5)
    others = np.array([1.0, 0.99, 2.0, np.nan, -5.0])
    assert compute_plateau(Figure(2.0), others).value == 0.4
    assert compute_plateau(Figure(2.0), np.empty(0)).why == "it has no neighbours"
    for own in (Figure(0.0), make_undefined("no trade moved")):
        assert compute_plateau(own, np.ones(3)).why


def find_even(*ledgers):
    """Break-even of ledgers on a hundred bars, a window each."""
    bars = make_bars(1, 100)
    windows = (Window.whole(bars),) * len(ledgers)
    return break_even_bp(Account((bars,), windows, ("",) * len(ledgers), Costs()), ledgers)


def test_break_even_of_the_law():
    """Three trades, the last with the smallest risk."""
    ledger = make_ledger(
        np.zeros(3), entry=[100, 50, 20], exit=[103, 49, 20.5], stop=[98, 49, 19.75]
    )
    assert find_even(ledger).value == pytest.approx(68.96551724137932, rel=1e-12)
    assert find_even(make_ledger([])).why == "no trades"
    short = make_ledger([0.0], entry=100.0, exit=98.0, stop=101.0)
    assert find_even(short).value == pytest.approx(10000 * 2 / 198)


def test_costs_are_a_line_and_break_even_lies_on_it(planted):
    """At what was charged it is the pick itself; at break-even its sum is 0."""
    task, record, pick, _ = planted
    assert [point.times for point in record.costs] == [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]
    assert record.costs[2].strength == pick.strength.value
    assert record.charged_bp == 10.0
    sums = {10 * point.times: point.sum_r for point in record.costs[::2]}
    for fee_bp, expected in (sums | {record.break_even_bp: 0.0}).items():
        (ledger,) = replace(task, costs=Costs(fee_bp, 0.0)).engine().trades(pick.genome)
        assert sum(ledger.r.tolist()) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_delay_is_another_backtest(planted):
    """Every entry a bar later than the strategy's own."""
    task, record, pick, _ = planted
    late = replace(task, costs=replace(task.costs, entry_delay=1)).engine()
    assert record.delay == pytest.approx(compute_plain_strength(late.trades(pick.genome)), rel=1e-9)


def test_trades_that_are_settled_within_a_bar_fail():
    """More than 5 % of them touched both; with the target first they had won."""
    record, pick = judge_paper(market(*[[RISE]] * 7, [BOTH]))
    assert (record.undecided, record.checks["within_bar"]) == (1 / 8, False)
    assert record.target_first > pick.strength.value
    record, pick = judge_paper(market(*[[RISE]] * 7, [QUIET, RISE]))
    assert (record.undecided, record.checks["within_bar"]) == (0.0, True)
    assert record.target_first == pytest.approx(pick.strength.value)


def test_stops_that_may_be_older_than_a_fill_fail_the_same_check():
    """Bought at 102 in a bar with a low of 90 that closes at 105, then on to the target at 126."""
    spec = w.strategy(
        "Breakout.", long=w.volume > 50, entry=w.stop_at(w.close * 0 + 102, 3),
        stop=w.level(w.close * 0 + 90), target=w.r_multiple(2),
    )  # fmt: skip
    inside, on = (100.0, 106.0, 89.0, 105.0, 1.0), (105.0, 130.0, 104.0, 128.0, 1.0)
    record, _ = judge_paper(market(*[[inside, on]] * 8), spec=spec, costs=Costs(0.0, 0.0))
    assert (record.undecided, record.at_fill, record.at_target) == (1.0, 8, 0)
    assert (record.undecided_r, record.better_r) == (-8.0, 16.0)
    assert not record.checks["within_bar"]


def test_one_symbol_that_made_it_all_fails():
    """Each symbol is left out in turn, all of its windows together."""
    good, bad = market(*[[RISE]] * 9, symbol="GOOD"), market(*[[FALL]] * 4, symbol="BAD")
    record, _ = judge_paper(good, bad)
    alone = {bars.symbol: judge_paper(bars)[1].mean_r.value for bars in (good, bad)}
    assert record.left_out["GOOD"] == pytest.approx(alone["BAD"])
    assert record.left_out["BAD"] == pytest.approx(alone["GOOD"])
    assert not record.checks["left_out"]


def test_quarters_of_several_windows_of_one_series():
    """They are found by time; no symbol is left out where there is one."""
    record, pick, engine = judge(
        make_task(PLANTED, windows=[Window(0, 100, 700), Window(0, 800, 1500)])
    )
    quarters = []
    for start in (800, 975, 1150, 1325):
        windows = [Window(0, 100, 700)] * (start == 800) + [Window(0, start, start + 175)]
        quarters.append(engine.on(windows).evaluate(pick.genome[None])[0][:, [0, 2]].sum(0))
    for n, mean in enumerate(record.left_out.values()):
        trades, total = np.sum(quarters, axis=0) - quarters[n]
        assert mean == pytest.approx(total / trades)


def test_a_pick_without_trades_passes_nothing():
    """What is undefined passes no check, with the reason."""
    record, pick = judge_paper(market([RISE]), volume_min=500.0)
    assert (pick.trades, set(record.checks.values())) == (0, {False})
    assert (record.break_even_bp, record.why["break_even_bp"]) == (None, "no trades")
    assert record.drawdowns == (None, None, None)
    assert record == type(record).read(record.payload())


@pytest.mark.parametrize("risk_fraction", [0.01, 0.9])
def test_falls_equal_the_letter(risk_fraction):
    """An account at a time, also where it is lost."""
    r = np.random.Generator(np.random.PCG64(1)).normal(0.1, 1, 40)
    falls = []
    for order in range(1, 1001):
        equity = peak = 1.0
        fall = 0.0
        for place in scale_to_index(draw_words(6, order, "reorder", 40), 40):
            equity *= 1 + risk_fraction * r[place]
            equity = equity if equity > 0 else 0.0
            peak = max(peak, equity)
            fall = max(fall, (peak - equity) / peak)
        falls.append(fall)
    expected = [sorted(falls)[place - 1] for place in (500, 950, 990)]
    parts = [make_ledger(r[:15]), make_ledger(r[15:])]
    actual = simulate_other_orders(parts, 6, plain_stake(risk_fraction))
    assert list(actual) == expected


def test_falls_are_those_of_the_account_that_sizes_the_trades():
    """A hundred units that each lose 1 cost 100 of 1,000 each time; shares are of what is left."""
    losing = make_ledger([-1.0, -1.0, -1.0])
    for size, expected in (
        (w.units(100), 0.3),
        (w.risk(0.1), 1 - 0.9**3),
        (w.notional(500), 0.015),
    ):
        spec = w.strategy(
            "Sized.", long=w.close > 0, stop=w.share(0.02), account=w.account(1000, size)
        )
        falls = simulate_other_orders([losing], 1, build_stake(spec, Costs(), {}))
        assert list(falls) == pytest.approx([expected] * 3, rel=1e-12)


def test_falls_that_no_number_holds_are_undefined():
    """Neither without trades."""
    assert simulate_other_orders([make_ledger([])], 1, plain_stake(0.01)) == (None,) * 3
    endless = make_ledger(np.full(2000, 30.0))
    assert simulate_other_orders([endless], 1, plain_stake(0.5)) == (None,) * 3


SURE = {
    "plateau": Figure(0.5), "break_even": Figure(20.0), "strength": Figure(4.0),
    "delayed": Figure(2.0), "undecided_frac": 0.05, "left_out": [0.01, 2.0],
    "costs": Costs(5.0, 5.0),
}  # fmt: skip


def test_checks_pass_at_their_limits():
    """Half, twice the charge, half, 5 %, and anything above 0."""
    assert evaluate_checks(**SURE) == dict.fromkeys(CHECKS, True)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("plateau", {"plateau": Figure(0.49)}),
        ("costs", {"break_even": Figure(19.9)}),
        ("delay", {"delayed": Figure(1.99)}),
        ("delay", {"delayed": make_undefined("no trade moved")}),
        ("within_bar", {"undecided_frac": 0.051}),
        ("left_out", {"left_out": [1.0, 0.0]}),
        ("left_out", {"left_out": [1.0, None]}),
        ("left_out", {"left_out": []}),
    ],
)
def test_each_check_fails_alone(name, changes):
    """What is undefined passes none."""
    checks = evaluate_checks(**(SURE | changes))
    assert [key for key, passed in checks.items() if not passed] == [name]


TEN = [2, -1.02, -1.01, 2, 0.4, -1.03, 3.5, -1, -1.05, 1.9]
NEW = np.array([-1, -1.02, 2, -1.5, -1, -1] * 10)
REFERENCE = build_drift_reference(np.array(TEN * 4))


def test_check_values_of_the_law():
    """Lower bound of the mean, evidence of three trades, and the alarm."""
    assert (3.5, pytest.approx(0.03585555858511802, rel=1e-9)) == REFERENCE
    evidence = compute_drift_evidence(REFERENCE, NEW)
    expected = [1.0747555115053196, 1.351848709606853, 101.05908193017444]
    np.testing.assert_allclose(evidence[[0, 5, 59]], expected, rtol=1e-9)
    assert find_alarm(evidence) == 42


def test_a_trade_above_all_others_counts_as_the_greatest():
    """No single gain hides losses, and no stake is lost whole."""
    much = compute_drift_evidence(REFERENCE, np.array([100.0, -1, -1]))
    top = compute_drift_evidence(REFERENCE, np.array([3.5, -1, -1]))
    assert much.tolist() == top.tolist()
    assert (top > 0).all()
    small = build_drift_reference(np.array([1.0, -1.0] * 15))
    assert small.top == 3


def test_an_alarm_speaks_against_and_names_its_trade():
    """A record is read back as it was written; without a trade there is no evidence."""
    quiet = DriftRecord(
        source="folds", reference_trades=40, least_mean=0.1, top=3.0, since="2024-01-01T00:00",
        until="2024-02-01T00:00", trades=41, mean_r=-0.11, evidence=3.44,
    )  # fmt: skip
    assert (quiet.row.speaks, quiet.limit) == ("", ALARM)
    alarm = replace(quiet, alarm_at=30, evidence=101.0)
    assert alarm.row.speaks == AGAINST
    assert "trade 30" in alarm.sentence
    assert replace(quiet, trades=0, mean_r=None).sentence
    assert DriftRecord.read(alarm.payload()) == alarm
