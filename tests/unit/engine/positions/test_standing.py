"""Where an individual stands after a close, and orders that a condition ends, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from data.timeframe import MINUTE_NS
from engine.accounts.costs import Costs
from engine.reference import Reference
from engine.reference_standing import EntryLevel, EntryTarget, find_standing
from engine.runtime.compiling.forms import CompiledForm
from strategy import STRATEGIES
from strategy import words as w
from strategy.words import (
    by_side,
    close,
    r_multiple,
    session_exit,
    share,
    strategy,
    trail,
)  # fmt: skip
from tests.support.markets import make_flat_bars
from tests.support.references import trade_once
from tests.support.series import hand_bars

FORM = CompiledForm()


def read_standing(reference, genome, end):
    """What is known after bar `end - 1`, and the trades until then."""
    window = Window(0, 0, end)
    ledger = reference.continue_trades(genome, window, end)
    return find_standing(reference, genome, window, ledger), ledger


def hand_standing(spec, closes, volumes, *, delay=0, high=0.0, low=np.inf):
    """Standing after hourly bars with these closes; each opens at the close before.

    The last one reaches `high` and `low` too.
    """
    bars = hand_bars(closes, volumes, high=high, low=low)
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


BOUGHT = [100, 106, 106, 106]
AT_MARKET = {"entry": None, "cancel": None, "reverse": True}
FAR_LIMIT = {"entry": by_side(w.stop_at(close + 5, expires=3), w.limit_at(close + 30))}
PRICELESS = {"long": w.volume > 0.5, "short": None,
             "entry": w.stop_at(close + 5 - 200 * (w.volume - 1))}  # fmt: skip
AT_110 = (2, -1, "limit", 110.0, None)

CASES = [
    # A signal at bar t stands in bars t + 1 to t + 3.
    ({}, [100] * 3, [0, 0, 1], 0, [(2, 1, "stop", 105.0, 3)]),
    ({}, [100] * 3, [1, 0, 0], 0, [(0, 1, "stop", 105.0, 1)]),
    ({}, [100] * 4, [1, 0, 0, 0], 0, []),
    # A new signal replaces its own side's order, never the other side's.
    ({}, [100] * 3, [1, 2, 1], 0, [(2, 1, "stop", 105.0, 3), (1, -1, "limit", 104.0, None)]),
    ({}, [100] * 2, [0, 3], 0, [(1, 1, "stop", 105.0, 3), (1, -1, "limit", 104.0, None)]),
    # Cancelled at a close after its own, not at its own.
    ({}, [100] * 3, [2, 1, 4], 0, []),
    ({}, [100] * 3, [2, 4, 1], 0, [(2, 1, "stop", 105.0, 3)]),
    # A fill cancels all orders; what both sides ask later is not heard.
    (FAR_LIMIT, BOUGHT, [3, 0, 3, 3], 1, []),
    # Reversing places the other side's orders alone, of closes from that of the entry bar on.
    ({"reverse": True}, BOUGHT, [1, 0, 3, 1], 1, [AT_110]),
    ({"reverse": True}, BOUGHT[:2], [1, 2], 1, [(1, -1, "limit", 110.0, None)]),
    ({"short": SHORTS, "reverse": True}, [100, 99, 106], [1, 2, 0], -1, []),
    # Its order stands on after another exit: the long of 105 is stopped at 94.5 in bar 3.
    ({"reverse": True}, [100, 106, 106, 94], [1, 0, 2, 0], 0, [AT_110]),
    ({}, [100, 106, 106, 94], [1, 0, 2, 0], 0, []),
    # A market entry reverses at the next open by a signal of the other side alone.
    (AT_MARKET, [100] * 3, [1, 0, 2], 1, "reverses"),
    *((AT_MARKET, [100] * 3, [1, 0, mark], 1, []) for mark in (1, 3, 0)),
    # An exit by condition leaves at the next open; the short of that close rests from there on.
    ({"exit_long": SHORTS | BOTH}, BOUGHT[:3], [1, 0, 3], 1, [AT_110]),
    # By the law an order without a price replaces another, and is never touched.
    (PRICELESS, [100] * 2, [0, 1], 0, [(1, 1, "stop", 105.0, None)]),
    (PRICELESS, [100] * 3, [0, 1, 5], 0, []),
]  # fmt: skip
"""Parts, closes, volumes; side that is held; and signal bar, side, kind, price and bars left of
each order."""


@pytest.mark.parametrize(("parts", "closes", "volumes", "held", "orders"), CASES,
                         ids=range(len(CASES)))  # fmt: skip
def test_orders_that_rest_are_told_by_the_law(parts, closes, volumes, held, orders):
    """Which stand in the next bar, at which price, for how many bars: by hand."""
    standing = hand_standing(resting(**parts), closes, volumes)
    assert (standing.trade.side if standing.trade else 0) == held
    pending = standing.pending
    if orders == "reverses":
        assert (pending.signal_bar, pending.bars_to_wait, pending.side) == (2, 0, -1)
        return
    assert pending is None
    assert bool(held and standing.leaves) == ("exit_long" in parts)
    assert list_told(standing) == orders
    for order in standing.orders:
        (target,), sign = order.targets, order.side
        stop, reached = order.price * (1 - sign * 0.1), order.price * (1 + sign * 0.2)
        assert order.stop == EntryLevel("share", 0.1, pytest.approx(stop, rel=1e-12))
        assert target == EntryTarget("times_risk", 2.0, pytest.approx(reached, rel=1e-12), 1.0)
        assert (order.bars_to_wait, order.is_day, order.needed) == (0, False, order.price)


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


def test_what_is_left_of_a_trade_is_counted_from_the_last_close():
    """Entered in bar 1 for five bars, of which two are over; its session ends at 23:59."""
    spec = resting(max_hold=5, session=session_exit(1439))
    standing = hand_standing(spec, BOUGHT[:3], [1, 0, 0])
    assert standing.bars_left == 3
    assert standing.session_left_ns == (1439 - 2 * 60) * 60 * 10**9


def test_a_day_order_ends_with_its_session():
    """Of a signal at 21 h it stands at 22 h and 23 h; the next bar opens on another day."""
    spec = resting(short=None, entry=w.stop_at(close + 5), session=session_exit(1439))
    for count, expected in ((22, 1), (23, 1), (24, 0), (25, 0)):
        volumes = np.zeros(count)
        volumes[21] = 1
        orders = hand_standing(spec, [100.0] * count, volumes).orders
        assert len(orders) == expected
        assert all(order.is_day for order in orders)


def test_check_values_of_the_law(real_folder):
    """BTC: an entry at the newest bar, and six bars later a trade."""
    from data import LoadOptions, load_bars

    bars = load_bars(f"parquet:{real_folder}/btcusdt_1h.parquet", LoadOptions(dedupe=True))
    spec = STRATEGIES["seller_exhaustion"]
    reference = Reference(spec, [bars], [Window.whole(bars)], form=FORM)
    standing, _ = read_standing(reference, spec.layout.defaults, 4602)
    assert standing.trade is None
    assert standing.pending.stop == EntryLevel("price", 9721.967385416667, 9721.967385416667)
    standing, _ = read_standing(reference, spec.layout.defaults, 4608)
    assert (standing.trade.entry, standing.trade.target) == (10114.0, 10898.065229166667)
    assert (standing.bars_left, standing.trade.r) == (90, 0.2659660857829903)
    assert standing.position.stop == 9721.967385416667


SIGNAL, ENDS_LONGS, ENDS_SHORTS = 1.0, 2.0, 3.0
"""Volume of a bar that asks, and of bars that end orders."""

ASKS, LONGS_END, SHORTS_END = (w.equals(w.volume, mark) for mark in (1, 2, 3))


def straddle(cancel):
    """Stop orders of both sides that wait at 110 and at 90."""
    level = 0 * w.close
    return w.strategy(
        "Waits on both sides.", long=ASKS, short=ASKS, stop=w.share(0.5), cancel=cancel,
        entry=w.by_side(w.stop_at(110 + level), w.stop_at(90 + level)),
    )  # fmt: skip


def build_bars(volumes, touch):
    """Bars at 100 that end with one that reaches 110 or 90, and one behind it."""
    volume = np.array([0.0, SIGNAL, *volumes, 0.0, 0.0])
    high, low = (np.full(len(volume), price) for price in (101.0, 99.0))
    high[-2], low[-2] = (111.0, 99.0) if touch == "long" else (101.0, 89.0)
    bars = make_flat_bars(*[100.0] * len(volume), step_ns=MINUTE_NS, high=high, low=low)
    return replace(bars, volume=volume)


@pytest.mark.parametrize(
    ("cancel", "volumes", "filled"),
    [
        (w.by_side(LONGS_END, SHORTS_END), [0.0], {"long", "short"}),
        (w.by_side(LONGS_END, SHORTS_END), [ENDS_LONGS], {"short"}),
        (w.by_side(LONGS_END, SHORTS_END), [ENDS_SHORTS], {"long"}),
        (w.by_side(LONGS_END, SHORTS_END), [ENDS_SHORTS, ENDS_LONGS], set()),
        (w.by_side(None, SHORTS_END), [ENDS_SHORTS, ENDS_LONGS], {"long"}),
        (LONGS_END, [ENDS_LONGS], set()),
        (LONGS_END, [ENDS_SHORTS], {"long", "short"}),
    ],
)
def test_each_sides_orders_end_by_its_own_condition(cancel, volumes, filled):
    """A close at which it holds ends the orders of its side alone; one condition ends both."""
    strategy = straddle(cancel)
    for touch, side in (("long", 1), ("short", -1)):
        (ledger,) = trade_once(strategy, [build_bars(volumes, touch)])
        assert ledger.side.tolist() == [side] * (touch in filled)
        assert (ledger.orders, ledger.expired) == (2, 2 - (touch in filled))
