"""Several windows are one account: check values, orders of trades, and every way to evaluate."""

import numpy as np
import pytest

from data import LoadOptions, load_bars
from data.bars import Window
from data.windows import parts
from engine.accounts.costs import Costs
from engine.accounts.derived import Span
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.metrics import measure_span, pool_spans
from engine.batch import Engine
from engine.devices import choose_device
from engine.out_of_core import PartedEngine
from engine.reference import Reference
from engine.replay.certificate import certify
from engine.runtime.compiling.forms import CompiledForm
from optimizer.config.run_config import RunConfig
from optimizer.run.markets import load_markets
from strategy import STRATEGIES
from tests.support.backends import BACKEND_PARAMETERS
from tests.support.comparisons import needs_gpu
from tests.support.parity import assert_same_bits
from tests.support.references import FORMS
from tests.support.worlds import make_bars, random_genomes

SPEC = STRATEGIES["seller_exhaustion"]
NAMES = ("trades", "equity", "max_drawdown", "sum_r")

THREE = ("btcusdt_1h", "gbpjpy_1h", "aapl_1h")

CHECK_VALUES = {
    "whole": (265, 0.6726127679864992, 0.4308299931471464, -37.62478142701711),
    "parts": (266, 0.6437744790498068, 0.43669727456184737, -42.035792442030626),
    "pieces": (289, 0.7919112129222424, 0.29187477721228705, None),
    "three": (505, 0.2814295038399783, 0.754222452574242, -122.23984511681003),
}
"""From an independent implementation, to the last digit: genes as published, lengths not scaled."""


def worlds(name, folder):
    """Series and windows of a case."""

    def bars(symbol):
        return load_bars(f"parquet:{folder / symbol}.parquet", LoadOptions(dedupe=True))

    if name == "three":
        series = [bars(symbol) for symbol in THREE]
        return series, [Window.whole(hourly, place) for place, hourly in enumerate(series)]
    if name == "pieces":
        path = f"parquet:{folder / 'uniusdt_15m'}.parquet"
        markets = load_markets(RunConfig(data=[path], dedupe=True, max_gap="4h"))
        return list(markets.series), list(markets.windows)
    hourly = bars("btcusdt_1h")
    count = 12 if name == "parts" else 1
    return [hourly], list(parts([Window.whole(hourly)], count))


@pytest.mark.parametrize("engine_name", ["compiled_reference", *BACKEND_PARAMETERS])
@pytest.mark.parametrize("name", CHECK_VALUES)
def test_check_values_of_accounts(name, engine_name, real_folder):
    """One symbol whole, in parts and in pieces between gaps; three symbols."""
    series, windows = worlds(name, real_folder)
    genome = SPEC.layout.defaults
    if engine_name in FORMS:
        reference = Reference(SPEC, series, windows, form=FORMS[engine_name])
        sums = reference.account(reference.trades(genome), range(len(windows)), genome)
    else:
        engine = Engine(SPEC, series, windows, device=engine_name)
        _, (sums,) = engine.evaluate_account(genome[None])
    messages = [sums[ACCUMULATOR_INDEX[key]].item() for key in NAMES]
    for actual, expected in zip(messages, CHECK_VALUES[name], strict=True):
        assert expected is None or actual == expected
    if name == "three":
        spans = [measure_span(series[window.series], window) for window in windows]
        assert pool_spans(spans).years == 26.299908738307096


def brute(ledgers, windows, series, risk_fraction):
    """Trades of all windows sorted and folded one by one, by the law of numbers."""
    trades = sorted(
        (int(series[w.series].timestamp[bar]), w.series, w.start, k, float(r))
        for w, ledger in zip(windows, ledgers, strict=True)
        for k, (bar, r) in enumerate(zip(ledger.exit_bar, ledger.r, strict=True))
    )
    total = total_2 = peak_r = fall_r = fall = 0.0
    equity = peak = 1.0
    for *_, r in trades:
        total, total_2 = total + r, total_2 + r * r
        peak_r = max(peak_r, total)
        fall_r = max(fall_r, peak_r - total)
        equity = equity * (1 + risk_fraction * r)
        equity = equity if equity > 0 else 0.0
        peak = max(peak, equity)
        fall = max(fall, (peak - equity) / peak)
    return {
        "trades": float(len(trades)), "sum_r": total, "sum_r2": total_2, "peak_r": peak_r,
        "max_drawdown_r": fall_r, "equity": equity, "peak_equity": peak, "max_drawdown": fall,
        "rejected": float(sum(ledger.rejected for ledger in ledgers)),
    }  # fmt: skip


SERIES = [make_bars(5, 900, jump=0.1), make_bars(6, 700, flat=0.1), make_bars(5, 900, jump=0.1)]
# Two of them are the same bars, so that trades of different strands end together.
WINDOWS = [
    Window(0, 0, 300), Window(0, 300, 301), Window(0, 301, 900),
    Window(1, 100, 700), Window(2, 0, 450), Window(2, 450, 900),
]  # fmt: skip
CHARGED = Costs(risk_fraction=0.2)


def draw_genomes(spec, count=12):
    """Random rules that trade on short series."""
    genomes = random_genomes(spec, count, seed=3)
    names = spec.layout.names
    for name in ("ema_fast", "ema_slow", "z_window", "atr_window", "trend_ema"):
        if name in names:
            column = genomes[:, names.index(name)]
            genomes[:, names.index(name)] = spec.layout.gene(name).low + column % 7
    return genomes


@pytest.mark.parametrize("name", ["seller_exhaustion", "mean_reversion", "adaptive_trend"])
def test_every_way_to_evaluate_gives_one_account(name):
    """Reference, brute force, chunks, threads, parts of series, little memory, other orders."""
    spec = STRATEGIES[name]
    genomes = draw_genomes(spec)
    engine = Engine(spec, SERIES, WINDOWS, CHARGED, device="cpu", threads=2)
    by_window, account = engine.evaluate_account(genomes)
    assert by_window.tobytes() == engine.evaluate(genomes).tobytes()
    assert account[:, ACCUMULATOR_INDEX["trades"]].sum() > 0
    reference = Reference(spec, SERIES, WINDOWS, CHARGED, form=CompiledForm())
    for genome, sums in zip(genomes, account, strict=True):
        ledgers = reference.trades(genome)
        whole = reference.account(ledgers, range(len(WINDOWS)), genome)
        assert sums.tobytes() == whole.tobytes()
        for key, value in brute(ledgers, WINDOWS, SERIES, CHARGED.risk_fraction).items():
            assert sums[ACCUMULATOR_INDEX[key]] == value, key
    for options in ({"threads": 1}, {"chunk": 5}, {"memory_bytes": 250_000}):
        other = Engine(spec, SERIES, WINDOWS, CHARGED, device="cpu", **options)
        assert account.tobytes() == other.evaluate_account(genomes)[1].tobytes(), options
    assert account[::-1].tobytes() == engine.evaluate_account(genomes[::-1])[1].tobytes()
    # The order in which windows are named changes nothing.
    shuffled = engine.on(WINDOWS[::-1])
    assert account.tobytes() == shuffled.evaluate_account(genomes)[1].tobytes()
    parted = PartedEngine(spec, SERIES, WINDOWS, CHARGED, choose_device(spec, "cpu"), (0, 1, 3), 1)
    for sums, other in zip((by_window, account), parted.evaluate_account(genomes), strict=True):
        assert sums.tobytes() == other.tobytes()


@needs_gpu
def test_a_gpu_folds_the_same_account():
    """All windows or each individual's own, in any order, together or in chunks."""
    genomes = draw_genomes(SPEC, 1500)
    host = Engine(SPEC, SERIES, WINDOWS, CHARGED, device="cpu")
    expected = host.evaluate_account(genomes)
    for options in ({}, {"chunk": 64}):
        device = Engine(SPEC, SERIES, WINDOWS, CHARGED, device="cuda", **options)
        for _ in range(3):  # launched, captured, replayed
            for sums, other in zip(expected, device.evaluate_account(genomes), strict=True):
                assert_same_bits(sums, other, f"{options}")
        assert_same_bits(expected[1][::-1], device.evaluate_account(genomes[::-1])[1], "reversed")
        own = np.array([(4, 1, 2), (0, 5, 5), (3, 2, 0)], np.int32).repeat(500, 0)
        _, account = device.evaluate_account(genomes, own)
        for numbers, some in zip(own[::500].tolist(), np.split(np.arange(1500), 3), strict=True):
            alone = host.on([WINDOWS[number] for number in numbers])
            assert_same_bits(alone.evaluate_account(genomes[some])[1], account[some], "own")


def test_years_are_the_union_of_times_and_bars_are_all():
    """Two markets at once, one with a hole between its parts."""
    year = int(365.25 * 24 * 3600 * 10**9)
    spans = [
        Span(10, 1.0, 0, year),
        Span(20, 0.5, year // 2, year),
        Span(5, 1.0, 2 * year, 3 * year),
    ]
    whole = pool_spans(spans)
    assert (whole.bars, whole.years) == (35, 2.0)


def test_a_certificate_replays_the_account(monkeypatch):
    """Windows that are right make no certificate where they are put together wrongly."""
    engine = Engine(SPEC, SERIES, WINDOWS, CHARGED, device="cpu")
    genomes = draw_genomes(SPEC, 3)
    assert certify(engine, genomes).mismatches == 0
    real = Engine.evaluate_account

    def wrong(self, genomes):
        by_window, account = real(self, genomes)
        account[1, ACCUMULATOR_INDEX["max_drawdown"]] += 1e-15
        return by_window, account

    monkeypatch.setattr(Engine, "evaluate_account", wrong)
    certificate = certify(engine, genomes)
    assert certificate.mismatches == 1
    assert "individual 1, window 0: all windows as one account" in certificate.first_mismatch
    assert "accumulator max_drawdown differs" in certificate.first_mismatch
