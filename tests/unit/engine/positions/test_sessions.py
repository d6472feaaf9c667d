"""Sessions that begin in the evening: out at a minute of the day on which they end."""

from dataclasses import replace

import numpy as np
import pytest

from data.timeframe import DAY_NS, MINUTE_NS
from engine.accounts.ledger import REASONS
from strategy import words as w
from tests.support.ledgers import make_flat_bars
from tests.support.references import trade_once

MONDAY_NS = 19_730 * DAY_NS  # 2024-01-08
NEW_YORK = "America/New_York"


def evenings(signals):
    """Half hours from 18:00 to before 17:00 of the next day in New York's winter, from Monday on.

    Volume stands in the bars that open at the moments of `signals`, minutes since Monday 00:00.
    """
    days = [1440 * day + np.arange(18 * 60, 1440 + 17 * 60, 30) for day in range(3)]
    minutes = np.concatenate(days)
    high, low = (np.full(len(minutes), price) for price in (101.0, 99.0))
    bars = make_flat_bars(*[100.0] * len(minutes), step_ns=30 * MINUTE_NS, high=high, low=low)
    times, volume = MONDAY_NS + (minutes + 5 * 60) * MINUTE_NS, np.isin(minutes, signals)
    return replace(bars, timestamp=times, volume=volume * 1.0), minutes


def leave(session, **further):
    """A strategy that enters after bars with volume and leaves by the clock."""
    return w.strategy("Out.", long=w.volume >= 1, stop=w.share(0.5), session=session, **further)


def list_minutes(strategy, bars, minutes):
    """Minutes at which each trade's entry and exit bars open, and why it left."""
    (ledger,) = trade_once(strategy, [bars])
    reasons = [REASONS[reason] for reason in ledger.reason]
    return list(zip(minutes[ledger.entry_bar], minutes[ledger.exit_bar], reasons, strict=True))


@pytest.mark.parametrize(
    ("signal", "entry", "begun", "ends"),
    [
        # At 19:30 on Monday: out at the close of the half hour that reaches 16:55 on Tuesday.
        (19 * 60, 19 * 60 + 30, "evening", 1440 + 16 * 60 + 30),
        # After midnight the same.
        (1440 + 60, 1440 + 90, "evening", 1440 + 16 * 60 + 30),
        # The last bar before the pause is the one that ends it.
        (1440 + 16 * 60, 1440 + 16 * 60 + 30, "evening", 1440 + 16 * 60 + 30),
        # Without `begins` an evening is beyond its day's minute, and the entry bar is the last.
        (19 * 60, 19 * 60 + 30, "midnight", 19 * 60 + 30),
        (1440 + 60, 1440 + 90, "midnight", 1440 + 16 * 60 + 30),
    ],
)
def test_a_session_ends_on_the_day_on_which_it_ends(signal, entry, begun, ends):
    """By hand, in New York's time."""
    bars, minutes = evenings([signal])
    session = w.session_exit(1015, NEW_YORK, **{"begins": 1080} if begun == "evening" else {})
    assert list_minutes(leave(session), bars, minutes) == [(entry, ends, "session")]


def test_an_order_of_the_day_stands_over_midnight():
    """A stop order of Monday 19:00 is filled at Tuesday 15:00, and no longer at Tuesday 18:00."""
    for filled, begins, count in ((1440 + 15 * 60, 1080, 1), (1440 + 15 * 60, 0, 0),
                                  (1440 + 18 * 60, 1080, 0)):  # fmt: skip
        bars, minutes = evenings([19 * 60])
        high = np.where(minutes == filled, 110.0, bars.high)
        session = w.session_exit(1015, NEW_YORK, begins=begins)
        strategy = leave(session, entry=w.stop_at(105 + 0 * w.close))
        assert len(list_minutes(strategy, replace(bars, high=high), minutes)) == count
