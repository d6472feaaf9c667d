"""What was traded on unseen bars, in the numbers that decide whether it confirms."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from optimizer.evidence.figures import Figure
from optimizer.evidence.out_of_sample import UNKNOWN, Unseen, add_up, measure_out_of_sample
from optimizer.evidence.returns import daily_returns, list_days
from optimizer.evidence.sharpe import compute_psr
from tests.support.evidence import counted_bars, make_ledger


def test_windows_of_several_series_are_one_record():
    """Trades are counted together, and days that both have are one."""
    series = [counted_bars(24 * 30), counted_bars(24 * 40)]
    windows = [Window(0, 24 * 10, 24 * 30), Window(1, 24 * 20, 24 * 40)]
    rng = np.random.Generator(np.random.PCG64(1))
    ledgers = [
        make_ledger(rng.normal(0.5, 1, 20), exit_bar=24 * np.arange(10, 30)),
        make_ledger(rng.normal(0.5, 1, 20), exit_bar=24 * np.arange(20, 40)),
    ]
    out_of_sample = measure_out_of_sample(ledgers, series, windows)
    assert (out_of_sample.trades, out_of_sample.closing_days) == (40, 30)
    assert out_of_sample.mean_r.value == pytest.approx(
        np.concatenate([ledger.r for ledger in ledgers]).mean()
    )
    days = list_days(series, windows)
    assert len(days) == 30
    column = daily_returns([ledgers], series, windows, days)[:, 0]
    assert out_of_sample.psr == compute_psr(column)
    assert out_of_sample.confirms(1)


def test_parts_add_up_to_one_mean_and_one_strength():
    """7.5 R of thirty trades whose squares are 18.75, twice; a third part loses 4 of 16."""
    bars = counted_bars(24 * 60)
    ledger = make_ledger(np.tile([1.0, -0.5], 15), exit_bar=24 * np.arange(30))
    part = measure_out_of_sample([ledger], [bars], [Window(0, 0, 24 * 30)])
    assert part.strength.value == pytest.approx(7.5 / 18.75**0.5)
    assert not part.is_nought
    lost = Unseen(20, 20, Figure(-0.2), Figure(0.1), Figure(-1.0))
    trades, mean_r, strength = add_up([part, part, lost])
    assert trades == 80
    assert mean_r == pytest.approx(11 / 80)
    assert strength == pytest.approx(11 / (18.75 + 18.75 + 16) ** 0.5)
    assert np.isnan(add_up([part, replace(lost, strength=UNKNOWN)])[2])
