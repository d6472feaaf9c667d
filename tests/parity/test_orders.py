"""Orders, ladders and money: the readable law and the CPU agree in every bit."""

import numpy as np
import pytest

from data.bars import Window
from engine.positions.reference import take_signals
from strategy import words as w
from strategy.rows import as_it_reads
from tests.parity.test_language import both, population
from tests.support.finer import make_coarse
from tests.support.random_strategies import drawn_accounts, drawn_exits, drawn_orders
from tests.support.references import compiled_reference
from tests.support.worlds import draw_order_costs, make_bars


@pytest.mark.parametrize(
    ("draw", "seed"),
    [(drawn_orders, seed) for seed in range(36)]
    + [(draw, seed) for draw in (drawn_exits, drawn_accounts) for seed in range(5)],
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
def test_the_law_as_it_reads_may_pass_by_quiet_bars(is_finer, monkeypatch):
    """It equals its compiled form, and gives the same where it looks at every bar."""
    from engine.positions import reference

    for number, seed in enumerate((0, 15, 28, 42, 49)):
        bars = [make_bars(seed, 640 if is_finer else 160, gaps=0.02, jump=0.05)]
        bars = [make_coarse(bars[0], seed)] if is_finer else bars
        strategy, windows = drawn_orders(seed), [Window.whole(bars[0])]
        genomes, charges = population(strategy, 1, seed), draw_order_costs(seed, strategy)
        assert both(strategy, bars, windows, genomes, charges, as_it_reads) == "", seed
        if number == 1:
            monkeypatch.setattr(
                reference, "pass_quiet_bars", lambda world, span, book, at, j: (at, j)
            )
            assert take_signals.__globals__["pass_quiet_bars"] is reference.pass_quiet_bars
