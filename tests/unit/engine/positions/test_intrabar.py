"""What hangs on the order within a bar, on paper markets."""

import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS, Trade
from engine.positions.intrabar import measure_intrabar
from engine.reference import Reference
from tests.support.ledgers import build_trade_ledger
from tests.support.markets import PAPER_SPEC, QUIET, paper_market

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
CALM = QUIET[:4]


def measure_trade(*later, costs=FREE):
    """What is undecided in one trade on a paper market, and the law's own sum of R."""
    bars = paper_market(*later)
    reference = Reference(PAPER_SPEC, [bars], [Window.whole(bars)], costs)
    genome = PAPER_SPEC.layout.defaults
    (ledger,) = reference.trades(genome)
    assert len(ledger) == 1
    sums = reference.fold(ledger, genome)
    return measure_intrabar(ledger, bars, costs), sums[ACCUMULATOR_INDEX["sum_r"]]


def test_bar_that_touches_both_is_undecided():
    """Stop at 97 and target at 106 in one bar: -1 R by the law, +2 R the other way round."""
    intrabar, sum_r = measure_trade((100, 107, 96, 100))
    assert (intrabar.trades, intrabar.undecided) == (1, 1)
    assert intrabar.sum_r == sum_r == -1.0
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
    bars = paper_market((100, 104, 93, 100))
    stop = REASONS.index("stop")
    short = Trade(3, 4, 4, stop, 100.0, 103.0, 94.0, 103.0, -1.0, -1, 103.0, 1)
    intrabar = measure_intrabar(build_trade_ledger([short]), bars, FREE)
    assert (intrabar.undecided, intrabar.sum_r, intrabar.sum_r_target_first) == (1, -1.0, 2.0)
    endless = short._replace(target=float("-inf"))
    intrabar = measure_intrabar(build_trade_ledger([endless]), bars, FREE)
    assert (intrabar.undecided, intrabar.sum_r_target_first) == (0, -1.0)
