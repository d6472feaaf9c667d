"""What hangs on the order within a bar."""

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.reference import list_terms
from engine.reference_intrabar import measure_intrabar, read_bars
from strategy import words as w
from tests.support.markets import PAPER_SPEC, QUIET, paper_market
from tests.support.order_cases import CASES
from tests.support.references import compiled_reference
from tests.support.worlds import make_bars

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
CALM = QUIET[:4]


def read(spec, bars, costs=FREE):
    """The reference, the ledger and both readings of a strategy with its default genes."""
    windows, genome = [Window.whole(bars)], spec.layout.defaults
    reference = compiled_reference(spec, [bars], windows, costs)
    ledgers = reference.trades(genome)
    terms = list_terms(reference, genome, windows)
    (readings,) = read_bars(reference, genome, windows, ledgers, terms)
    return reference, ledgers[0], readings


SHORT = {"short": w.volume > 50, "stop": w.share(0.03)}
LADDER = [(w.r_multiple(1), 0.5), (w.r_multiple(2), 0.25)]
LADDERED = w.strategy("Ladder.", long=w.volume > 50, stop=w.share(0.03), targets=LADDER)
SIZED = w.strategy(
    "Sized.", long=w.volume > 50, account=w.account(1000, w.equity_share(20)), stop=w.share(0.5),
    target=w.share(0.06),
)  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "later", "costs", "undecided", "law", "otherwise"),
    [
        # Stop at 97 and target at 106 in one bar; net of both sides (6 - 0.001 * 206) / 3.
        (PAPER_SPEC, [(100, 107, 96, 100)], FREE, 1, -1.0, 2.0),
        (PAPER_SPEC, [(100, 107, 96, 100)], Costs(), 1, (-3 - 0.001 * 197) / 3, 5.794 / 3),
        # The stop alone, the target alone, a gap through the stop, neither.
        (PAPER_SPEC, [(100, 101, 96, 100)], FREE, 0, -1.0, -1.0),
        (PAPER_SPEC, [(100, 107, 99, 100)], FREE, 0, 2.0, 2.0),
        (PAPER_SPEC, [CALM, (96, 107, 95, 100)], FREE, 0, -4 / 3, -4 / 3),
        (PAPER_SPEC, [CALM], FREE, 0, 0.0, 0.0),
        # Sold at 100, stop at 103, target at 94; without a target it touches none.
        (w.strategy("Short.", **SHORT, target=w.r_multiple(2)), [(100, 104, 93, 100)], FREE,
         1, -1.0, 2.0),
        (w.strategy("Short.", **SHORT), [(100, 104, 93, 100)], FREE, 0, -1.0, -1.0),
        # An open at which the account was lost, at 95, decides; one above it does not.
        (SIZED, [CALM, (93, 107, 92, 100)], FREE, 0, -0.14, -0.14),
        (SIZED, [CALM, (96, 107, 92, 100)], FREE, 1, -0.1, 0.12),
        # Half at 103, a quarter at 106, a quarter with the stop: what had left bars before stays.
        (LADDERED, [(100, 103.5, 99, 100), (100, 103.5, 96, 97)], FREE, 0, 0.0, 0.0),
        (LADDERED, [(100, 103.5, 99, 100), (100, 106.5, 96, 97)], FREE, 1, 0.0, 0.75),
        (LADDERED, [(100, 106.5, 96, 97)], FREE, 1, -1.0, 0.75),
        (LADDERED, [(100, 103.5, 96, 97)], FREE, 1, -1.0, 0.0),
    ],
)  # fmt: skip
def test_targets_that_are_open_in_the_bar_of_a_stop_leave_a_trade_undecided(
    spec, later, costs, undecided, law, otherwise
):
    """By hand, of one trade: its R as the law has it, and with the targets before the stop."""
    reference, ledger, readings = read(spec, paper_market(*later), costs)
    intrabar = measure_intrabar([ledger], [readings])
    assert (intrabar.trades, intrabar.undecided, intrabar.at_target) == (1, undecided, undecided)
    assert intrabar.is_too_coarse == bool(undecided)
    sums = reference.fold(ledger, spec.layout.defaults)
    assert intrabar.sum_r == sums[ACCUMULATOR_INDEX["sum_r"]] == pytest.approx(law)
    assert intrabar.undecided_r == (intrabar.sum_r if undecided else 0.0)
    assert intrabar.sum_r_target_first == pytest.approx(otherwise)


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


@pytest.mark.parametrize("seed", [2, 8, 14])
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


def test_check_values_of_the_straddle(real_folder):
    """315 of 2,399 trades, -383 of -960 R, are of the second kind, 20 of the first."""
    case = CASES["straddle"]
    bars = load_bars(f"parquet:{real_folder / case.series}.parquet", LoadOptions(dedupe=True))
    _, ledger, readings = read(case.strategy, bars, case.costs)
    assert (len(ledger), readings.at_fill.sum(), readings.at_target.sum()) == (2399, 315, 20)
    assert ledger.r[readings.at_fill].sum() == pytest.approx(-382.92056884178345)
