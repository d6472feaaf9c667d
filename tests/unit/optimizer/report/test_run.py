"""A run as frames and figures: rows are members, figures are legal, absent names are refused."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from engine.accounts.metrics import METRICS
from optimizer import load_run
from optimizer.errors import ConfigError, StoreError
from optimizer.report import Run, compare_runs
from optimizer.report.charts.chart import name, select_plot_points
from optimizer.report.charts.front import MOST_LINES, parallel
from optimizer.report.facts import describe_trials
from optimizer.report.model import build_member_rows
from tests.support.commands import write_market
from tests.support.judged import judgement, record_judgement
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


def test_the_front_holds_what_was_recorded(run):
    """Genes, objectives, metrics, and the same held out, best in the first objective first."""
    frame = run.front
    assert set(run.genes) | set(run.objectives) | set(METRICS) <= set(frame.columns)
    assert frame[run.objectives[0]].is_monotonic_decreasing
    for member, recorded in enumerate(run.members):
        assert frame["trades"][member] == recorded.metrics["trades"]
        assert frame["held_out_trades"][member] == recorded.held_out.metrics["trades"]
        assert frame["ema_fast"][member] == recorded.genes["ema_fast"]


def test_held_out_figures_stand_beside_searched_ones(run):
    """Objectives, trades and mean R."""
    columns, rows = build_member_rows(run, [0])
    for metric in (*run.objectives, "trades", "mean_r"):
        place = columns.index(metric) + 1
        assert columns[place] == f"held_out_{metric}"
        assert rows[0][place][1] == pytest.approx(run.front[columns[place]][0], nan_ok=True)


def test_one_sentence_says_how_many_were_evaluated(example_run, tmp_path):
    """In generations, in polishing, and how many of them are distinct once that is known."""
    run = load_run(example_run)
    count, polished = int(run.generations["evaluated"].sum()), run.result.polished
    numbers = count, len(run.summaries), polished, count + polished
    assert [int(word) for word in re.findall(r"\d+", describe_trials(run))] == [*numbers]
    shutil.copytree(example_run, tmp_path / "run")
    record_judgement(tmp_path / "run", judgement("luck"))
    told = re.findall(r"\d+", describe_trials(load_run(str(tmp_path / "run"))))
    assert [int(word) for word in told] == [*numbers, 400]


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


def test_the_deepest_drawdown_is_the_recorded_one(example_run):
    """One market on one account: depth is the metric; the five are in order."""
    run = load_run(example_run)
    drawdowns = run.drawdowns(0)
    assert drawdowns["depth"][0] == pytest.approx(run.front["max_drawdown"][0], rel=1e-12)
    assert drawdowns["depth"].is_monotonic_decreasing
    assert (drawdowns["from"] < drawdowns["to"]).all()


def test_generations_and_populations_are_frames(run):
    """A row a generation, and all individuals of one."""
    assert list(run.generations.index) == [0, 1, 2, 3]
    population = run.population(0)
    assert len(population) == run.generations["individuals"][0]
    feasible = population[population["is_feasible"]]
    assert feasible[list(run.objectives)].notna().all(axis=None)


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
        plot.monthly(0),
        plot.rolling_sharpe(0),
        *(plot.by(0, group) for group in ("hour", "weekday", "symbol", "side", "reason")),
        plot.costs(0),
        plot.heatmap(),
        plot.heatmap("ema_fast", "reward_r", "sortino"),
    ]
    assert all(figure.layout.title.text and figure.data for figure in figures)


def test_the_last_convergence_is_the_front(run):
    """Best values of the last generation are the best of the front, and the volume is whole."""
    history = run.history
    best = run.header.natural(history.best[-1])
    for objective, value in zip(run.objectives, best.tolist(), strict=True):
        column = run.front[objective]
        assert value in (column.max(), column.min())
    assert history.volume[-1] == 1.0
    assert history.quantiles.shape == (4, len(run.genes), 7)


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda run: run.trades(99), "has no member 99"),
        (lambda run: run.trades(-1), "has no member -1"),
        (lambda run: run.plot.front("sharp"), "did you mean 'sharpe'"),
        (lambda run: run.plot.gene("emafast"), "did you mean 'ema_fast'"),
        (lambda run: run.plot.by(0, "year"), "known: "),
        (lambda run: run.plot.heatmap("emafast", "reward_r"), "did you mean 'ema_fast'"),
        (lambda run: run.plot.heatmap(metric="sharp"), "did you mean 'sharpe'"),
        (lambda run: run.by_weight(sharp=1), "'sharp' is no objective"),
    ],
)
def test_what_is_not_there_is_refused(run, ask, expected):
    """The message lists what there is."""
    with pytest.raises(ConfigError, match=expected):
        ask(run)


def test_a_run_that_is_not_there_is_refused(tmp_path):
    """As the commands refuse it."""
    with pytest.raises(StoreError, match="there is no run"):
        load_run("nothing", tmp_path)


def test_picks_are_members(run):
    """Knee and weight name rows of the front."""
    members = range(len(run.members))
    assert run.knee() in members
    assert run.by_weight(**{run.objectives[0]: 1}) == 0


def test_a_run_compared_with_itself_is_equal(run):
    """All members stay, and both volumes are the same."""
    table = compare_runs(one=run, two=run)
    assert table["undominated"].tolist() == table["members"].tolist()
    assert table["hypervolume"].nunique() == 1


def test_a_member_taken_apart_agrees_with_itself(run):
    """Signals are bars where the condition holds; trades are equal in every bit."""
    apart = run.apart(0, window=1)
    entry, trades = apart.entry(), apart.trades()
    assert entry.loc[entry["signal"], "long"].all()
    assert set(trades["signal_bar"]) <= set(apart.signals())
    assert trades["same"].all()
    assert len(apart.rows()) == len(run.windows[1])


def test_thinning_keeps_the_extremes():
    """The highest, the lowest, the first and the last point stay; a short line stays whole."""
    values = np.sin(np.arange(50_000) / 777.0)
    kept = select_plot_points(values)
    assert len(kept) <= 2_002
    assert {0, 49_999, int(values.argmax()), int(values.argmin())} <= set(kept.tolist())
    assert select_plot_points(values[:5]).tolist() == [0, 1, 2, 3, 4]


def test_names_in_charts_are_no_markup():
    """Marks of style are text, and long names are cut."""
    assert name("<b>x</b>") == "&lt;b&gt;x&lt;/b&gt;"
    assert len(name("x" * 100)) == 60


def test_more_members_than_a_chart_can_show_are_chosen_evenly():
    """The chart names how many of them it draws."""
    columns = {"a": np.arange(1000.0), "b": np.ones(1000)}
    chart = parallel(columns, ("a", "b"), "a")
    assert len(chart.data) == MOST_LINES
    assert f"{MOST_LINES} of them evenly chosen" in chart.alt


def test_fronts_of_other_costs_are_not_compared(run):
    """Values at other costs answer another question, and no hypervolume is formed of both."""
    other = Run(run.path)
    other.header = replace(other.header, costs={**other.header.costs, "fee_bp": 99.0})
    with pytest.raises(ConfigError, match="other costs"):
        compare_runs(one=run, two=other)
