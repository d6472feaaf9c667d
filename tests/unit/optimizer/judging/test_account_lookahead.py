"""An account that chooses by later bars is caught, one with limits that does not is not."""

import numpy as np
import pytest

from data.bars import Window
from engine.accounts.costs import Costs
from engine.cpu.limited import LimitedBackend
from optimizer.judging.account_lookahead import choose_moments, cut_account, cut_windows
from optimizer.judging.lookahead import build_causal_record
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
    account = cut_account(task, task.engine(device="cpu"), genomes, range(6))
    assert account.cuts > 8
    assert (account.mismatches, account.first) == (0, "")
    record = build_causal_record(task, task.engine(device="cpu"), genomes)
    task, genomes = judge_account(Costs())
    plain = build_causal_record(task, task.engine(device="cpu"), genomes)
    assert record.mismatches == plain.mismatches == 0
    assert record.cuts > plain.cuts


def test_a_rank_that_reads_later_bars_is_told(monkeypatch):
    """Of two symbols that ask together the one is taken that will gain."""
    own = LimitedBackend.__init__

    def peeking(self, spec, series, *rest, **given):
        own(self, spec, series, *rest, **given)
        turns = [bars.close[np.minimum(np.arange(len(bars)) + 3, len(bars) - 1)] for bars in series]
        self._ranks = [sign * row for sign, row in zip((1, 0, 0), turns, strict=True)]
        for row, bars in zip(self._ranks, series, strict=True):
            row -= bars.close * (row != 0)

    task, genomes = judge_account(LIMITS["one"])
    monkeypatch.setattr(LimitedBackend, "__init__", peeking)
    account = cut_account(task, task.engine(device="cpu"), genomes, range(6))
    assert account.mismatches > 0
    assert "in the account's room of member" in account.first
    record = build_causal_record(task, task.engine(device="cpu"), genomes)
    assert record.mismatches == account.mismatches
    assert account.first == record.first


def test_moments_cut_all_symbols():
    """Bars that have closed by then; a window that has none is left out."""
    windows = [Window(0, 0, 200), Window(0, 200, 420), Window(2, 0, 420)]
    moment = int(BARS.timestamp[99]) + BARS.timeframe_ns
    cut = cut_windows(SERIES, windows, moment)
    assert cut.places == (0, 2)
    assert cut.windows[0] == Window(0, 0, 100)
    other = SERIES[2]
    closes = other.timestamp + other.timeframe_ns
    assert cut.windows[1].end == int((closes <= moment).sum())
    assert cut.known_ns == min(moment, int(closes[cut.windows[1].end - 1]))
    moments = choose_moments(SERIES, windows, [])
    assert len(moments) == 8
    assert int(other.timestamp[0]) < moments[0] < moments[-1] < int(other.timestamp[-1])
