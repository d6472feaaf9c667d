"""The engine's front: what it refuses, what it plans, what it keeps."""

import pytest

from data.bars import Window
from engine import batch
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATORS
from engine.batch import Engine
from engine.errors import DeviceError, EngineError, MemoryPlanError
from engine.fast_case import find_fast_case
from engine.indicators.plan import list_reads
from engine.replay.parity import compare_ledgers
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(1, 300)
WHOLE = Window.whole(BARS)


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"windows": []}, EngineError, "window"),
        ({"windows": [Window(1, 0, 5)]}, EngineError, "series 1"),
        ({"windows": [Window(0, 0, 301)]}, EngineError, "0 to 301"),
        ({"chunk": 0}, EngineError, "chunk"),
        ({"device": "tpu"}, DeviceError, "tpu.*cuda:0"),
        ({"threads": 10_000}, DeviceError, "threads"),
        ({"threads": 0}, DeviceError, "threads"),
        ({"memory_bytes": 1000}, MemoryPlanError, "2,700"),
    ],
)
def test_engine_refuses_what_it_cannot_do(arguments, error, word):
    """Wrong series, windows, devices and limits are refused with their values."""
    given = {"spec": SPEC, "series": [BARS], "windows": [WHOLE], "device": "cpu", **arguments}
    with pytest.raises(error, match=word):
        Engine(**given)


@pytest.mark.parametrize("name", ["PART_PAIRS", "PART_INDIVIDUALS"])
@pytest.mark.parametrize("most", [1, 7])
def test_parts_change_no_bit(monkeypatch, name, most):
    """Handing a device few individuals at a time changes no bit, rows there or not."""
    genomes, windows = random_genomes(SPEC, 23, seed=3), [WHOLE, Window(0, 50, 200)]
    expected = Engine(SPEC, [BARS], windows).evaluate(genomes)
    monkeypatch.setattr(f"engine.sending.{name}", most)
    engine = Engine(SPEC, [BARS], windows)
    for _ in range(3):
        assert_same_bits(expected, engine.evaluate(genomes), f"{name} {most}")


@pytest.mark.parametrize("pairs", [8, 1], ids=["several_at_once", "a_window_at_a_time"])
@pytest.mark.parametrize("kib", [1024, 30], ids=["all_rows_fit", "few_rows_fit"])
def test_ledgers_of_many_are_those_of_each(monkeypatch, kib, pairs):
    """However many are listed at once, and whether or not their rows fit together."""
    monkeypatch.setattr(batch, "LISTED_PAIRS", pairs)
    genomes, windows = random_genomes(SPEC, 11, seed=3), [WHOLE, Window(0, 40, 200)]
    many = Engine(SPEC, [BARS], windows, device="cpu", memory_bytes=kib * 1024)
    single = Engine(SPEC, [BARS], windows, device="cpu")
    listed = list(many.ledgers(genomes))
    assert len(listed) == 11
    for genome, ledgers in zip(genomes, listed, strict=True):
        for expected, actual in zip(single.trades(genome), ledgers, strict=True):
            assert compare_ledgers(expected, actual) == ""


def test_an_engine_on_other_windows_shares_rows_and_gives_the_same_bits():
    """It is that of its windows, computes no row again, and leaves the first one as it was."""
    genomes, windows = random_genomes(SPEC, 11, seed=3), [Window(0, 40, 200), Window(0, 0, 90)]
    first = Engine(SPEC, [BARS], [WHOLE], device="cpu")
    before = first.evaluate(genomes)
    computed = first.rows_computed
    second = first.on(windows)
    alone = Engine(SPEC, [BARS], windows, device="cpu")
    assert_same_bits(alone.evaluate(genomes), second.evaluate(genomes), "other windows")
    assert (second.windows, second.rows_computed) == (tuple(windows), computed)
    assert_same_bits(before, first.evaluate(genomes), "the first windows")
    with pytest.raises(EngineError, match="301"):
        first.on([Window(0, 0, 301)])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("end", [1, 64, 1000])
def test_rows_end_where_windows_do(end, threads):
    """No bit before it changes, nothing after it is computed, and no window goes beyond it."""
    series = [make_bars(3, 2000), make_bars(4, 700)]
    windows = [Window(0, 0, end), Window(1, 50, 600), Window(0, end // 2, end)]
    genomes = random_genomes(SPEC, 40, seed=2)
    whole, short = (Engine(SPEC, series, windows, device="cpu", threads=threads) for _ in range(2))
    short.end_rows()
    assert_same_bits(whole.evaluate(genomes), short.evaluate(genomes), "accumulators")
    for read in list_reads(find_fast_case(SPEC, Costs())):
        form, parameters = read.name(tuple(genomes[0, list(read.columns)].tolist()))
        for number, bars in enumerate((end, 600)):
            row = short.row(form, parameters, number)
            assert_same_bits(whole.row(form, parameters, number)[:bars], row, f"{form}")
    beyond = Window(0, 0, end + 1)
    with pytest.raises(EngineError, match=str(end)):
        short.on([beyond])
    assert whole.on([beyond]).windows == (beyond,)
    alone = Engine(SPEC, series, [Window(1, 0, 9)], device="cpu")
    alone.end_rows()
    assert alone.evaluate(genomes).shape == (40, 1, len(ACCUMULATORS))
