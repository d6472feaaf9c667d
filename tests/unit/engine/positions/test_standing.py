"""Where an individual stands after each close is what the next bars make of it."""

import math
from itertools import product

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from engine.reference import Reference
from engine.runtime.compiling.forms import CompiledForm
from strategy import STRATEGIES
from strategy.words import (
    atr,
    break_even,
    by_side,
    close,
    ema,
    from_entry,
    gene,
    high,
    in_trade,
    length,
    level,
    low,
    r_multiple,
    session_exit,
    share,
    strategy,
    trail,
)  # fmt: skip
from tests.support.worlds import make_bars

FORM = CompiledForm()
END, SIGNAL = REASONS.index("end"), REASONS.index("signal")
FAST, SLOW = ema(close, length("fast", 4, 2, 10)), ema(close, length("slow", 12, 5, 30))

REVERSING = strategy(
    "Always on one side of an average.",
    long=FAST > SLOW,
    short=FAST < SLOW,
    exit_long=FAST < SLOW,
    exit_short=FAST > SLOW,
    stop=share(gene("stop", 0.03, 0.01, 0.2)),
    trail=trail(share(gene("behind", 0.02, 0.01, 0.2))),
    less_than=[("fast", "slow")],
    name="reversing",
)
FOLLOWING = strategy(
    "Long above an average, with levels from the entry, a trailing stop, and a limit of time.",
    long=FAST > SLOW,
    stop=from_entry(2.0 * atr(5)),
    target=from_entry(4.0 * atr(5)),
    trail=trail(from_entry(1.5 * atr(5)), after=0.5),
    break_even=1.0,
    max_hold=11,
    less_than=[("fast", "slow")],
    name="following",
)
LEVELS = strategy(
    "Both sides, at prices, out by the clock.",
    long=FAST > SLOW,
    short=FAST < SLOW,
    stop=by_side(level(low - 2.0), level(high + 2.0)),
    target=r_multiple(2.0),
    session=session_exit(1200),
    less_than=[("fast", "slow")],
    name="levels",
)
WAITING = strategy(
    "Both sides, with a stop that follows a row and goes beyond the entry, and pauses.",
    long=FAST > SLOW,
    short=FAST < SLOW,
    stop=from_entry(1.2 * atr(5)),
    trail=trail(level(ema(close, 5)), 0.5),
    break_even=break_even(0.5, r_multiple(0.2)),
    cooldown=4,
    named_stops=True,
    less_than=[("fast", "slow")],
    name="waiting",
)
BOUNDED = strategy(
    "Both sides, left by a condition that knows the position.",
    long=FAST > SLOW,
    short=FAST < SLOW,
    exit_long=in_trade(FAST < SLOW, profit_to=0.5),
    exit_short=in_trade(FAST > SLOW, bars_from=3),
    stop=from_entry(1.5 * atr(5)),
    cooldown=2,
    less_than=[("fast", "slow")],
    name="bounded",
)
EXHAUSTION = STRATEGIES["seller_exhaustion"].for_timeframe(9000)
SPECS = (EXHAUSTION, REVERSING, FOLLOWING, LEVELS)
LATER = ((WAITING, 0), (BOUNDED, 2))
OFTEN = {"vol_z_min": 0.5, "tr_z_min": 0.3, "close_location_min": 0.5}


def standing_at(reference, genome, end):
    """What is known after bar `end - 1`, and the trades until then."""
    window = Window(0, 0, end)
    ledger = reference.continue_trades(genome, window, end)
    return reference.find_standing(genome, window, ledger), ledger


@pytest.mark.parametrize(
    ("spec", "delay"),
    [*product(SPECS, (0, 2)), *LATER],
    ids=lambda given: getattr(given, "name", given),
)
def test_each_close_says_what_the_next_bars_do(spec, delay):
    """Trades, stops, entries and exits at the next open, bar after bar."""
    bars = make_bars(7, 900, jump=0.03)
    genome = spec.layout.encode(OFTEN if spec is EXHAUSTION else {})
    reference = Reference(spec, [bars], [Window.whole(bars)], Costs(entry_delay=delay), form=FORM)
    seen = dict.fromkeys(("open", "leaves", "pending", "reverses", "flat", "moved"), 0)
    for end in range(600, 890):
        standing, ledger = standing_at(reference, genome, end)
        _, after = standing_at(reference, genome, end + 1 + delay)
        last = ledger.trade(-1) if len(ledger) else None
        is_open = last is not None and last.reason == END
        assert (standing.trade == last) if is_open else (standing.trade is None)
        if is_open:
            check_open_position(spec, genome, standing, after.trade(len(ledger) - 1), end, seen)
        check_pending(reference, standing, ledger, after, end, delay, seen)
    assert seen["pending"] > 3
    assert seen["flat"] > 3 or spec in (REVERSING, LEVELS)
    assert seen["open"] > 10
    assert (seen["leaves"] > 3) == (seen["reverses"] > 3) == (spec in (REVERSING, BOUNDED))
    assert (seen["moved"] > 3) == (spec in (REVERSING, FOLLOWING, WAITING))


def check_open_position(spec, genome, standing, later, end, seen):
    """An open position goes on as was known: stop in force, exits at the next open, time."""
    seen["open"] += 1
    assert later.signal_bar == standing.trade.signal_bar
    leaves_by_condition = later.exit_bar == end and later.reason == SIGNAL
    assert standing.leaves == leaves_by_condition
    seen["leaves"] += standing.leaves
    if later.exit_bar == end or later.reason == END:
        # With a delay the later backtest sees some bars more, whose closes may move the stop.
        moves_on = later.exit_bar > end
        assert moves_on or later.last_stop == standing.next_stop
    seen["moved"] += standing.next_stop != standing.trade.stop
    if standing.bars_left is not None:
        hold = spec.layout.decode(genome).get("max_hold", 11)
        assert standing.bars_left == standing.trade.entry_bar + hold - end
        assert standing.bars_left > 0


def check_pending(reference, standing, ledger, after, end, delay, seen):
    """What is to be entered is entered, at the stop and target that were known."""
    pending, known = standing.pending, len(ledger)
    entered = [after.trade(k) for k in range(known, len(after))]
    entered = [trade for trade in entered if trade.signal_bar < end]
    if pending is None:
        seen["flat"] += standing.trade is None
        assert not entered
        return
    seen["pending"] += 1
    seen["reverses"] += standing.leaves
    assert pending.signal_bar + 1 + delay - end == pending.bars_to_wait >= 0
    if not entered:
        # Its open risked too little.
        assert after.rejected > ledger.rejected
        return
    trade = entered[0]
    assert (trade.signal_bar, trade.side) == (pending.signal_bar, pending.side)
    risk = abs(trade.entry - trade.stop)
    for placed, price in ((pending.stop, trade.stop), (pending.target, trade.target)):
        if placed.kind == "none":
            assert math.isinf(price)
        else:
            away = {
                "price": abs(placed.value - trade.entry),
                "distance": placed.value,
                "share": placed.value * trade.entry,
                "times_risk": placed.value * risk,
            }
            np.testing.assert_allclose(abs(price - trade.entry), away[placed.kind])


def test_check_values_of_the_law(real_folder):
    """BTC: an entry at the newest bar, and six bars later a trade."""
    from data import LoadOptions, load_bars

    bars = load_bars(f"parquet:{real_folder}/btcusdt_1h.parquet", LoadOptions(dedupe=True))
    spec = STRATEGIES["seller_exhaustion"]
    reference = Reference(spec, [bars], [Window.whole(bars)], form=FORM)
    standing, _ = standing_at(reference, spec.layout.defaults, 4602)
    assert standing.trade is None
    assert standing.pending.stop == ("price", 9721.967385416667)
    standing, _ = standing_at(reference, spec.layout.defaults, 4608)
    assert (standing.trade.entry, standing.trade.target) == (10114.0, 10898.065229166667)
    assert (standing.bars_left, standing.trade.r) == (90, 0.2659660857829903)
    assert standing.next_stop == 9721.967385416667
