"""Individuals whose rows were never computed trade as in the reference and as with rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine.backends.sources import sources_of
from engine.batch import Engine
from engine.ledger import ACCUMULATOR_INDEX
from engine.reference import Reference
from strategy import STRATEGIES
from tests.support.parity import assert_same_bits
from tests.support.strategies import CROSSINGS, LEVELS, LOCATED
from tests.support.worlds import (
    SHORT_SPECS,
    costs,
    make_bars,
    markets,
    populations,
    random_genomes,
    windows_of,
)

SPECS = {**SHORT_SPECS, "crossings": CROSSINGS, "levels": LEVELS}
SPEC = SHORT_SPECS["seller_exhaustion"]


def streamed(engine, genomes):
    """Accumulators of individuals that the engine meets for the first time, without a row."""
    engine.load_streaming()
    before = engine.rows_computed
    found = engine.evaluate(genomes)
    assert engine.rows_computed == before
    return found


def decided_exactly(engine):
    """Comparisons of the last call that the law's formulas had to decide."""
    return engine._backend.decided_exactly


def assert_streamed_as_reference(spec, series, windows, genomes, **engine_options):
    """Accumulators equal the reference's in every bit; gives the engine back."""
    charged = engine_options.pop("costs", None)
    engine = Engine(spec, series, windows, charged, device="cpu", **engine_options)
    reference = Reference(spec, series, windows, charged)
    expected = np.array([reference.accumulators(genome) for genome in genomes])
    assert_same_bits(expected, streamed(engine, genomes), "streamed")
    return engine


@pytest.mark.parametrize("name", sorted(SPECS))
@given(data=st.data())
def test_worlds_give_the_same_trades(name, data):
    """Whatever the market, the windows and the costs; windows may begin inside the warm-up."""
    spec = SPECS[name]
    series = [data.draw(markets()) for _ in range(data.draw(st.integers(1, 2)))]
    windows = [data.draw(windows_of(bars, s)) for s, bars in enumerate(series) for _ in range(2)]
    genomes = data.draw(populations(spec))
    threads = data.draw(st.sampled_from([1, None]))
    assert_streamed_as_reference(
        spec, series, windows, genomes, threads=threads, costs=data.draw(costs())
    )


@pytest.mark.parametrize("name", sorted(SPECS))
@pytest.mark.parametrize("size", [1, 2, 7, 512], ids="P{}".format)
def test_rows_change_no_bit(name, size):
    """Streamed, and then with rows once these are asked for again, the same; and trades exist."""
    # Many individuals on few lengths are worth their rows.
    spec = SPECS[name] if size < 100 else STRATEGIES.get(name, SPECS[name])
    bars = make_bars(31, 9000, jump=0.1, silent=0.02)
    engine = Engine(spec, [bars], [Window.whole(bars), Window(0, 2000, 7000)], device="cpu")
    genomes = random_genomes(spec, size, seed=size)
    cold = streamed(engine, genomes)
    assert_same_bits(cold, engine.evaluate(genomes), "with rows")
    assert engine.rows_computed == engine.distinct_rows(genomes)
    assert cold[:, :, ACCUMULATOR_INDEX["trades"]].sum() > 100 or size < 100


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("chunk", [3, 64, None])
def test_threads_and_chunks_change_no_bit(threads, chunk):
    """However a population is divided, the same; later parts may ask for rows again."""
    bars = make_bars(33, 3000, gaps=0.05, jump=0.1)
    genomes = random_genomes(SPEC, 150, seed=8)
    expected = streamed(Engine(SPEC, [bars], [Window.whole(bars)], device="cpu"), genomes)
    divided = Engine(SPEC, [bars], [Window.whole(bars)], device="cpu", threads=threads, chunk=chunk)
    assert_same_bits(expected, divided.evaluate(genomes), "divided")


def test_windows_in_any_order_over_several_blocks():
    """Windows blocks apart, inside others, or before them, give what they give with rows."""
    bars = make_bars(34, 20_000, jump=0.1)
    ranges = [(9000, 20_000), (0, 300), (100, 12_000), (8500, 8600), (50, 9000), (0, 20_000)]
    windows = [Window(0, start, end) for start, end in ranges]
    engine = Engine(SPEC, [bars], windows, device="cpu")
    genomes = random_genomes(SPEC, 7, seed=9)
    cold = streamed(engine, genomes)
    assert_same_bits(cold, engine.evaluate(genomes), "with rows")
    assert engine.rows_computed == engine.distinct_rows(genomes)
    assert (cold[:, :, ACCUMULATOR_INDEX["trades"]].sum(axis=0) > 0).all()


def with_outliers(bars, size, at):
    """The same market with a huge volume and a huge range at some bars."""
    volume, high = bars.volume.copy(), bars.high.copy()
    volume[at] = size
    high[at] += size
    return type(bars)(
        timestamp=bars.timestamp, open=bars.open, high=high, low=bars.low, close=bars.close,
        volume=volume, symbol="OUTLIERS", timeframe_ns=bars.timeframe_ns,
    )  # fmt: skip


@pytest.mark.parametrize("size", [1e6, 1e12, 1e18, 1e100, 1e200], ids="{:.0e}".format)
@pytest.mark.parametrize("name", sorted(SPECS))
def test_tiny_variances_after_huge_values(name, size):
    """Sums that a huge value has spoilt decide nothing; the law's formulas do, and rightly."""
    bars = with_outliers(make_bars(35, 700, jump=0.1), size, [100, 101, 400])
    genomes = random_genomes(SPECS[name], 12, seed=3)
    engine = assert_streamed_as_reference(SPECS[name], [bars], [Window.whole(bars)], genomes)
    if size > 1e15 and name != "mean_reversion":  # which reads neither
        assert decided_exactly(engine) > 0


@pytest.mark.parametrize("share", [0.5, 0.98, 1.0])
@pytest.mark.parametrize("name", sorted(SPECS))
def test_flat_and_silent_markets(name, share):
    """Where nothing moves and nobody trades there is no score, and no signal that needs one."""
    bars = make_bars(36, 900, tick=0.5, flat=share, silent=share)
    genomes = random_genomes(SPECS[name], 12, seed=4)
    assert_streamed_as_reference(SPECS[name], [bars], [Window.whole(bars)], genomes)


@pytest.mark.parametrize("relation", [">", "<"])
def test_ties_at_thresholds_are_decided_by_the_law(relation):
    """A threshold that is a bar's own score, to the last bit, and its neighbours among floats."""
    name, gene, row = {
        ">": ("seller_exhaustion", "vol_z_min", "volume_z"),
        "<": ("mean_reversion", "close_z_max", "close_z"),
    }[relation]
    spec, bars = SHORT_SPECS[name], make_bars(37, 1500, jump=0.1)
    reference = Reference(spec, [bars], [Window.whole(bars)])
    (window,) = (row_.lengths[0] for row_ in spec.rows if row_.name == row)
    base = random_genomes(spec, 40, seed=5)
    for other in {"tr_z_min", "close_location_min"} & set(spec.layout.names):
        base[:, spec.layout.index(other)] = -100.0
    genomes = []
    for i, genome in enumerate(base):
        genes = spec.layout.decode(genome)
        scores = reference.row(next(r for r in spec.rows if r.name == row), genes)
        longest = int(genes[window])
        score = scores[longest + 37 * i % (len(bars) - longest)]
        for threshold in (score, np.nextafter(score, 9.0), np.nextafter(score, -9.0)):
            genomes.append(genome.copy())
            genomes[-1][spec.layout.index(gene)] = threshold
    engine = assert_streamed_as_reference(spec, [bars], [Window.whole(bars)], np.array(genomes))
    assert decided_exactly(engine) >= len(base)


@pytest.mark.parametrize("gene", ["location_max", "volume_min"])
def test_ties_with_levels(gene):
    """A threshold that is a bar's own level, and its neighbours among floats; or out of bounds."""
    bars = make_bars(41, 1500, flat=0.1, jump=0.1)
    genomes = np.repeat(random_genomes(LEVELS, 30, seed=11), 3, axis=0)
    genomes[:, LEVELS.layout.index("score_min")] = -100.0
    column = {"location_max": "close_location", "volume_min": "volume"}[gene]
    thresholds = np.nan_to_num(sources_of(bars)[column][40 * np.arange(1, 31)])
    for i, towards in enumerate((np.nan, -np.inf, np.inf)):
        genomes[i::3, LEVELS.layout.index(gene)] = (
            thresholds if np.isnan(towards) else np.nextafter(thresholds, towards)
        )
    genomes[0, LEVELS.layout.index(gene)] = -1e300
    genomes[1, LEVELS.layout.index(gene)] = 1e300
    engine = assert_streamed_as_reference(LEVELS, [bars], [Window.whole(bars)], genomes)
    trades = engine.evaluate(genomes)[:, 0, ACCUMULATOR_INDEX["trades"]]
    assert (trades > 0).sum() > 40


def test_lengths_beyond_the_series_never_signal():
    """A row that is never known gives no trade, and none for others."""
    bars = make_bars(38, 300, jump=0.1)
    genomes = random_genomes(SPEC, 8, seed=6)
    genomes[::2, SPEC.layout.index("z_window")] = 5000
    engine = assert_streamed_as_reference(SPEC, [bars], [Window.whole(bars)], genomes)
    trades = engine.evaluate(genomes)[:, 0, ACCUMULATOR_INDEX["trades"]]
    assert not trades[::2].any()
    assert trades[1::2].any()


def test_thresholds_without_measure_are_decided():
    """Thresholds whose squares no float holds."""
    bars = make_bars(39, 600, jump=0.1)
    genomes = random_genomes(SPEC, 6, seed=7)
    for i, threshold in enumerate((1e300, -1e300, 1e160, -1e160, 1e-300, -1e-300)):
        genomes[i, SPEC.layout.index("vol_z_min")] = threshold
    assert_streamed_as_reference(SPEC, [bars], [Window.whole(bars)], genomes)


def test_what_cannot_be_streamed_gets_rows():
    """Scores of values that do not exist everywhere, and lengths beyond all bounds."""
    bars = make_bars(40, 800, flat=0.2)
    genomes = random_genomes(LOCATED, 20, seed=8)
    engine = Engine(LOCATED, [bars], [Window.whole(bars)], device="cpu")
    reference = Reference(LOCATED, [bars], [Window.whole(bars)])
    expected = np.array([reference.accumulators(genome) for genome in genomes])
    assert_same_bits(expected, engine.evaluate(genomes), "rows")
    assert engine.rows_computed == engine.distinct_rows(genomes)
    crowded = Engine(LOCATED, [bars], [Window.whole(bars)], device="cpu", memory_bytes=800 * 9 * 5)
    assert_same_bits(expected, crowded.evaluate(genomes), "few rows at a time")

    genomes = random_genomes(SPEC, 3, seed=8)
    genomes[1, SPEC.layout.index("z_window")] = 2**16 + 1
    engine = Engine(SPEC, [bars], [Window.whole(bars)], device="cpu")
    engine.evaluate(genomes)
    assert engine.rows_computed == engine.distinct_rows(genomes)
