"""Little changes to a member are made by the law, and judged by what they keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.stake import build_stake, plain_stake
from optimizer.evidence.figures import Figure, make_undefined
from optimizer.evidence.philox import draw_words, scale_to_index, scale_to_unit
from optimizer.evidence.robust import (
    CHECKS,
    CLOUD,
    break_even_bp,
    compute_means_left_out,
    compute_plateau,
    evaluate_checks,
    evaluate_costs,
    is_half_kept,
    list_neighbours,
    measure_drift,
    simulate_other_orders,
)
from optimizer.goals.near import compute_reach
from strategy import Gene, GenomeLayout
from strategy.words import account, close, notional, risk, share, strategy, units
from tests.support.evidence import make_ledger
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

PAIR = GenomeLayout(
    (Gene("length", "int", 10, 110, 20, "bars"), Gene("level", "float", 0.5, 4.5, 1.0))
)


def test_neighbours_of_the_law():
    """Plus along each axis, minus along each, then the cloud."""
    neighbours = list_neighbours(PAIR, np.array([20.0, 1.0]), member=0, seed=1).tolist()
    assert neighbours[:4] == [[25, 1], [20, 1.2], [15, 1], [20, 0.8]]
    fixed = PAIR.with_bounds({"length": (20, 20), "level": (1.0, 1.0)})
    assert list_neighbours(fixed, np.array([20.0, 1.0]), 0, 1).shape == (0, 2)
    assert neighbours[4] == pytest.approx([24, 1.0650296225054172], rel=1e-15)
    assert len(neighbours) <= 4 + CLOUD


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


def test_the_share_that_keeps_half():
    """Half itself counts, and what is infeasible does not."""
    others = np.array([1.0, 0.99, 2.0, np.nan, -5.0])
    assert compute_plateau(Figure(2.0), others).value == 0.4
    assert is_half_kept(Figure(2.0), others).tolist() == [True, False, True, False, False]
    assert compute_plateau(Figure(2.0), np.empty(0)).why == "it has no neighbours"
    for own in (Figure(0.0), make_undefined("no trade moved")):
        assert compute_plateau(own, np.ones(3)).why


def account_of(*ledgers):
    """An account of these trades on a hundred bars, a window each."""
    bars = make_bars(1, 100)
    windows = (Window.whole(bars),) * len(ledgers)
    return Account((bars,), windows, ("",) * len(ledgers), Costs())


def find_even(*ledgers):
    """Break-even of ledgers."""
    return break_even_bp(account_of(*ledgers), ledgers)


def test_break_even_of_the_law():
    """Three trades, the last with the smallest risk."""
    ledger = make_ledger(
        np.zeros(3), entry=[100, 50, 20], exit=[103, 49, 20.5], stop=[98, 49, 19.75]
    )
    assert find_even(ledger).value == pytest.approx(68.96551724137932, rel=1e-12)
    assert find_even(make_ledger([])).why == "no trades"
    short = make_ledger([0.0], entry=100.0, exit=98.0, stop=101.0)
    assert find_even(short).value == pytest.approx(10000 * 2 / 198)
    line = evaluate_costs(account_of(short), [short])
    assert [point.sum_r for point in line[:3:2]] == pytest.approx([2.0, 2.0 - 0.001 * 198])


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
    assert [fall.value for fall in actual] == expected


def test_falls_are_those_of_the_account_that_sizes_the_trades():
    """A hundred units that each lose 1 cost 100 of 1,000 each time; shares are of what is left."""
    losing = make_ledger([-1.0, -1.0, -1.0])
    for size, expected in ((units(100), 0.3), (risk(0.1), 1 - 0.9**3), (notional(500), 0.015)):
        spec = strategy("Sized.", long=close > 0, stop=share(0.02), account=account(1000, size))
        falls = simulate_other_orders([losing], 1, build_stake(spec, Costs(), {}))
        assert [fall.value for fall in falls] == pytest.approx([expected] * 3, rel=1e-12)


def test_falls_that_no_number_holds_are_undefined():
    """Neither without trades."""
    assert simulate_other_orders([make_ledger([])], 1, plain_stake(0.01))[0].why == "no trades"
    endless = make_ledger(np.full(2000, 30.0))
    assert simulate_other_orders([endless], 1, plain_stake(0.5))[0].why == "overflow"


def test_means_with_each_part_left_out():
    """What is left decides, and nothing left has no mean."""
    means = compute_means_left_out([10, 20, 0], [5.0, -1.0, 0.0])
    assert [mean.value for mean in means] == [-1 / 20, 5 / 10, 4 / 30]
    assert compute_means_left_out([10], [5.0])[0].why == "no trades in the rest"


SURE = {
    "plateau": Figure(0.5),
    "break_even": Figure(20.0),
    "strength": Figure(4.0),
    "delayed": Figure(2.0),
    "undecided_frac": 0.05,
    "left_out": [Figure(0.01), Figure(2.0)],
    "costs": Costs(5.0, 5.0),
}


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
        ("left_out", {"left_out": [Figure(1.0), Figure(0.0)]}),
        ("left_out", {"left_out": []}),
    ],
)
def test_each_check_fails_alone(name, changes):
    """What is undefined passes none."""
    checks = evaluate_checks(**(SURE | changes))
    assert [key for key, passed in checks.items() if not passed] == [name]


def test_drift_is_the_mean_share_of_the_span():
    """Between neighbours that both have a pick, over genes that may move."""
    layout = GenomeLayout((*PAIR.genes, Gene("fixed", "float", 1.0, 1.0, 1.0)))
    picks = [np.array(p) for p in ([10.0, 0.5, 1.0], [60.0, 0.5, 1.0], [60.0, 1.5, 1.0])]
    assert measure_drift(layout, picks).value == pytest.approx((0.5 + 0 + 0 + 0.25) / 4)
    assert (
        measure_drift(layout, [picks[0], None, picks[1]]).why
        == measure_drift(layout, picks[:1]).why
    )
    assert measure_drift(layout, picks[:1]).why == "no two neighbouring folds have a pick"
