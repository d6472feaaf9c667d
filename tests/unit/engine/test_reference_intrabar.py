"""What hangs on the order within a bar: paper markets, and ladders and straddles counted again."""

from dataclasses import replace

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, AT_STOP
from engine.reference_intrabar import measure_intrabar, read_bars
from engine.reference_terms import find_targets, list_terms
from strategy import words as w
from tests.support.finer import make_coarse
from tests.support.markets import PAPER_SPEC, QUIET, paper_market
from tests.support.order_cases import CASES
from tests.support.references import compiled_reference
from tests.support.worlds import make_bars

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
CALM = QUIET[:4]
MINUTE_NS = 60 * 10**9

BREAKOUT = w.strategy(
    "Breakout.", long=w.volume >= 1, entry=w.stop_at(w.close * 0 + 102, 3),
    stop=w.level(w.close * 0 + 100), target=w.r_multiple(2),
)  # fmt: skip


def read(spec, bars, costs=FREE):
    """The reference, the ledger and both readings of a strategy with its default genes."""
    windows, genome = [Window.whole(bars)], spec.layout.defaults
    reference = compiled_reference(spec, [bars], windows, costs)
    ledgers = reference.trades(genome)
    terms = list_terms(reference, genome, windows)
    (readings,) = read_bars(reference, genome, windows, ledgers, terms)
    return reference, ledgers[0], readings


def measure_trade(*later, costs=FREE, spec=PAPER_SPEC):
    """What is undecided in one trade on a paper market, and the law's own sum of R."""
    reference, ledger, readings = read(spec, paper_market(*later), costs)
    assert len(ledger) == 1
    sums = reference.fold(ledger, spec.layout.defaults)
    return measure_intrabar([ledger], [readings]), sums[ACCUMULATOR_INDEX["sum_r"]]


def make_minutes(*rows, minutes=1):
    """Bars of (open, high, low, close); the first has volume, so that it signals."""
    columns = dict(zip(("open", "high", "low", "close"), np.array(rows, float).T, strict=True))
    times = np.arange(len(rows), dtype=np.int64) * minutes * MINUTE_NS
    volume = np.array([1.0, *[0.0] * (len(rows) - 1)])
    return Bars(timestamp=times, volume=volume, symbol="M", timeframe_ns=minutes * MINUTE_NS,
                **columns)  # fmt: skip


def test_bar_that_touches_both_is_undecided():
    """Stop at 97 and target at 106 in one bar: -1 R by the law, +2 R the other way round."""
    intrabar, sum_r = measure_trade((100, 107, 96, 100))
    assert (intrabar.trades, intrabar.undecided, intrabar.at_target) == (1, 1, 1)
    assert intrabar.sum_r == intrabar.undecided_r == sum_r == -1.0
    assert intrabar.sum_r_target_first == 2.0
    assert intrabar.is_too_coarse


@pytest.mark.parametrize(
    "later",
    [[(100, 101, 96, 100)], [(100, 107, 99, 100)], [CALM, (96, 107, 95, 100)], [CALM]],
    ids=["stop_only", "target_only", "gap_through_the_stop", "neither"],
)
def test_everything_else_is_decided(later):
    """One of both, a gap, or neither leaves nothing open, and both sums agree."""
    intrabar, sum_r = measure_trade(*later)
    assert intrabar.undecided == 0
    assert intrabar.sum_r == intrabar.sum_r_target_first == sum_r
    assert not intrabar.is_too_coarse


def test_target_first_pays_costs_too():
    """The other answer is net of both sides: (6 - 0.001 * 206) / 3."""
    intrabar, _ = measure_trade((100, 107, 96, 100), costs=Costs())
    assert intrabar.sum_r_target_first == (6.0 - 0.001 * 206.0) / 3.0


def test_a_short_that_touched_both_is_undecided():
    """Sold at 100, stop at 103, target at 94, both in the bar: -1 R by the law, +2 R else.

    A short without a target touches none, however low the bar.
    """
    short = w.strategy("Short.", short=w.volume > 50, stop=w.share(0.03), target=w.r_multiple(2))
    intrabar, _ = measure_trade((100, 104, 93, 100), spec=short)
    assert (intrabar.undecided, intrabar.sum_r, intrabar.sum_r_target_first) == (1, -1.0, 2.0)
    endless = w.strategy("Short.", short=w.volume > 50, stop=w.share(0.03))
    intrabar, _ = measure_trade((100, 104, 93, 100), spec=endless)
    assert (intrabar.undecided, intrabar.sum_r_target_first) == (0, -1.0)


def test_an_open_that_costs_the_account_is_decided():
    """At 95, a twentieth below the entry; of a bar that opens above it the target is open."""
    parts = {"stop": w.share(0.5), "target": w.share(0.06)}
    sized = w.strategy(
        "Sized.", long=w.volume > 50, account=w.account(1000, w.equity_share(20)), **parts
    )
    for opened, *expected in ((93, 0, -0.14, -0.14), (96, 1, -0.1, 0.12)):
        intrabar, sum_r = measure_trade(CALM, (opened, 107, 92, 100), spec=sized)
        assert [intrabar.undecided, sum_r, intrabar.sum_r_target_first] == expected


LADDER = [(w.r_multiple(1), 0.5), (w.r_multiple(2), 0.25)]


@pytest.mark.parametrize(
    ("later", "undecided", "law", "otherwise"),
    [
        ([(100, 103.5, 99, 100), (100, 103.5, 96, 97)], 0, 0.0, 0.0),
        ([(100, 103.5, 99, 100), (100, 106.5, 96, 97)], 1, 0.0, 0.75),
        ([(100, 106.5, 96, 97)], 1, -1.0, 0.75),
        ([(100, 103.5, 96, 97)], 1, -1.0, 0.0),
    ],
    ids=["left_bars_before", "second_is_open", "both_in_one", "first_alone"],
)
def test_a_ladder_counts_targets_that_are_open_in_that_bar(later, undecided, law, otherwise):
    """Risk 3 from 100: half at 103, a quarter at 106, a quarter with the stop at 97.

    Half out at 103 and the rest at 97 is 0; with the quarter at 106 it is 0.5 + 0.5 - 0.25.
    """
    spec = w.strategy("Ladder.", long=w.volume > 50, stop=w.share(0.03), targets=LADDER)
    intrabar, sum_r = measure_trade(*later, spec=spec)
    assert (intrabar.undecided, intrabar.at_target) == (undecided, undecided)
    assert sum_r == pytest.approx(law)
    assert intrabar.sum_r_target_first == pytest.approx(otherwise)


def test_a_stop_that_may_be_older_than_the_fill_of_a_stop_order_is_undecided():
    """Filled at 102 in a bar with a low of 99.4: -1 R by the law, +2 R by its minutes.

    Read by its minutes nothing is undecided. A close at the stop is newer than the fill.
    """
    minutes = make_minutes(
        *[(100, 100, 100, 100)] * 5, (100, 100.2, 99.4, 99.6), (99.6, 101, 99.6, 101),
        (101, 102.5, 101, 102.4), (102.4, 103, 102.2, 103), (103, 103, 102.8, 103),
        (103, 106.5, 103, 106), *[(106, 106, 106, 106)] * 4,
    )  # fmt: skip
    coarse = make_coarse(minutes, timeframe_ns=5 * MINUTE_NS)
    whole = replace(coarse, finer=None)
    _, ledger, readings = read(BREAKOUT, whole)
    assert (ledger.r.tolist(), readings.r.tolist()) == ([-1.0], [2.0])
    assert (readings.at_fill.tolist(), readings.at_target.tolist()) == ([True], [False])
    _, ledger, readings = read(BREAKOUT, coarse)
    assert (ledger.r.tolist(), readings.r.tolist()) == ([2.0], [2.0])
    assert not readings.is_undecided.any()
    certain = make_minutes((100, 100, 100, 100), (100, 103, 99.4, 99.9), (100, 107, 99.9, 106))
    _, ledger, readings = read(BREAKOUT, certain)
    assert (ledger.r.tolist(), readings.r.tolist()) == ([-1.0], [-1.0])
    assert not readings.is_undecided.any()


def count_again(ledger, bars, targets, order_level):
    """Undecided trades of a coarse ledger, from its bars alone, one after another.

    `order_level` [T] by side: level of a stop order of each signal; None where none rests.
    """
    places = []
    for k in range(len(ledger)):
        trade, s = ledger.trade(k), int(ledger.side[k])
        x, e = trade.exit_bar, trade.entry_bar
        if trade.reason not in AT_STOP:
            continue
        reached = ledger.leg_bar[k] >= 0 if ledger.leg_bar.shape[1] else [False]
        best = bars.high[x] if s > 0 else bars.low[x]
        is_both = any(
            s * best >= s * price
            for price, out in zip(targets[k].tolist(), reached, strict=True)
            if not out
        )
        is_older = False
        if e == x and order_level is not None:
            level = order_level[s][trade.signal_bar]
            fills_within = s * bars.open[e] < s * level
            is_older = fills_within and s * bars.close[e] > s * trade.stop
        if is_both or is_older:
            places.append(k)
    return places


def draw_ladder(seed):
    """A ladder, with and without a rest, a trail and a break-even after a leg."""
    rng = np.random.default_rng(seed)
    legs = [(w.r_multiple(float(rng.uniform(0.2, 2)) + leg), 0.3) for leg in range(3)]
    parts = {"break_even": w.after_leg(1)} if seed % 2 else {}
    if seed % 3:
        parts["trail"] = w.trail(w.from_entry(1.5 * w.rma(w.true_range, 5)), 0.5)
    return w.strategy(
        "Ladder.", long=w.crosses_above(w.close, w.sma(w.close, 6)), targets=legs,
        short=w.crosses_below(w.close, w.sma(w.close, 6)), stop=w.share(0.004), **parts,
    )  # fmt: skip


def draw_straddle(seed):
    """Stop orders of both sides, with a target, and every other time of one ladder and a trail."""
    high, low = w.highest(w.high, 3 + seed % 5), w.lowest(w.low, 3 + seed % 5)
    parts = {"target": w.r_multiple(1 + seed % 3)}
    if seed % 2:
        parts = {"targets": LADDER, "trail": w.trail(w.share(0.01), 0.5)}
    return w.strategy(
        "Straddle.", long=w.volume > 0, short=w.volume > 0, max_hold=20,
        entry=w.by_side(w.stop_at(high, 4), w.stop_at(low, 4)),
        stop=w.from_entry(0.7 * w.rma(w.true_range, 5)), reverse=bool(seed % 3 == 0), **parts,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("draw", [draw_ladder, draw_straddle])
def test_undecided_trades_are_those_of_an_independent_count(draw, seed):
    """And no reading is below the worse one; what is decided keeps its R in every bit."""
    bars, spec = make_bars(seed, 900, gaps=0.02, jump=0.03), draw(seed)
    reference, ledger, readings = read(spec, bars, Costs())
    targets = find_targets(reference, spec.layout.defaults, 0, ledger)
    levels = None
    if draw is draw_straddle:
        n, roll = 3 + seed % 5, np.lib.stride_tricks.sliding_window_view
        unknown = np.full(n - 1, np.nan)
        levels = {
            1: np.append(unknown, roll(bars.high, n).max(axis=1)),
            -1: np.append(unknown, roll(bars.low, n).min(axis=1)),
        }
    expected = count_again(ledger, bars, targets, levels)
    assert np.flatnonzero(readings.is_undecided).tolist() == expected
    assert (readings.r >= ledger.r).all()
    is_decided = ~readings.is_undecided
    assert (readings.r == ledger.r)[is_decided].all()
    assert len(expected) > 0 or len(ledger) < 30


def leave_later(trade, bars, most):
    """Price at which a bracket leaves that its entry bar did not stop, bar by bar."""
    s = trade.side
    for j in range(trade.entry_bar, len(bars)):
        best, worst = (bars.high[j], bars.low[j]) if s > 0 else (bars.low[j], bars.high[j])
        if j > trade.entry_bar and s * bars.open[j] <= s * trade.stop:
            return bars.open[j]
        if j > trade.entry_bar and s * worst <= s * trade.stop:
            return trade.stop
        if s * best >= s * trade.target:
            return trade.target
        if j == trade.entry_bar + most - 1:
            break
    return bars.close[j]


@pytest.mark.parametrize("seed", [2, 4, 8, 10, 14, 16])
def test_a_stop_that_was_older_lets_the_trade_go_on_to_its_own_exit(seed):
    """Brackets of a straddle held for at most 20 bars: as a loop over the bars has them."""
    bars, costs = make_bars(seed, 900, gaps=0.02, jump=0.03), Costs()
    _, ledger, readings = read(draw_straddle(seed), bars, costs)
    places = np.flatnonzero(readings.at_fill)
    assert len(places) > 5
    for k in places.tolist():
        trade = ledger.trade(k)
        leave = leave_later(trade, bars, 20)
        net = trade.side * (leave - trade.entry) - costs.per_side * (trade.entry + leave)
        r = net / (trade.side * (trade.entry - trade.stop))
        assert readings.r[k] == max(r, trade.r)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("draw", [draw_ladder, draw_straddle])
def test_finer_bars_decide_what_coarse_ones_do_not(draw, seed):
    """Of the same hours fewer trades are undecided with quarters, and none falls below the law."""
    quarters, spec = make_bars(seed, 2400, jump=0.03), draw(seed)
    coarse = make_coarse(quarters)
    _, ledger, readings = read(spec, coarse, Costs())
    _, _, blind = read(spec, replace(coarse, finer=None), Costs())
    assert (readings.r >= ledger.r).all()
    assert readings.is_undecided.sum() <= blind.is_undecided.sum()


def test_check_values_of_the_straddle(real_folder):
    """315 of 2,399 trades, -383 of -960 R, are of the second kind, 20 of the first."""
    case = CASES["straddle"]
    bars = load_bars(f"parquet:{real_folder / case.series}.parquet", LoadOptions(dedupe=True))
    _, ledger, readings = read(case.strategy, bars, case.costs)
    assert (len(ledger), readings.at_fill.sum(), readings.at_target.sum()) == (2399, 315, 20)
    assert ledger.r[readings.at_fill].sum() == pytest.approx(-382.92056884178345)
