"""Bars that are read by finer ones: both engines, each way of reading, and the finer run itself."""

from dataclasses import replace

import numpy as np
import pytest

from data import load_bars, resample
from data.bars import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.batch import Engine
from engine.fast_case import find_fast_case
from strategy import STRATEGIES
from strategy import words as w
from tests.parity.test_language import both, population
from tests.support.backends import BACKEND_PARAMETERS
from tests.support.finer import HOUR_NS, make_coarse, open_apart
from tests.support.random_strategies import drawn_orders, drawn_strategy
from tests.support.references import compiled_reference
from tests.support.worlds import draw_order_costs, make_bars


@pytest.mark.parametrize("seed", range(8))
def test_drawn_orders_on_finer_bars(seed):
    """Ledgers, sums and counts; some bars are not made up of their finer ones."""
    quarters = open_apart(make_bars(seed, 1200, gaps=0.01 * (seed % 2), jump=0.05), seed)
    bars = [make_coarse(quarters, seed), make_coarse(make_bars(seed + 1, 360, tick=0.5))]
    windows = [Window.whole(bars[0]), Window(0, 40, 200), Window.whole(bars[1], 1)]
    strategy = drawn_orders(seed)
    genomes, charges = population(strategy, 3, seed), draw_order_costs(seed, strategy)
    assert both(strategy, bars, windows, genomes, charges) == ""


@pytest.mark.parametrize("seed", range(4))
def test_drawn_strategies_on_finer_bars(seed):
    """Without orders and money, whose exits are found before a bar is opened."""
    bars = [make_coarse(make_bars(seed, 1200, gaps=0.01 * (seed % 2), jump=0.05), seed)]
    windows = [Window.whole(bars[0]), Window(0, 40, 200)]
    strategy = drawn_strategy(seed)
    assert both(strategy, bars, windows, population(strategy, 3, seed)) == ""


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
    (genome,), window = population(strategy, 1, 2), Window(0, 0, 200)
    ledgers = [
        compiled_reference(strategy, [bars], [window]).trades(genome)[0]
        for bars in (hours, hours.until(200))
    ]
    assert hours.until(200).finer.timestamp[-1] < hours.timestamp[200]
    for column, values in ledgers[0].columns().items():
        assert values.tobytes() == getattr(ledgers[1], column).tobytes(), column


@pytest.mark.parametrize("device_name", BACKEND_PARAMETERS)
@pytest.mark.parametrize("name", ["seller_exhaustion", "mean_reversion"])
def test_the_fast_case_reads_finer_bars(name, device_name):
    """Shipped strategies on the sample, beside a series that has no finer bars, and late."""
    strategy, sample = STRATEGIES[name], load_bars("sample")
    assert find_fast_case(strategy).is_covered
    bars = [make_coarse(sample, 6, 4 * HOUR_NS), make_bars(8, 500)]
    windows = [Window.whole(bars[0]), Window(0, 300, 1700), Window.whole(bars[1], 1)]
    genomes, coarse, worth = population(strategy, 40, 6), 0, []
    for gene in ("atr_stop_mult", "reward_r"):
        # So near that some bars reach both.
        genomes[:, strategy.layout.index(gene)] = strategy.layout.gene(gene).low
    for costs in (Costs(), Costs(entry_delay=2)):
        assert both(strategy, bars, windows, genomes, costs, device=device_name) == ""
        for series in (bars, [replace(bars[0], finer=None), bars[1]]):
            sums = Engine(strategy, series, windows, costs, device=device_name).evaluate(genomes)
            worth.append(sums[:, :, ACCUMULATOR_INDEX["sum_r"]])
            coarse += sums[:, :, ACCUMULATOR_INDEX["coarse"]].sum()
    assert coarse > 20
    assert (worth[0] != worth[1]).any()
