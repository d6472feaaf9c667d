"""What an hour does by its quarters: hand-made ones."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Bars
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from strategy import words as w
from tests.support.finer import make_coarse
from tests.support.references import trade_once

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
CALM = (100.0, 100.5, 99.5, 100.0)
QUARTER_NS = 900 * 10**9
ASKS = np.array([0, 1, 0, 0, 0, 0.0])
"""Hours whose close asks for an entry: the second; hour 2 is read below."""

PARTS = {"stop": w.share(0.03), "target": w.share(0.06)}
BUY_STOP = {"entry": w.stop_at(w.column("level"))}
BUY_LIMIT = {"entry": w.limit_at(w.column("level"))}
FIFTY = {"account": w.account(1000, w.equity_share(50))}


def make_hours(*quarters, level=102.0):
    """Six hours of calm quarters, but for those of hour 2."""
    rows = np.array([CALM] * 24, np.float64)
    rows[8 : 8 + len(quarters)] = quarters
    times = np.arange(24, dtype=np.int64) * QUARTER_NS
    bars = Bars(times, *rows.T, np.ones(24), symbol="PAPER", timeframe_ns=QUARTER_NS)
    return replace(make_coarse(bars), extra={"asks": ASKS, "level": np.full(6, level)})


CASES = {
    "target before the stop": ({}, [CALM, (100, 107, 99.5, 101), (100, 101, 96, 97)],
                               ("target", 106.0, 1, 2)),
    "stop before the target": ({}, [CALM, (100, 101, 96, 97), (97, 107, 97, 106)],
                               ("stop", 97.0, 1, 2)),
    "both in one quarter": ({}, [CALM, (100, 107, 96, 106)], ("stop", 97.0, 1, 2)),
    "gap of a quarter": ({}, [CALM, (96, 98, 95, 97)], ("stop_gap", 96.0, 1, 2)),
    "gap at an hour's open": ({}, [CALM, CALM, CALM, CALM, (96, 98, 95, 97)],
        ("stop_gap", 96.0, 1, 3)),
    "low before a stop fills": (BUY_STOP, [(100, 101, 95, 100), (100, 103, 100, 103)],
                                ("end", 100.0, 4, 5)),
    "high before a limit fills": (BUY_LIMIT, [(100, 109, 99, 100), (100, 100, 97, 98)],
                                  ("end", 100.0, 4, 5)),
    "target after a limit fills": (BUY_LIMIT, [(100, 100, 97, 98), (98, 109, 98, 100)],
                                   ("target", 103.88, 1, 2)),
    "target within a limit's quarter": (BUY_LIMIT, [(100, 109, 97, 98), (98, 99, 98, 99)],
                                        ("end", 100.0, 4, 5)),
    "gap of a quarter that costs the account": (FIFTY, [CALM, (97.5, 98, 95, 97)],
                                                ("margin", 97.5, 1, 2)),
    "opens beyond a stop order": (BUY_STOP, [CALM, (103, 104, 102, 103), CALM],
                                  ("stop", 103 * 0.97, 1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_hour_is_read_by_its_quarters(name):
    """Reason, price, hours held and the hour of the exit of the only trade."""
    parts, quarters, expected = CASES[name]
    hours = make_hours(*quarters, level=98.0 if parts is BUY_LIMIT else 102.0)
    strategy = w.strategy("Asks once.", long=w.column("asks") > 0, **PARTS, **parts)
    (ledger,) = trade_once(strategy, [hours], costs=FREE)
    (reason,), (price,) = ledger.reason.tolist(), ledger.exit.tolist()
    assert (REASONS[reason], price, ledger.held[0], ledger.exit_bar[0]) == expected
    assert ledger.coarse == 0
