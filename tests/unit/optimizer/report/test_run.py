"""A run as frames and figures: rows are members, figures are legal, absent names are refused."""

import numpy as np
import pytest

from optimizer import load_run
from optimizer.report.charts.chart import Chart
from optimizer.report.gallery import Charts
from optimizer.report.strategy_rows import find_rows
from tests.support.commands import write_market
from tests.support.runs import open_held_out, record_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run on two symbols with bars held out and opened."""
    folder = tmp_path_factory.mktemp("two")
    specs = [write_market(folder / f"m{i}.csv", 2500, seed=i) for i in (3, 4)]
    bounds = {"ema_slow": [96.0, 300.0], "z_window": [96.0, 300.0], "vol_z_min": [0.5, 1.0]}
    path = record_run(folder, data=specs, holdout="40%", bounds=bounds, polish=0)
    open_held_out(path)
    return load_run(str(path))


def test_trades_are_those_of_all_windows(run):
    """Two symbols in-sample and two held out; counts are the recorded ones."""
    trades = run.trades(0)
    counts = trades.groupby(["sample", "symbol"], observed=False).size()
    names = run.task.markets.names
    counted = [counts[part, name] for part in ("in", "held out") for name in names]
    assert counted == list(run.members[0].by_window["trades"])
    held_out = run.members[0].held_out.metrics["trades"]
    assert sum(counts["held out", name] for name in names) == held_out
    assert (trades["exit_time"] >= trades["entry_time"]).all()
    # A gap leaves at an open, and its bar is not held.
    lasted = trades["exit_bar"] - trades["entry_bar"] + (trades["reason"] != "stop_gap")
    assert (trades["bars_held"] == lasted).all()


def test_equity_of_one_symbol_ends_with_the_recorded_return(example_run):
    """The last equity is 1 plus total_return, to the last bit."""
    run = load_run(example_run)
    for member in range(len(run.members)):
        assert run.equity(member).iloc[-1] - 1.0 == run.front["total_return"][member]


def test_every_figure_is_one_that_plotly_takes(run):
    """Each chart passes plotly's own checks and has a title."""
    plot = run.plot
    figures = [
        plot.front(),
        plot.front("sharpe", "held_out_sharpe", "trades"),
        plot.front_3d(),
        plot.parallel(),
        plot.convergence(),
        *(plot.convergence(objective) for objective in run.objectives),
        plot.gene("ema_fast"),
        plot.equity(),
        plot.equity(0, len(run.members) - 1),
        plot.price(0, 1),
        plot.trade(0, 0),
        plot.distribution(0),
        plot.excursions(0),
        plot.monthly(0),
        plot.rolling_sharpe(0),
        *(plot.by(0, group) for group in ("hour", "weekday", "symbol", "side", "reason")),
        plot.costs(0),
        plot.heatmap(),
        plot.heatmap("ema_fast", "reward_r", "sortino"),
    ]
    assert all(figure.layout.title.text and figure.data for figure in figures)


def test_prices_show_the_rows_by_which_a_member_trades(run):
    """Averages stand on the price, scores below it; the page has them around its trades."""
    lines = {trace.name: trace.yaxis for trace in run.plot.trade(0, 0).data}
    assert lines["ema(close, ema_fast)"] is None
    assert lines["zscore(volume, z_window)"] == "y2"
    names = [trace.name for trace in run.plot.price(0, 1).data]
    assert "ema(close, ema_slow)" in names
    assert "zscore(volume, z_window)" not in names
    row = next(row for row in find_rows(run, 0, 1) if row.name == "ema(close, ema_fast)")
    expected = run.apart(0, 1).rows()["row ema(close, ema_fast)"]
    window = run.windows[1]
    np.testing.assert_array_equal(row.values[window.start : window.end], expected)


def test_each_name_of_plot_is_a_chart(run):
    """A shell offers no name that cannot be drawn."""
    names = dir(run.plot)
    assert "front" in names
    assert {getattr(Charts, name).__annotations__["return"] for name in names} == {Chart}
