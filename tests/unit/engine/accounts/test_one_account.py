"""Windows and symbols of one account: its end, spans, limits and sizes, with check values."""

import dataclasses
import math
from dataclasses import replace

import numpy as np
import pytest

import strategy.words as w
from data import LoadOptions, load_bars
from data.bars import Bars, Window, parts
from engine.accounts.account import Account
from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS, REASONS
from engine.accounts.metrics import UNDEFINED, Span, compute_metrics, measure_span, pool_spans
from engine.accounts.strategy_stakes import build_stake
from engine.batch import Engine
from engine.cpu.limited import LimitedBackend
from engine.errors import EngineError
from engine.reference import Reference
from engine.replay.parity import compare_accumulators, compare_ledgers
from optimizer.config.run_config import RunConfig
from optimizer.run.markets import load_markets
from strategy import STRATEGIES
from tests.support.limited import draw_account
from tests.support.markets import PAPER_SPEC, join_markets, losing_market, winning_market
from tests.support.parity import both
from tests.support.references import (
    BACKEND_PARAMETERS,
    ENGINE_PARAMETERS,
    FORMS,
    compiled_reference,
    trade_once,
)
from tests.support.series import HOUR_NS

INF = math.inf
RUINED = {"equity": 0.0, "peak_equity": 1.0, "max_drawdown": 1.0, "total_return": -1.0}
ONE_LOSS = join_markets(losing_market(1), winning_market(2))
EQUAL = dict.fromkeys(("std_r", "sharpe_trade", "sharpe"), "no_variation")


def sized(size):
    """The paper strategy with an account of 50."""
    return dataclasses.replace(PAPER_SPEC, account=w.account(50, size))


CASES = {
    # What is left of the variance of equal wins is rounding, and nothing is divided by it.
    **{f"eleven wins of {reward} R": (winning_market(11), 0.01, {"reward": reward}, PAPER_SPEC,
                                      {"trades": 11.0, "wins": 11.0, "strength": math.sqrt(11.0)},
                                      {**EQUAL, "sortino": "no_losses"})
       for reward in (2.1, 2.3, 3.3, 4.7)},
    # After the first loss of 33 R nothing is left; sums in R go on.
    "ruin": (losing_market(250), 1.0, {}, PAPER_SPEC,
             {**RUINED, "trades": 250.0, "sum_r": -8250.0, "max_drawdown_r": 8250.0},
             {"calmar": "ruined"}),
    # A win of 2 R makes it 1.02; a loss of 33 R then takes a third of that.
    "from the peak": (join_markets(winning_market(1), losing_market(1)), 0.01, {}, PAPER_SPEC,
                      {"trades": 2.0, "peak_equity": 1.02, "max_drawdown": 0.33}, {}),
    # Wins after ruin count in R and move no equity, also of sizes that ask no cash.
    **{name: (ONE_LOSS, 0.5, {}, spec,
              {**RUINED, "trades": 3.0, "sum_r": -29.0, "peak_r": 0.0, "unsized": 0.0}, {})
       for name, spec in (("not earned back", PAPER_SPEC), ("units", sized(w.units(1))),
                          ("notional", sized(w.notional(100))))},
    # Losses of a third each never end it; what is left below the least float64 is 0.
    "nearly nothing": (losing_market(250), 0.01, {}, PAPER_SPEC,
                       {"equity": 0.67**250}, {"calmar": "few_days"}),
    "rounds to ruin": (losing_market(250), 0.03, {}, PAPER_SPEC,
                       {"equity": 0.0, "total_return": -1.0}, {}),
    "beyond all numbers": (winning_market(320), 1.0, {"reward": 10.0}, PAPER_SPEC,
                           {"equity": INF},
                           {"total_return": "overflow", "max_drawdown": "overflow"}),
    "ruin after that": (join_markets(winning_market(320), losing_market(1), winning_market(4)),
                        1.0, {"reward": 10.0}, PAPER_SPEC,
                        {"trades": 325.0, "equity": 0.0, "total_return": -1.0,
                         "max_drawdown": 1.0}, {"calmar": "ruined"}),
}  # fmt: skip
"""A market, the share of equity at risk, genes and strategy; sums and metrics; reasons of metrics
that are undefined."""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ENGINE_PARAMETERS)
def test_an_account_by_hand(engine, name):
    """Every metric that is undefined has a reason, and none is infinite."""
    bars, risked, genes, spec, expected, undefined = CASES[name]
    costs = Costs(fee_bp=0.0, slippage_bp=0.0, risk_fraction=risked)
    windows, genome = [Window.whole(bars)], spec.layout.encode(genes)
    if engine in FORMS:
        reference = Reference(spec, [bars], windows, costs, form=FORMS[engine])
        values = reference.accumulators(genome)[0]
    else:
        values = Engine(spec, [bars], windows, costs, device=engine).evaluate(genome[None])[0, 0]
    table = compute_metrics(values[None, None], [measure_span(bars, windows[0])])
    why = dict(zip(table.names, table.reasons[0, 0].tolist(), strict=True))
    reasons = {name: UNDEFINED[reason] for name, reason in why.items() if reason}
    metrics = table.name_metrics(0)
    found = {**dict(zip(ACCUMULATORS, values.tolist(), strict=True)), **metrics}
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-11, abs=0)
    assert undefined.items() <= reasons.items()
    assert {name for name, value in metrics.items() if not math.isfinite(value)} == set(reasons)
    assert not math.copysign(1.0, found["equity"]) < 0


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


G0 = SPEC.layout.defaults
G1 = np.array([24, 168, 168, 24, 0.5, 0.3, 0.5, 1.0, 3, 72])
LIMITED_NAMES = ("trades", "equity", "max_drawdown", "rejected", "skipped")


LIMITED_VALUES = {
    "one": (Costs(max_positions=1), G1,
            (1436, 0.018261843790817776, 0.9875717756119542, 7, 1205)),
    "ranked": (Costs(max_positions=1, rank="zscore(volume, 168)"), G1,
               (1423, 0.01982260528193676, 0.9865095885595383, None, 1239)),
    "leverage": (Costs(max_leverage=3.0), G1,
                 (1644, 0.019328194862215944, 0.9868460629980705, None, 501)),
    "wide": (Costs(max_positions=3), G0, (505, 0.2814295038399783, 0.754222452574242, None, 0)),
}  # fmt: skip
"""From an independent implementation, to the last digit: three symbols, lengths not scaled."""


@pytest.mark.parametrize("name", LIMITED_VALUES)
def test_check_values_of_limited_accounts(name, real_folder):
    """The reference and the CPU, in every bit of trades, sums and the account."""
    costs, genome, expected = LIMITED_VALUES[name]
    series, windows = worlds("three", real_folder)
    assert both(SPEC, series, windows, genome[None], costs) == ""
    engine = Engine(SPEC, series, windows, costs, device="cpu")
    _, (account,) = engine.evaluate_account(genome[None])
    sums = [account[ACCUMULATOR_INDEX[key]].item() for key in LIMITED_NAMES]
    for actual, number in zip(sums, expected, strict=True):
        assert number is None or actual == number
    most = account[ACCUMULATOR_INDEX["max_leverage"]]
    assert most <= (costs.max_leverage or np.inf)
    assert name != "wide" or most == 5.191793570484141


def test_a_position_is_over_when_the_next_bar_opens():
    """A stop in a day of 23 hours leaves room for what the other market enters at its end."""
    opens, flat = np.array([0, 24, 47, 71, 95]) * HOUR_NS, np.full(5, 100.0)
    falls = np.array([100.0, 90, 100, 100, 100])
    series = [
        Bars(opens, flat, flat, low, flat, loud, symbol="W", timeframe_ns=24 * HOUR_NS)
        for low, loud in ((falls, np.eye(5)[0]), (flat, np.eye(5)[1]))
    ]
    spec = w.strategy("Loud.", long=w.volume > 0.5, stop=w.share(0.05))
    ledgers = trade_once(spec, series, costs=Costs(max_positions=1))
    entered = [(ledger.entry_bar.tolist(), ledger.exit_bar.tolist()) for ledger in ledgers]
    assert entered == [([1], [1]), ([2], [4])]
    assert [ledger.skipped for ledger in ledgers] == [0, 0]


def test_no_more_individuals_are_listed_together_than_have_room_for_their_rows(monkeypatch):
    """Where memory holds the rows of one, each is listed alone."""
    strategy, genomes, series, windows, costs = draw_account(12)
    listed, original = [], LimitedBackend.list_signals

    def note(self, some, windows):
        listed.append(len(some))
        return original(self, some, windows)

    monkeypatch.setattr(LimitedBackend, "list_signals", note)
    n_rows = LimitedBackend(strategy, series, costs, work_bytes=2**30)._markets[0].n_rows
    # Three quarters are for rows.
    work_bytes = -(-LimitedBackend.row_bytes(series) * n_rows * 4 // 3)
    backend = LimitedBackend(strategy, series, costs, work_bytes=work_bytes)
    assert len(backend.ledgers(genomes, windows)) == len(genomes) > 1
    assert listed == [1] * len(genomes)


def test_what_is_held_out_is_an_account_of_its_own():
    """However far ahead of it others are searched on."""
    strategy, genomes, series, _, costs = draw_account(12)
    searched = [Window.whole(bars, number) for number, bars in enumerate(series)]
    held_out = [replace(searched[0], role="held_out")]
    windows = [*held_out, *searched[1:]]
    assert both(strategy, series, windows, genomes, costs) == ""
    engine = Engine(strategy, series, windows, costs, device="cpu")
    joint = engine.trades(genomes[0])
    apart = [*engine.on(held_out).trades(genomes[0]), *engine.on(searched[1:]).trades(genomes[0])]
    for ledger, other in zip(joint, apart, strict=True):
        assert compare_ledgers(ledger, other) == ""
    assert sum(map(len, joint)) > 0


def test_the_account_chooses_by_what_is_known():
    """Bars after a moment change no trade that was entered before it."""
    strategy, genomes, series, _, costs = draw_account(12)
    whole = [Window.whole(bars, number) for number, bars in enumerate(series)]
    cut_ns = int(series[0].timestamp[len(series[0]) // 2])
    cut = [
        Window(number, 0, max(int(np.searchsorted(bars.timestamp, cut_ns)), 1))
        for number, bars in enumerate(series)
    ]
    full, early = (
        Engine(strategy, series, some, costs, device="cpu").trades(genomes[0])
        for some in (whole, cut)
    )
    for bars, before, after in zip(series, early, full, strict=True):
        closed = before.reason != REASONS.index("end")
        n_known = int(np.searchsorted(bars.timestamp[after.entry_bar], cut_ns))
        assert n_known == len(before)
        assert (before.exit_bar[closed] == after.exit_bar[:n_known][closed]).all()


def test_windows_that_overlap_are_no_strand():
    """On a GPU those of one series follow one another; those of others may lie anywhere."""
    pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    from engine.cuda.answering import check_apart

    check_apart(np.array([(0, 50, 90), (1, 20, 80), (0, 0, 50)]))
    with pytest.raises(EngineError, match="overlap"):
        check_apart(np.array([(0, 49, 90), (1, 20, 80), (0, 0, 50)]))


FREE = Costs(fee_bp=0.0, slippage_bp=0.0)


def market(*bars, symbol, hours=1, begins=0):
    """Bars of (open, close) after one that only signals; they last so many hours."""
    first, last = np.array([(100, 100), *bars], np.float64).T
    columns = first, np.maximum(first, last), np.minimum(first, last), last
    times = (begins + hours * np.arange(len(first))) * HOUR_NS
    return Bars(times, *columns, np.ones(len(first)), symbol, timeframe_ns=hours * HOUR_NS)


def fold(spec, series, windows, costs):
    """Ledgers, sums by name once all forms agree, and the account with its folded trades."""
    genome = spec.layout.defaults
    reference = compiled_reference(spec, series, windows, costs)
    ledgers = reference.trades(genome)
    sums = reference.account(ledgers, range(len(windows)), genome)
    engine = Engine(spec, series, windows, costs, device="cpu")
    assert compare_accumulators(sums, engine.evaluate_account(genome[None])[1][0]) == ""
    names = tuple(series[window.series].symbol for window in windows)
    stakes = (build_stake(spec, costs, spec.layout.decode(genome)),) * len(windows)
    account = Account(tuple(series), tuple(windows), names, costs, stakes=stakes)
    folded = account.fold(ledgers)
    named = {name: sums[place].item() for name, place in ACCUMULATOR_INDEX.items()}
    assert not len(folded.r) or folded.equity[-1] == named["equity"]
    return ledgers, named, account, folded


def measure(series, size, costs=FREE, **parts):
    """Sums, the account's numbers, its folded trades, and units by symbol and hour of the fill."""
    arguments = {"long": w.close > 0, "stop": w.share(0.5), "max_hold": 1, **parts}
    spec = w.strategy("Buys.", account=w.account(1000, size), **arguments)
    windows = [Window.whole(bars, number) for number, bars in enumerate(series)]
    ledgers, named, account, folded = fold(spec, series, windows, costs)
    places = zip(folded.strand.tolist(), (folded.entry_ns // HOUR_NS).tolist(), strict=True)
    filled = dict(zip(places, folded.units.tolist(), strict=True))
    return named, account.measure(ledgers)[0], folded, filled


TOGETHER = [market((100, 110), symbol=name) for name in "AB"]
"""Two symbols, both bought at 100 at one moment, both sold at 110 at one moment."""


def test_orders_filled_together_are_sized_from_the_same_cash():
    """By hand: 10 units each of 1,000, a fifth is gained, both are worth twice the account."""
    sums, measured, folded, _ = measure(TOGETHER, w.equity_share(1))
    assert folded.units.tolist() == [10.0, 10.0]
    assert folded.leverage.tolist() == [1.0, 1.0]
    assert folded.worth.tolist() == [1100.0, 1200.0]
    assert sums["equity"] == 1.2
    assert measured["max_leverage"] == 2.0
    limited, *_ = measure(TOGETHER, w.equity_share(1), replace(FREE, max_leverage=1.0))
    assert (limited["trades"], limited["skipped"], limited["equity"]) == (1.0, 1.0, 1.1)


def test_a_trade_counts_once_its_exit_bar_is_over():
    """Four hours that gain a tenth are not known to an hour that is filled within them."""
    slow = market((100, 110), (100, 100), symbol="SLOW", hours=4)
    hours = [(100, 100)] * 4 + [(100, 120), (100, 100), (100, 100), (100, 90)]
    quick = market(*hours, symbol="QUICK")
    _, measured, folded, filled = measure([slow, quick], w.equity_share(1))
    assert (filled[0, 4], filled[1, 5]) == (10.0, 10.0)
    # 200 of the hour are known at 6:00; the four hours' 100 at 8:00, when the last one is filled.
    # Trades are folded when they are over: of those at 8:00 that comes first which left earlier.
    assert (filled[1, 7], filled[1, 8]) == (12.0, 13.0)
    assert folded.worth[-3:].tolist() == [1300.0, 1170.0, 1170.0]
    # At 7:00, with four hours at cost as of their last close.
    assert measured["max_drawdown_marked"] == pytest.approx(0.1)


def test_an_exit_at_the_open_is_known_at_that_open():
    """What leaves by its condition at 103 pays for what is filled there; a time exit does not."""
    leaves = market((100, 110), (103, 103), (103, 103), symbol="A")
    waits = market((100, 100), (100, 100), (100, 100), symbol="B")
    parts = {"exit_long": w.close > 105, "max_hold": 2}
    *_, filled = measure([leaves, waits], w.equity_share(1), **parts)
    assert (filled[1, 1], filled[1, 3]) == (10.0, 10.3)
