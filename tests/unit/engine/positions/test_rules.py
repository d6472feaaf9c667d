"""Rules of one trade by hand: the first that applies, quarters of an hour, sessions, payments."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Bars, Payments, Window
from data.point_in_time import DatedNumbers
from data.timeframe import DAY_NS, MINUTE_NS
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from strategy import words as w
from tests.support.markets import PAPER_SPEC, QUIET, SIGNAL, make_flat_bars, paper_market
from tests.support.references import list_trades, trade_once
from tests.support.series import make_coarse
from tests.support.worlds import make_bars

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
CALM = QUIET[:4]
LATE = Costs(0, 0, entry_delay=2)
WAITING = [CALM, (100, 101, 90, 100), (100.5, 101, 99, 100), CALM, (100, 101, 99, 100.25), CALM]


def once(exit_bar, reason, price):
    """One trade, which is entered in bar 4."""
    return [(3, 4, exit_bar, reason, price)]


def wait(delay, count):
    """Bars with a signal whose entry is late, and so many trades."""
    return [CALM, CALM], {"costs": Costs(0, 0, entry_delay=delay)}, count


ENDS, HELD = once(5, "end", 100.0), {"max_hold": 2}
CASES = {
    "open below the stop": ([CALM, (96, 98, 95, 97)], {}, once(5, "stop_gap", 96.0)),
    "open at the stop": ([CALM, (97, 98, 96, 97)], {}, once(5, "stop_gap", 97.0)),
    "gap before the target": ([CALM, (96, 107, 95, 100)], {}, once(5, "stop_gap", 96.0)),
    "low at the stop": ([CALM, (100, 101, 97, 99)], {}, once(5, "stop", 97.0)),
    "low below the stop": ([CALM, (98, 101, 90, 91)], {}, once(5, "stop", 97.0)),
    "stop in the entry bar": ([(100, 101, 96.5, 99)], {}, once(4, "stop", 97.0)),
    "stop before the target": ([(100, 107, 96, 100)], {}, once(4, "stop", 97.0)),
    "high at the target": ([CALM, (100, 106, 99, 105)], {}, once(5, "target", 106.0)),
    "high below the target": ([(100, 105.99, 99, 105)], {"max_hold": 1}, once(4, "time", 105.0)),
    "open beyond the target": ([CALM, (108, 109, 107, 108)], {}, once(5, "target", 106.0)),
    "target in the entry bar": ([(100, 106.5, 99, 101)], {}, once(4, "target", 106.0)),
    "held for two bars": ([CALM, (100, 101, 99, 100.5), CALM], HELD, once(5, "time", 100.5)),
    "held for one bar": ([(100, 101, 99, 99.5), CALM], {"max_hold": 1}, once(4, "time", 99.5)),
    "time before the end": ([CALM, (100, 101, 99, 99.25)], HELD, once(5, "time", 99.25)),
    "the window ends": ([CALM, (100, 101, 99, 99.75)], {}, once(5, "end", 99.75)),
    "stop on the last held bar": ([CALM, (100, 101, 97, 98)], HELD, once(5, "stop", 97.0)),
    "signal on the last bar": ([], {}, []),
    "entry on the last bar": ([(100, 101, 99, 100.5)], {"max_hold": 9}, once(4, "end", 100.5)),
    # A late entry waits and its exit does not: it is held from its own entry on.
    "late": (WAITING, {"costs": LATE, "max_hold": 3}, [(3, 6, 8, "time", 100.25)]),
    "late within the window": wait(1, [(3, 5, 5, "end", 100.0)]),
    "late beyond the window": wait(2, []),
    "late by far": wait(9, []),
    # What comes before the warm-up or the window is no signal.
    "before the warm-up": ([CALM, CALM], {"atr_window": 5}, []),
    "at the warm-up": ([CALM, CALM], {"atr_window": 4}, ENDS),
    "before the window": ([CALM, CALM], {"window": (4, 6)}, []),
    "first bar of the window": ([CALM, CALM], {"window": (3, 6)}, ENDS),
    # Each trade starts where one ended: an exit bar's own signal counts, none within a trade.
    "signals within": ([SIGNAL] * 8, HELD,
                       [(k, k + 1, k + 2, "time", 100.0) for k in (3, 5, 7, 9)]),
    "signal on the exit bar": ([SIGNAL, CALM, CALM], {"max_hold": 1},
                               [(3, 4, 4, "time", 100.0), (4, 5, 5, "time", 100.0)]),
    # An entry that does not stand above its stop by more than the least risk is rejected.
    "open at the stop is rejected": ([(97.0, 99, 96, 98), CALM], {"rejected": 1}, []),
    "open below the stop is rejected": ([(90.0, 99, 89, 98), CALM], {"rejected": 1}, []),
    "least risk": ([CALM, CALM], {"costs": Costs(0, 0, min_risk=0.03), "rejected": 1}, []),
    "more than the least risk": ([CALM, CALM], {"costs": Costs(0, 0, min_risk=0.0299)}, ENDS),
    "a signal follows a rejection": ([(96.0, 99, 95, 98, 100.0), CALM, CALM], {"rejected": 1},
                                     [(4, 5, 6, "end", 100.0)]),
    "a threshold is strict": ([CALM, CALM], {"volume_min": 100.0}, []),
    "above a threshold": ([CALM, CALM], {"volume_min": np.nextafter(100.0, 0.0)}, ENDS),
}  # fmt: skip
"""Bars behind the signal; genes, costs and window; signal bar, entry bar, exit bar, reason and exit
of each trade."""


@pytest.mark.parametrize("name", CASES)
def test_a_rule_by_hand(name):
    """The first rule that applies decides bar, reason and price of the exit."""
    later, asked, trades = CASES[name]
    known = {"rejected": 0, "costs": FREE, "window": None, **asked}
    rejected, costs, window = (known.pop(key) for key in ("rejected", "costs", "window"))
    bars = paper_market(*later)
    windows = [Window(0, *window) if window else Window.whole(bars)]
    (ledger,) = trade_once(PAPER_SPEC, [bars], windows, costs, **known)
    found = list_trades(ledger, "signal_bar", "entry_bar", "exit_bar", "reason", "exit")
    assert found == trades
    assert ledger.rejected == rejected


STILL = (100.0, 100.5, 99.5, 100.0)
QUARTER_NS = 900 * 10**9
ASKS = np.array([0, 1, 0, 0, 0, 0.0])
"""Hours whose close asks for an entry: the second; hour 2 is read below."""

PARTS = {"stop": w.share(0.03), "target": w.share(0.06)}
BUY_STOP = {"entry": w.stop_at(w.column("level"))}
BUY_LIMIT = {"entry": w.limit_at(w.column("level"))}
FIFTY = {"account": w.account(1000, w.equity_share(50))}


def make_hours(*quarters, level=102.0):
    """Six hours of calm quarters, but for those of hour 2."""
    rows = np.array([STILL] * 24, np.float64)
    rows[8 : 8 + len(quarters)] = quarters
    times = np.arange(24, dtype=np.int64) * QUARTER_NS
    bars = Bars(times, *rows.T, np.ones(24), symbol="PAPER", timeframe_ns=QUARTER_NS)
    return replace(make_coarse(bars), extra={"asks": ASKS, "level": np.full(6, level)})


BY_QUARTERS = {
    "target before the stop": ({}, [STILL, (100, 107, 99.5, 101), (100, 101, 96, 97)],
                               ("target", 106.0, 1, 2)),
    "stop before the target": ({}, [STILL, (100, 101, 96, 97), (97, 107, 97, 106)],
                               ("stop", 97.0, 1, 2)),
    "both in one quarter": ({}, [STILL, (100, 107, 96, 106)], ("stop", 97.0, 1, 2)),
    "gap of a quarter": ({}, [STILL, (96, 98, 95, 97)], ("stop_gap", 96.0, 1, 2)),
    "gap at an hour's open": ({}, [STILL, STILL, STILL, STILL, (96, 98, 95, 97)],
        ("stop_gap", 96.0, 1, 3)),
    "low before a stop fills": (BUY_STOP, [(100, 101, 95, 100), (100, 103, 100, 103)],
                                ("end", 100.0, 4, 5)),
    "high before a limit fills": (BUY_LIMIT, [(100, 109, 99, 100), (100, 100, 97, 98)],
                                  ("end", 100.0, 4, 5)),
    "target after a limit fills": (BUY_LIMIT, [(100, 100, 97, 98), (98, 109, 98, 100)],
                                   ("target", 103.88, 1, 2)),
    "target within a limit's quarter": (BUY_LIMIT, [(100, 109, 97, 98), (98, 99, 98, 99)],
                                        ("end", 100.0, 4, 5)),
    "gap of a quarter that costs the account": (FIFTY, [STILL, (97.5, 98, 95, 97)],
                                                ("margin", 97.5, 1, 2)),
    "opens beyond a stop order": (BUY_STOP, [STILL, (103, 104, 102, 103), STILL],
                                  ("stop", 103 * 0.97, 1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_QUARTERS)
def test_an_hour_is_read_by_its_quarters(name):
    """Reason, price, hours held and the hour of the exit of the only trade."""
    parts, quarters, expected = BY_QUARTERS[name]
    hours = make_hours(*quarters, level=98.0 if parts is BUY_LIMIT else 102.0)
    strategy = w.strategy("Asks once.", long=w.column("asks") > 0, **PARTS, **parts)
    (ledger,) = trade_once(strategy, [hours], costs=FREE)
    (reason,), (price,) = ledger.reason.tolist(), ledger.exit.tolist()
    assert (REASONS[reason], price, ledger.held[0], ledger.exit_bar[0]) == expected
    assert ledger.coarse == 0


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


HOUR_NS = 60 * MINUTE_NS
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
KNOWN_LATE = SETTLED._replace(known_at=SETTLED.known_at + np.array([4, 11, 2, 10]) * 10**6)


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
@pytest.mark.parametrize("numbers", [SETTLED, KNOWN_LATE], ids=["on time", "milliseconds late"])
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
