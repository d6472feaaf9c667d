"""Columns of legs, payments and sizes beside trades, and what follows from them."""

import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from engine.accounts.costs import Costs
from engine.accounts.ledger import ACCUMULATOR_INDEX, Trade
from optimizer.cli.console import format_csv
from optimizer.config.run_config import RunConfig
from optimizer.report.trades import build_trades_frame, collect_trades, compute_cost_facts
from optimizer.run.backtest import build_ledger_table, list_details
from optimizer.run.task import prepare
from tests.support.commands import write_market
from tests.support.order_cases import TWO_TARGETS


@pytest.fixture(scope="module")
def traded_task(tmp_path_factory):
    """The task, its reference, and the ledger of the strategy above."""
    spec = write_market(tmp_path_factory.mktemp("market") / "bars.csv", 1500)
    task = replace(prepare(RunConfig(data=[spec])), spec=TWO_TARGETS, costs=Costs(fee_unit=0.5))
    reference = task.build_reference(task.markets.windows)
    return task, reference, reference.trades(TWO_TARGETS.layout.defaults)


def collect(task, ledgers):
    """Columns of trades with their details."""
    details = list_details(task, task.spec.layout.defaults, ledgers)
    markets = task.markets
    return collect_trades(ledgers, markets.all_windows, markets.series, task.costs, details)


def test_a_result_is_its_legs_less_what_was_paid(traded_task):
    """Gross of all legs, less fees, funding and borrowing, is r to the last digits.

    Gross is the gain of the mean price at which a unit left, over its legs and the last exit.
    """
    task, _, ledgers = traded_task
    trades = collect(task, ledgers)
    left = trades.exit.copy()
    for leg in ("leg1", "leg2"):
        apart = trades.details[f"{leg}_share"] * (trades.details[f"{leg}_price"] - trades.exit)
        left += np.where(trades.details[f"{leg}_bar"] >= 0, apart, 0.0)
    gross = trades.side * (left - trades.entry) / (trades.side * (trades.entry - trades.stop))
    paid = trades.cost_r + trades.details["funding_r"] + trades.details["borrow_r"]
    assert np.abs(gross - paid - trades.r).max() < 1e-12
    assert (trades.details["leg1_bar"] >= 0).sum() > 5
    assert (trades.details["funding_r"] != 0).any()
    assert (trades.details["borrow_r"][trades.side > 0] == 0).all()
    facts = compute_cost_facts(trades, np.ones(len(trades), bool), task.costs)
    assert facts.gross_r == pytest.approx(gross.sum())
    assert facts.net_r == pytest.approx(trades.r.sum())
    # Costs of a side move the sum along a line, which is 0 at the break-even.
    dearer = replace(task, costs=replace(task.costs, fee_bp=35.0, slippage_bp=0.0))
    (again,) = dearer.build_reference(task.markets.windows).trades(task.spec.layout.defaults)
    slope = facts.cost_r / 10
    assert again.r.sum() == pytest.approx(facts.net_r - 25 * slope)
    assert facts.break_even_bp == pytest.approx(10 + facts.net_r / slope)


def test_sizes_are_those_of_the_account(traded_task):
    """Cash that grows by them ends where the fold does; none passes the leverage allowed."""
    task, reference, ledgers = traded_task
    columns = collect(task, ledgers).details
    (ledger,) = ledgers
    risk = ledger.side * (ledger.entry - ledger.stop)
    order = np.argsort(ledger.exit_bar, kind="stable")
    gains = (columns["size"] * 10 * ledger.r * risk)[order]
    folded = reference.fold(ledger, TWO_TARGETS.layout.defaults)
    end = 10_000 * folded[ACCUMULATOR_INDEX["equity"]]
    assert 10_000 + gains.sum() == pytest.approx(end)
    assert columns["leverage"].max() == pytest.approx(0.3)


def test_a_file_and_a_frame_have_the_legs(traded_task):
    """Read back from CSV they are those of the frame; a leg that was not reached is empty."""
    task, _, ledgers = traded_task
    text = format_csv(*build_ledger_table(task, TWO_TARGETS.layout.defaults, ledgers))
    read = pd.read_csv(io.StringIO(text), parse_dates=["leg1_time"])
    markets = task.markets
    whole = collect(task, ledgers)
    frame = build_trades_frame(whole, markets.symbols, markets.all_windows, markets.series)
    added = ["leg1_bar", "leg1_time", "leg1_price", "leg1_share", "leg1_target", "leg2_bar",
             "leg2_time", "leg2_price", "leg2_share", "leg2_target", "funding_r", "borrow_r",
             "size", "leverage"]  # fmt: skip
    assert list(frame.columns[-len(added) :]) == added
    assert list(read.columns) == [*Trade._fields, *added, "entry_time", "exit_time"]
    for name in ("leg1_price", "leg2_share", "size"):
        np.testing.assert_array_equal(read[name], frame[name])
    reached = frame["leg1_bar"].notna()
    assert (read["leg1_bar"].notna() == reached).all()
    assert (read["leg1_time"] == frame["leg1_time"])[reached].all()
    assert frame["leg1_time"][~reached].isna().all()
    assert (frame["leg1_price"] == frame["leg1_target"])[reached].all()
    assert frame["leg1_target"].notna().all()
    # A short has one target, so that its second has no share.
    assert frame["leg2_share"][frame["side"] < 0].isna().all()
