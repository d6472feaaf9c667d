"""Sizes of one account of two symbols, by hand: from the cash that there is at each fill."""

import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from optimizer.signals.account import ChainAccount
from strategy import words as w
from tests.support.references import compiled_reference
from tests.support.series import hand_bars

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
SPEC = w.strategy(
    "All of the account in each, sold at a volume of 2.",
    long=(w.volume > 0.5) & (w.volume < 1.5),
    exit_long=w.volume > 1.5,
    stop=w.share(0.5),
    account=w.account(1000, w.equity_share(1)),
)


def list_units(first, second):
    """Units and cash of what each of two symbols holds, or is about to enter."""
    series, genome = [hand_bars(*first), hand_bars(*second)], SPEC.layout.defaults
    windows = tuple(Window.whole(bars, number) for number, bars in enumerate(series))
    reference = compiled_reference(SPEC, series, windows, FREE)
    account = ChainAccount(reference, windows, tuple((window,) for window in windows))
    traded = account.trade(genome)
    for number, standing in enumerate(account.find_standings(genome, traded)):
        size = None
        if standing.trade is not None:
            size = account.size_trade(traded, number)
        elif standing.pending is not None:
            size = account.size_entry(genome, traded, number, standing.pending)
        yield size and (size.units, size.account, size.is_guess)


SOLD = [100, 100, 110, 110], [1, 0, 2, 0]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Both are entered at one open: neither knows of the other.
        (([100, 100, 105],), ([100, 100, 105],), [(10.0, 1000.0, False), (10.0, 1000.0, False)]),
        # The first is sold at 110 at the open at which the second is bought: its 100 are there.
        (SOLD, ([110, 110, 110, 110], [0, 0, 1]), [None, (10.0, 1100.0, False)]),
        # What it gains later was not there when the second was bought at 100.
        (SOLD, ([100, 100, 110, 110],), [None, (10.0, 1000.0, False)]),
        # An entry at the next open is sized from all that is over, at the newest close.
        (SOLD, ([110, 110, 110, 55], [0, 0, 0, 1]), [None, (20.0, 1100.0, True)]),
    ],
)
def test_units_come_from_the_cash_at_the_fill(first, second, expected):
    """A trade counts once it is over; 1 times the cash, over the price."""
    assert list(list_units(first, second)) == expected
