"""Portfolios: check values of two genes on one symbol, limits, and members of recorded runs."""

import math
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import optimizer
from data import Bars, Window
from engine.accounts.costs import Costs
from engine.portfolio import Component, Portfolio
from engine.replay.parity import compare_ledgers
from optimizer.cli.portfolio import print_portfolio
from optimizer.errors import ConfigError
from optimizer.portfolios.portfolio import (
    build_component_programs,
    correlate_common_days,
    correlate_days,
)
from optimizer.report.account import Curve, monthly_returns
from optimizer.report.portfolio import build_portfolio_page
from strategy import STRATEGIES
from strategy import words as w
from tests.support.commands import write_market
from tests.support.judged import judgement, record_judgement
from tests.support.runs import record_run
from tests.support.signals import SETTINGS
from tests.unit.engine.accounts.test_one_account import G0, G1, worlds

SPEC = STRATEGIES["seller_exhaustion"]


def pair_components(folder):
    """Two components of one symbol: the one at its whole weight, the other at half."""
    (bars,), (window,) = worlds("whole", folder)
    first = Component("one", SPEC, (bars,), (window,), Costs(), G0, 1.0)
    return [first, first._replace(name="other", genome=G1, weight=0.5)]


def test_check_values_of_a_portfolio(real_folder):
    """From an independent implementation, to the last digit."""
    portfolio = Portfolio(pair_components(real_folder), Costs())
    ledgers = portfolio.trade()
    metrics, _ = portfolio.measure(ledgers)
    assert metrics["trades"] == 980
    assert metrics["total_return"] + 1.0 == 0.40667961087605753
    assert metrics["max_drawdown"] == 0.6629487799331167
    correlation = correlate_days(portfolio.components, ledgers, 0, 1)
    assert (correlation.value, correlation.days) == (
        pytest.approx(0.3031608836431531, rel=1e-12),
        2440,
    )


def test_components_ask_one_account_for_room(real_folder):
    """Strands are numbered through; engine and reference agree; both components may wait."""
    components = pair_components(real_folder)
    for costs in (Costs(max_positions=1), Costs(max_leverage=1.0, rank="zscore(volume, 24)")):
        portfolio = Portfolio(components, costs)
        ledgers = portfolio.trade()
        for (some,), (expected,) in zip(ledgers, portfolio.replay(), strict=True):
            assert compare_ledgers(expected, some) == ""
            assert some.skipped == expected.skipped > 0
        metrics, _ = portfolio.measure(ledgers)
        assert metrics["skipped"] > 10
        if costs.max_leverage:
            assert metrics["max_leverage"] <= 1.0
            # A half of each trade is half as large.
            gross = ledgers[0][0].gross.max()
            assert 0.0 < gross <= 1.0
        else:
            assert not any(ledger.gross.any() for some in ledgers for ledger in some)


def own_bars(opens, closes, symbol):
    """Hourly bars between these opens and closes, after one that only signals."""
    first, last = (np.array([10.0, *prices]) for prices in (opens, closes))
    columns = first, np.maximum(first, last), np.minimum(first, last), last
    times = np.arange(len(first)) * 3_600 * 10**9
    return Bars(times, *columns, np.ones(len(first)), symbol=symbol, timeframe_ns=3_600 * 10**9)


def hand_component(name, bars, account, weight):
    """Buys each bar at its open, risks a tenth of the price, and sells at its close."""
    spec = w.strategy(name, long=w.close > 0, stop=w.share(0.1), max_hold=1, account=account)
    costs = Costs(fee_bp=0.0, slippage_bp=0.0)
    return Component(name, spec, (bars,), (Window.whole(bars),), costs, np.empty(0), weight)


FIRST, OTHER = own_bars([100, 100], [110, 95], "FIRST"), own_bars([50, 50], [55, 48], "OTHER")
"""R of 1 and -0.5, at 10 a unit; R of 1 and -0.4, at 5 a unit."""


def test_components_size_their_trades_from_one_cash():
    """By hand, from 1,000: gains of 50 and 100 at one moment, then losses of 25 and 46."""
    # Half of ten units, and a tenth of 1,000 in units that risk 5; then of 1,150.
    units = hand_component("units", FIRST, w.account(1000, w.units(10)), 0.5)
    risk = hand_component("risk", OTHER, w.account(1000, w.risk(0.1)), 1.0)
    portfolio = Portfolio([units, risk], Costs())
    ledgers = portfolio.trade()
    assert portfolio.cash == 1000
    folded = portfolio.account.fold([ledger for (ledger,) in ledgers])
    assert folded.worth.tolist() == pytest.approx([1050, 1150, 1125, 1079], rel=1e-14)
    metrics, _ = portfolio.measure(ledgers)
    assert metrics["total_return"] == pytest.approx(0.079, rel=1e-12)
    for name in ("max_drawdown", "max_drawdown_marked"):
        assert metrics[name] == pytest.approx(71 / 1150, rel=1e-12)
    # Five units of 100 over 1,000, and 20 of 50 beside them.
    assert metrics["max_leverage"] == pytest.approx(0.5 + 1.0, rel=1e-14)
    # Sums in R take the weight too.
    assert metrics["sum_r"] == pytest.approx(0.5 * 1 + 1 - 0.5 * 0.5 - 0.4, rel=1e-12)
    alone = portfolio.alone(0)
    assert alone.measure(alone.trade())[0]["total_return"] == pytest.approx(0.025, rel=1e-12)


@pytest.mark.parametrize(("most", "taken"), [(0.8, [2, 2]), (0.79, [2, 0]), (0.4, [0, 2])])
def test_limits_look_at_sizes_times_weights(most, taken):
    """Half of the account, and three fifths of it at half their weight: 0.5 and 0.3 together."""
    first = hand_component("first", FIRST, w.account(1000, w.equity_share(0.5)), 1.0)
    other = hand_component("other", OTHER, w.account(1000, w.equity_share(0.6)), 0.5)
    portfolio = Portfolio([first, other], Costs(max_leverage=most))
    ledgers = portfolio.trade()
    assert [len(ledger) for (ledger,) in ledgers] == taken
    for (some,), (expected,) in zip(ledgers, portfolio.replay(), strict=True):
        assert compare_ledgers(expected, some) == ""
    gross = portfolio.measure(ledgers)[0]["max_leverage"]
    assert gross == pytest.approx(sum(np.array([0.5, 0.3]) * np.sign(taken)), rel=1e-15)


def test_correlation_is_of_days_that_both_have():
    """From the later beginning to the earlier end; none of what does not vary, or of few days."""
    rng = np.random.default_rng(1)
    first = np.arange(30), rng.normal(size=30)
    second = np.arange(10, 50), rng.normal(size=40)
    count, value = correlate_common_days(first, second)
    assert count == 20
    assert value == pytest.approx(np.corrcoef(first[1][10:], second[1][:20])[0, 1], rel=1e-12)
    assert correlate_common_days((first[0][:29], first[1][:29]), second) == (19, None)
    assert correlate_common_days(first, (second[0], np.ones(40))) == (20, None)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with one run on the sample."""
    folder = tmp_path_factory.mktemp("runs")
    record_run(folder)
    return folder


def test_the_worst_verdict_comes_first(runs, capsys):
    """In JSON, terminal and page; each component's stands in its row."""
    made = optimizer.portfolio(["latest:0", "latest:1"], runs=runs)
    graded = (("holds", "Held: 0.1 R."), ("luck", "Probably luck: 10 of 53."))
    parts = zip(made.components, graded, strict=True)
    held, luck = (replace(part, grade=grade, verdict=words) for part, (grade, words) in parts)
    result = replace(made, components=(held, luck))
    payload = result.payload()
    assert (payload["grade"], [*payload][:2]) == ("luck", ["grade", "verdict"])
    assert luck.name in payload["verdict"]
    assert luck.verdict in payload["verdict"]
    assert [part["verdict"] for part in payload["components"]] == [held.verdict, luck.verdict]
    print_portfolio(result)
    static = build_portfolio_page(result).partition('<script type="text/plain"')[0]
    printed = capsys.readouterr().out.partition(luck.verdict)[2]
    for text in (printed, static.partition(payload["verdict"])[2]):
        assert 0 <= text.index(luck.name) < text.index(held.name)


def test_components_say_what_they_are_expected_to_earn(tmp_path, capsys):
    """As their run does, a year at their weight; the account as far as all is known."""
    path = record_run(tmp_path)
    record_judgement(path, judgement())
    alone = optimizer.portfolio([path.name], runs=tmp_path)
    (part,) = alone.components
    own = optimizer.load_run(path.name, tmp_path).expected
    assert (part.expected.mean, alone.expected) == (own.mean, part.expected.year)
    assert alone.expected.mean == pytest.approx(own.year.mean, rel=1e-9)
    made = optimizer.portfolio([path.name, record_run(tmp_path, seed=2).name], runs=tmp_path)
    known, unknown = made.components
    assert known.expected.year.shown == known.alone["cagr"]
    assert (unknown.expected, made.expected) == (None, None)
    for result, words in (
        (alone, f"Expected of the account: {alone.expected.describe()}."),
        (made, f"Expected of {known.name}: {known.expected.describe()}"),
        (made, f"Expected of {unknown.name}: not known yet; "),
        (made, f"Expected of the account: not known yet: nothing is known of {unknown.name}."),
    ):
        print_portfolio(result)
        assert words in " ".join(capsys.readouterr().out.split())
        assert words in unescape(build_portfolio_page(result))


def test_an_account_is_expected_to_grow_by_all_of_its_components(tmp_path):
    """Each takes what is not expected of the trades for which there was room, at its weight."""
    paths = [record_run(tmp_path, seed=seed) for seed in (1, 2)]
    for path in paths:
        record_judgement(path, judgement())
    names = [path.name for path in paths]
    made = optimizer.portfolio(names, weights=[0.25, 0.75], max_positions=1, runs=tmp_path)
    assert made.components[0].skipped
    log, trades = math.log1p(made.metrics["cagr"]), made.metrics["trades"]
    for part in made.components:
        share = part.trades / trades * made.metrics["trades_per_year"] * part.weight * 0.01
        log += share * (part.expected.mean - part.expected.shown)
    assert made.expected.mean == pytest.approx(math.expm1(log), rel=1e-9)
    assert made.expected.low < made.expected.mean < made.expected.high
    assert made.expected.shown == made.metrics["cagr"]


def test_months_without_bars_of_a_component_are_not_there(tmp_path):
    """One run holds the last fifth of the sample out: there the account is of the other alone."""
    short = record_run(tmp_path, holdout="20%").name
    result = optimizer.portfolio([short, record_run(tmp_path).name], runs=tmp_path)
    last = optimizer.load_run(short, tmp_path).series[0].timestamp[-1]
    assert result.bar_times[-1] > last
    line = result.lines[0]
    years, table = monthly_returns(Curve(line.time_ns, line.value), result.month_times)
    month = int(last.astype("datetime64[ns]").astype("datetime64[M]").astype(int))
    assert years.tolist() == [2024]
    assert np.isfinite(table[0, :12]).sum() == month % 12 + 1 == 10
    assert "such months are not in its table" in " ".join(result.notes)


@pytest.fixture(scope="module")
def limited_runs(tmp_path_factory):
    """Runs on two symbols that want to trade at the same times: with room for one, and for all."""
    folder = tmp_path_factory.mktemp("limited")
    names = enumerate(("one", "other"), 3)
    data = [write_market(folder / f"{name}.csv", 1500, seed=seed) for seed, name in names]
    settings = {**SETTINGS, "data": data}
    return folder, [
        record_run(folder, **settings, **limits).name for limits in ({"max_positions": 1}, {})
    ]


def test_limits_that_all_runs_have_are_kept(limited_runs):
    """Of one run the account is its own; another one's that differ are named with the trades."""
    folder, (one, free) = limited_runs
    member = optimizer.load_run(one, folder).members[0]
    there = int(member.metrics["trades"])
    alone = optimizer.portfolio([f"{one}:0"], [1.0], folder)
    assert alone.max_positions == 1
    for name in ("total_return", "trades", "skipped"):
        assert alone.metrics[name] == member.metrics[name]
    both = optimizer.portfolio([f"{one}:0", f"{free}:0"], runs=folder)
    assert both.max_positions is None
    here = both.components[0].trades
    assert here > there
    assert f"--max-positions 1: {there} trades there, {here} here" in both.notes[-1]
    assert optimizer.portfolio([f"{one}:0"], runs=folder, max_positions=2).max_positions == 2


def test_a_portfolio_is_a_program_for_each_component(runs):
    """Of what its member trades, with its weight of the risk; limits are refused by name."""
    members = [("latest", 0), ("latest", None)]
    programs = build_component_programs(members, [1.0, 0.5], Costs(), runs, "vectorbt")
    assert list(programs) == ["0/exported.py", "1/exported.py"]
    for text, weight in zip(programs.values(), (1.0, 0.5), strict=True):
        assert f"RISK_FRACTION = {0.01 * weight!r} " in text
    whole = optimizer.load_run("latest", runs).program(0, "vectorbt")
    assert programs["0/exported.py"].partition("Genes: ")[2] == whole.partition("Genes: ")[2]
    with pytest.raises(ConfigError, match="max_positions and max_leverage"):
        build_component_programs(members, [0.5, 0.5], Costs(max_positions=1), runs, "vectorbt")


@pytest.mark.parametrize(
    ("members", "weights", "risk", "message"),
    [
        (["latest", "latest:0"], [1.0, 0.5], 0.01, "--trust-leverage"),
        (["latest"], [2.0], 0.6, "at most 1.66667"),
    ],
)
def test_portfolios_that_are_refused(runs, members, weights, risk, message):
    """Before anything is traded."""
    with pytest.raises(ConfigError, match=message):
        optimizer.portfolio(
            members, weights, runs, risk=risk, trust_leverage="trust" not in message
        )
