"""The law of the margin price, rule by rule: hand-made markets without costs, on both engines.

Quiet bars open and close at 100 and go from 99 to 101. A volume of 2 asks for a long, 3 for a
short; each is filled at 100.
"""

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.batch import Engine
from engine.reference import Reference, as_it_reads
from strategy import words as w
from tests.support.parity import both
from tests.unit.engine.positions.test_later_exits import FREE, LONG, QUIET, SHORT, market, plan

FALL, END = (100.0, 100.0, 92.0, 92.0, 1.0), (92.0, 103.0, 92.0, 103.0, 1.0)
DEEP, GAP = (100.0, 100.0, 88.0, 92.0, 1.0), (93.0, 103.0, 92.0, 103.0, 1.0)
RISE = (100.0, 108.0, 100.0, 103.0, 1.0)
TWENTY, MOVE = w.equity_share(20), w.volume * 0 + 2


def lose(size, far=50.0, leverage=None, **parts):
    """A strategy with an account of 1,000 in trades of this size, and a stop so far away."""
    return plan(
        **{"stop": w.from_entry(w.close * 0 + far), "account": w.account(1000, size, leverage)}
        | parts
    )


def trade_by_hand(rows, strategy):
    """Each trade as reason, exit bar, exit, own stop, last stop; and sums. Both engines agree."""
    bars, genome = market(*rows), strategy.layout.defaults
    windows = [Window.whole(bars)]
    assert both(strategy, [bars], windows, genome[None], FREE, as_it_reads) == ""
    reference = Reference(strategy, [bars], windows, FREE, form=as_it_reads)
    (ledger,) = reference.trades(genome)
    trades = [
        (REASONS[t.reason], t.exit_bar, t.exit, t.stop, t.last_stop)
        for t in map(ledger.trade, range(len(ledger)))
    ]
    assert {reason for reason, *_ in trades} <= set(strategy.reasons)
    return trades, dict(zip(ACCUMULATOR_INDEX, reference.fold(ledger, genome), strict=True))


@pytest.mark.parametrize(
    ("strategy", "rows", "trade", "equity"),
    [
        # 100 - 100 / 20; at 103 it would have gained 60 %.
        (lose(TWENTY), (LONG, QUIET, FALL, END), ("margin", 2, 95.0, 50.0, 95.0), 0.0),
        (lose(TWENTY), (LONG, QUIET, GAP), ("margin", 2, 93.0, 50.0, 95.0), 0.0),
        (lose(TWENTY), (LONG, FALL, END), ("margin", 1, 95.0, 50.0, 95.0), 0.0),
        (lose(TWENTY), (SHORT, QUIET, RISE), ("margin", 2, 105.0, 150.0, 105.0), 0.0),
        (lose(TWENTY), (LONG, QUIET, RISE), ("end", 2, 103.0, 50.0, 95.0), 1.6),
        # 2 / 0.4 is 5 too; where the row gives no size it gives no price.
        (lose(w.volatility(0.4, MOVE)), (LONG, QUIET, FALL), ("margin", 2, 95.0, 50.0, 95.0), 0.0),
        (lose(w.volatility(0.4, MOVE - 2)), (LONG, QUIET, FALL), ("end", 2, 92.0, 50.0, 50.0), 1.0),
        # With a leverage of 2 at 100 - 100 / 2, as far as the stop; 20 units in place of 200.
        (lose(TWENTY, leverage=2), (LONG, QUIET, FALL), ("end", 2, 92.0, 50.0, 50.0), 0.84),
        (lose(TWENTY, 60.0, 2), (LONG, QUIET, FALL), ("end", 2, 92.0, 40.0, 50.0), 0.84),
        # At 75: the stop is nearer, by 40 units.
        (lose(w.equity_share(4), 10.0), (LONG, QUIET, DEEP), ("stop", 2, 90.0, 90.0, 90.0), 0.6),
        # At 0, where no price comes, and at 200.
        (lose(w.equity_share(1), 150.0), (LONG, QUIET, FALL), ("end", 2, 92.0, -50.0, 0.0), 0.92),
        (lose(w.equity_share(1), 150.0), (SHORT, QUIET, FALL),
         ("end", 2, 92.0, 250.0, 200.0), 1.08),
        # These hang on the cash, or have the nearer stop.
        (lose(w.notional(20_000)), (LONG, QUIET, FALL, END), ("end", 3, 103.0, 50.0, 50.0), 1.6),
        (lose(w.units(200)), (LONG, QUIET, FALL, END), ("end", 3, 103.0, 50.0, 50.0), 1.6),
        (lose(w.risk(1)), (LONG, QUIET, FALL, END), ("end", 3, 103.0, 50.0, 50.0), 1.06),
    ],
)  # fmt: skip
def test_a_trade_ends_where_it_has_cost_the_account(strategy, rows, trade, equity):
    """Where that is nearer than its stop, which stays what R is counted in."""
    trades, sums = trade_by_hand(rows, strategy)
    assert trades == [trade]
    assert sums["equity"] == pytest.approx(equity, abs=1e-12)
    assert sums["exits_stop"] == (trade[0] in ("margin", "stop"))
    gain = trade[2] - 100.0 if rows[0] is LONG else 100.0 - trade[2]
    assert sums["sum_r"] == pytest.approx(gain / abs(100.0 - trade[3]), abs=1e-12)


BACK = (106.0, 107.0, 94.0, 95.0, 1.0)
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
        ({"trail": NEAR}, (LONG, QUIET, RISE, BACK), [("stop_gap", 3, 106.0)]),
        ({"trail": NEAR}, (LONG, QUIET, RISE, (107.0, *BACK[1:])), [("stop", 3, 106.0)]),
        ({"trail": NEAR, "named_stops": True}, (LONG, QUIET, RISE, (107.0, *BACK[1:])),
         [("trail", 3, 106.0)]),
        ({"break_even": 0.1, "named_stops": True}, (LONG, QUIET, RISE, BACK),
         [("break_even", 3, 100.0)]),
        ({"trail": WIDE, "named_stops": True}, (LONG, QUIET, RISE, BACK), [("margin", 3, 95.0)]),
        # Bought at 101.25: at 96.1875, that is at 96 on the tick, and sold as at a stop.
        ({"market": w.market(tick="0.75"), "slippage": w.ticks(1)}, (LONG, QUIET, FALL),
         [("margin", 2, 95.25)]),
        # Entries within a bar: at 101, whose bar's low may be older, and at 99.
        ({"entry": BUY_STOP}, (LONG, (100.0, 102.0, 92.0, 101.0, 1.0)), [("margin", 1, 95.95)]),
        ({"entry": BUY_LIMIT}, (LONG, FALL), [("margin", 1, 94.05)]),
        # An order that reverses no farther away comes first, one behind it never.
        ({"reverse": True, "entry": w.by_side(None, w.stop_at(w.close - 4))},
         (LONG, SHORT, FALL), [("reverse", 2, 96.0), ("end", 2, 92.0)]),
        ({"reverse": True, "entry": w.by_side(None, w.stop_at(w.close - 6))},
         (LONG, SHORT, FALL), [("margin", 2, 95.0)]),
        # It begins a cooldown: the signals of bars 2 and 3 do not count.
        ({"cooldown": 2}, (LONG, QUIET, (*FALL[:4], 2.0), LONG, LONG, QUIET),
         [("margin", 2, 95.0), ("end", 5, 100.0)]),
    ],
)  # fmt: skip
def test_whatever_reads_a_stop_reads_the_one_in_force(parts, rows, trades):
    """What moves it, where it is filled, what comes before it, and what comes after it."""
    found, sums = trade_by_hand(rows, lose(TWENTY, **parts))
    assert [trade[:3] for trade in found] == [
        (reason, bar, pytest.approx(price, abs=1e-12)) for reason, bar, price in trades
    ]
    assert (sums["equity"] == 0.0) == ("margin" in [trade[0] for trade in trades])


@pytest.mark.parametrize(
    ("parts", "rows", "reasons", "equity"),
    [
        # A half was sold at 102, and still nothing is left.
        ({"targets": [(w.share(0.02), 0.5)]}, (LONG, QUIET, RISE, BACK), ["margin"], 0.0),
        # 200 units are no lot of 1,000.
        ({"market": w.market(lot="1000")}, (LONG, QUIET, FALL), ["margin"], 1.0),
        # For good: the second trade would have gained.
        ({}, (LONG, QUIET, FALL, LONG, QUIET, RISE), ["margin", "end"], 0.0),
    ],
)
def test_a_margin_exit_takes_all_of_a_sized_trade(parts, rows, reasons, equity):
    """Whatever its parts had gained before; an unsized one moves no money."""
    trades, sums = trade_by_hand(rows, lose(TWENTY, **parts))
    assert ([trade[0] for trade in trades], sums["equity"]) == (reasons, equity)
    assert sums["max_drawdown"] == 1.0 - equity


def test_an_account_is_lost_for_all_its_windows_and_with_limits_too():
    """Each other window gains 60 %, before it and behind it."""
    bars = market(LONG, QUIET, RISE, LONG, QUIET, FALL, LONG, QUIET, RISE)
    windows = [Window(0, first, first + 3) for first in (0, 3, 6)]
    for costs in (FREE, Costs(fee_bp=0.0, slippage_bp=0.0, max_leverage=30)):
        assert both(lose(TWENTY), [bars], windows, np.empty((1, 0)), costs, as_it_reads) == ""
        sums, account = Engine(lose(TWENTY), [bars], windows, costs).evaluate_account(
            np.empty((1, 0))
        )
        equity = ACCUMULATOR_INDEX["equity"]
        assert sums[0, :, equity].tolist() == pytest.approx([1.6, 0.0, 1.6])
        assert account[0, equity] == 0.0
