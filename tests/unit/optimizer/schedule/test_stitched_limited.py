"""Schedules of an account with limits: one chain over the signals of all steps of all symbols."""

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.bars import Window
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from engine.replay.parity import compare_ledgers
from optimizer.schedule.dates import Schedule, plan_steps
from optimizer.schedule.stitched import stitch
from strategy import STRATEGIES
from tests.support.averages import FOLLOWING, REVERSING
from tests.support.references import compiled_reference
from tests.support.worlds import make_bars
from tests.unit.optimizer.schedule.test_stitched import G1, G2

SELLER = STRATEGIES["seller_exhaustion"]
SIGNAL = REASONS.index("signal")
SERIES = [make_bars(seed, 450, jump=0.05, gaps=0.02) for seed in (3, 4, 5, 6)]
SERIES[3] = SERIES[3].cut(100, 400)
WINDOWS = [Window.whole(bars, number) for number, bars in enumerate(SERIES)]

LIMITS = {
    "one": {"max_positions": 1},
    "two": {"max_positions": 2, "rank": "zscore(volume, 5)"},
    "leverage": {"max_leverage": 0.6},
    "both": {"max_positions": 3, "max_leverage": 0.8, "rank": "close"},
}


def plan(series, windows, every, train, purge=0):
    """Steps of so many bars."""
    step_ns = series[0].timeframe_ns
    return plan_steps(series, windows, Schedule(every * step_ns, train * step_ns, purge))


def draw_picks(spec, count, seed):
    """Genomes of so many steps, some of which have none."""
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(spec.layout.low, spec.layout.high, (count, len(spec.layout)))
    genomes, _ = spec.layout.repair(drawn)
    return [None if k % 5 == 3 else genome for k, genome in enumerate(genomes)]


@cache
def list_signals(name):
    """Signals of all steps that come to a trade: when each asks, of whom, and that trade."""
    spec, steps, picks = set_up(name)
    plain, asked = compiled_reference(spec, SERIES, WINDOWS, Costs()), []
    for number, window in enumerate(WINDOWS):
        cuts = [*(step.borders[number] for step in steps), window.end]
        for pick, (start, stop) in zip(picks, pairwise(cuts), strict=True):
            if pick is None or start >= stop:
                continue
            own = replace(window, start=start)
            (signals,) = compiled_reference(spec, SERIES, [own]).signals(pick)
            for t in (bar for bar in signals if bar < stop):
                ledger = plain.continue_trades(pick, replace(window, start=t), t + 1)
                if len(ledger):
                    opened = int(SERIES[number].timestamp[ledger.entry_bar[0]])
                    asked.append((opened, number, ledger.trade(0)))
    return asked


def set_up(name):
    """Strategy, steps and picks."""
    spec = {spec.name: spec for spec in (FOLLOWING, REVERSING)}[name]
    steps = plan(SERIES, WINDOWS, 40, 150, 3)
    return spec, steps, draw_picks(spec, len(steps), 2)


def take_by_hand(asked, ranks, costs):
    """Trades [W], and how many signals are skipped; each is looked at in its turn."""

    def find_turn(ask):
        opened, number, trade = ask
        rank = 0.0 if ranks[number] is None else -ranks[number][trade.signal_bar]
        return opened, np.inf if np.isnan(rank) else rank, number

    free = [{1: 0, -1: 0} for _ in ranks]
    held, taken, skipped = [], [[] for _ in ranks], 0
    for opened, number, trade in sorted(asked, key=find_turn):
        side = trade.side
        if trade.signal_bar < free[number][side]:
            continue
        leverage = costs.risk_fraction * trade.entry / (side * (trade.entry - trade.stop))
        others = [worth for over, whose, worth in held if over > opened and whose != number]
        is_few = costs.max_positions is None or len(others) < costs.max_positions
        if not (is_few and sum(others) + leverage <= (costs.max_leverage or np.inf)):
            skipped += 1
            continue
        is_left = trade.reason == SIGNAL
        bars = SERIES[number]
        over = int(bars.timestamp[trade.exit_bar]) + (0 if is_left else bars.timeframe_ns)
        held.append((over, number, leverage))
        taken[number].append(trade)
        for way in (1, -1):
            free[number][way] = trade.exit_bar - int(is_left and side == -way)
    return taken, skipped


@pytest.mark.parametrize(
    ("spec", "name"),
    [*zip([FOLLOWING.name, REVERSING.name] * 2, LIMITS, strict=True)],
)
def test_all_steps_are_one_account(spec, name):
    """The trades are those of a chain by hand over the signals of all steps."""
    costs = Costs(**LIMITS[name], risk_fraction=0.01 if spec == FOLLOWING.name else 0.04)
    strategy, steps, picks = set_up(spec)
    reference = compiled_reference(strategy, SERIES, WINDOWS, costs)
    stitched = stitch(reference, WINDOWS, steps, picks)
    ranks = [asking.ranks for asking in reference.list_asks(picks[0])]
    taken, skipped = take_by_hand(list_signals(spec), ranks, costs)
    for ledger, trades in zip(stitched.ledgers, taken, strict=True):
        assert [ledger.trade(k) for k in range(len(ledger))] == trades
    assert sum(ledger.skipped for ledger in stitched.ledgers) == skipped > 0
    assert sum(map(len, taken)) > 30
    assert stitched.n_over_border > 0
    for ledger, entered, cuts in zip(
        stitched.ledgers, stitched.steps, map(np.array, stitched.borders), strict=True
    ):
        assert (ledger.signal_bar >= cuts[entered]).all()
        assert (ledger.signal_bar < cuts[entered + 1]).all()


def test_equal_genes_are_one_window():
    """The account is that of one window from the first date on, in every bit."""
    costs, genome = Costs(**LIMITS["both"]), REVERSING.layout.defaults
    steps = plan(SERIES, WINDOWS, 7, 150)
    reference = compiled_reference(REVERSING, SERIES, WINDOWS, costs)
    stitched = stitch(reference, WINDOWS, steps, [genome] * len(steps))
    expected = compiled_reference(REVERSING, SERIES, stitched.windows, costs).trades(genome)
    for ledger, whole in zip(stitched.ledgers, expected, strict=True):
        assert compare_ledgers(ledger, whole) == ""
        assert (ledger.skipped, ledger.rejected) == (whole.skipped, whole.rejected)


def test_three_real_series(real_folder):
    """Schedules of btc, gbpjpy and aapl 1h: trades, skipped, those over a border, equity."""
    assert trade_three(real_folder, Costs(max_positions=1)) == (802, 869, 87, 0.2930346507807445)
    expected = (976, 190, 107, 0.25991661400128624)
    assert trade_three(real_folder, Costs(max_leverage=3.0)) == expected


def trade_three(folder, costs):
    """Trades, skipped, those over a border, equity."""
    names = ("btcusdt_1h", "gbpjpy_1h", "aapl_1h")
    options = LoadOptions(dedupe=True)
    series = [load_bars(f"parquet:{folder / name}.parquet", options) for name in names]
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    steps = plan(series, windows, 720, 4320, 96)
    genomes = [SELLER.layout.encode(G1), SELLER.layout.encode(G2), None]
    picks = [genomes[k % 3] for k in range(len(steps))]
    stitched = stitch(compiled_reference(SELLER, series, windows, costs), windows, steps, picks)
    account = Account(stitched.series, stitched.windows, names, costs)
    counts = sum(map(len, stitched.ledgers)), sum(ledger.skipped for ledger in stitched.ledgers)
    return *counts, stitched.n_over_border, float(account.fold(stitched.ledgers).equity[-1])
