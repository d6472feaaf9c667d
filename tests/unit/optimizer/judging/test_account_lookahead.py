"""An account with limits that chooses by what is known is not accused; others: `test_planted`."""

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from optimizer.judging.lookahead import build_causal_record, cut_account, cut_windows
from tests.support.judging import make_task
from tests.support.worlds import make_bars
from tests.unit.engine.positions.test_standing import FOLLOWING

BARS = make_bars(3, 420, jump=0.05)
SERIES = (BARS, make_bars(3, 420, jump=0.05), make_bars(5, 420, jump=0.05, gaps=0.03))
LIMITS = {
    "one": Costs(max_positions=1, rank="close"),
    "leverage": Costs(max_leverage=0.5),
}


def judge_account(costs, series=SERIES):
    """What is found of some individuals."""
    task = make_task(*series, spec=FOLLOWING, costs=costs)
    low, high = FOLLOWING.layout.low, FOLLOWING.layout.high
    drawn = np.random.default_rng(1).uniform(low, high, (6, len(low)))
    genomes, _ = FOLLOWING.layout.repair(drawn)
    return task, genomes


@pytest.mark.parametrize("name", LIMITS)
def test_an_account_that_chooses_by_what_is_known_is_not_told(name):
    """Every member at every moment; the record counts these cuts too."""
    task, genomes = judge_account(LIMITS[name])
    cuts = list(cut_account(task, task.engine(device="cpu"), genomes, np.arange(6)))
    assert sum(count for count, *_ in cuts) > 8
    assert {found[1:] for found in cuts} == {(0, "")}
    record = build_causal_record(task, task.engine(device="cpu"), genomes)
    task, genomes = judge_account(Costs())
    plain = build_causal_record(task, task.engine(device="cpu"), genomes)
    assert record.mismatches == plain.mismatches == 0
    assert record.cuts > plain.cuts


def test_moments_cut_all_symbols():
    """Bars that are over by then; a window that has none is left out."""
    windows = [Window(0, 0, 200), Window(0, 200, 420), Window(1, 0, 420)]
    task = make_task(BARS, SERIES[2], spec=FOLLOWING, windows=windows)
    cut = cut_windows(task, int(BARS.over_ns[99]))
    assert cut.places == (0, 2)
    assert cut.windows[0] == Window(0, 0, 100)
    assert cut.windows[1].end == int((SERIES[2].over_ns <= BARS.over_ns[99]).sum())
    assert cut_windows(task, int(BARS.timestamp[0])) is None
