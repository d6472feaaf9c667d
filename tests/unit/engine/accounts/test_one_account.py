"""Several windows are one account: check values, spans, and the certificate of it."""

import pytest

from data import LoadOptions, load_bars
from data.bars import Window
from data.windows import parts
from engine.accounts.ledger import ACCUMULATOR_INDEX
from engine.accounts.metrics import Span, measure_span, pool_spans
from engine.batch import Engine
from engine.reference import Reference
from engine.replay.certificate import certify
from optimizer.config.run_config import RunConfig
from optimizer.run.markets import load_markets
from strategy import STRATEGIES
from tests.support.backends import BACKEND_PARAMETERS
from tests.support.references import FORMS
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

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
    bars, spec = make_bars(5, 900, jump=0.1), SHORT_SPECS["seller_exhaustion"]
    engine = Engine(spec, [bars], [Window(0, 0, 450), Window(0, 450, 900)], device="cpu")
    genomes = random_genomes(spec, 3, seed=3)
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
