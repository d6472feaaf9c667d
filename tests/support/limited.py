"""Drawn accounts with limits: any strategy, one to seven symbols, some windows of each."""

from dataclasses import replace

import numpy as np

from data.bars import Window
from tests.support.random_strategies import Drawn
from tests.support.series import make_coarse
from tests.support.worlds import draw_order_costs, make_bars, make_population

RESTING = ("entry", "cancel", "reverse")

RANKS = (None, "close", "zscore(volume, 5)", "rsi(close, 3) - 50", "close_location")


class DrawnAtMarket(Drawn):
    """Strategies that limits cover: they enter at the market, by shares of the account."""

    def without_resting(self, arguments):
        """The same without what rests or reverses."""
        for name in RESTING:
            arguments.pop(name, None)
        return arguments

    def sizes(self):
        """Shares of the account alone."""
        return super().sizes()[2:]


def shorten_bars(bars):
    """Bars of which every seventh is over early, because the next one opens."""
    early = np.arange(len(bars)) // 7 * bars.timeframe_ns // 3
    return replace(bars, timestamp=bars.timestamp - early)


def draw_series(rng, seed, *, is_finer):
    """Series of one to seven symbols, some of them made of shorter bars, and windows of each."""
    series = [
        make_bars(
            seed + 11 * number, int(rng.integers(60, 260)) * (4 if is_finer else 1),
            gaps=float(rng.choice([0.0, 0.02])), jump=float(rng.choice([0.01, 0.05])),
        )
        for number in range(int(rng.integers(1, 8)))
    ]  # fmt: skip
    if is_finer:
        # The second one's bars are read as wholes.
        series = [
            bars if number == 1 else make_coarse(bars, seed) for number, bars in enumerate(series)
        ]
    elif seed % 3 == 2:
        series = [shorten_bars(bars) for bars in series]
    windows = []
    for number, bars in enumerate(series):
        cuts = sorted({0, len(bars), *rng.integers(1, len(bars), int(rng.integers(0, 3))).tolist()})
        windows += [Window(number, *cuts[place : place + 2]) for place in range(len(cuts) - 1)]
    # In any order: strands are those of series, and their windows those of time.
    return series, [windows[place] for place in rng.permutation(len(windows))]


def draw_costs(rng, seed, strategy, n_series):
    """Costs with limits that are narrow or wide."""
    positions = int(rng.integers(1, n_series + 1)) if rng.random() < 0.7 else None
    leverage = float(rng.choice([0.5, 2.0, 5.0, 20.0])) if rng.random() < 0.6 else None
    if positions is None and leverage is None:
        positions = 1
    return replace(
        draw_order_costs(seed, strategy),
        risk_fraction=float(rng.choice([0.01, 0.05, 0.3])),
        max_positions=positions, max_leverage=leverage, rank=RANKS[int(rng.integers(len(RANKS)))],
    )  # fmt: skip


def draw_account(seed, count=2, *, is_finer=False):
    """What a seed draws: strategy, genomes, series, windows and costs."""
    rng = np.random.Generator(np.random.PCG64(seed))
    further = ((), (Drawn.with_exits,), (Drawn.with_orders,), (Drawn.with_orders, Drawn.with_exits))
    strategy = DrawnAtMarket(seed).strategy(*further[seed % 4], DrawnAtMarket.without_resting)
    series, windows = draw_series(rng, seed, is_finer=is_finer)
    costs = draw_costs(rng, seed, strategy, len(series))
    return strategy, make_population(strategy, count, seed), series, windows, costs


def draw_finer_account(seed, count=2):
    """The same on bars that are made up of finer ones."""
    return draw_account(seed, count, is_finer=True)
