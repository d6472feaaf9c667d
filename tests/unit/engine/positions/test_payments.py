"""Funding by hand: payments at their own times, and a rate that is due so often."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Payments
from data.point_in_time import DatedNumbers
from data.timeframe import DAY_NS, MINUTE_NS
from engine.accounts.costs import Costs
from strategy import words as w
from tests.support.ledgers import make_flat_bars
from tests.support.references import trade_once
from tests.support.worlds import make_bars

HOUR_NS = 60 * MINUTE_NS
FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
DAY = 19_723 * DAY_NS  # 2024-01-01

SETTLED = DatedNumbers(
    DAY + np.arange(0, 25, 8) * HOUR_NS, np.array([0.5, 0.001, 0.002, 0.003]), None
)


def pay(rate, **further):
    """A strategy that enters after the bar that has volume and pays funding."""
    funding = w.funding(rate, **further)
    return w.strategy("Pays.", long=w.volume >= 1, stop=w.share(0.5), funding=funding)


def flat(opens, timeframe_ns, signal, numbers=SETTLED):
    """Bars at a price of 100 with payments, and volume in the signal bar alone."""
    bars = make_flat_bars(*[100.0] * len(opens), step_ns=timeframe_ns)
    volume, payments = np.arange(len(opens)) == signal, {"fund": numbers.as_payments()}
    return replace(bars, timestamp=np.asarray(opens), volume=volume * 1.0, payments=payments)


def find_r(strategy, bars):
    """R of the only trade."""
    ((r,),) = (ledger.r.tolist() for ledger in trade_once(strategy, [bars], costs=FREE))
    return r


HOURS = DAY + np.arange(-1, 26) * HOUR_NS
LATE = SETTLED._replace(known_at=SETTLED.known_at + np.array([4, 11, 2, 10]) * 10**6)


@pytest.mark.parametrize(
    ("opens", "timeframe_ns", "signal"),
    [
        (HOURS, HOUR_NS, 1),
        # No bar opens at 08:00 and 16:00: they belong to 11:00 and 17:00.
        (np.delete(HOURS, [8, 9, 10, 11, 17]), HOUR_NS, 1),
        # All three lie in one day and belong to the next one's open.
        (DAY + np.arange(-2, 4) * DAY_NS, DAY_NS, 1),
    ],
    ids=["hours", "a hole", "days"],
)
@pytest.mark.parametrize("numbers", [SETTLED, LATE], ids=["on time", "milliseconds late"])
def test_each_payment_is_charged_at_its_own_time(opens, timeframe_ns, signal, numbers):
    """Rates of 0.001, 0.002, 0.003 on 100 at a risk of 50 cost 0.012 R, the 0.5 before nothing."""
    bars = flat(opens, timeframe_ns, signal, numbers)
    assert find_r(pay(w.payments("fund")), bars) == pytest.approx(-0.012, abs=1e-15)


@pytest.mark.parametrize(
    ("every", "opens", "timeframe_ns", "expected"),
    [
        (480, HOURS, HOUR_NS, 3),
        # Three settlements within each day; the trade is held from the first day to the last.
        (480, DAY + np.arange(-2, 4) * DAY_NS, DAY_NS, 9),
        # A hole over 08:00 and 16:00: both are due at 17:00.
        (480, np.delete(HOURS, range(8, 18)), HOUR_NS, 3),
        (None, HOURS, HOUR_NS, 24),
    ],
    ids=["hours", "days", "a hole", "each bar"],
)
def test_a_fixed_rate_is_charged_each_time_that_it_is_due(every, opens, timeframe_ns, expected):
    """A rate of 0.001 on 100 at a risk of 50 costs 0.002 R for each multiple of 480 minutes.

    A rate that is a row is charged once a bar, and so is a borrowing fee.
    """
    bars = flat(opens, timeframe_ns, 1)
    assert find_r(pay(0.001, every=every), bars) == pytest.approx(-0.002 * expected, abs=1e-15)
    once = sum(np.diff(opens[2:] // ((every or 1) * MINUTE_NS)) > 0)
    row = pay(0.001 + 0 * w.close, every=every)
    assert find_r(row, bars) == pytest.approx(-0.002 * once, abs=1e-15)
    held = replace(row, funding=None, borrow=w.borrow(0.001, every))
    assert find_r(held, bars) == find_r(row, bars)


def test_bars_differ_by_payments_that_they_can_charge():
    """Those of the first bar and before are charged to nobody, nor are those after the last."""
    bars = make_bars(1, 50)
    first, last = int(bars.timestamp[0]), int(bars.timestamp[-1])

    def hash_of(times, rates):
        payments = Payments(np.array(times), np.array(rates))
        return replace(bars, payments={"fund": payments}).content_hash

    inside = hash_of([first + MINUTE_NS], [0.1])
    assert inside != bars.content_hash
    assert inside == hash_of([first, first + MINUTE_NS, last + MINUTE_NS], [0.2, 0.1, 0.3])
    assert inside != hash_of([first + MINUTE_NS], [0.2])
    assert inside != hash_of([first + 2 * MINUTE_NS], [0.1])
