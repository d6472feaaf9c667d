"""Accounts with limits: check values, a table by hand, and reference against CPU as drawn."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.cpu.limiting import Asks, admit
from engine.accounts.curves import compound
from engine.accounts.ledger import ACCUMULATOR_INDEX, REASONS
from engine.accounts.limits import AccountLimits
from engine.accounts.reference_limits import Ask, admit_in_turn
from engine.batch import Engine
from engine.replay.parity import compare_ledgers
from engine.runtime.cpu.threads import Threads
from strategy import STRATEGIES
from strategy import words as w
from tests.parity.test_language import both
from tests.support.finer import HOUR_NS
from tests.support.limited import draw_account, draw_finer_account
from tests.support.references import trade_once
from tests.support.worlds import make_bars
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


HAND = {
    0: [(0, 1, 4, "stop", -1, 2, 1), (4, 5, 9, "target", 2, 1.5, 1)],
    1: [
        (0, 1, 3, "target", 2, 3, 2), (3, 4, 7, "signal", -0.5, 1, 0), (6, 7, 9, "stop", -1, 1, 0)
    ],
    2: [
        (2, 3, 4, "time", 0.25, 0.5, np.nan), (4, 5, 5, "stop_gap", -1.5, 0.5, np.nan),
        (5, 6, 9, "end", 0, 2.5, np.nan),
    ],
    3: [(6, 7, 8, "stop", -1, 1, np.nan)],
}  # fmt: skip
"""Signals of four strands: t, e, j, reason, r, leverage, rank; a bar lasts 1."""

TAKEN = [(1, 0), (2, 2), (1, 3), (0, 4), (2, 4), (1, 6), (3, 6)]
SHORTS = {(1, 6)}  # after an exit by condition, at the bar before it

FOLDED = [(1, 3), (2, 4), (2, 5), (1, 7), (3, 8), (0, 9), (1, 9)]


def fold_hand(taken):
    """Strand and exit bar of trades in the order of the fold, and what equity ends at."""
    rows = [(row[2], strand, row[4]) for strand, t in taken for row in HAND[strand] if row[0] == t]
    rows.sort()
    equity = compound(np.array([r for *_, r in rows]), 0.01)
    return [(strand, bar) for bar, strand, _ in rows], float(equity[-1])


def take_by_reference(limits):
    """Strand and bar of each signal that is taken, in that order."""
    taken = []

    def ask(strand):
        free = 0
        for t, e, j, reason, _, leverage, rank in HAND[strand]:
            if t >= free:
                over = j if reason == "signal" else j + 1
                answer = yield Ask(e, over, leverage, rank)
                if answer.is_taken:
                    free = j - (reason == "signal")
                    taken.append((strand, t))

    admit_in_turn([ask(strand) for strand in HAND], limits)
    return taken


def take_by_loops(limits):
    """The same of the CPU's loops."""
    rows = [(strand, *row) for strand, some in HAND.items() for row in some]
    strand, t, e, j, _, _, leverage, rank = (np.array(column) for column in zip(*rows, strict=True))
    reasons = np.array([REASONS.index(row[4]) for row in rows])
    over = np.where(reasons == REASONS.index("signal"), j, j + 1)
    sides = np.array([-1 if (row[0], row[1]) in SHORTS else 1 for row in rows])
    none = np.zeros_like(t)
    asks = Asks(
        t, j, none, reasons, sides, e, over, leverage.astype(float), rank, strand, none, none
    )
    firsts = np.searchsorted(strand, np.arange(5))
    taken = admit(asks, firsts[None], limits, 4, Threads(1)).taken
    return {(int(strand[k]), int(t[k])) for k in np.flatnonzero(taken)}


@pytest.mark.parametrize(
    "limits", [AccountLimits(99, 4.0), AccountLimits(99, 99.0), AccountLimits(1, 99.0)]
)
def test_signals_that_ask_by_hand(limits):
    """Time, then rank, then strand; open until the exit bar has closed, or left at its open."""
    taken = take_by_reference(limits)
    assert take_by_loops(limits) == set(taken)
    if limits.max_leverage == 4.0:
        assert taken == TAKEN
        assert fold_hand(taken) == (FOLDED, 1.0018770428940074)


# Parts that other tests have compiled are drawn first; several hundred were compared by hand.
@pytest.mark.parametrize(("draw", "seed"), [
    *((draw_account, seed) for seed in range(4)), (draw_finer_account, 1), (draw_finer_account, 3),
])  # fmt: skip
def test_drawn_accounts(draw, seed):
    """Any strategy that limits cover, one to seven symbols, windows in any order, finer bars."""
    strategy, genomes, series, windows, costs = draw(seed)
    assert both(strategy, series, windows, genomes, costs) == ""


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


FAST, SLOW = w.ema(w.close, 5), w.ema(w.close, 12)
ABOVE, BELOW = w.crosses_above(FAST, SLOW), w.crosses_below(FAST, SLOW)
TURNS = {"long": ABOVE, "short": BELOW, "exit_long": BELOW, "exit_short": ABOVE}


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


def test_limits_that_leave_room_change_nothing_and_threads_share_accounts():
    """One symbol has room for itself, stop and reverse included; what is listed is folded."""
    spec = w.strategy("Turns.", **TURNS, stop=w.share(0.05))
    bars, genomes = make_bars(3, 900), np.repeat(spec.layout.defaults[None], 80, axis=0)
    asked = spec, [bars], [Window(0, 0, 400), Window(0, 400, 900)]
    plain = Engine(*asked, Costs(), device="cpu").evaluate_account(genomes)
    engines = [
        Engine(*asked, Costs(max_positions=1), device="cpu", threads=count) for count in (1, 2)
    ]
    limited, shared = (engine.evaluate_account(genomes) for engine in engines)
    most = ACCUMULATOR_INDEX["max_leverage"]
    for before, after, other in zip(plain, limited, shared, strict=True):
        assert after.tobytes() == other.tobytes()
        assert (after[..., :most] == before[..., :most]).all()
        assert (after[..., most] > 0.0).all()
    trades = limited[0][:, :, ACCUMULATOR_INDEX["trades"]]
    assert trades.tolist() == [[*map(len, ledgers)] for ledgers in engines[1].ledgers(genomes)]
    assert trades[0].sum() > 50
