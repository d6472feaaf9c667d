"""Strategies in words: reference and engine, plain and compiled, equal in every bit."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data import Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, COUNTED_REASONS
from engine.batch import Engine
from engine.fast_case import FastCase, find_fast_case
from engine.reference import Reference
from engine.replay import certify
from engine.replay.parity import compare_accumulators, compare_ledgers
from engine.runtime.compiling.forms import CompiledForm
from strategy import STRATEGIES, words
from strategy.files import build_strategies
from strategy.rows import as_it_reads
from tests.support.random_strategies import drawn_strategy
from tests.support.strategies import CROSSINGS, LEVELS, LOCATED
from tests.support.worlds import costs, draw_window, make_bars, markets, random_genomes


def find_no_fast_case(strategy, costs=None, *, keeps_limits=False):
    """None of a strategy, whatever it costs."""
    return FastCase(strategy)


def formula_engine(*arguments, **options):
    """An engine as `Engine` makes it, of a strategy without a fast case."""
    with patch("engine.devices.find_fast_case", find_no_fast_case):
        return Engine(*arguments, **options)


EXAMPLES = Path(__file__).parents[1] / "support" / "examples.py"
EXAMPLE = {one.name: one for one in build_strategies(EXAMPLES.read_text(), str(EXAMPLES)).values()}
BARS = [make_bars(3, 700, gaps=0.02), make_bars(4, 500, flat=0.1)]
WINDOWS = [Window.whole(BARS[0]), Window(0, 150, 420), Window.whole(BARS[1], 1)]

FAST = (STRATEGIES["seller_exhaustion"], STRATEGIES["mean_reversion"], CROSSINGS, LOCATED, LEVELS)


def both(strategy, bars, windows, genomes, costs=None, form=None, device="cpu", **options):
    """The first difference between reference and engine; empty when there is none."""
    reference = Reference(
        strategy, bars, windows, costs, form=CompiledForm() if form is None else form
    )
    engine = Engine(strategy, bars, windows, costs, device=device, **options)
    accumulators = engine.evaluate(genomes)
    for i, ledgers in enumerate(engine.ledgers(genomes)):
        for w, (expected, actual) in enumerate(
            zip(reference.trades(genomes[i]), ledgers, strict=True)
        ):
            problem = compare_ledgers(expected, actual) or compare_accumulators(
                reference.fold(expected, genomes[i]), accumulators[i, w]
            )
            if problem:
                return f"individual {i}, window {w}: {problem}"
        if len(windows) > 1:
            _, account = engine.evaluate_account(genomes[i : i + 1])
            folded = reference.account(
                reference.trades(genomes[i]), range(len(windows)), genomes[i]
            )
            if problem := compare_accumulators(folded, account[0]):
                return f"individual {i}, all windows: {problem}"
        signals = [signal.tolist() for signal in engine.signals(genomes[i])]
        if signals != [list(signal) for signal in reference.signals(genomes[i])]:
            return f"individual {i}: signals differ"
    return ""


def population(strategy, count, seed):
    """The default genes, then random ones."""
    defaults = strategy.layout.defaults[None]
    if not len(strategy.layout):
        return defaults
    return np.concatenate([defaults, random_genomes(strategy, count - 1, seed)])


@pytest.mark.parametrize("name", sorted(EXAMPLE))
def test_examples_on_small_worlds(name):
    """Several series and windows, random genes; the law as it reads too."""
    strategy = EXAMPLE[name]
    genomes = population(strategy, 4, seed=1)
    assert both(strategy, BARS, WINDOWS, genomes) == ""
    assert both(strategy, BARS, WINDOWS[1:2], genomes[:1], form=as_it_reads) == ""


def check_drawn(seed, bars, windows, charges, form):
    """A drawn strategy on some bars, in both engines."""
    minutes = bars.timeframe_ns // (60 * 10**9)
    higher = tuple(m for m in (60, 240, 1440) if minutes and m % minutes == 0)
    strategy = drawn_strategy(seed, higher)
    genomes = population(strategy, 3, seed)
    problem = both(strategy, [bars], windows, genomes, charges, form)
    assert problem == "", f"strategy {seed}: {problem}"


@given(st.data(), st.integers(0, 2**32))
def test_drawn_strategies(data, seed):
    """Any strategy, on any bars, at any costs."""
    bars = data.draw(markets(120))
    windows = [data.draw(draw_window(bars)), Window.whole(bars)]
    check_drawn(seed, bars, windows, data.draw(costs()), as_it_reads)


@pytest.mark.slow
def test_many_drawn_strategies():
    """The same on longer bars, compiled; most of them trade, by each reason and on both sides."""
    bars = make_bars(11, 600, gaps=0.01)
    totals, trading = np.zeros(len(ACCUMULATOR_INDEX)), 0
    for seed in range(40):
        check_drawn(seed, bars, [Window.whole(bars), Window(0, 50, 300)], Costs(), None)
        strategy = drawn_strategy(seed, ())
        engine = Engine(strategy, [bars], [Window.whole(bars)], device="cpu")
        sums = engine.evaluate(strategy.layout.defaults[None])[0, 0]
        totals += sums
        trading += sums[0] > 2
    assert trading > 20
    # Positions are reversed by orders alone, which other draws have.
    for reason in COUNTED_REASONS[:-1]:
        assert totals[ACCUMULATOR_INDEX[f"exits_{reason}"]] > 0, reason
    assert 0 < totals[ACCUMULATOR_INDEX["shorts"]] < totals[0]


ARITHMETIC = words.strategy(
    "Every operation, with genes that no row takes.",
    long=(
        abs(words.close * words.gene("a", 1.001, 0.99, 1.01) - words.open)
        > words.minimum(words.high - words.close, words.gene("b", 0.3, 0.1, 0.5) + words.low * 0)
    )
    & (words.true_range / (words.close - words.open) >= words.gene("a", 1.001, 0.99, 1.01) - 1),
    short=words.maximum(words.low, words.gene("c", 99, 90, 110)) / words.open
    <= words.close_location * words.gene("b", 0.3, 0.1, 0.5) + 1,
    stop=words.level(words.close * words.gene("d", 0.99, 0.98, 1.02)),
    target=words.from_entry(words.true_range * words.gene("a", 1.001, 0.99, 1.01) + 0.5),
    trail=words.trail(words.share(words.gene("e", 0.6, 0.01, 0.9)), after=0.2),
)


@pytest.mark.parametrize("length", [1, 63, 65, 513])
def test_arithmetic_is_computed_where_it_is_read(length):
    """Whole and cut words and blocks of bars; what is no number stays so."""
    bars = make_bars(length, length, flat=0.1)
    genomes = population(ARITHMETIC, 5, seed=length)
    assert both(ARITHMETIC, [bars], [Window.whole(bars)], genomes) == ""


@pytest.mark.parametrize("options", [{"threads": 2}, {"chunk": 3}, {"memory_bytes": 2**20}])
def test_bits_depend_on_nothing_else(options):
    """Threads, chunks, memory, order, and what was evaluated before."""
    strategy = EXAMPLE["donchian_trail"]
    genomes = population(strategy, 40, seed=2)
    expected = Engine(strategy, BARS, WINDOWS, device="cpu").evaluate(genomes)
    engine = Engine(strategy, BARS, WINDOWS, device="cpu", **options)
    assert engine.evaluate(genomes).tobytes() == expected.tobytes()
    again = engine.evaluate(genomes[::-1].copy())[::-1]
    assert np.ascontiguousarray(again).tobytes() == expected.tobytes()
    assert engine.evaluate(genomes[7:8]).tobytes() == expected[7:8].tobytes()


@pytest.mark.parametrize("strategy", FAST, ids=lambda strategy: strategy.name)
def test_the_fast_case_gives_the_bits_of_formulas(strategy):
    """Whichever kernels run; and the certificate is green with both."""
    assert find_fast_case(strategy).is_covered
    genomes = random_genomes(strategy, 12, seed=5)
    bars, windows = [make_bars(6, 3000, flat=0.02)], [Window(0, 0, 3000)]
    fast = Engine(strategy, bars, windows, device="cpu")
    slow = formula_engine(strategy, bars, windows, device="cpu")
    assert fast.evaluate(genomes).tobytes() == slow.evaluate(genomes).tobytes()
    assert certify(slow, genomes).mismatches == certify(fast, genomes).mismatches == 0
