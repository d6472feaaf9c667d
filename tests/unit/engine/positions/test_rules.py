"""Rules of the plain bracket, one a row, on the reference and on cores.

A bar of high volume signals at bar 3; the stop stands at 97, the target at 106, the risk is 3.
"""

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from tests.support.markets import PAPER_SPEC, QUIET, SIGNAL, paper_market
from tests.support.references import trade_once

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
    found = map(ledger.trade, range(len(ledger)))
    assert [
        (t.signal_bar, t.entry_bar, t.exit_bar, REASONS[t.reason], t.exit) for t in found
    ] == trades
    assert ledger.rejected == rejected
