"""The law of stops that follow and of waiting, rule by rule: hand-made markets, on both engines.

Quiet bars open and close at 100 and go from 99 to 101. A volume of 2 asks for a long, 3 for a
short, 4 for an exit.
"""

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from engine.positions.exit_spec import MINUTE_NS
from engine.reference import Reference, as_it_reads
from strategy import words as w
from strategy.deserialize import from_described
from strategy.errors import StrategyError
from tests.parity.test_language import both

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
QUIET = (100.0, 101.0, 99.0, 100.0, 1.0)
LONG, SHORT, LEAVE = ((*QUIET[:4], volume) for volume in (2.0, 3.0, 4.0))
FALL = (100.0, 101.0, 96.0, 100.0, 1.0)
RISE = (100.0, 104.0, 99.0, 100.0, 1.0)


def market(*rows):
    """Bars of these prices and volumes, an hour each."""
    columns = np.array(rows, np.float64).T
    times = np.arange(len(rows)) * 60 * MINUTE_NS
    return Bars(times, *columns, "PAPER", 60 * MINUTE_NS)


def plan(**parts):
    """A strategy with a stop at 3 from the entry whose signals are volumes."""
    asks = {"long": w.equals(w.volume, 2), "short": w.equals(w.volume, 3)}
    return w.strategy("By hand.", **{**asks, "stop": w.from_entry(w.close * 0 + 3), **parts})


def list_trades(rows, strategy, genome=()):
    """Each trade as side, signal bar, entry bar, exit bar, reason, exit; both engines agree."""
    bars, genome = market(*rows), np.array(genome, np.float64)
    windows = [Window.whole(bars)]
    assert both(strategy, [bars], windows, genome[None], FREE, as_it_reads) == ""
    (ledger,) = Reference(strategy, [bars], windows, FREE, form=as_it_reads).trades(genome)
    return [
        (int(t.side), t.signal_bar, t.entry_bar, t.exit_bar, REASONS[t.reason], t.exit)
        for t in map(ledger.trade, range(len(ledger)))
    ]


@pytest.mark.parametrize(
    ("bars", "later"), [(0, [2, 4, 5, 6]), (1, [4, 5, 6]), (2, [4, 5, 6]), (3, [5, 6]), (9, [])]
)
def test_no_signal_counts_for_some_bars_after_a_stop(bars, later):
    """Of both sides, from the bar of the exit on."""
    fall = (*FALL[:4], 3.0)
    rows = (LONG, QUIET, fall, QUIET, SHORT, LONG, LONG, QUIET, QUIET)
    strategy = plan(cooldown=w.whole("pause", 1, 0, 9))
    first, *others = list_trades(rows, strategy, [bars])
    assert first == (1, 0, 1, 2, "stop", 97.0)
    assert [others[0][1]] == later[:1] if later else others == []


def test_other_exits_begin_no_cooldown():
    """Neither a target nor a condition."""
    rows = (LONG, QUIET, RISE, LONG, QUIET, LEAVE, LONG, QUIET, QUIET)
    strategy = plan(cooldown=5, target=w.r_multiple(1), exit_long=w.equals(w.volume, 4))
    assert [trade[1:5] for trade in list_trades(rows, strategy)] == [
        (0, 1, 2, "target"), (3, 4, 6, "signal"), (6, 7, 8, "end"),
    ]  # fmt: skip


@pytest.mark.parametrize(("cooldown", "trades"), [(None, 2), (0, 2), (1, 1)])
def test_a_stop_with_a_cooldown_ends_standing_orders(cooldown, trades):
    """Those that may reverse: the short's order at 95 of bar 2 is met in bar 4."""
    low = (100.0, 100.0, 94.0, 95.0, 1.0)
    rows = (LONG, QUIET, SHORT, FALL, low, QUIET, QUIET)
    parts = {"reverse": True, "entry": w.by_side(None, w.stop_at(w.close - 5))}
    if cooldown is not None:
        parts["cooldown"] = cooldown
    listed = list_trades(rows, plan(**parts))
    assert listed[0] == (1, 0, 1, 3, "stop", 97.0)
    assert [trade[1:3] for trade in listed[1:]] == [(2, 4)][: trades - 1]


UNKNOWN_FIRST = {
    "entry": w.limit_at(w.close), "slippage": w.price(w.close / (w.volume - 2)),
}  # fmt: skip
NO_PRICE = {"entry": w.limit_at(w.close - 101, through=2), "market": w.market(tick="1")}


@pytest.mark.parametrize(
    ("asks", "parts", "trades"),
    [(LONG, UNKNOWN_FIRST, [(1, 2, 3, 4, "end", 100.0)]), (SHORT, NO_PRICE, [])],
)
def test_a_limit_is_not_filled_by_what_is_not_known(asks, parts, trades):
    """How far its exit would slip is unknown at bar 0; no price is met from what lies beyond it."""
    assert list_trades((asks, QUIET, asks, QUIET, QUIET), plan(**parts)) == trades


def test_a_price_that_a_limit_asks_to_be_passed_is_on_the_tick():
    """20.13 less 0.01 is a bit below 20.12 to a computer, which the bar reaches."""
    signal, met = (20.2, 20.3, 20.1, 20.13, 2.0), (20.2, 20.2, 20.12, 20.15, 1.0)
    parts = {"entry": w.limit_at(w.close, through=1), "market": w.market(tick="0.01")}
    assert [trade[3:] for trade in list_trades((signal, met, met), plan(**parts))] == [
        (2, "end", 20.15)
    ]


NUMBERED = (
    LONG,
    (*QUIET[:4], 11.0),
    (100.0, 102.0, 98.5, 100.0, 12.0),
    (100.0, 101.0, 98.25, 100.0, 13.0),
    (100.0, 101.0, 98.5, 100.0, 1.0),
    QUIET,
    QUIET,
)
"""Bars 1 to 3 have volumes of their own, by which a row knows them."""


def follow_line(*prices):
    """A row that is at these prices in the numbered bars, and at 90 in all others."""
    row = w.close * 0 + 90
    for number, price in enumerate(prices, 11):
        row = row + (price - 90) * w.maximum(0, 1 - abs(w.volume - number))
    return row


@pytest.mark.parametrize(
    ("line", "after", "expected"),
    [
        # At the closes of bars 1 to 3; it holds from the next bar on, and never loosens.
        ((98.5, 90.0, 90.0), 0, (2, "stop", 98.5)),
        ((90.0, 98.5, 90.0), 0, (3, "stop", 98.5)),
        ((96.0, 98.25, 97.5), 0, (3, "stop", 98.25)),
        ((96.0, 90.0, 96.0), 0, (6, "end", 100.0)),
        # Beyond the close: the next bar opens there.
        ((90.0, 101.0, 90.0), 0, (3, "stop_gap", 100.0)),
        # On the tick of a quarter, which is down.
        ((98.4, 90.0, 90.0), 0, (3, "stop", 98.25)),
        # Not before a third of the risk of 3 is gained, which the high of bar 2 does.
        ((98.5, 98.5, 90.0), 0.5, (3, "stop", 98.5)),
        ((98.5, 90.0, 90.0), 0.5, (6, "end", 100.0)),
        # No price moves nothing.
        ((-1.0, 0.0, 98.75), 0, (4, "stop", 98.75)),
    ],
)
def test_a_stop_follows_a_row(line, after, expected):
    """As it stands at each close, on the tick."""
    row = follow_line(*line)
    strategy = plan(trail=w.trail(w.level(row), after), market=w.market(tick="0.25"))
    assert list_trades(NUMBERED, strategy) == [(1, 0, 1, *expected)]


def test_an_unknown_row_moves_nothing():
    """It is unknown at the close of bar 2, where it would have stood at 98.5."""
    away = w.volume - 12
    row = follow_line(90.0, 98.5, 90.0) + 0 * (away / away)
    assert list_trades(NUMBERED, plan(trail=w.trail(w.level(row))))[0][3:5] == (6, "end")


def test_a_short_follows_a_row_down():
    """Its stop is met from below; that of a long follows a row of its own."""
    high = (100.0, 101.5, 99.0, 100.0, 1.0)
    rows = (SHORT, QUIET, high, LONG, QUIET, high, QUIET)
    far = w.trail(w.level(w.close - 50))
    strategy = plan(trail=w.by_side(far, w.trail(w.level(w.close + 1.5))))
    assert [trade[3:] for trade in list_trades(rows, strategy)] == [
        (2, "stop", 101.5), (6, "end", 100.0),
    ]  # fmt: skip


REACHED = (100.0, 103.5, 99.5, 102.0, 1.0)
"""A bar that gains more than the risk of 3."""


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (w.r_multiple(0.25), (3, "break_even", 100.75)),
        (w.share(0.004), (3, "break_even", 100.25)),  # of 100.4, down to the tick
        (w.share(0.00001), (3, "break_even", 100.0)),
        (w.r_multiple(1), (3, "stop_gap", 102.0)),  # beyond the price
    ],
)
def test_a_break_even_beyond_the_entry(offset, expected):
    """It holds from the bar after the gain on, on the tick."""
    rows = (LONG, QUIET, REACHED, (102.0, 102.5, 99.0, 100.0, 1.0), QUIET)
    strategy = plan(
        break_even=w.break_even(1, offset), named_stops=True, market=w.market(tick="0.25")
    )
    assert list_trades(rows, strategy) == [(1, 0, 1, *expected)]


def test_a_break_even_beyond_the_entry_of_a_short_after_a_target():
    """Half leaves at 97, the rest a tenth of the risk below the entry."""
    rows = (SHORT, QUIET, (100.0, 100.5, 96.5, 98.0, 1.0), (98.0, 101.0, 97.0, 100.0, 1.0), QUIET)
    even = w.break_even(w.after_leg(1), w.r_multiple(0.1))
    strategy = plan(targets=[(w.r_multiple(1), 0.5)], break_even=even, named_stops=True)
    assert list_trades(rows, strategy) == [(-1, 0, 1, 3, "break_even", 100 - 0.1 * 3.0)]


@pytest.mark.parametrize(("named_stops", "reason"), [(False, "stop"), (True, "trail")])
def test_stops_that_moved_are_named_on_request(named_stops, reason):
    """Prices and sums are the same; a stop that never moved is one."""
    rows = (LONG, QUIET, REACHED, (102.0, 102.5, 99.0, 100.0, 2.0), QUIET, FALL, QUIET)
    strategy = plan(
        trail=w.trail(w.from_entry(w.close * 0 + 2)), break_even=3, named_stops=named_stops
    )
    assert [trade[3:] for trade in list_trades(rows, strategy)] == [
        (3, reason, 101.5), (5, reason, 99.0),
    ]  # fmt: skip


def test_the_first_of_two_movers_at_one_price_has_it():
    """A trail at the entry, then the break-even there; and the tighter one of two."""
    rows = (LONG, QUIET, REACHED, (102.0, 102.5, 99.0, 100.0, 1.0), QUIET)
    for distance, reason in ((3.5, "trail"), (3.75, "break_even"), (3.0, "trail")):
        strategy = plan(
            trail=w.trail(w.from_entry(w.close * 0 + distance), 1), break_even=1, named_stops=True
        )
        assert list_trades(rows, strategy)[0][4] == reason
    assert strategy.reasons == ("stop_gap", "stop", "end", "trail", "break_even")


ASKED = w.volume >= 4


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        # Asked at the closes of bars 1 to 4, entered in bar 1; closes are at 100, 99, 101.5, 100.
        ({"bars_from": 1}, (2, "signal")),
        ({"bars_from": 3}, (4, "signal")),
        ({"bars_from": 5}, (6, "end")),
        ({"bars_to": 1}, (2, "signal")),
        ({"bars_from": 3, "profit_to": 0}, (5, "signal")),
        ({"profit_from": 0.5}, (4, "signal")),
        ({"profit_from": 0.51}, (6, "end")),
        ({"profit_to": -1 / 3}, (3, "signal")),
        ({"bars_to": 2, "profit_from": 0.5}, (6, "end")),
    ],
)
def test_an_exit_knows_its_position(bounds, expected):
    """Bounds are among what counts; risk is 3."""
    low, high = (100.0, 101.0, 98.5, 99.0, 4.0), (99.0, 102.0, 98.5, 101.5, 4.0)
    rows = (LONG, LEAVE, low, high, LEAVE, QUIET, QUIET)
    trades = list_trades(rows, plan(exit_long=w.in_trade(ASKED, **bounds)))
    assert [trade[3:5] for trade in trades] == [expected]


def test_an_exit_of_a_short_knows_its_position_and_a_long_leaves_anyhow():
    """A short at a gain leaves; at its open the other side's signal counts."""
    fall = (100.0, 101.0, 97.0, 98.0, 2.0)
    rows = (SHORT, (*QUIET[:4], 4.0), fall, (98.0, 99.0, 97.0, 98.0, 4.0), QUIET, QUIET)
    leave = w.volume >= 2
    strategy = plan(exit_short=w.in_trade(leave, profit_from=0.5), exit_long=ASKED)
    assert [trade[:5] for trade in list_trades(rows, strategy)] == [
        (-1, 0, 1, 3, "signal"), (1, 2, 3, 4, "signal"),
    ]  # fmt: skip


def test_what_is_new_is_recorded_where_it_is_there():
    """Older digests stand, and a record reads back."""
    even = w.break_even(1, w.share(w.gene("above", 0.001, 0.0005, 0.01)))
    strategy = plan(
        cooldown=w.whole("pause", 1, 0, 9),
        break_even=even,
        named_stops=True,
        exit_long=w.in_trade(w.close < w.open, w.length("held", 3, 1, 9)),
    )
    assert from_described(strategy.described).digest == strategy.digest
    assert strategy.layout.names == ("pause", "above", "held")
    later = {"cooldown", "even_offset", "named_stops", "exit_bounds"}
    assert not later & plan(break_even=1).described.keys()
    assert plan().digest != plan(cooldown=0).digest


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"cooldown": 1.5}, "cooldown"),
        ({"cooldown": -1}, "cooldown"),
        ({"break_even": w.break_even(1, 0.5)}, "offset takes r_multiple"),
        ({"break_even": w.break_even(None, w.share(0.1))}, "an offset is one of a break-even"),
        ({"named_stops": True}, "give it trail or break_even"),
    ],
)
def test_what_makes_no_sense_is_refused(parts, message):
    """By its name."""
    with pytest.raises(StrategyError, match=message):
        plan(**parts)
