"""The law of stops that follow and of waiting, rule by rule: hand-made markets, on both engines.

Quiet bars open and close at 100 and go from 99 to 101. A volume of 2 asks for a long, 3 for a
short, 4 for an exit.
"""

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from engine.positions.exit_spec import MINUTE_NS
from engine.reference import Reference, as_it_reads
from strategy import words as w
from strategy.errors import StrategyError
from strategy.recorded import from_described
from tests.parity.test_language import both

FREE = Costs(fee_bp=0.0, slippage_bp=0.0)
QUIET = (100.0, 101.0, 99.0, 100.0, 1.0)
LONG, SHORT, LEAVE = ((*QUIET[:4], volume) for volume in (2.0, 3.0, 4.0))
FALL = (100.0, 101.0, 96.0, 100.0, 1.0)
RISE = (100.0, 104.0, 99.0, 100.0, 1.0)


def market(*rows):
    """Bars of these prices and volumes, an hour each."""
    columns = np.array(rows, np.float64).T
    times = np.arange(len(rows)) * 60 * MINUTE_NS
    return Bars(times, *columns, "PAPER", 60 * MINUTE_NS)


def plan(**parts):
    """A strategy with a stop at 3 from the entry whose signals are volumes."""
    asks = {"long": w.equals(w.volume, 2), "short": w.equals(w.volume, 3)}
    return w.strategy("By hand.", **{**asks, "stop": w.from_entry(w.close * 0 + 3), **parts})


def trades_of(rows, strategy, genome=()):
    """Each trade as side, signal bar, entry bar, exit bar, reason, exit; both engines agree."""
    bars, genome = market(*rows), np.array(genome, np.float64)
    windows = [Window.whole(bars)]
    assert both(strategy, [bars], windows, genome[None], FREE, as_it_reads) == ""
    (ledger,) = Reference(strategy, [bars], windows, FREE, form=as_it_reads).trades(genome)
    return [
        (int(t.side), t.signal_bar, t.entry_bar, t.exit_bar, REASONS[t.reason], t.exit)
        for t in map(ledger.trade, range(len(ledger)))
    ]


@pytest.mark.parametrize(
    ("bars", "later"), [(0, [2, 4, 5, 6]), (1, [4, 5, 6]), (2, [4, 5, 6]), (3, [5, 6]), (9, [])]
)
def test_no_signal_counts_for_some_bars_after_a_stop(bars, later):
    """Of both sides, from the bar of the exit on."""
    fall = (*FALL[:4], 3.0)
    rows = (LONG, QUIET, fall, QUIET, SHORT, LONG, LONG, QUIET, QUIET)
    strategy = plan(cooldown=w.whole("pause", 1, 0, 9))
    first, *others = trades_of(rows, strategy, [bars])
    assert first == (1, 0, 1, 2, "stop", 97.0)
    assert [others[0][1]] == later[:1] if later else others == []


def test_other_exits_begin_no_cooldown():
    """Neither a target nor a condition."""
    rows = (LONG, QUIET, RISE, LONG, QUIET, LEAVE, LONG, QUIET, QUIET)
    strategy = plan(cooldown=5, target=w.r_multiple(1), exit_long=w.equals(w.volume, 4))
    assert [trade[1:5] for trade in trades_of(rows, strategy)] == [
        (0, 1, 2, "target"), (3, 4, 6, "signal"), (6, 7, 8, "end"),
    ]  # fmt: skip


@pytest.mark.parametrize(("cooldown", "trades"), [(None, 2), (0, 2), (1, 1)])
def test_a_stop_with_a_cooldown_ends_orders_that_would_stand_on(cooldown, trades):
    """Those that may reverse: the short's order at 95 of bar 2 is met in bar 4."""
    low = (100.0, 100.0, 94.0, 95.0, 1.0)
    rows = (LONG, QUIET, SHORT, FALL, low, QUIET, QUIET)
    parts = {"reverse": True, "entry": w.by_side(None, w.stop_at(w.close - 5))}
    if cooldown is not None:
        parts["cooldown"] = cooldown
    found = trades_of(rows, plan(**parts))
    assert found[0] == (1, 0, 1, 3, "stop", 97.0)
    assert [trade[1:3] for trade in found[1:]] == [(2, 4)][: trades - 1]


def test_what_is_new_is_recorded_where_it_is_there():
    """Older digests stand, and a record reads back."""
    strategy = plan(cooldown=w.whole("pause", 1, 0, 9))
    assert from_described(strategy.described).digest == strategy.digest
    assert strategy.layout.names == ("pause",)
    assert "cooldown" not in plan().described
    assert plan().digest != plan(cooldown=0).digest


@pytest.mark.parametrize(
    ("parts", "message"), [({"cooldown": 1.5}, "cooldown"), ({"cooldown": -1}, "cooldown")]
)
def test_what_makes_no_sense_is_refused(parts, message):
    """By its name."""
    with pytest.raises(StrategyError, match=message):
        plan(**parts)
