"""Rules of both sides, one a row: a hand-made market and what it must give, in every engine.

Quiet bars open and close at 100 and go from 99 to 101. Signals stand where a row puts them. Each
row is what a person can work out on paper; both forms of the reference and the CPU must agree.
"""

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.positions.exit_spec import MINUTE_NS
from strategy import words as w
from tests.support.references import list_trades, trade_once

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
QUIET = (100.0, 101.0, 99.0, 100.0)


def make_market(rows, signals, *, minutes=60, at=None, start=0):
    """Bars of these prices, every so many minutes, or at times `at`; minutes since 1970.

    Their columns are 1 at the bars of `signals`; "row" has a number for each bar.
    """
    columns = np.array(rows, np.float64).T
    times = np.arange(len(rows)) * minutes + start if at is None else np.array(at)
    extra = {
        name: np.broadcast_to(np.array(bars, float), len(rows)).copy()
        if name == "row" else np.isin(np.arange(len(rows)), list(bars)) * 1.0
        for name, bars in signals.items()
    }  # fmt: skip
    stamps = times.astype(np.int64) * MINUTE_NS
    volume = np.ones(len(rows))
    return Bars(stamps, *columns, volume, "PAPER", minutes * MINUTE_NS, extra=extra)


SIGNALS = {
    "longs": "long",
    "shorts": "short",
    "leave_long": "exit_long",
    "leave_short": "exit_short",
}


def build(signals, **parts):
    """A strategy whose signals are columns, with a stop of 3 from the entry."""
    asks = {SIGNALS[name]: w.column(name) > 0 for name in signals if name in SIGNALS}
    return w.strategy("By hand.", **{"stop": w.from_entry(0 * w.close + 3), **asks, **parts})


def trailing(away=2.0, **more):
    """A stop that follows at a distance."""
    return {"trail": w.trail(w.from_entry(ROW), **more), "row": away}


def far(away):
    """A stop so far from the entry."""
    return {"stop": w.from_entry(ROW), "row": away}


def quiet(n):
    """So many quiet bars."""
    return [QUIET] * n


ROW = w.column("row")
DAY, MONDAY = 1440, 3 * 1440 + 540
FRIDAY_AT = [900, 960, 1020, MONDAY, MONDAY + 60, MONDAY + 120]
TWO_R = {"target": w.r_multiple(2)}
UNKNOWN_THIRD = {"stop": w.from_entry(ROW), "row": [3.0, 3.0, np.nan, 3.0, 3.0, 3.0]}
BOTH_LEAVE = {"longs": [0], "leave_long": [2]}
LATE = {"longs": range(8), "max_hold": 1, "long": (w.column("longs") > 0) & (w.sma(w.close, 4) > 0)}

CASES = [
    # At bar 1 the idea contradicts itself; at bar 2 it does not.
    (quiet(5), {"longs": [1, 2], "shorts": [1]}, [(1, 3, 4, "end", 100.0)], {}),
    # A short is the mirror of a long: stopped by a high of 103, gains by a fall.
    ([*quiet(2), (100, 103, 99, 100), QUIET, QUIET, (90, 91, 80, 85)],
     {"shorts": [0, 3], "max_hold": 2},
     [(-1, 1, 2, "stop", 103.0), (-1, 4, 5, "time", 85.0)],
     {"r": [-1.0, 5.0], "stop": [103.0] * 2, "last_stop": [103.0] * 2}),
    # Costs are paid on both prices: (15 - 0.001 * 185) / 3.
    ([*quiet(2), (90, 91, 80, 85)], {"shorts": [0]}, [(-1, 1, 2, "end", 85.0)],
     {"costs": Costs(), "r": [(15.0 - 0.001 * 185.0) / 3.0]}),
    # A bar that touches 103 and 94 is a loss; an open at the stop is a gap.
    ([*quiet(2), (100, 103, 94, 100)], {"shorts": [0], **TWO_R}, [(-1, 1, 2, "stop", 103.0)], {}),
    ([*quiet(2), (97, 104, 96, 100)], {"longs": [0]}, [(1, 1, 2, "stop_gap", 97.0)], {}),
    ([*quiet(2), (103, 104, 96, 100)], {"shorts": [0]}, [(-1, 1, 2, "stop_gap", 103.0)], {}),
    # A short that opens beyond its target is filled at the target.
    ([*quiet(2), (90, 91, 89, 90)], {"shorts": [0], **TWO_R}, [(-1, 1, 2, "target", 94.0)], {}),
    # A target on the entry is rejected, also one that is not known; the next bar may signal.
    *((quiet(4), {"longs": [0, 1, 2], "max_hold": 1, "target": form(ROW),
        "row": np.array([100.0, 102.0, np.nan, 100.0]) - (0.0 if form is w.level else 100.0)},
       [(1, 2, 2, "time", 100.0)], {"target": [102.0], "rejected": 2})
      for form in (w.level, w.from_entry)),
    # Stops of each form, with an entry at 100 and a signal bar from 99 to 101.
    *((quiet(3), {side: [0], "stop": form}, [(sign, 1, 2, "end", 100.0)], {"stop": [stop]})
      for form, longs, shorts in ((w.beyond_bar(0 * w.close + 2), 97.0, 103.0),
                                  (w.from_entry(0 * w.close + 2), 98.0, 102.0),
                                  (w.share(0.25), 75.0, 125.0))
      for side, sign, stop in (("longs", 1, longs), ("shorts", -1, shorts))),
    (quiet(3), {"shorts": [0], "stop": w.level(ROW), "row": 111.0}, [(-1, 1, 2, "end", 100.0)],
     {"stop": [111.0]}),
    # A long's above its entry and a short's below it are rejected.
    (quiet(3), {"longs": [0], "stop": w.level(ROW), "row": 104.0}, [], {"rejected": 1}),
    (quiet(3), {"shorts": [0], "stop": w.level(ROW), "row": 96.0}, [], {"rejected": 1}),
    # Without a target gains have no end; one at 0 or below is legal, and never reached.
    ([*quiet(2), (100, 1e9, 99, 100)], {"longs": [0]},
     [(1, 1, 2, "end", 100.0)], {"target": [np.inf]}),
    ([*quiet(2), (1, 1, 0.5, 1)], {"shorts": [0]}, [(-1, 1, 2, "end", 1.0)],
     {"target": [-np.inf]}),
    ([*quiet(2), (1, 1, 0.5, 1)], {"shorts": [0], "target": w.r_multiple(50)},
     [(-1, 1, 2, "end", 1.0)], {"target": [-50.0]}),
    # A condition leaves at the next open; what was asked at the signal bar does not count.
    ([*quiet(3), (95, 101, 95, 100), QUIET], {"longs": [0], "leave_long": [0, 2], **far(8.0)},
     [(1, 1, 3, "signal", 95.0)], {"held": [2]}),
    (quiet(5), {"longs": [0], "leave_long": [1]}, [(1, 1, 2, "signal", 100.0)], {}),
    # It comes before a gap through the stop; at the window's last close nothing is filled.
    ([*quiet(3), (90, 91, 89, 90)], BOTH_LEAVE, [(1, 1, 3, "signal", 90.0)], {}),
    (quiet(6), {"longs": [0], "leave_long": [3]}, [(1, 1, 3, "end", 100.0)], {"window": (0, 4)}),
    (quiet(6), {"longs": [0], "leave_long": [3]}, [(1, 1, 4, "signal", 100.0)], {}),
    # However late it comes, also at the edges of the stretches that are looked at in turn.
    *((quiet(2100), {"longs": [0], "leave_long": [1 + later]},
       [(1, 1, 2 + later, "signal", 100.0)], {}) for later in (1022, 1023, 1024, 2047, 2048)),
    # Stop and reverse at one open; the same side waits for the bar of its exit.
    (quiet(6), {**BOTH_LEAVE, "shorts": [2], "leave_short": []},
     [(1, 1, 3, "signal", 100.0), (-1, 3, 5, "end", 100.0)], {"held": [2, 3]}),
    (quiet(7), {**BOTH_LEAVE, "longs": [0, 2]}, [(1, 1, 3, "signal", 100.0)], {}),
    (quiet(7), {**BOTH_LEAVE, "longs": [0, 3]},
     [(1, 1, 3, "signal", 100.0), (1, 4, 6, "end", 100.0)], {}),
    # A stop in bar 2 is known at its close: a short at bar 1 does not count, at bar 2 it does.
    ([*quiet(2), (100, 101, 96, 100), *quiet(3)], {"longs": [0], "shorts": [1]},
     [(1, 1, 2, "stop", 97.0)], {}),
    ([*quiet(2), (100, 101, 96, 100), *quiet(3)], {"longs": [0], "shorts": [1, 2]},
     [(1, 1, 2, "stop", 97.0), (-1, 3, 5, "end", 100.0)], {}),
    # A rejected reversal is counted once, and the next bar may signal again.
    (quiet(6), {**BOTH_LEAVE, "shorts": [2, 3], **UNKNOWN_THIRD},
     [(1, 1, 3, "signal", 100.0), (-1, 4, 5, "end", 100.0)], {"rejected": 1}),
    # The entry bar's high puts the next bar's stop to 108; that one opens below it.
    ([QUIET, (100, 110, 99, 100), *quiet(7)], {"longs": [0], **trailing()},
     [(1, 1, 2, "stop_gap", 100.0)], {"stop": [97.0], "last_stop": [108.0], "r": [0.0]}),
    # It never loosens and keeps the first risk; of a short it follows lows.
    ([QUIET, (100, 103, 100, 103), (103, 104, 103, 103), (103, 103, 102.5, 103),
      (103, 103, 101, 102), *quiet(4)], {"longs": [0], **trailing()},
     [(1, 1, 4, "stop", 102.0)], {"r": [2.0 / 3.0]}),
    ([QUIET, (100, 100, 95, 96), (96, 97, 96, 96), *quiet(6)], {"shorts": [0], **trailing()},
     [(-1, 1, 2, "stop", 97.0)], {"last_stop": [97.0]}),
    # With `after` of 2 R it waits for 106.
    ([QUIET, (100, 105, 100, 105), (105, 105, 101, 105), (105, 106, 105, 106),
      (106, 106, 103, 103), *quiet(4)], {"longs": [0], **trailing(after=2)},
     [(1, 1, 4, "stop", 104.0)], {}),
    # A distance that is not above nothing, or not known, is rejected; a tenth of 120 leaves 108.
    *((quiet(9), {"longs": [0], **trailing(away)}, [], {"rejected": 1})
      for away in (0.0, -1.0, np.nan)),
    ([QUIET, (100, 120, 100, 120), (120, 120, 107, 110), *quiet(6)],
     {"longs": [0], "trail": w.trail(w.share(0.1))}, [(1, 1, 2, "stop", 120.0 - 120.0 * 0.1)], {}),
    # The high of the bar that ends the trade at its close moves nothing any more.
    ([QUIET, (100, 105, 100, 104), (104, 120, 104, 120), *quiet(6)],
     {"longs": [0], **trailing(8.0), "max_hold": 2}, [(1, 1, 2, "time", 120.0)],
     {"last_stop": [97.0]}),
    # Break-even after a gain of 1 R, reached exactly; a short likewise.
    ([QUIET, (100, 103, 100, 102), (102, 102, 99, 100), *quiet(6)],
     {"longs": [0], "break_even": 1.0}, [(1, 1, 2, "stop", 100.0)], {"r": [0.0]}),
    ([QUIET, (100, 100, 97, 98), (98, 101, 98, 100), *quiet(6)],
     {"shorts": [0], "break_even": 1.0}, [(-1, 1, 2, "stop", 100.0)], {"last_stop": [100.0]}),
    # With a delay of 2 and an end two bars away there is no entry; three bars away there is.
    (quiet(6), {"longs": [1], "delay": 2}, [], {"window": (0, 4)}),
    (quiet(6), {"longs": [1], "delay": 2}, [(1, 4, 4, "end", 100.0)], {"window": (0, 5)}),
    # The later one of window and warm-up is the first bar that may signal.
    (quiet(8), LATE, [(1, k, k, "time", 100.0) for k in (4, 5, 6, 7)], {"window": (1, 8)}),
    (quiet(8), LATE, [(1, k, k, "time", 100.0) for k in (6, 7)], {"window": (5, 8)}),
    # Out at 20:00: the bar that closes then, also of the entry; later in the first bar of all.
    *((quiet(8), {"longs": [longs], "session": w.session_exit(1200, 0)}, [trade],
       {"start": hour * 60})
      for hour, longs, trade in (
          (18, 0, (1, 1, 1, "session", 100.0)), (16, 0, (1, 1, 3, "session", 100.0)),
          (18, 2, (1, 3, 3, "session", 100.0)), (18, 5, (1, 6, 7, "end", 100.0)))),
    # A market that closes before the minute is left at the next session's open, before a stop.
    ([*quiet(3), (98, 101, 98, 100), *quiet(2)], {"longs": [0], "session": w.session_exit(DAY, 0)},
     [(1, 1, 3, "session", 98.0)], {"at": FRIDAY_AT}),
    ([*quiet(3), (90, 91, 89, 90)], {"longs": [0], "session": w.session_exit(DAY, 0)},
     [(1, 1, 3, "session", 90.0)], {"at": FRIDAY_AT[:4], "held": [2]}),
    ([*quiet(3), (90, 91, 89, 90)], {**BOTH_LEAVE, "session": w.session_exit(DAY, 0)},
     [(1, 1, 3, "signal", 90.0)], {"at": FRIDAY_AT[:4]}),
    # A bar that is left at its open is not held; one that is left at its close is.
    ([*quiet(3), (96, 97, 95, 96)], {"longs": [0]}, [(1, 1, 3, "stop_gap", 96.0)], {"held": [2]}),
    ([*quiet(3), (96, 97, 95, 96)], {"longs": [0], "session": w.session_exit(240, 0), **far(9.0)},
     [(1, 1, 3, "session", 96.0)], {"held": [3]}),
    # A session has its own clock: half hours from 17:00 UTC on, by offsets in minutes.
    *((quiet(16), {"longs": [0], "session": w.session_exit(minute, offset)},
       [(1, 1, leaves, "session", 100.0)], {"minutes": 30, "start": 17 * 60})
      for minute, offset, leaves in ((1200, 0, 5), (1440, 330, 2), (1050, -300, 10))),
    # Time comes before the session and the session before the end, at one close.
    (quiet(3), {"longs": [0], "session": w.session_exit(1260, 0), "max_hold": 2},
     [(1, 1, 2, "time", 100.0)], {"start": 1080}),
    (quiet(3), {"longs": [0], "session": w.session_exit(1260, 0)}, [(1, 1, 2, "session", 100.0)],
     {"start": 1080}),
    # The clock is heard however late it comes.
    *((quiet(later + 3), {"longs": [0], "session": w.session_exit(DAY, 0)},
       [(1, 1, 1 + later, "session", 100.0)],
       {"minutes": 1, "at": [*range(1 + later), 1440, 1441]}) for later in (1022, 1023, 1024)),
]  # fmt: skip
"""Bars; signals and forms; side, entry bar, exit bar, reason and exit of each trade; and further
columns of the ledger, or how bars and windows lie."""


@pytest.mark.parametrize(("rows", "asked", "trades", "further"), CASES, ids=range(len(CASES)))
def test_a_rule_by_hand(rows, asked, trades, further):
    """Both sides, all forms of stops and targets, conditions, sessions, delays."""
    known = dict(further)
    lie = {key: known.pop(key) for key in ("minutes", "at", "start") if key in known}
    signals = {key: asked[key] for key in (*SIGNALS, "row") if key in asked}
    parts = {key: value for key, value in asked.items() if key not in signals}
    window = Window(0, *known.pop("window", (0, len(rows))))
    bars, costs = make_market(rows, signals, **lie), known.pop("costs", FREE)
    (ledger,) = trade_once(build(signals, **parts), [bars], [window], costs)
    assert list_trades(ledger, "side", "entry_bar", "exit_bar", "reason", "exit") == trades
    assert {name: np.array(getattr(ledger, name)).tolist() for name in known} == known


def test_shorts_are_added_up_by_themselves():
    """One long that loses 1 R, one short that gains 5 and one that loses 1."""
    rows = [*quiet(2), (100, 100, 97, 100), *quiet(2), (100, 101, 85, 85), (100, 101, 99, 100),
            (100, 103, 99, 100)]  # fmt: skip
    turn = {**BOTH_LEAVE, "shorts": [2], "leave_short": []}

    def add_up(rows, signals, **parts):
        bars = make_market(rows, signals)
        engine = Engine(build(signals, **parts), [bars], [Window.whole(bars)], FREE, device="cpu")
        return dict(zip(ACCUMULATOR_INDEX, engine.evaluate(np.empty((1, 0)))[0, 0], strict=True))

    value = add_up(rows, {"longs": [0], "shorts": [3, 6]}, max_hold=2)
    assert (value["trades"], value["shorts"], value["wins_short"]) == (3.0, 2.0, 1.0)
    assert (value["sum_r"], value["sum_r_short"]) == (3.0, 4.0)
    assert (value["exits_stop"], value["exits_time"]) == (2.0, 1.0)
    # A bar at whose open one side is left and the other entered counts once.
    assert add_up(quiet(6), turn)["bars_in_market"] == 5.0
