"""Portfolios: check values of two genes on one symbol, limits, and members of recorded runs."""

import numpy as np
import pytest

import optimizer
from data import Window
from engine.accounts.costs import Costs
from engine.errors import EngineError
from engine.portfolio import Component, Portfolio
from engine.replay.parity import compare_ledgers
from optimizer.errors import ConfigError
from optimizer.portfolios.portfolio import correlate, correlate_days
from optimizer.portfolios.programs import build_component_programs
from strategy import STRATEGIES
from strategy import words as w
from tests.support.runs import record_run
from tests.support.worlds import make_bars
from tests.unit.engine.accounts.test_limits import G0, G1
from tests.unit.engine.accounts.test_one_account import worlds

SPEC = STRATEGIES["seller_exhaustion"]


def pair_components(folder):
    """Two components of one symbol: the one at its whole weight, the other at half."""
    (bars,), (window,) = worlds("whole", folder)
    one = Component("one", SPEC, (bars,), (window,), Costs(), G0, 1.0)
    return [one, one._replace(name="other", genome=G1, weight=0.5)]


def test_check_values_of_a_portfolio(real_folder):
    """From an independent implementation, to the last digit."""
    portfolio = Portfolio(pair_components(real_folder), Costs())
    ledgers = portfolio.trade()
    metrics, _ = portfolio.measure(ledgers)
    assert metrics["trades"] == 980
    assert metrics["total_return"] + 1.0 == 0.40667961087605753
    assert metrics["max_drawdown"] == 0.6629487799331167
    found = correlate_days(portfolio.components, ledgers, 0, 1)
    assert (found.value, found.days) == (pytest.approx(0.3031608836431531, rel=1e-12), 2440)


def test_components_ask_one_account_for_room(real_folder):
    """Strands are numbered through; engine and reference agree; both components may wait."""
    components = pair_components(real_folder)
    for costs in (Costs(max_positions=1), Costs(max_leverage=1.0, rank="zscore(volume, 24)")):
        portfolio = Portfolio(components, costs)
        ledgers = portfolio.trade()
        for some, others in zip(ledgers, portfolio.replay(), strict=True):
            assert compare_ledgers(others[0], some[0]) == ""
        metrics, _ = portfolio.measure(ledgers)
        assert metrics["skipped"] > 10
        if costs.max_leverage:
            assert metrics["max_leverage"] <= 1.0
            # A half of each trade is half as large.
            gross = ledgers[0][0].gross.max()
            assert 0.0 < gross <= 1.0
        else:
            assert not any(ledger.gross.any() for some in ledgers for ledger in some)


def test_one_component_at_its_weight_is_its_account():
    """Half of each trade is half of the risk, in every bit."""
    bars = make_bars(4, 600)
    spec = w.strategy("Dips.", long=w.close < w.ema(w.close, 5), stop=w.share(0.02), max_hold=9)
    one = Component("one", spec, (bars,), (Window.whole(bars),), Costs(), np.empty(0), 0.5)
    half = Portfolio([one], Costs(risk_fraction=0.5))
    whole = Portfolio([one._replace(weight=1.0)], Costs(risk_fraction=0.25))
    metrics, other = (each.measure(each.trade())[0] for each in (half, whole))
    assert metrics["trades"] == other["trades"] > 20
    for name in ("total_return", "max_drawdown", "max_drawdown_marked", "max_leverage"):
        assert metrics[name] == other[name]


def test_accounts_of_their_own_are_refused():
    """A portfolio stakes shares of one account."""
    bars = make_bars(4, 60)
    spec = w.strategy(
        "Sized.", long=w.close > 0, stop=w.share(0.02), account=w.account(1000, w.risk(0.01))
    )
    one = Component("one", spec, (bars,), (Window.whole(bars),), Costs(), np.empty(0), 1.0)
    with pytest.raises(EngineError, match="one sizes its trades"):
        Portfolio([one], Costs())


def test_columns_that_do_not_vary_have_no_correlation():
    """Nor is one made of too few days."""
    x = np.array([1.0, 3.0, 2.0])
    assert correlate(x, -x) == -1.0
    assert correlate(x, np.ones(3)) is None


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with one run on the sample."""
    folder = tmp_path_factory.mktemp("runs")
    record_run(folder)
    return folder


def test_members_of_a_run(runs):
    """Its pick and another member: figures, correlation, and what is said before them."""
    found = optimizer.portfolio(["latest", "latest:0"], runs=runs, max_positions=1)
    assert [component.weight for component in found.components] == [0.5, 0.5]
    traded = sum(component.trades for component in found.components)
    assert traded == found.metrics["trades"] > 0
    assert found.metrics["skipped"] == sum(component.skipped for component in found.components)
    alone = found.components[1].alone
    assert alone["max_drawdown"] > 0.0
    assert found.correlations[0].days > 300
    assert "no grade of its own" in found.notes[0]
    assert found.payload()["max_positions"] == 1


def test_a_portfolio_is_a_program_for_each_component(runs):
    """Of what its member trades, with its weight of the risk; limits are refused by name."""
    members = [("latest", 0), ("latest", None)]
    programs = build_component_programs(members, [1.0, 0.5], runs, Costs(), "vectorbt")
    assert list(programs) == ["0/exported.py", "1/exported.py"]
    for text, weight in zip(programs.values(), (1.0, 0.5), strict=True):
        assert f"RISK_FRACTION = {0.01 * weight!r} " in text
        assert f"at weight {weight:g} of a portfolio" in text
        compile(text, "exported.py", "exec")
    whole = optimizer.load_run("latest", runs).program(0, "vectorbt")
    assert programs["0/exported.py"].partition("Genes: ")[2] == whole.partition("Genes: ")[2]
    for costs in (Costs(max_positions=1), Costs(max_leverage=2.0)):
        with pytest.raises(ConfigError, match=r"^max_positions and max_leverage: the program"):
            build_component_programs(members, None, runs, costs, "vectorbt")


@pytest.mark.parametrize(
    ("members", "weights", "message"),
    [
        ([], None, "at least one component"),
        (["latest"], [1.0, 2.0], "2 for 1 components"),
        (["latest"], [0.0], "above 0"),
        (["latest:99"], None, "has members 0 to"),
    ],
)
def test_portfolios_that_are_refused(runs, members, weights, message):
    """By name, before anything is traded."""
    with pytest.raises(ConfigError, match=message):
        optimizer.portfolio(members, weights, runs)
