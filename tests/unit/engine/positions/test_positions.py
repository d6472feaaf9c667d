"""Rules of both sides, one by one: a hand-made market and what it must give, in every engine.

Quiet bars open and close at 100 and go from 99 to 101. Signals stand where a test puts them.
"""

import numpy as np
import pytest

from data.bars import Bars
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.positions.exit_spec import (
    BEYOND_BAR,
    FROM_ENTRY,
    LEVEL,
    MINUTE_NS,
    NONE,
    R_MULTIPLE,
    SHARE,
)
from tests.support.positions import Ask, by_cpu, everywhere
from tests.support.references import FORMS

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
QUIET = (100.0, 101.0, 99.0, 100.0)
HOUR = 60


def market(*rows, minutes=HOUR, at=None, start=0):
    """Bars of these prices, every so many minutes, or at times `at`; minutes since 1970."""
    opened, high, low, close = np.array(rows, np.float64).T
    times = np.arange(len(rows)) * minutes + start if at is None else np.array(at)
    return Bars(
        times.astype(np.int64) * MINUTE_NS, opened, high, low, close, np.ones(len(rows)),
        "PAPER", minutes * MINUTE_NS,
    )  # fmt: skip


def on(n, *bars):
    """Bools [n], true at these bars."""
    flags = np.zeros(n, np.bool_)
    flags[list(bars)] = True
    return flags


def make_asks(n, *, longs=(), shorts=(), leave_long=None, leave_short=None, stop=3.0, **more):
    """Signals at these bars, a stop so far from the entry, and conditions of exits at others."""
    away = (FROM_ENTRY, 0.0, np.full(n, stop))
    exits = tuple(None if bars is None else on(n, *bars) for bars in (leave_long, leave_short))
    given = {"entries": (on(n, *longs), on(n, *shorts)), "stops": (away, away), "exits": exits}
    return Ask(**{**given, **more})


def backtest(bars, ask, costs=FREE, window=None):
    """The ledger on which all engines agree."""
    span = window or (0, len(bars))
    ((ledger,),) = everywhere(bars, [ask], costs, [span], forms=FORMS)
    return ledger


def list_trades(bars, ask, costs=FREE, window=None):
    """Each trade as side, entry bar, exit bar, reason and exit price."""
    ledger = backtest(bars, ask, costs, window)
    return [
        (int(t.side), t.entry_bar, t.exit_bar, REASONS[t.reason], t.exit)
        for t in map(ledger.trade, range(len(ledger)))
    ]


def quiet(n):
    """So many quiet bars."""
    return [QUIET] * n


def test_neither_side_trades_where_both_signal():
    """At bar 1 the idea contradicts itself; at bar 2 it does not."""
    bars = market(*quiet(5))
    assert list_trades(bars, make_asks(5, longs=[1, 2], shorts=[1])) == [(1, 3, 4, "end", 100.0)]


def test_a_short_is_the_mirror_of_a_long():
    """Sold at 100 with a stop at 103, it is stopped by a high of 103 and gains by a fall."""
    bars = market(*quiet(2), (100, 103, 99, 100), QUIET, QUIET, (90, 91, 80, 85))
    ledger = backtest(bars, make_asks(6, shorts=[0, 3], max_hold=2))
    assert [REASONS[reason] for reason in ledger.reason] == ["stop", "time"]
    assert ledger.r.tolist() == [-1.0, 5.0]
    assert ledger.side.tolist() == [-1, -1]
    assert ledger.stop.tolist() == ledger.last_stop.tolist() == [103.0, 103.0]


def test_costs_of_a_short_are_paid_on_both_prices():
    """Sold at 100, bought at 85: (15 - 0.001 * 185) / 3."""
    bars = market(*quiet(2), (90, 91, 80, 85))
    ledger = backtest(bars, make_asks(3, shorts=[0]), Costs())
    assert ledger.r.tolist() == [(15.0 - 0.001 * 185.0) / 3.0]


def test_stop_before_target_for_a_short_too():
    """A bar that touches 103 and 94 is a loss."""
    bars = market(*quiet(2), (100, 103, 94, 100))
    ask = make_asks(3, shorts=[0], targets=((R_MULTIPLE, 2.0, None),) * 2)
    assert list_trades(bars, ask) == [(-1, 1, 2, "stop", 103.0)]


@pytest.mark.parametrize(("side", "opened"), [("longs", 97.0), ("shorts", 103.0)])
def test_an_open_exactly_at_the_stop_is_a_gap(side, opened):
    """It fills at that open."""
    bars = market(*quiet(2), (opened, 104, 96, 100))
    trades = list_trades(bars, make_asks(3, **{side: [0]}))
    assert [trade[2:] for trade in trades] == [(2, "stop_gap", opened)]


def test_a_target_beyond_which_a_short_opens_fills_at_the_target():
    """The cautious choice, whichever side."""
    bars = market(*quiet(2), (90, 91, 89, 90))
    ask = make_asks(3, shorts=[0], targets=((R_MULTIPLE, 2.0, None),) * 2)
    assert list_trades(bars, ask) == [(-1, 1, 2, "target", 94.0)]


@pytest.mark.parametrize("form", [LEVEL, FROM_ENTRY])
def test_a_target_on_the_entry_is_rejected(form):
    """Also one that is not known; it is counted, and the next bar may signal."""
    row = np.array([100.0, 102.0, np.nan, 100.0]) - (0.0 if form == LEVEL else 100.0)
    ask = make_asks(4, longs=[0, 1, 2], targets=((form, 0.0, row),) * 2, max_hold=1)
    ledger = backtest(market(*quiet(4)), ask)
    assert (ledger.signal_bar.tolist(), ledger.target.tolist()) == ([1], [102.0])
    assert ledger.rejected == 2


def test_stops_stand_where_their_forms_say():
    """Of both sides, with an entry at 100 and a signal bar from 99 to 101."""
    n, row = 3, np.full(3, 2.0)
    for form, given, expected in (
        (BEYOND_BAR, row, (97.0, 103.0)),
        (FROM_ENTRY, row, (98.0, 102.0)),
        (SHARE, None, (75.0, 125.0)),
    ):
        stops = ((form, 0.25, given),) * 2
        asks = [make_asks(n, **{side: [0]}, stops=stops) for side in ("longs", "shorts")]
        actual = [backtest(market(*quiet(n)), each).stop.tolist() for each in asks]
        assert actual == [[expected[0]], [expected[1]]]
    levels = ((LEVEL, 0.0, np.full(n, 90.0)), (LEVEL, 0.0, np.full(n, 111.0)))
    assert backtest(market(*quiet(n)), make_asks(n, shorts=[0], stops=levels)).stop[0] == 111.0


def test_a_stop_on_the_wrong_side_is_rejected():
    """A long's above its entry, and a short's below."""
    wrong = ((LEVEL, 0.0, np.full(3, 104.0)), (LEVEL, 0.0, np.full(3, 96.0)))
    for side in ("longs", "shorts"):
        ledger = backtest(market(*quiet(3)), make_asks(3, **{side: [0]}, stops=wrong))
        assert (len(ledger), ledger.rejected) == (0, 1)


def test_a_short_without_a_target_gains_without_end():
    """Its target is minus infinity; one at 0 or below is legal, and never reached."""
    bars = market(*quiet(2), (1, 1, 0.5, 1))
    ledger = backtest(bars, make_asks(3, shorts=[0]))
    assert (ledger.target[0], REASONS[ledger.reason[0]]) == (-np.inf, "end")
    far = make_asks(3, shorts=[0], targets=((R_MULTIPLE, 50.0, None),) * 2)
    assert list_trades(bars, far) == [(-1, 1, 2, "end", 1.0)]
    assert backtest(bars, far).target[0] == -50.0


def test_a_condition_leaves_at_the_next_open():
    """Asked at the close of bar 2; what was asked at the signal bar does not count."""
    bars = market(*quiet(3), (95, 101, 95, 100), QUIET)
    trades = list_trades(bars, make_asks(5, longs=[0], leave_long=[0, 2], stop=8.0))
    assert trades == [(1, 1, 3, "signal", 95.0)]


def test_a_condition_at_the_close_of_the_entry_bar_counts():
    """The earliest that a position can be left by one is the bar after its entry."""
    bars = market(*quiet(5))
    trades = list_trades(bars, make_asks(5, longs=[0], leave_long=[1]))
    assert trades == [(1, 1, 2, "signal", 100.0)]


def test_a_condition_comes_before_a_gap_through_the_stop():
    """Both fill at that open; the reason is the condition's."""
    bars = market(*quiet(3), (90, 91, 89, 90))
    trades = list_trades(bars, make_asks(4, longs=[0], leave_long=[2]))
    assert trades == [(1, 1, 3, "signal", 90.0)]


def test_what_is_asked_at_the_last_close_is_not_filled():
    """There is no open after it in the window."""
    bars = market(*quiet(6))
    ask = make_asks(6, longs=[0], leave_long=[3])
    assert list_trades(bars, ask, window=(0, 4)) == [(1, 1, 3, "end", 100.0)]
    assert list_trades(bars, ask) == [(1, 1, 4, "signal", 100.0)]


def test_stop_and_reverse_at_one_open():
    """The other side may signal at the bar that asked for the exit; both fill at one open."""
    bars = market(*quiet(6))
    ask = make_asks(6, longs=[0], shorts=[2], leave_long=[2], leave_short=[])
    assert list_trades(bars, ask) == [(1, 1, 3, "signal", 100.0), (-1, 3, 5, "end", 100.0)]
    (accumulators,), _ = by_cpu(bars, [ask], FREE, [(0, 6)])
    # Bars 1 and 2 of the long, 3 to 5 of the short: bar 3 counts once.
    assert accumulators[0, ACCUMULATOR_INDEX["bars_in_market"]] == 5.0
    assert backtest(bars, ask).held.tolist() == [2, 3]


def test_the_same_side_waits_for_the_bar_of_its_exit():
    """A long at the bar that asked for its exit does not count, one bar later it does."""
    bars = market(*quiet(7))
    ask = make_asks(7, longs=[0, 2], leave_long=[2])
    assert list_trades(bars, ask) == [(1, 1, 3, "signal", 100.0)]
    later = make_asks(7, longs=[0, 3], leave_long=[2])
    assert list_trades(bars, later) == [(1, 1, 3, "signal", 100.0), (1, 4, 6, "end", 100.0)]


def test_only_an_exit_by_condition_may_be_reversed_a_bar_earlier():
    """A stop in bar 2 is known at its close: a short at bar 1 does not count, at bar 2 it does."""
    bars = market(*quiet(2), (100, 101, 96, 100), *quiet(3))
    assert list_trades(bars, make_asks(6, longs=[0], shorts=[1])) == [(1, 1, 2, "stop", 97.0)]
    both = list_trades(bars, make_asks(6, longs=[0], shorts=[1, 2]))
    assert both == [(1, 1, 2, "stop", 97.0), (-1, 3, 5, "end", 100.0)]


def test_a_rejected_reversal_is_counted_once():
    """The account stays flat, and the next bar may signal again."""
    row = np.array([3.0, 3.0, np.nan, 3.0, 3.0, 3.0])
    stops = ((FROM_ENTRY, 0.0, row),) * 2
    ask = make_asks(6, longs=[0], shorts=[2, 3], leave_long=[2], stops=stops)
    ledger = backtest(market(*quiet(6)), ask)
    assert (ledger.rejected, ledger.entry_bar.tolist()) == (1, [1, 4])


def trailing(away=2.0, **more):
    """A stop that follows at a distance."""
    return {"trails": ((FROM_ENTRY, 0.0, np.full(9, away)),) * 2, **more}


def test_the_entry_bars_high_moves_the_next_bars_stop_only():
    """A high of 110 puts the stop to 108, above that bar's low and close; bar 2 opens below it."""
    bars = market(QUIET, (100, 110, 99, 100), *quiet(7))
    ledger = backtest(bars, make_asks(9, longs=[0], **trailing()))
    assert (ledger.exit_bar[0], REASONS[ledger.reason[0]], ledger.exit[0]) == (2, "stop_gap", 100.0)
    assert (ledger.stop[0], ledger.last_stop[0], ledger.r[0]) == (97.0, 108.0, 0.0)


def test_a_trailing_stop_never_loosens_and_keeps_the_first_risk():
    """Highs of 104 and 103 leave it at 102; R stays 3."""
    later = [(103, 104, 103, 103), (103, 103, 102.5, 103), (103, 103, 101, 102)]
    bars = market(QUIET, (100, 103, 100, 103), *later, *quiet(4))
    ledger = backtest(bars, make_asks(9, longs=[0], **trailing()))
    assert (ledger.exit_bar[0], ledger.exit[0], ledger.r[0]) == (4, 102.0, 2.0 / 3.0)


def test_a_trailing_stop_of_a_short_follows_lows():
    """A low of 95 puts it to 97."""
    bars = market(QUIET, (100, 100, 95, 96), (96, 97, 96, 96), *quiet(6))
    ledger = backtest(bars, make_asks(9, shorts=[0], **trailing()))
    assert (ledger.exit_bar[0], ledger.exit[0], ledger.last_stop[0]) == (2, 97.0, 97.0)


def test_a_trailing_stop_begins_after_a_gain():
    """With `after` of 2 R it waits for 106."""
    rows = [QUIET, (100, 105, 100, 105), (105, 105, 101, 105), (105, 106, 105, 106),
            (106, 106, 103, 103)]  # fmt: skip
    bars = market(*rows, *quiet(4))
    ledger = backtest(bars, make_asks(9, longs=[0], **trailing(after=(2.0, 2.0))))
    assert (ledger.exit_bar[0], ledger.exit[0]) == (4, 104.0)


def test_a_trailing_distance_that_is_not_above_nothing_is_rejected():
    """So is one that is not known."""
    for away in (0.0, -1.0, np.nan):
        ledger = backtest(market(*quiet(9)), make_asks(9, longs=[0], **trailing(away)))
        assert (len(ledger), ledger.rejected) == (0, 1)


def test_a_share_of_the_best_price_follows_too():
    """A tenth of 120 leaves 108."""
    bars = market(QUIET, (100, 120, 100, 120), (120, 120, 107, 110), *quiet(6))
    share = {"trails": ((SHARE, 0.1, None),) * 2}
    ledger = backtest(bars, make_asks(9, longs=[0], **share))
    assert (ledger.exit_bar[0], ledger.exit[0]) == (2, 120.0 - 120.0 * 0.1)


def test_break_even_puts_the_stop_to_the_entry():
    """After a gain of 1 R, reached exactly; a short likewise."""
    bars = market(QUIET, (100, 103, 100, 102), (102, 102, 99, 100), *quiet(6))
    ledger = backtest(bars, make_asks(9, longs=[0], break_even=1.0))
    assert (ledger.exit_bar[0], REASONS[ledger.reason[0]], ledger.r[0]) == (2, "stop", 0.0)
    fallen = market(QUIET, (100, 100, 97, 98), (98, 101, 98, 100), *quiet(6))
    ledger = backtest(fallen, make_asks(9, shorts=[0], break_even=1.0))
    assert (ledger.exit_bar[0], ledger.exit[0], ledger.last_stop[0]) == (2, 100.0, 100.0)


def test_a_delay_that_leaves_no_bar_signals_nothing():
    """With a delay of 2 and an end two bars away there is no entry; three bars away there is."""
    bars = market(*quiet(6))
    ask = make_asks(6, longs=[1], delay=2)
    assert list_trades(bars, ask, window=(0, 4)) == []
    assert list_trades(bars, ask, window=(0, 5)) == [(1, 4, 4, "end", 100.0)]


def test_no_signal_before_window_or_warm_up():
    """The later of both is the first bar that may."""
    bars, ask = market(*quiet(8)), make_asks(8, longs=range(8), max_hold=1, warm_up=3)
    assert backtest(bars, ask, window=(1, 8)).signal_bar[0] == 3
    assert backtest(bars, ask, window=(5, 8)).signal_bar[0] == 5


def test_a_session_ends_by_the_clock():
    """Bars of an hour from 18:00, out at 20:00: the bar that closes then, also of the entry."""
    bars = market(*quiet(8), start=18 * 60)
    ask = make_asks(8, longs=[0], session=(1200, 0))
    assert list_trades(bars, ask) == [(1, 1, 1, "session", 100.0)]
    early = market(*quiet(8), start=16 * 60)
    assert list_trades(early, ask) == [(1, 1, 3, "session", 100.0)]
    # Later than the minute a position is left in its first bar, until the day ends.
    assert list_trades(bars, make_asks(8, longs=[2], session=(1200, 0))) == [
        (1, 3, 3, "session", 100.0)
    ]
    assert list_trades(bars, make_asks(8, longs=[5], session=(1200, 0))) == [
        (1, 6, 7, "end", 100.0)
    ]


def test_a_missing_minute_leaves_at_the_next_sessions_open():
    """The market closes at 17:00 on a Friday and opens on Monday at 95, through no stop."""
    monday = 3 * 1440 + 9 * 60
    at = [900, 960, 1020, monday, monday + 60, monday + 120]
    bars = market(*quiet(3), (98, 101, 98, 100), *quiet(2), at=at)
    ask = make_asks(6, longs=[0], session=(1440, 0))
    assert list_trades(bars, ask) == [(1, 1, 3, "session", 98.0)]


def test_a_session_left_at_an_open_comes_before_the_stop():
    """A gap through the stop into the next session is the session's; a condition comes first."""
    bars = market(*quiet(3), (90, 91, 89, 90), at=[900, 960, 1020, 1440 + 600])
    assert list_trades(bars, make_asks(4, longs=[0], session=(1440, 0))) == [
        (1, 1, 3, "session", 90.0)
    ]
    both = make_asks(4, longs=[0], leave_long=[2], session=(1440, 0))
    assert list_trades(bars, both) == [(1, 1, 3, "signal", 90.0)]


FRIDAY = [900, 960, 1020, 3 * 1440 + 540]


@pytest.mark.parametrize(
    ("reason", "held", "given", "at"),
    [
        ("signal", 2, {"leave_long": [2]}, None),
        ("stop_gap", 2, {}, None),
        ("session", 2, {"session": (1440, 0)}, FRIDAY),
        ("session", 3, {"session": (240, 0), "stop": 9.0}, None),
        ("end", 3, {"stop": 9.0}, None),
    ],
    ids=["condition", "gap", "session at an open", "session at a close", "end"],
)
def test_a_bar_that_is_left_at_its_open_is_not_held(reason, held, given, at):
    """Entered in bar 1 and left in bar 3, at its open or later."""
    ledger = backtest(market(*quiet(3), (96, 97, 95, 96), at=at), make_asks(4, longs=[0], **given))
    assert (ledger.exit_bar.tolist(), REASONS[ledger.reason[0]]) == ([3], reason)
    assert ledger.held.tolist() == [held]


@pytest.mark.parametrize(("offset", "exit_bar"), [(0, 5), (330, 2), (-300, 10)])
def test_a_session_has_its_own_clock(offset, exit_bar):
    """Midnight and the minute move with the offset: bars of half an hour from 17:00 on, UTC."""
    bars = market(*quiet(16), minutes=30, start=17 * 60)
    minute = {0: 1200, 330: 1440, -300: 1050}[offset]
    ask = make_asks(16, longs=[0], session=(minute, offset))
    ledger = backtest(bars, ask)
    assert (ledger.exit_bar[0], REASONS[ledger.reason[0]]) == (exit_bar, "session")


def test_time_comes_before_the_session_and_the_session_before_the_end():
    """Three reasons at one close."""
    bars = market(*quiet(3), start=18 * 60)
    ask = {"longs": [0], "session": (1260, 0)}
    assert list_trades(bars, make_asks(3, **ask, max_hold=2)) == [(1, 1, 2, "time", 100.0)]
    assert list_trades(bars, make_asks(3, **ask)) == [(1, 1, 2, "session", 100.0)]
    assert list_trades(bars, make_asks(3, longs=[0])) == [(1, 1, 2, "end", 100.0)]


def test_shorts_are_added_up_by_themselves():
    """One long that loses 1 R, one short that gains 5 and one that loses 1."""
    rows = [*quiet(2), (100, 100, 97, 100), *quiet(2), (100, 101, 85, 85), (100, 101, 99, 100),
            (100, 103, 99, 100)]  # fmt: skip
    ask = make_asks(8, longs=[0], shorts=[3, 6], max_hold=2)
    ((sums,),), ((ledger,),) = by_cpu(market(*rows), [ask], FREE, [(0, 8)])
    assert ledger.r.tolist() == [-1.0, 5.0, -1.0]
    value = {name: sums[i] for name, i in ACCUMULATOR_INDEX.items()}
    assert (value["trades"], value["shorts"], value["wins_short"]) == (3.0, 2.0, 1.0)
    assert (value["sum_r"], value["sum_r_short"]) == (3.0, 4.0)
    assert (value["exits_stop"], value["exits_time"]) == (2.0, 1.0)


def test_no_target_is_out_of_reach():
    """Whatever a long rises to."""
    bars = market(*quiet(2), (100, 1e9, 99, 100))
    ledger = backtest(bars, make_asks(3, longs=[0], targets=((NONE, 0.0, None),) * 2))
    assert (ledger.target[0], REASONS[ledger.reason[0]]) == (np.inf, "end")


def test_the_last_stop_is_the_one_in_force_at_the_exit():
    """The high of the bar that ends the window at its close moves nothing any more."""
    bars = market(QUIET, (100, 105, 100, 104), (104, 120, 104, 120), *quiet(6))
    ledger = backtest(bars, make_asks(9, longs=[0], **trailing(away=8.0, max_hold=2)))
    assert (REASONS[ledger.reason[0]], ledger.exit[0], ledger.last_stop[0]) == ("time", 120.0, 97.0)


@pytest.mark.parametrize("bars_later", [1022, 1023, 1024, 1025, 2047, 2048])
def test_a_condition_is_heard_however_late_it_comes(bars_later):
    """Also at the edges of the stretches that are looked at in turn."""
    bars = market(*quiet(2100))
    trades = list_trades(bars, make_asks(2100, longs=[0], leave_long=[1 + bars_later]))
    assert trades == [(1, 1, 2 + bars_later, "signal", 100.0)]


@pytest.mark.parametrize("bars_later", [1022, 1023, 1024, 1025])
def test_the_clock_is_heard_however_late_it_comes(bars_later):
    """A day of so many minutes after the entry, and then the next day."""
    at = [*range(1 + bars_later), 1440, 1441]
    bars = market(*quiet(len(at)), minutes=1, at=at)
    ask = make_asks(len(at), longs=[0], session=(1440, 0))
    assert list_trades(bars, ask) == [(1, 1, 1 + bars_later, "session", 100.0)]
