"""Hypothesis strategies for markets, windows and genomes, with the faults that real data has."""

import numpy as np
from hypothesis import strategies as st

from data.bars import Bars, Payments, Window
from data.timeframe import MINUTE_NS
from engine.accounts.costs import Costs
from strategy import STRATEGIES

FIFTEEN_MINUTES_NS = 15 * 60 * 10**9

SHORT_SPECS = {
    name: STRATEGIES[name].for_timeframe(900 * 16)
    for name in ("mean_reversion", "seller_exhaustion")
}
"""Strategies with lengths that are a sixteenth as long, so that small worlds outlive the
warm-up."""


def make_bars(seed, length, *, tick=0.01, flat=0.0, silent=0.0, gaps=0.0, jump=0.0, slope=0.0):
    """A market from a seed.

    Args:
        seed: Any int; the same arguments give the same bars.
        length: Number of bars.
        tick: Grid of prices; a coarse one makes ties.
        flat: Share of bars whose four prices are equal to the last close.
        silent: Share of bars without volume.
        gaps: Share of steps longer than one bar.
        jump: Scale of rare jumps, as a fraction of price.
        slope: Drift a bar, as a fraction of price.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    # Volume and range follow one activity, so that extreme bars are extreme in both.
    activity = rng.lognormal(0.0, 0.8, length)
    moves = slope + rng.normal(0.0, 0.006, length) * activity
    moves += np.where(rng.random(length) < 0.03, rng.normal(0, jump, length), 0.0)
    is_flat = rng.random(length) < flat
    moves[is_flat] = 0.0
    close = 100.0 * np.cumprod(1.0 + np.clip(moves, -0.5, 0.5))
    close = np.maximum(np.rint(close / tick), 1.0) * tick
    open_ = np.concatenate(([100.0], close[:-1]))
    reach = np.abs(rng.normal(0, 0.006, (2, length))) * close * activity
    high = np.maximum(open_, close) + np.rint(reach[0] / tick) * tick
    low = np.minimum(open_, close) - np.rint(reach[1] / tick) * tick
    low = np.where(low <= 0, np.minimum(open_, close), low)
    for column in (open_, high, low):
        column[is_flat] = close[is_flat]
    volume = np.rint(50.0 * activity * rng.lognormal(0.0, 0.3, length))
    volume[rng.random(length) < silent] = 0.0
    steps = np.where(rng.random(length) < gaps, rng.integers(2, 90, length), 1)
    timestamp = np.cumsum(steps).astype(np.int64) * FIFTEEN_MINUTES_NS
    return Bars(
        timestamp=timestamp,
        open=open_,
        high=high,
        low=low,
        close=close,
        volume=volume,
        symbol="WORLD",
        timeframe_ns=FIFTEEN_MINUTES_NS,
    )


def draw_payments(bars, seed):
    """Payments of a seed about once in five bars of a series, at any minute, and beyond its end."""
    rng = np.random.Generator(np.random.PCG64([seed, len(bars)]))
    first, last = (int(bars.timestamp[at] // MINUTE_NS) for at in (0, -1))
    span = np.arange(first - 60, last + 60)
    minutes = np.sort(rng.choice(span, min(len(bars) // 5 + 2, len(span)), replace=False))
    return Payments(minutes * MINUTE_NS, rng.normal(0, 0.003, len(minutes)))


@st.composite
def markets(draw, max_length=400):
    """Bars with flat stretches, ties, silence, gaps and jumps in any mixture, from one bar on."""
    share = st.sampled_from([0.0, 0.0, 0.05, 0.4, 1.0])
    return make_bars(
        draw(st.integers(0, 2**32)),
        draw(st.integers(1, max_length)),
        tick=draw(st.sampled_from([1e-6, 0.01, 0.5, 7.0])),
        flat=draw(share),
        silent=draw(share),
        gaps=draw(share),
        jump=draw(st.sampled_from([0.0, 0.05, 0.3])),
        slope=draw(st.sampled_from([-0.002, 0.0, 0.001])),
    )


@st.composite
def draw_window(draw, bars, series=0):
    """A window anywhere in a series: whole, late, or a single bar."""
    start = draw(st.integers(0, len(bars) - 1))
    end = draw(st.integers(start + 1, len(bars)))
    return draw(st.sampled_from([Window.whole(bars, series), Window(series, start, end)]))


def random_genomes(spec, count, seed):
    """Legal genomes [count, G] spread over the bounds, with thresholds low enough to trade."""
    rng = np.random.Generator(np.random.PCG64(seed))
    layout = spec.layout
    genomes = layout.low + (layout.high - layout.low) * rng.random((count, len(layout)))
    is_threshold = np.array([gene.unit == "std" for gene in layout.genes])
    loose = np.where(is_threshold, layout.low, genomes)
    return layout.repair(np.where(rng.random((count, 1)) < 0.5, loose, genomes))[0]


def make_population(strategy, count, seed):
    """The default genes, then random ones [count, G]; one individual without genes."""
    defaults = strategy.layout.defaults[None]
    if not len(strategy.layout):
        return defaults
    return np.concatenate([defaults, random_genomes(strategy, count - 1, seed)])


@st.composite
def populations(draw, spec, max_size=6):
    """A few genomes, some with thresholds outside the search's bounds."""
    genomes = random_genomes(spec, draw(st.integers(1, max_size)), draw(st.integers(0, 2**32)))
    if draw(st.booleans()):
        is_threshold = np.array([gene.unit == "std" for gene in spec.layout.genes])
        genomes[:, is_threshold] = draw(st.sampled_from([-100.0, -1.0, 0.0, 1.0, 100.0]))
    return genomes


def costs():
    """Costs and risk rules from free to dear, some entries late, some that ruin an account soon."""
    return st.builds(
        Costs,
        fee_bp=st.sampled_from([0.0, 5.0, 100.0]),
        slippage_bp=st.sampled_from([0.0, 5.0]),
        min_risk=st.sampled_from([0.0, 0.0001, 0.02]),
        risk_fraction=st.sampled_from([0.01, 0.5, 0.9, 1.0]),
        entry_delay=st.sampled_from([0, 0, 1, 7]),
    )


def draw_order_costs(seed, strategy):
    """Costs of a seed; a least fee where there is an account to charge it to."""
    rng = np.random.default_rng(seed)
    has_account = strategy.account is not None
    return Costs(
        min_risk=float(rng.choice([0.0, 0.0001, 0.002])),
        risk_fraction=float(rng.choice([0.01, 0.9])),
        entry_delay=int(rng.choice([0, 0, 0, 1, 3])),
        fee_unit=float(rng.choice([0.0, 0.01])),
        fee_min=float(rng.choice([0.0, 1.0])) if has_account else 0.0,
    )
