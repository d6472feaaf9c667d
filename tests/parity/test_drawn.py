"""Drawn strategies on drawn bars: reference, plain and compiled, and engine, equal in every bit.

A few seeds of each kind; `tests.bench.drawn` compares as many as are asked for.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import Window, resample
from engine.accounts.ledger import ACCUMULATOR_INDEX, COUNTED_REASONS
from engine.batch import Engine
from engine.positions import reference
from engine.positions.reference import take_signals
from strategy import words as w
from strategy.rows import as_it_reads
from tests.bench.drawn import with_reference
from tests.support.comparisons import needs_gpu
from tests.support.parity import both
from tests.support.random_strategies import drawn_orders, drawn_strategy
from tests.support.references import compiled_reference
from tests.support.series import HOUR_NS, make_coarse
from tests.support.worlds import (
    SHORT_SPECS,
    costs,
    draw_order_costs,
    draw_window,
    make_bars,
    make_population,
    markets,
    populations,
)

KINDS = {"words": 9, "orders": 12, "exits": 6, "accounts": 6, "limits": 4}
"""How many seeds of each kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_strategies_on_cores(kind):
    """Ledgers, sums, signals and accounts; every third seed on finer bars."""
    sums = 0.0
    for seed in range(KINDS[kind]):
        sums += with_reference(seed, "cpu", kind=kind).sum(axis=(0, 1))
        if seed % 3 == 0:
            on_finer = "finer-limits" if kind == "limits" else kind
            sums += with_reference(seed, "cpu", kind=on_finer, is_finer=True).sum(axis=(0, 1))
    # Positions are reversed by orders alone; other draws leave in each other way.
    reasons = COUNTED_REASONS[:-1] if kind in ("words", "exits") else ()
    for name in ("trades", "shorts", "coarse", *(f"exits_{reason}" for reason in reasons)):
        assert sums[ACCUMULATOR_INDEX[name]] > 0, name


def test_limits_count_targets_of_a_ladder_without_an_account():
    """Such a stake has no shares of targets."""
    sums = with_reference(100_103, "cpu", kind="finer-limits").sum(axis=(0, 1))
    assert sums[ACCUMULATOR_INDEX["partials"]] > 0


@needs_gpu
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["words", "orders", "exits", "accounts", "limits", "finer-limits"])
def test_drawn_strategies_on_a_gpu(kind, seed):
    """The same, also on finer bars."""
    with_reference(seed, "cuda", kind=kind, is_finer="limits" not in kind and seed == 2)


@given(st.data(), st.integers(0, 2**32))
def test_any_strategy_on_any_market(data, seed):
    """Flat, silent and short markets with gaps and jumps, in any window, at any costs."""
    bars = data.draw(markets(120))
    windows = [data.draw(draw_window(bars)), Window.whole(bars)]
    strategy, charges = drawn_strategy(seed, (60, 240, 1440)), data.draw(costs())
    genomes = make_population(strategy, 3, seed)
    assert both(strategy, [bars], windows, genomes, charges, as_it_reads) == ""


@pytest.mark.parametrize("name", sorted(SHORT_SPECS))
@given(data=st.data())
def test_a_shipped_strategy_on_any_market(name, data):
    """The same of several series."""
    series = [data.draw(markets()) for _ in range(data.draw(st.integers(1, 3)))]
    windows = [data.draw(draw_window(bars, s)) for s, bars in enumerate(series) for _ in range(2)]
    genomes = data.draw(populations(SHORT_SPECS[name]))
    charges = data.draw(costs())
    assert both(SHORT_SPECS[name], series, windows, genomes, charges, as_it_reads) == ""


ARITHMETIC = w.strategy(
    "Every operation, with genes that no row takes.",
    long=(
        abs(w.close * w.gene("a", 1.001, 0.99, 1.01) - w.open)
        > w.minimum(w.high - w.close, w.gene("b", 0.3, 0.1, 0.5) + w.low * 0)
    )
    & (w.true_range / (w.close - w.open) >= w.gene("a", 1.001, 0.99, 1.01) - 1),
    short=w.maximum(w.low, w.gene("c", 99, 90, 110)) / w.open
    <= w.close_location * w.gene("b", 0.3, 0.1, 0.5) + 1,
    stop=w.level(w.close * w.gene("d", 0.99, 0.98, 1.02)),
    target=w.from_entry(w.true_range * w.gene("a", 1.001, 0.99, 1.01) + 0.5),
    trail=w.trail(w.share(w.gene("e", 0.6, 0.01, 0.9)), after=0.2),
)


@pytest.mark.parametrize("length", [1, 63, 65, 513])
def test_arithmetic_is_computed_where_it_is_read(length):
    """Whole and cut words and blocks of bars; what is no number stays so."""
    bars = make_bars(length, length, flat=0.1)
    genomes = make_population(ARITHMETIC, 5, seed=length)
    assert both(ARITHMETIC, [bars], [Window.whole(bars)], genomes) == ""


def test_one_leg_of_all_is_a_target():
    """In every bit of r, and of what follows from it."""
    bars = make_bars(3, 2000)
    parts = {
        "long": w.crosses_above(w.close, w.sma(w.close, 20)), "stop": w.share(0.01),
        "short": w.crosses_below(w.close, w.sma(w.close, 20)), "max_hold": 20,
    }  # fmt: skip
    plain = w.strategy("A target.", target=w.r_multiple(2), **parts)
    leg = w.strategy("A ladder of one.", targets=[(w.r_multiple(2), 1)], **parts)
    ledgers = [
        compiled_reference(plan, [bars], [Window.whole(bars)]).trades(np.empty(0))[0]
        for plan in (plain, leg)
    ]
    for name, column in ledgers[0].columns().items():
        assert column.tobytes() == getattr(ledgers[1], name).tobytes(), name
    assert len(ledgers[0]) > 20


@pytest.mark.parametrize("is_finer", [False, True])
def test_the_law_may_pass_by_quiet_bars(is_finer, monkeypatch):
    """It gives the same where it looks at every bar."""

    def look_at_every_bar(world, span, book, at, j):
        return at, j

    monkeypatch.setattr(reference, "pass_quiet_bars", look_at_every_bar)
    assert take_signals.__globals__["pass_quiet_bars"] is look_at_every_bar
    for seed in (15, 28, 42):
        bars = make_bars(seed, 640 if is_finer else 160, gaps=0.02, jump=0.05)
        bars = make_coarse(bars, seed) if is_finer else bars
        strategy, windows = drawn_orders(seed), [Window.whole(bars)]
        genomes, charges = make_population(strategy, 1, seed), draw_order_costs(seed, strategy)
        assert both(strategy, [bars], windows, genomes, charges, as_it_reads) == "", seed


SAID_ALIKE = {
    "market": {},
    "stop": {"entry": w.by_side(w.stop_at(w.column("above")), w.stop_at(w.column("below")))},
    "limit": {"entry": w.by_side(w.limit_at(w.column("below")), w.limit_at(w.column("above")))},
    "exits": {"exit_long": w.column("leaves") > 0, "exit_short": w.column("leaves") > 0},
}
"""Strategies whose signals are columns: none of their rules counts bars or moves a stop."""


@pytest.mark.parametrize("name", SAID_ALIKE)
def test_trades_are_those_of_the_finer_run(name):
    """What stands in columns at the closes of hours alone is the same run on quarters."""
    quarters, rng = make_bars(5, 6000, jump=0.05), np.random.Generator(np.random.PCG64(5))
    is_last = quarters.timestamp % HOUR_NS == HOUR_NS - quarters.timeframe_ns
    extra = {side: is_last * (rng.random(len(quarters)) < 0.2) * 1.0 for side in ("buys", "sells")}
    extra["leaves"] = is_last * (rng.random(len(quarters)) < 0.05) * 1.0
    extra |= {"above": quarters.close * 1.005, "below": quarters.close * 0.995}
    quarters = replace(quarters, extra=extra)
    hours = replace(resample(quarters, HOUR_NS), finer=quarters.as_finer())
    strategy = w.strategy(
        "Columns.", long=w.column("buys") > 0, short=w.column("sells") > 0, stop=w.share(0.01),
        targets=[(w.r_multiple(1), 0.5), (w.r_multiple(2), 0.5)], **SAID_ALIKE[name],
    )  # fmt: skip
    coarse, fine = (
        Engine(strategy, [bars], [Window.whole(bars)], device="cpu").trades(np.empty(0))[0]
        for bars in (hours, quarters)
    )
    assert len(coarse) > 100
    for column in ("side", "reason", "entry", "stop", "target", "exit", "r", "leg_price"):
        assert getattr(coarse, column).tobytes() == getattr(fine, column).tobytes(), column
    hour_of = np.searchsorted(hours.timestamp, quarters.timestamp, side="right") - 1
    for column in ("signal_bar", "entry_bar", "exit_bar"):
        assert getattr(coarse, column).tolist() == hour_of[getattr(fine, column)].tolist(), column


def test_a_window_of_the_past_knows_the_same():
    """Bars until an end have the finer ones until then, and the same trades."""
    hours, strategy = make_coarse(make_bars(4, 1600, jump=0.05)), drawn_orders(2)
    (genome,), window = make_population(strategy, 1, 2), Window(0, 0, 200)
    ledgers = [
        compiled_reference(strategy, [bars], [window]).trades(genome)[0]
        for bars in (hours, hours.until(200))
    ]
    assert hours.until(200).finer.timestamp[-1] < hours.timestamp[200]
    for column, values in ledgers[0].columns().items():
        assert values.tobytes() == getattr(ledgers[1], column).tobytes(), column
