"""Room of an account after each close is what the next bars make of it."""

import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.limits import build_limits
from engine.accounts.strategy_stakes import build_stake
from engine.reference_standing import StandingStrand, find_holders, find_standing
from strategy import words as w
from tests.support.averages import FOLLOWING, REVERSING
from tests.support.references import compiled_reference
from tests.support.worlds import make_bars

SERIES = [make_bars(seed, 120, jump=0.05) for seed in (3, 4, 5)]
FIRST = 60

VARYING = w.strategy(
    "Above an average, sized by how far bars reach.",
    long=w.close > w.ema(w.close, w.length("window", 5, 2, 20)),
    exit_long=w.close < w.ema(w.close, w.length("window", 5, 2, 20)),
    stop=w.share(0.03),
    account=w.account(10_000, w.volatility(0.02, w.rma(w.true_range, 5))),
    name="varying",
)

CASES = {
    "one": (FOLLOWING, Costs(max_positions=1)),
    "two": (REVERSING, Costs(max_positions=2)),
    "ranked": (FOLLOWING, Costs(max_positions=1, rank="zscore(volume, 5)")),
    "leverage": (FOLLOWING, Costs(max_leverage=0.5)),
    "both": (VARYING, Costs(max_positions=2, max_leverage=2.5)),
}


def stand(spec, costs, count):
    """Ledgers and strands after so many bars of each symbol."""
    windows = [Window(number, 0, count) for number in range(len(SERIES))]
    reference, genome = compiled_reference(spec, SERIES, windows, costs), spec.layout.defaults
    ledgers, asked = reference.trades(genome), reference.list_asks(genome)
    stake = build_stake(spec, costs, spec.layout.decode(genome))
    return ledgers, [
        StandingStrand(asking, ledger, stake, find_standing(reference, genome, window, ledger))
        for asking, ledger, window in zip(asked, ledgers, windows, strict=True)
    ]


@pytest.mark.parametrize("name", CASES)
def test_room_is_what_the_next_open_makes_of_it(name):
    """Of each bar: who is about to enter is taken there, who is full is skipped there."""
    spec, costs = CASES[name]
    limits, seen = build_limits(costs), {"taken": 0, "skipped": 0}
    ledgers, strands = stand(spec, costs, FIRST)
    for count in range(FIRST, FIRST + 40):
        after, following = stand(spec, costs, count + 1)
        for place, holders in enumerate(find_holders(strands, limits)):
            if strands[place].standing.pending is None:
                assert holders is None
                continue
            skipped = after[place].skipped - ledgers[place].skipped
            assert skipped == (holders is not None)
            is_taken = bool((after[place].entry_bar == count).any())
            rejected = after[place].rejected - ledgers[place].rejected
            assert is_taken + rejected == (holders is None)
            if holders is not None:
                # An open of the bar is known where it is, so it also decides who entered before.
                assert holders
                assert place not in holders
                assert all((after[holder].exit_bar >= count).any() for holder in holders)
            seen["taken"] += is_taken
            seen["skipped"] += skipped
        ledgers, strands = after, following
    assert min(seen.values()) >= 1, seen
