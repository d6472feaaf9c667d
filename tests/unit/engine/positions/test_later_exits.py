"""Stops that move, parts, cooldowns and the margin price, rule by rule: hand-made markets.

Quiet bars open and close at 100 and go from 99 to 101. A volume of 2 asks for a long, 3 for a
short, 4 for an exit; stops stand 3 from the entry.
"""

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.positions.exit_spec import MINUTE_NS
from engine.reference import Reference, as_it_reads
from strategy import words as w
from strategy.model import from_described
from tests.support.parity import both
from tests.support.references import list_trades

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


TRADE = ("side", "signal_bar", "entry_bar", "exit_bar", "reason", "exit")


def trade_by_hand(rows, strategy, *names, **genes):
    """Fields of each trade, and sums by name; both engines agree."""
    bars, genome = market(*rows), strategy.layout.encode(genes)
    windows = [Window.whole(bars)]
    assert both(strategy, [bars], windows, genome[None], FREE, as_it_reads) == ""
    reference = Reference(strategy, [bars], windows, FREE, form=as_it_reads)
    (ledger,) = reference.trades(genome)
    assert {reason for (reason,) in list_trades(ledger, "reason")} <= set(strategy.reasons)
    sums = reference.fold(ledger, genome)
    return list_trades(ledger, *names), dict(zip(ACCUMULATOR_INDEX, sums, strict=True))


@pytest.mark.parametrize(
    ("bars", "later"), [(0, [2, 4, 5, 6]), (1, [4, 5, 6]), (2, [4, 5, 6]), (3, [5, 6]), (9, [])]
)
def test_no_signal_counts_for_some_bars_after_a_stop(bars, later):
    """Of both sides, from the bar of the exit on."""
    fall = (*FALL[:4], 3.0)
    rows = (LONG, QUIET, fall, QUIET, SHORT, LONG, LONG, QUIET, QUIET)
    trades, _ = trade_by_hand(rows, plan(cooldown=w.whole("pause", 1, 0, 9)), *TRADE, pause=bars)
    first, *others = trades
    assert first == (1, 0, 1, 2, "stop", 97.0)
    assert [others[0][1]] == later[:1] if later else others == []


NUMBERED = (
    LONG, (*QUIET[:4], 11.0), (100.0, 102.0, 98.5, 100.0, 12.0),
    (100.0, 101.0, 98.25, 100.0, 13.0), (100.0, 101.0, 98.5, 100.0, 1.0), QUIET, QUIET,
)  # fmt: skip
"""Bars 1 to 3 have volumes of their own, by which a row knows them."""


def follow_line(*prices):
    """A row that is at these prices in the numbered bars, and at 90 in all others."""
    row = w.close * 0 + 90
    for number, price in enumerate(prices, 11):
        row = row + (price - 90) * w.maximum(0, 1 - abs(w.volume - number))
    return row


def follow(*prices, after=0, row=None):
    """A trail along a row, on ticks of a quarter."""
    row = follow_line(*prices) if row is None else row
    return {"trail": w.trail(w.level(row), after), "market": w.market(tick="0.25")}


UNKNOWN_AT_2 = follow_line(90.0, 98.5, 90.0) + 0 * ((w.volume - 12) / (w.volume - 12))
REACHED = (100.0, 103.5, 99.5, 102.0, 1.0)  # it gains more than the risk of 3
BACK = (102.0, 102.5, 99.0, 100.0, 1.0)
TURN = (100.0, 101.5, 99.0, 100.0, 1.0)
LOW = (100.0, 100.0, 94.0, 95.0, 1.0)
SELL_STOP = {"reverse": True, "entry": w.by_side(None, w.stop_at(w.close - 5))}
MET = (20.2, 20.2, 20.12, 20.15, 1.0)


def even(offset, gain=1, **further):
    """A break-even beyond the entry, named."""
    return {"break_even": w.break_even(gain, offset), "named_stops": True,
            "market": w.market(tick="0.25"), **further}  # fmt: skip


def trail_behind(distance, after=1, **further):
    """A trail at a distance."""
    return {"trail": w.trail(w.from_entry(w.close * 0 + distance), after), **further}


MOVED = (LONG, QUIET, REACHED, (*BACK[:4], 2.0), QUIET, FALL, QUIET)
ASKED = w.volume >= 4
KNOWING = (LONG, LEAVE, (100.0, 101.0, 98.5, 99.0, 4.0), (99.0, 102.0, 98.5, 101.5, 4.0), LEAVE,
           QUIET, QUIET)  # fmt: skip

CASES = [
    # Neither a target nor a condition begins a cooldown.
    ((LONG, QUIET, RISE, LONG, QUIET, LEAVE, LONG, QUIET, QUIET),
     {"cooldown": 5, "target": w.r_multiple(1), "exit_long": w.equals(w.volume, 4)},
     [(1, 0, 1, 2, "target", 103.0), (1, 3, 4, 6, "signal", 100.0), (1, 6, 7, 8, "end", 100.0)]),
    # A stop ends standing orders where there is one: the short's at 95 of bar 2 is met in bar 4.
    *(((LONG, QUIET, SHORT, FALL, LOW, QUIET, QUIET), {**SELL_STOP, **pause},
       [(1, 0, 1, 3, "stop", 97.0), (-1, 2, 4, 4, "stop", 98.0)][:count])
      for pause, count in (({}, 2), ({"cooldown": 0}, 2), ({"cooldown": 1}, 1))),
    # A limit whose slippage is unknown at bar 0 is not filled; nor is one without a price.
    ((LONG, QUIET, LONG, QUIET, QUIET),
     {"entry": w.limit_at(w.close), "slippage": w.price(w.close / (w.volume - 2))},
     [(1, 2, 3, 4, "end", 100.0)]),
    ((SHORT, QUIET, SHORT, QUIET, QUIET),
     {"entry": w.limit_at(w.close - 101, through=2), "market": w.market(tick="1")}, []),
    # 20.13 less 0.01 is a bit below 20.12 to a computer, which the bar reaches.
    (((20.2, 20.3, 20.1, 20.13, 2.0), MET, MET),
     {"entry": w.limit_at(w.close, through=1), "market": w.market(tick="0.01")},
     [(1, 0, 1, 2, "end", 20.15)]),
    # A stop follows a row as it stands at each close, from the next bar on, and never loosens.
    *((NUMBERED, follow(*line, after=after), [(1, 0, 1, *left)]) for line, after, left in (
        ((98.5, 90.0, 90.0), 0, (2, "stop", 98.5)), ((90.0, 98.5, 90.0), 0, (3, "stop", 98.5)),
        ((96.0, 98.25, 97.5), 0, (3, "stop", 98.25)), ((96.0, 90.0, 96.0), 0, (6, "end", 100.0)),
        # Beyond the close the next bar opens there; 98.4 is on the tick below; a price below 0
        # moves nothing; a third of the risk of 3 is gained by the high of bar 2.
        ((90.0, 101.0, 90.0), 0, (3, "stop_gap", 100.0)),
        ((98.4, 90.0, 90.0), 0, (3, "stop", 98.25)), ((-1.0, 0.0, 98.75), 0, (4, "stop", 98.75)),
        ((98.5, 98.5, 90.0), 0.5, (3, "stop", 98.5)),
        ((98.5, 90.0, 90.0), 0.5, (6, "end", 100.0)))),
    (NUMBERED, follow(row=UNKNOWN_AT_2), [(1, 0, 1, 6, "end", 100.0)]),
    # A short follows a row down; the long has one of its own.
    ((SHORT, QUIET, TURN, LONG, QUIET, TURN, QUIET),
     {"trail": w.by_side(w.trail(w.level(w.close - 50)), w.trail(w.level(w.close + 1.5)))},
     [(-1, 0, 1, 2, "stop", 101.5), (1, 3, 4, 6, "end", 100.0)]),
    # A break-even beyond the entry, on the tick below; also beyond the price, and of a short.
    *(((LONG, QUIET, REACHED, BACK, QUIET), even(offset), [(1, 0, 1, *left)]) for offset, left in (
        (w.r_multiple(0.25), (3, "break_even", 100.75)),
        (w.share(0.004), (3, "break_even", 100.25)),
        (w.share(0.00001), (3, "break_even", 100.0)), (w.r_multiple(1), (3, "stop_gap", 102.0)))),
    ((SHORT, QUIET, (100.0, 100.5, 96.5, 98.0, 1.0), (98.0, 101.0, 97.0, 100.0, 1.0), QUIET),
     even(w.r_multiple(0.1), w.after_leg(1), targets=[(w.r_multiple(1), 0.5)], market=None),
     [(-1, 0, 1, 3, "break_even", 100 - 0.1 * 3.0)]),
    # Stops that moved are named on request: the first of two at one price, or the tighter one.
    *((MOVED, trail_behind(2, 0, break_even=3, named_stops=named),
       [(1, 0, 1, 3, reason, 101.5), (1, 3, 4, 5, reason, 99.0)])
      for named, reason in ((False, "stop"), (True, "trail"))),
    *(((LONG, QUIET, REACHED, BACK, QUIET), trail_behind(away, break_even=1, named_stops=True),
       [(1, 0, 1, 3, reason, price)])
      for away, reason, price in ((3.5, "trail", 100.0), (3.75, "break_even", 100.0),
                                  (3.0, "trail", 100.5))),
    # Asked at the closes of bars 1 to 4, entered in bar 1; closes are at 100, 99, 101.5, 100.
    *((KNOWING, {"exit_long": w.in_trade(ASKED, **bounds)}, [(1, 0, 1, *left)])
      for bounds, left in (
        ({"bars_from": 1}, (2, "signal", 100.0)), ({"bars_from": 3}, (4, "signal", 100.0)),
        ({"bars_from": 5}, (6, "end", 100.0)), ({"bars_to": 1}, (2, "signal", 100.0)),
        ({"bars_from": 3, "profit_to": 0}, (5, "signal", 100.0)),
        ({"profit_from": 0.5}, (4, "signal", 100.0)), ({"profit_from": 0.51}, (6, "end", 100.0)),
        ({"profit_to": -1 / 3}, (3, "signal", 99.0)),
        ({"bars_to": 2, "profit_from": 0.5}, (6, "end", 100.0)))),
    # A short at a gain leaves; at its open the other side's signal counts.
    ((SHORT, (*QUIET[:4], 4.0), (100.0, 101.0, 97.0, 98.0, 2.0), (98.0, 99.0, 97.0, 98.0, 4.0),
      QUIET, QUIET),
     {"exit_short": w.in_trade(w.volume >= 2, profit_from=0.5), "exit_long": ASKED},
     [(-1, 0, 1, 3, "signal", 98.0), (1, 2, 3, 4, "signal", 100.0)]),
]  # fmt: skip
"""Bars, parts of a strategy, and side, signal bar, entry bar, exit bar, reason, exit of trades."""


@pytest.mark.parametrize(("rows", "parts", "trades"), CASES, ids=range(len(CASES)))
def test_a_rule_by_hand(rows, parts, trades):
    """Cooldowns, limits, trails along a row, break-evens, names of stops, bounds of exits."""
    assert trade_by_hand(rows, plan(**parts), *TRADE)[0] == trades


def test_what_is_new_is_recorded_where_it_is_there():
    """Older digests stand, and a record reads back."""
    even = w.break_even(1, w.share(w.gene("above", 0.001, 0.0005, 0.01)))
    strategy = plan(
        cooldown=w.whole("pause", 1, 0, 9), break_even=even, named_stops=True,
        exit_long=w.in_trade(w.close < w.open, w.length("held", 3, 1, 9)),
    )  # fmt: skip
    assert from_described(strategy.described).digest == strategy.digest
    assert strategy.reasons == ("stop_gap", "stop", "end", "signal", "break_even")
    assert strategy.layout.names == ("pause", "above", "held")
    later = {"cooldown", "even_offset", "named_stops", "exit_bounds"}
    assert not later & plan(break_even=1).described.keys()
    assert plan().digest != plan(cooldown=0).digest


DIVE, END = (100.0, 100.0, 92.0, 92.0, 1.0), (92.0, 103.0, 92.0, 103.0, 1.0)
DEEP, GAP = (100.0, 100.0, 88.0, 92.0, 1.0), (93.0, 103.0, 92.0, 103.0, 1.0)
CLIMB = (100.0, 108.0, 100.0, 103.0, 1.0)
TWENTY, MOVE = w.equity_share(20), w.volume * 0 + 2


def lose(size, far=50.0, leverage=None, **parts):
    """A strategy with an account of 1,000 in trades of this size, and a stop so far away."""
    return plan(
        **{"stop": w.from_entry(w.close * 0 + far), "account": w.account(1000, size, leverage)}
        | parts
    )


STOPPED = ("reason", "exit_bar", "exit", "stop", "last_stop")


@pytest.mark.parametrize(
    ("strategy", "rows", "trade", "equity"),
    [
        # 100 - 100 / 20; at 103 it would have gained 60 %.
        (lose(TWENTY), (LONG, QUIET, DIVE, END), ("margin", 2, 95.0, 50.0, 95.0), 0.0),
        (lose(TWENTY), (LONG, QUIET, GAP), ("margin", 2, 93.0, 50.0, 95.0), 0.0),
        (lose(TWENTY), (LONG, DIVE, END), ("margin", 1, 95.0, 50.0, 95.0), 0.0),
        (lose(TWENTY), (SHORT, QUIET, CLIMB), ("margin", 2, 105.0, 150.0, 105.0), 0.0),
        (lose(TWENTY), (LONG, QUIET, CLIMB), ("end", 2, 103.0, 50.0, 95.0), 1.6),
        # 2 / 0.4 is 5 too; where the row gives no size it gives no price.
        (lose(w.volatility(0.4, MOVE)), (LONG, QUIET, DIVE), ("margin", 2, 95.0, 50.0, 95.0), 0.0),
        (lose(w.volatility(0.4, MOVE - 2)), (LONG, QUIET, DIVE), ("end", 2, 92.0, 50.0, 50.0), 1.0),
        # With a leverage of 2 at 100 - 100 / 2, as far as the stop; 20 units in place of 200.
        (lose(TWENTY, leverage=2), (LONG, QUIET, DIVE), ("end", 2, 92.0, 50.0, 50.0), 0.84),
        (lose(TWENTY, 60.0, 2), (LONG, QUIET, DIVE), ("end", 2, 92.0, 40.0, 50.0), 0.84),
        # At 75: the stop is nearer, by 40 units.
        (lose(w.equity_share(4), 10.0), (LONG, QUIET, DEEP), ("stop", 2, 90.0, 90.0, 90.0), 0.6),
        # At 0, where no price comes, and at 200.
        (lose(w.equity_share(1), 150.0), (LONG, QUIET, DIVE), ("end", 2, 92.0, -50.0, 0.0), 0.92),
        (lose(w.equity_share(1), 150.0), (SHORT, QUIET, DIVE),
         ("end", 2, 92.0, 250.0, 200.0), 1.08),
        # These hang on the cash, or have the nearer stop.
        (lose(w.notional(20_000)), (LONG, QUIET, DIVE, END), ("end", 3, 103.0, 50.0, 50.0), 1.6),
        (lose(w.units(200)), (LONG, QUIET, DIVE, END), ("end", 3, 103.0, 50.0, 50.0), 1.6),
        (lose(w.risk(1)), (LONG, QUIET, DIVE, END), ("end", 3, 103.0, 50.0, 50.0), 1.06),
    ],
)  # fmt: skip
def test_a_trade_ends_where_it_has_cost_the_account(strategy, rows, trade, equity):
    """Where that is nearer than its stop, which stays what R is counted in."""
    trades, sums = trade_by_hand(rows, strategy, *STOPPED)
    assert trades == [trade]
    assert sums["equity"] == pytest.approx(equity, abs=1e-12)
    assert sums["exits_stop"] == (trade[0] in ("margin", "stop"))
    gain = trade[2] - 100.0 if rows[0] is LONG else 100.0 - trade[2]
    assert sums["sum_r"] == pytest.approx(gain / abs(100.0 - trade[3]), abs=1e-12)


RETURN = (106.0, 107.0, 94.0, 95.0, 1.0)
NEAR = w.trail(w.from_entry(w.close * 0 + 2))
WIDE = w.trail(w.from_entry(w.close * 0 + 40))
BUY_STOP, BUY_LIMIT = (
    w.by_side(w.stop_at(w.close + 1), None),
    w.by_side(w.limit_at(w.close - 1), None),
)


@pytest.mark.parametrize(
    ("parts", "rows", "trades"),
    [
        # A stop that moved names itself; one that would be looser leaves the margin price.
        ({"trail": NEAR}, (LONG, QUIET, CLIMB, RETURN), [("stop_gap", 3, 106.0)]),
        ({"trail": NEAR}, (LONG, QUIET, CLIMB, (107.0, *RETURN[1:])), [("stop", 3, 106.0)]),
        ({"trail": NEAR, "named_stops": True}, (LONG, QUIET, CLIMB, (107.0, *RETURN[1:])),
         [("trail", 3, 106.0)]),
        ({"break_even": 0.1, "named_stops": True}, (LONG, QUIET, CLIMB, RETURN),
         [("break_even", 3, 100.0)]),
        ({"trail": WIDE, "named_stops": True}, (LONG, QUIET, CLIMB, RETURN), [("margin", 3, 95.0)]),
        # Bought at 101.25: at 96.1875, that is at 96 on the tick, and sold as at a stop.
        ({"market": w.market(tick="0.75"), "slippage": w.ticks(1)}, (LONG, QUIET, DIVE),
         [("margin", 2, 95.25)]),
        # Entries within a bar: at 101, whose bar's low may be older, and at 99.
        ({"entry": BUY_STOP}, (LONG, (100.0, 102.0, 92.0, 101.0, 1.0)), [("margin", 1, 95.95)]),
        ({"entry": BUY_LIMIT}, (LONG, DIVE), [("margin", 1, 94.05)]),
        # An order that reverses no farther away comes first, one behind it never.
        ({"reverse": True, "entry": w.by_side(None, w.stop_at(w.close - 4))},
         (LONG, SHORT, DIVE), [("reverse", 2, 96.0), ("end", 2, 92.0)]),
        ({"reverse": True, "entry": w.by_side(None, w.stop_at(w.close - 6))},
         (LONG, SHORT, DIVE), [("margin", 2, 95.0)]),
        # It begins a cooldown: the signals of bars 2 and 3 do not count.
        ({"cooldown": 2}, (LONG, QUIET, (*DIVE[:4], 2.0), LONG, LONG, QUIET),
         [("margin", 2, 95.0), ("end", 5, 100.0)]),
    ],
)  # fmt: skip
def test_whatever_reads_a_stop_reads_the_one_in_force(parts, rows, trades):
    """What moves it, where it is filled, what comes before it, and what comes after it."""
    found, sums = trade_by_hand(rows, lose(TWENTY, **parts), *STOPPED[:3])
    assert found == [
        (reason, bar, pytest.approx(price, abs=1e-12)) for reason, bar, price in trades
    ]
    assert (sums["equity"] == 0.0) == ("margin" in [trade[0] for trade in trades])


@pytest.mark.parametrize(
    ("parts", "rows", "reasons", "equity"),
    [
        # A half was sold at 102, and still nothing is left.
        ({"targets": [(w.share(0.02), 0.5)]}, (LONG, QUIET, CLIMB, RETURN), ["margin"], 0.0),
        # 200 units are no lot of 1,000.
        ({"market": w.market(lot="1000")}, (LONG, QUIET, DIVE), ["margin"], 1.0),
        # For good: the second trade would have gained.
        ({}, (LONG, QUIET, DIVE, LONG, QUIET, CLIMB), ["margin", "end"], 0.0),
    ],
)
def test_a_margin_exit_takes_all_of_a_sized_trade(parts, rows, reasons, equity):
    """Whatever its parts had gained before; an unsized one moves no money."""
    trades, sums = trade_by_hand(rows, lose(TWENTY, **parts), "reason")
    assert ([reason for (reason,) in trades], sums["equity"]) == (reasons, equity)
    assert sums["max_drawdown"] == 1.0 - equity


def test_an_account_is_lost_for_all_its_windows_and_with_limits_too():
    """Each other window gains 60 %, before it and behind it."""
    bars = market(LONG, QUIET, CLIMB, LONG, QUIET, DIVE, LONG, QUIET, CLIMB)
    windows = [Window(0, first, first + 3) for first in (0, 3, 6)]
    for costs in (FREE, Costs(fee_bp=0.0, slippage_bp=0.0, max_leverage=30)):
        assert both(lose(TWENTY), [bars], windows, np.empty((1, 0)), costs, as_it_reads) == ""
        sums, account = Engine(lose(TWENTY), [bars], windows, costs).evaluate_account(
            np.empty((1, 0))
        )
        equity = ACCUMULATOR_INDEX["equity"]
        assert sums[0, :, equity].tolist() == pytest.approx([1.6, 0.0, 1.6])
        assert account[0, equity] == 0.0
