"""Where an individual stands after each close is what the next bars make of it."""

import math
from itertools import product

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from engine.reference import Reference
from engine.reference_standing import find_standing
from engine.runtime.compiling.forms import CompiledForm
from strategy import STRATEGIES
from strategy import words as w
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


def read_standing(reference, genome, end):
    """What is known after bar `end - 1`, and the trades until then."""
    window = Window(0, 0, end)
    ledger = reference.continue_trades(genome, window, end)
    return find_standing(reference, genome, window, ledger), ledger


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
        standing, ledger = read_standing(reference, genome, end)
        _, after = read_standing(reference, genome, end + 1 + delay)
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
        assert moves_on or later.last_stop == standing.position.stop
    seen["moved"] += standing.position.stop != standing.trade.stop
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
    plan = pending.plan
    assert len(plan.targets) == math.isfinite(trade.target)
    levels = [(plan.stop, trade.stop), *((target.level, trade.target) for target in plan.targets)]
    for placed, price in levels:
        away = {
            "price": abs(placed.value - trade.entry),
            "distance": placed.value,
            "share": placed.value * trade.entry,
            "times_risk": placed.value * risk,
        }
        np.testing.assert_allclose(abs(price - trade.entry), away[placed.kind])


def hand_standing(spec, closes, volumes, *, delay=0, high=0.0, low=np.inf):
    """Standing after hourly bars with these closes; each opens at the close before.

    The last one reaches `high` and `low` too.
    """
    closes, volumes = np.array(closes, np.float64), np.array(volumes, np.float64)
    opens = np.concatenate([closes[:1], closes[:-1]])
    prices = opens, np.maximum(opens, closes), np.minimum(opens, closes), closes
    prices[1][-1], prices[2][-1] = max(prices[1][-1], high), min(prices[2][-1], low)
    times = np.arange(len(closes)) * 3_600 * 10**9
    bars = Bars(times, *prices, volumes, symbol="H", timeframe_ns=3_600 * 10**9)
    costs = Costs(fee_bp=0.0, slippage_bp=0.0, entry_delay=delay)
    reference = Reference(spec, [bars], [Window.whole(bars)], costs, form=FORM)
    return read_standing(reference, spec.layout.defaults, len(closes))[0]


def is_marked(mark):
    """Bars that have a number as their volume."""
    return (w.volume > mark - 0.5) & (w.volume < mark + 0.5)


LONGS, SHORTS, BOTH, CANCEL = (is_marked(mark) for mark in (1, 2, 3, 4))


def resting(**arguments):
    """Longs by a stop 5 above the close for three bars, shorts by a limit 4 above it for ever."""
    given = {
        "long": LONGS | BOTH,
        "short": SHORTS | BOTH,
        "entry": by_side(w.stop_at(close + 5, expires=3), w.limit_at(close + 4)),
        "stop": share(0.1),
        "target": r_multiple(2),
        "cancel": CANCEL,
        **arguments,
    }
    return strategy("Rests.", **given)


def list_told(standing):
    """Signal bar, side, kind, price and bars left of each order."""
    return [(o.signal_bar, o.side, o.kind, o.price, o.bars_left) for o in standing.orders]


@pytest.mark.parametrize(
    ("volumes", "expected"),
    [
        # A signal at bar t stands in bars t + 1 to t + 3.
        ([0, 0, 1], [(2, 1, "stop", 105.0, 3)]),
        ([1, 0, 0], [(0, 1, "stop", 105.0, 1)]),
        ([1, 0, 0, 0], []),
        # A new signal replaces its own side's order, never the other side's.
        ([1, 2, 1], [(2, 1, "stop", 105.0, 3), (1, -1, "limit", 104.0, None)]),
        # Both rest: both are placed.
        ([0, 3], [(1, 1, "stop", 105.0, 3), (1, -1, "limit", 104.0, None)]),
        # Cancelled at a close after its own, not at its own.
        ([2, 1, 4], []),
        ([2, 4, 1], [(2, 1, "stop", 105.0, 3)]),
    ],
)
def test_orders_that_rest_are_told_by_the_law(volumes, expected):
    """Which stand in the next bar, at which price, for how many bars: by hand."""
    standing = hand_standing(resting(), [100.0] * len(volumes), volumes)
    assert list_told(standing) == expected
    assert (standing.trade, standing.pending) == (None, None)
    for order in standing.orders:
        (target,), sign = order.plan.targets, order.side
        stop, reached = order.price * (1 - sign * 0.1), order.price * (1 + sign * 0.2)
        assert order.plan.stop == ("share", 0.1, pytest.approx(stop, rel=1e-12))
        assert target == (("times_risk", 2.0, pytest.approx(reached, rel=1e-12)), 1.0)
        assert (order.bars_to_wait, order.is_day, order.needed) == (0, False, order.price)


def test_a_fill_cancels_all_orders_and_no_signal_places_one():
    """The long of bar 0 is filled at 105 in bar 1; what both sides ask later is not heard."""
    spec = resting(entry=by_side(w.stop_at(close + 5, expires=3), w.limit_at(close + 30)))
    standing = hand_standing(spec, [100, 106, 106, 106], [3, 0, 3, 3])
    assert (standing.trade.entry, standing.trade.entry_bar, standing.trade.side) == (105.0, 1, 1)
    assert standing.orders == ()


def test_reversing_places_the_other_sides_orders_alone():
    """The long of bar 0 is held; the short's limit of bar 2 rests at 110 and would reverse it."""
    spec = resting(reverse=True)
    standing = hand_standing(spec, [100, 106, 106, 106], [1, 0, 3, 1])
    assert standing.trade.side == 1
    assert list_told(standing) == [(2, -1, "limit", 110.0, None)]
    # The close of the entry bar counts, one before it does not.
    assert list_told(hand_standing(spec, [100, 106], [1, 2])) == [(1, -1, "limit", 110.0, None)]
    before = hand_standing(resting(short=SHORTS, reverse=True), [100, 99, 106], [1, 2, 0])
    assert (before.trade.side, before.orders) == (-1, ())


def test_orders_of_a_reversal_stand_on_after_another_exit():
    """The long of 105 is stopped at 94.5 in bar 3; the short's limit at 110 stands on."""
    prices, volumes = [100, 106, 106, 94], [1, 0, 2, 0]
    standing = hand_standing(resting(reverse=True), prices, volumes)
    assert standing.trade is None
    assert list_told(standing) == [(2, -1, "limit", 110.0, None)]
    # Without reversal nothing was placed while it was held.
    plain = hand_standing(resting(), prices, volumes)
    assert (plain.trade, plain.orders) == (None, ())


def test_a_market_entry_reverses_at_the_next_open():
    """A signal of the other side ends a position; its own, or both at once, do not."""
    spec = resting(entry=None, cancel=None, reverse=True)
    standing = hand_standing(spec, [100, 100, 100], [1, 0, 2])
    assert (standing.trade.side, standing.leaves) == (1, False)
    assert standing.pending[:3] == (2, 0, -1)
    for mark in (1, 3, 0):
        held = hand_standing(spec, [100, 100, 100], [1, 0, mark])
        assert (held.trade.side, held.pending, held.orders) == (1, None, ())


def test_an_exit_by_condition_lets_the_other_sides_order_rest():
    """It leaves at the next open; the short of the same close rests from there on, no long."""
    standing = hand_standing(resting(exit_long=SHORTS | BOTH), [100, 106, 106], [1, 0, 3])
    assert (standing.trade.side, standing.leaves) == (1, True)
    assert list_told(standing) == [(2, -1, "limit", 110.0, None)]


def test_a_limit_beyond_its_price_and_a_late_order():
    """103.2 is 103 on the tick of 0.5, and two ticks further 102; a delay is waited for."""
    entry = w.limit_at(close - 1.8, expires=4, through=2)
    spec = resting(short=None, entry=entry, market=w.market(tick="0.5"))
    (order,) = hand_standing(spec, [105.0] * 2, [0, 1]).orders
    assert (order.kind, order.price, order.needed, order.bars_left) == ("limit", 103.0, 102.0, 4)
    (late,) = hand_standing(spec, [105.0] * 2, [0, 1], delay=1).orders
    assert (late.bars_to_wait, late.bars_left) == (1, 4)
    # The one before stands until the late one takes its place.
    both = hand_standing(spec, [105.0] * 4, [0, 1, 0, 1], delay=1).orders
    assert [(o.signal_bar, o.bars_to_wait, o.bars_left) for o in both] == [(1, 0, 1), (3, 1, 4)]


def test_the_stop_follows_what_came_after_the_fill():
    """Of a bar 100, 120, 95, 98 a limit at 96 knows 98 alone; a stop at 105 counts the high."""
    behind = {"trail": trail(share(0.1)), "target": None, "short": None}
    limit = resting(entry=w.limit_at(close - 4), **behind)
    bought = hand_standing(limit, [100, 98], [1, 0], high=120, low=95)
    assert (bought.trade.entry, bought.position.stop) == (96.0, pytest.approx(98 * 0.9, rel=1e-15))
    stop = resting(entry=w.stop_at(close + 5), **behind)
    bought = hand_standing(stop, [100, 118], [1, 0], high=120)
    assert (bought.trade.entry, bought.position.stop) == (
        105.0,
        pytest.approx(120 * 0.9, rel=1e-15),
    )


def test_targets_of_a_side_that_trades_less():
    """A short, which is never asked for, has two targets and the long that is held one."""
    legs = by_side([(r_multiple(2), 0.5)], [(r_multiple(1), 0.5), (r_multiple(2), 0.5)])
    spec = resting(target=None, targets=legs, short=None)
    assert hand_standing(spec, [100, 106, 106], [1, 0, 0]).position.stop == 94.5


def test_a_day_order_ends_with_its_session():
    """Of a signal at 21 h it stands at 22 h and 23 h; the next bar opens on another day."""
    spec = resting(short=None, entry=w.stop_at(close + 5), session=session_exit(1439))
    for count, expected in ((22, 1), (23, 1), (24, 0), (25, 0)):
        volumes = np.zeros(count)
        volumes[21] = 1
        orders = hand_standing(spec, [100.0] * count, volumes).orders
        assert len(orders) == expected
        assert all(order.is_day for order in orders)


def test_an_order_without_a_price_replaces_and_is_not_told():
    """By the law it is never touched."""
    spec = resting(
        long=w.volume > 0.5, short=None, entry=w.stop_at(close + 5 - 200 * (w.volume - 1))
    )
    orders = list_told(hand_standing(spec, [100.0] * 2, [0, 1]))
    assert orders == [(1, 1, "stop", 105.0, None)]
    assert list_told(hand_standing(spec, [100.0] * 3, [0, 1, 5])) == []


def test_check_values_of_the_law(real_folder):
    """BTC: an entry at the newest bar, and six bars later a trade."""
    from data import LoadOptions, load_bars

    bars = load_bars(f"parquet:{real_folder}/btcusdt_1h.parquet", LoadOptions(dedupe=True))
    spec = STRATEGIES["seller_exhaustion"]
    reference = Reference(spec, [bars], [Window.whole(bars)], form=FORM)
    standing, _ = read_standing(reference, spec.layout.defaults, 4602)
    assert standing.trade is None
    assert standing.pending.plan.stop == ("price", 9721.967385416667, 9721.967385416667)
    standing, _ = read_standing(reference, spec.layout.defaults, 4608)
    assert (standing.trade.entry, standing.trade.target) == (10114.0, 10898.065229166667)
    assert (standing.bars_left, standing.trade.r) == (90, 0.2659660857829903)
    assert standing.position.stop == 9721.967385416667
