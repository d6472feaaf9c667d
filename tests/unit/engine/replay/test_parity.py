"""Comparisons of ledgers: a bit of any column is a difference, and so is any count."""

from dataclasses import replace

import numpy as np

from data.bars import Window
from engine.accounts.ledger import ACCUMULATORS
from engine.batch import Engine
from engine.replay.parity import compare_accumulators, compare_ledgers
from tests.support.order_cases import CASES
from tests.support.worlds import make_bars

COUNTS = ("rejected", "orders", "expired", "coarse")


def test_a_bit_of_any_column_and_any_count_is_a_difference():
    """Also of targets and sizes, which not every trade has."""
    case, bars = CASES["ladder"], make_bars(3, 3000, jump=0.05)
    engine = Engine(case.strategy, [bars], [Window.whole(bars)], case.costs, device="cpu")
    (ledger,) = engine.trades(case.strategy.layout.defaults)
    columns = ledger.columns()
    assert (
        compare_ledgers(ledger, replace(ledger, **{k: v.copy() for k, v in columns.items()})) == ""
    )
    changed = 0
    for name, column in columns.items():
        if column.size:
            other = column.copy()
            other.reshape(-1).view(np.uint8)[-1] ^= 1
            assert name in compare_ledgers(ledger, replace(ledger, **{name: other})), name
            changed += 1
    assert changed > 12
    for name in COUNTS:
        more = replace(ledger, **{name: getattr(ledger, name) + 1})
        assert name in compare_ledgers(ledger, more)
    message = compare_ledgers(ledger, ledger.keep(np.arange(len(ledger)) < len(ledger) - 1))
    assert f"{len(ledger)} trades, the engine {len(ledger) - 1}" in message
    zero = np.zeros(len(ACCUMULATORS))
    assert "sum_r" in compare_accumulators(zero, np.where(np.arange(len(zero)) == 2, -0.0, zero))
