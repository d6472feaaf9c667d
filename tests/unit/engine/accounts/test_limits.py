"""Accounts with limits: check values, and what they may know."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.batch import Engine
from engine.cpu.limited import LimitedBackend
from engine.errors import EngineError
from engine.replay.parity import compare_ledgers
from strategy import STRATEGIES
from strategy import words as w
from tests.support.finer import HOUR_NS
from tests.support.limited import draw_account
from tests.support.parity import both
from tests.support.references import trade_once
from tests.unit.engine.accounts.test_one_account import worlds

SPEC = STRATEGIES["seller_exhaustion"]
G0 = SPEC.layout.defaults
G1 = np.array([24, 168, 168, 24, 0.5, 0.3, 0.5, 1.0, 3, 72])
NAMES = ("trades", "equity", "max_drawdown", "rejected", "skipped")


CHECK_VALUES = {
    "one": (Costs(max_positions=1), G1,
            (1436, 0.018261843790817776, 0.9875717756119542, 7, 1205)),
    "ranked": (Costs(max_positions=1, rank="zscore(volume, 168)"), G1,
               (1423, 0.01982260528193676, 0.9865095885595383, None, 1239)),
    "leverage": (Costs(max_leverage=3.0), G1,
                 (1644, 0.019328194862215944, 0.9868460629980705, None, 501)),
    "wide": (Costs(max_positions=3), G0, (505, 0.2814295038399783, 0.754222452574242, None, 0)),
}  # fmt: skip
"""From an independent implementation, to the last digit: three symbols, lengths not scaled."""


@pytest.mark.parametrize("name", CHECK_VALUES)
def test_check_values_of_limited_accounts(name, real_folder):
    """The reference and the CPU, in every bit of trades, sums and the account."""
    costs, genome, expected = CHECK_VALUES[name]
    series, windows = worlds("three", real_folder)
    assert both(SPEC, series, windows, genome[None], costs) == ""
    engine = Engine(SPEC, series, windows, costs, device="cpu")
    _, (account,) = engine.evaluate_account(genome[None])
    sums = [account[ACCUMULATOR_INDEX[key]].item() for key in NAMES]
    for actual, number in zip(sums, expected, strict=True):
        assert number is None or actual == number
    most = account[ACCUMULATOR_INDEX["max_leverage"]]
    assert most <= (costs.max_leverage or np.inf)
    assert name != "wide" or most == 5.191793570484141


def test_a_position_is_over_when_the_next_bar_opens():
    """A stop in a day of 23 hours leaves room for what the other market enters at its end."""
    opens, flat = np.array([0, 24, 47, 71, 95]) * HOUR_NS, np.full(5, 100.0)
    falls = np.array([100.0, 90, 100, 100, 100])
    series = [
        Bars(opens, flat, flat, low, flat, loud, symbol="W", timeframe_ns=24 * HOUR_NS)
        for low, loud in ((falls, np.eye(5)[0]), (flat, np.eye(5)[1]))
    ]
    spec = w.strategy("Loud.", long=w.volume > 0.5, stop=w.share(0.05))
    ledgers = trade_once(spec, series, costs=Costs(max_positions=1))
    entered = [(ledger.entry_bar.tolist(), ledger.exit_bar.tolist()) for ledger in ledgers]
    assert entered == [([1], [1]), ([2], [4])]
    assert [ledger.skipped for ledger in ledgers] == [0, 0]


def test_no_more_individuals_are_listed_together_than_have_room_for_their_rows(monkeypatch):
    """Where memory holds the rows of one, each is listed alone."""
    strategy, genomes, series, windows, costs = draw_account(12)
    listed, original = [], LimitedBackend._list_signals

    def note(self, some, windows):
        listed.append(len(some))
        return original(self, some, windows)

    monkeypatch.setattr(LimitedBackend, "_list_signals", note)
    n_rows = LimitedBackend(strategy, series, costs, work_bytes=2**30)._markets[0].n_rows
    # Three quarters are for rows.
    work_bytes = -(-LimitedBackend.slot_bytes(series) * n_rows * 4 // 3)
    backend = LimitedBackend(strategy, series, costs, work_bytes=work_bytes)
    assert len(backend.ledgers(genomes, None, windows)) == len(genomes) > 1
    assert listed == [1] * len(genomes)


def test_what_is_held_out_is_an_account_of_its_own():
    """However far ahead of it others are searched on."""
    strategy, genomes, series, _, costs = draw_account(12)
    searched = [Window.whole(bars, number) for number, bars in enumerate(series)]
    held_out = [replace(searched[0], role="held_out")]
    windows = [*held_out, *searched[1:]]
    assert both(strategy, series, windows, genomes, costs) == ""
    engine = Engine(strategy, series, windows, costs, device="cpu")
    joint = engine.trades(genomes[0])
    apart = [*engine.on(held_out).trades(genomes[0]), *engine.on(searched[1:]).trades(genomes[0])]
    for ledger, other in zip(joint, apart, strict=True):
        assert compare_ledgers(ledger, other) == ""
    assert sum(map(len, joint)) > 0


def test_the_account_chooses_by_what_is_known():
    """Bars after a moment change no trade that was entered before it."""
    strategy, genomes, series, _, costs = draw_account(12)
    whole = [Window.whole(bars, number) for number, bars in enumerate(series)]
    cut_ns = int(series[0].timestamp[len(series[0]) // 2])
    cut = [
        Window(number, 0, max(int(np.searchsorted(bars.timestamp, cut_ns)), 1))
        for number, bars in enumerate(series)
    ]
    full, early = (
        Engine(strategy, series, some, costs, device="cpu").trades(genomes[0])
        for some in (whole, cut)
    )
    for bars, before, after in zip(series, early, full, strict=True):
        closed = before.reason != REASONS.index("end")
        n_known = int(np.searchsorted(bars.timestamp[after.entry_bar], cut_ns))
        assert n_known == len(before)
        assert (before.exit_bar[closed] == after.exit_bar[:n_known][closed]).all()


def test_windows_that_overlap_are_no_strand():
    """On a GPU those of one series follow one another; those of others may lie anywhere."""
    pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    from engine.cuda.answering import check_apart

    check_apart(np.array([(0, 50, 90), (1, 20, 80), (0, 0, 50)]))
    with pytest.raises(EngineError, match="overlap"):
        check_apart(np.array([(0, 49, 90), (1, 20, 80), (0, 0, 50)]))
