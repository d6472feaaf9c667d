"""Orders, ladders and money: the readable law and the CPU agree in every bit."""

import csv
from pathlib import Path

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.bars import Window
from engine.accounts.ledger import ACCUMULATOR_INDEX, COUNTED_REASONS
from engine.positions.reference import take_signals
from strategy import words as w
from strategy.rows import as_it_reads
from tests.parity.test_language import both, population
from tests.support.finer import make_coarse
from tests.support.order_cases import CASES
from tests.support.random_strategies import drawn_accounts, drawn_exits, drawn_orders
from tests.support.references import compiled_reference
from tests.support.worlds import draw_order_costs, make_bars

LAW = list(csv.DictReader((Path(__file__).parent / "order_values.csv").read_text().splitlines()))


@pytest.mark.parametrize("line", LAW, ids=[line["strategy"] for line in LAW])
def test_check_values_of_the_readable_law(line, real_folder):
    """Real series as one window, 5 + 5 basis points, to the last digit."""
    case = CASES[line["strategy"]]
    bars = load_bars(f"parquet:{real_folder / case.series}.parquet", LoadOptions(dedupe=True))
    bars = make_coarse(bars) if case.is_finer else bars
    genome = case.strategy.layout.defaults
    reference = compiled_reference(case.strategy, [bars], [Window.whole(bars)], case.costs)
    (sums,) = reference.accumulators(genome)
    expected = {name: float(value) for name, value in line.items() if name in ACCUMULATOR_INDEX}
    assert {name: sums[ACCUMULATOR_INDEX[name]].item() for name in expected} == expected
    reasons = [int(sums[ACCUMULATOR_INDEX[f"exits_{reason}"]]) for reason in COUNTED_REASONS]
    assert "/".join(map(str, reasons)) == line["reasons"]


@pytest.mark.parametrize(
    ("draw", "seed"),
    [(drawn_orders, seed) for seed in range(60)]
    + [(draw, seed) for draw in (drawn_exits, drawn_accounts) for seed in range(8)],
)
def test_drawn_strategies(draw, seed):
    """Ledgers with targets, sums, signals, and several windows as one account.

    With orders and money; with stops that follow and waiting; with accounts that are soon lost.
    """
    bars = [make_bars(seed, 400, gaps=0.02, jump=0.05), make_bars(seed + 1, 90, tick=0.5)]
    windows = [Window.whole(bars[0]), Window(0, 40, 300), Window.whole(bars[1], 1)]
    strategy = draw(seed)
    genomes, charges = population(strategy, 3, seed), draw_order_costs(seed, strategy)
    assert both(strategy, bars, windows, genomes, charges) == ""


@pytest.mark.parametrize("seed", range(0, 60, 10))
def test_drawn_orders_in_plain_python(seed):
    """The law as it reads equals its compiled form."""
    bars = [make_bars(seed, 160, gaps=0.02, jump=0.05)]
    strategy = drawn_orders(seed)
    genomes, charges = population(strategy, 1, seed), draw_order_costs(seed, strategy)
    assert both(strategy, bars, [Window.whole(bars[0])], genomes, charges, as_it_reads) == ""


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


def test_bars_that_are_passed_by_hold_nothing(monkeypatch):
    """The law gives the same where it looks at every bar."""
    from engine.positions import reference

    monkeypatch.setattr(reference, "pass_quiet_bars", lambda world, span, book, at, j: (at, j))
    for seed in range(0, 60, 7):
        bars = [make_bars(seed, 160, gaps=0.02, jump=0.05)]
        strategy = drawn_orders(seed)
        genomes, charges = population(strategy, 1, seed), draw_order_costs(seed, strategy)
        windows = [Window.whole(bars[0])]
        assert take_signals.__globals__["pass_quiet_bars"] is reference.pass_quiet_bars
        assert both(strategy, bars, windows, genomes, charges, as_it_reads) == "", seed
