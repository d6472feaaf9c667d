"""What was traded on unseen bars, in the numbers that decide whether it confirms."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from optimizer.evidence.figures import Figure
from optimizer.evidence.out_of_sample import UNKNOWN, Unseen, add_up, measure_out_of_sample
from tests.support.evidence import counted_bars, make_ledger


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
