"""A run as frames, figures, a first screen, an account with its dates, and what a page carries."""

import inspect
import shutil
from dataclasses import replace

import numpy as np
import pytest

import optimizer
from data.bars import Window
from optimizer import load_run
from optimizer.cli.result import print_answer, print_result
from optimizer.evidence.judge import judge_run
from optimizer.evidence.judged_run import Plan
from optimizer.formatting import GRADES, fraction, metric
from optimizer.report import gallery
from optimizer.report.charts.chart import Chart
from optimizer.report.charts.price import find_rows
from optimizer.report.facts import summarize
from optimizer.report.gallery import Charts
from optimizer.report.model import build_page_data, choose_members
from optimizer.report.page import pack, page_html, write_report
from optimizer.report.pick import by_weight, compare, knee
from optimizer.report.regimes import REGIME_BARS, UNKNOWN, find_regimes
from optimizer.report.schedule import (
    STEP_COLUMNS,
    build_schedule_account,
    list_step_cells,
    list_windows,
    stitched_curve,
)
from optimizer.report.summary import (
    CANNOT_KNOW,
    describe_outcome,
    select,
    shorten_verdict,
    summarize_result,
)
from optimizer.run.compared import hypervolume_shares
from optimizer.store.listing import summarise
from strategy import words as w
from tests.support.commands import write_market
from tests.support.evidence import make_planted_market
from tests.support.judged import judgement, record_judgement
from tests.support.judging import judge_briefly, recorded_run
from tests.support.pages import unpack_page
from tests.support.runs import open_held_out, record_run
from tests.support.series import make_bars


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


@pytest.fixture(scope="module")
def folded_run(tmp_path_factory):
    """A run on the sample that was searched again in folds."""
    path = record_run(tmp_path_factory.mktemp("runs"), population=24, generations=4)
    judge_run(path, Plan(folds=3, train=2), {}, lambda *_: None)
    return load_run(str(path))


def test_tiles_hold_the_numbers_of_the_pick(folded_run):
    """As the table of its metrics has them; gains and losses differ in colour."""
    member = folded_run.members[folded_run.pick.member]
    tiles = {fact.label: fact for fact in select(summarize(folded_run), "figure")}
    assert tiles["Return a year"].value == metric("cagr", member.metrics["cagr"])
    assert tiles["Deepest drawdown"].value == fraction(member.objectives["max_drawdown"])
    assert tiles["Trades"].value == metric("trades", member.metrics["trades"])
    own, hold = member.objectives["total_return"], member.metrics["hold_at_equal_volatility"]
    assert tiles["Against buy and hold"].value == f"{100 * (own - hold):+,.1f}"
    drawn = folded_run.plot.answer().data[0]
    assert drawn.name == "buy and hold, at equal volatility"
    assert drawn.y[-1] - 1.0 == pytest.approx(hold, rel=1e-12)
    expected = folded_run.expected
    assert tiles["Expected"].value == expected.headline
    assert tiles["Expected"].note.endswith(f"; {expected.year.headline}, {expected.year.range}")
    assert folded_run.front["expected_r"].dropna().tolist() == [expected.mean]
    assert tiles["Return a year"].tone == ("gain" if member.metrics["cagr"] > 0 else "loss")


def test_folds_are_stitched_to_one_account(folded_run):
    """Trades of each fold's pick in its own test, in the order of time, from 1."""
    curve = stitched_curve(folded_run)
    folds = folded_run.judgement.folds
    assert len(curve.value) == 1 + folds.trades
    fraction_at_risk = folded_run.task.costs.risk_fraction
    r = np.diff(curve.value) / curve.value[:-1] / fraction_at_risk
    assert r.mean() == pytest.approx(folds.mean_r, rel=1e-9)
    assert (np.diff(curve.time_ns) >= 0).all()
    chart = gallery.Charts(folded_run).folds()
    assert len(chart.layout["shapes"]) == len(folds.rows)


@pytest.mark.parametrize("grade", GRADES)
def test_the_answer_says_grade_reason_and_next_step_apart(example_run, tmp_path, grade, capsys):
    """None of them is repeated; what is expected stands on the page as in the terminal."""
    shutil.copytree(example_run, tmp_path / grade)
    record_judgement(tmp_path / grade, judgement(grade))
    run = load_run(str(tmp_path / grade))
    facts = summarize(run)
    print_answer(run.result, run.judgement)
    told = capsys.readouterr().out
    compared = describe_outcome(run.result, run.judgement)
    expected = select(facts, "expected")
    unknown = "not known yet" if expected else "-"
    known = unknown if run.expected is None else run.expected.headline
    assert compared["expected of it"] == known
    assert ("Expected: " in told) == (run.expected is not None) == bool(expected)
    if run.expected is not None:
        assert run.expected.describe() in " ".join(told.split())
        assert expected[0].note == CANNOT_KNOW
    ((verdict,), (step,)) = select(facts, "verdict"), select(facts, "next")
    assert step.value
    assert step.value not in verdict.value
    assert not shorten_verdict(verdict).lower().startswith(verdict.label.lower())
    assert "RUN" not in step.value
    assert "simulated" not in verdict.value
    assert verdict.note


def test_a_member_beyond_those_that_a_page_names_is_named_too(folded_run, monkeypatch):
    """Who is asked for stands in the table and is shown, whatever its number."""
    monkeypatch.setattr("optimizer.report.model.MOST_MEMBERS", 2)
    last = len(folded_run.members) - 1
    chosen = choose_members(folded_run, last)
    assert {0, 1, folded_run.pick.member, last} <= {*chosen.named}
    data = build_page_data(folded_run, chosen)
    assert tuple(data["members"]) == chosen.named
    assert data["first"] == last
    assert last in data["details"]
    assert f'<tr data-member="{last}"' in page_html(folded_run, last)


FRONT = np.array([[0.0, 10.0], [2.0, 2.0], [10.0, 0.0]])


def test_the_knee_is_close_to_the_best_of_everything():
    """The middle of three is nearest to the corner."""
    assert knee(FRONT) == 1


@pytest.mark.parametrize(("weights", "expected"), [((1, 0), 0), ((0, 1), 2), ((1, 1), 1)])
def test_weights_decide(weights, expected):
    """All weight on one objective picks its best."""
    assert by_weight(FRONT, np.array(weights, float)) == expected


def test_hypervolume_is_the_share_of_the_area_that_is_dominated():
    """One point at the best corner dominates the whole box of 1.1 by 1.1."""
    best, other = np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])
    shares = hypervolume_shares([best, other, np.empty((0, 2))])
    assert shares == pytest.approx([1.0, 0.01 / 1.21, 0.0])
    assert hypervolume_shares([np.empty((0, 2))]) == [0.0]


def test_fronts_are_compared_member_by_member():
    """A member that another front dominates does not count."""
    table = compare({"good": FRONT, "bad": FRONT + 1})
    assert table["members"].tolist() == [3, 3]
    assert table["undominated"].tolist() == [3, 0]
    assert table["hypervolume"]["good"] > table["hypervolume"]["bad"]


@pytest.fixture(scope="module")
def scheduled(tmp_path_factory):
    """A run judged by a schedule, with a few null ones."""
    bars = make_planted_market(7, 2400, 8)
    path = recorded_run(tmp_path_factory.mktemp("drawn"), bars, polish=8)
    plan = {"every": "14d", "train": "40d", "purge": 24, "null": 3, "resamples": 19}
    judge_briefly(path, causal=False, **plan)
    return load_run(str(path))


def test_the_first_screen_is_that_of_the_account(scheduled, capsys):
    """Tiles, curve, sentence, index and terminal are those of all steps, not of the one search."""
    made, pick = scheduled.judgement.schedule, scheduled.pick
    facts = summarize(scheduled)
    tiles = {fact.label: fact for fact in select(facts, "figure")}
    assert "in all" in tiles["Return a year"].note
    assert tiles["Return a year"].note.startswith(fraction(made.equity - 1.0))
    assert tiles["Deepest drawdown"].value == fraction(made.max_drawdown)
    assert tiles["Trades"].value == str(made.trades) != str(pick.trades)
    (subject,) = select(facts, "subject")
    assert subject.label == "Account of all steps"
    assert subject.value.startswith(f"{made.trades} trades in {len(made.rows)} steps, each with")
    steps, (curve, _, dates, _) = (
        scheduled.plot.answer().data[-1],
        build_schedule_account(scheduled),
    )
    assert (steps.name, steps.y[-1], curve.value[-1]) == ("all steps", made.equity, made.equity)
    assert (curve.value[0], curve.time_ns[0]) == (1, dates[0])
    assert len(scheduled.plot.schedule().layout.shapes) == len(dates) == len(made.rows)
    assert scheduled.plot.schedule().data[-1].y[-1] == made.equity
    role = choose_members(scheduled, None).roles[pick.member]
    assert role.startswith("the strongest of one search over all bars, which the verdict is not")
    page = page_html(scheduled)
    assert "The account of all steps." in page
    assert "Not what to expect" not in page
    summary = summarise(scheduled.path)
    assert (summary.strength, summary.trades) == (made.strength, made.trades)
    assert (summary.total_return, summary.max_drawdown) == (made.equity - 1.0, made.max_drawdown)
    assert fraction(summary.cagr) == tiles["Return a year"].value
    print_result(scheduled.result, scheduled.judgement, is_whole=False)
    print_answer(scheduled.result, scheduled.judgement)
    told = capsys.readouterr().out
    assert f"Account of all steps: {subject.value}" in told
    assert "is the pick" not in told


@pytest.fixture(scope="module")
def sized_run(tmp_path_factory):
    """A run whose trades are two units each, of 1,000, judged by folds and by a schedule."""
    spec = w.strategy(
        "Two units.",
        long=w.close > w.ema(w.close, w.length("span", 5, 2, 30)),
        stop=w.share(w.gene("stop", 0.02, 0.005, 0.05)),
        target=w.r_multiple(1),
        account=w.account(1000, w.units(2)),
        timeframe="1h",
        name="two_units",
    )
    bars = make_planted_market(7, 2400, 8)
    path = recorded_run(tmp_path_factory.mktemp("sized"), bars, strategy=spec, polish=0)
    judge_briefly(path, causal=False, folds=3, train=2, purge=24)
    judge_briefly(path, causal=False, every="14d", train="40d", purge=24, resamples=19)
    return load_run(str(path))


def list_gains(scheduled, curve, traded):
    """What each of the account's trades gained, and what two units did; trades by windows."""
    series = scheduled.task.markets.series
    times, gains = [], []
    for window, ledger in traded:
        times += series[window.series].timestamp[ledger.exit_bar].tolist()
        gains += (2 * (ledger.r * (ledger.entry - ledger.stop))).tolist()
    assert curve.time_ns[1:].tolist() == times
    return 1000 * np.diff(curve.value), gains


def test_the_account_of_folds_sizes_their_trades(sized_run):
    """Each fold's pick by its own rule, from the cash that the folds before left."""
    rows = sized_run.judgement.folds.rows
    windows = [list_windows(sized_run.task.markets, row.test)[0] for row in rows]
    genomes = np.array([sized_run.task.spec.layout.encode(row.genes) for row in rows])
    ledgers = list(sized_run.engine.on(windows).ledgers(genomes))
    traded = [(window, ledgers[fold][fold]) for fold, window in enumerate(windows)]
    gains, expected = list_gains(sized_run, stitched_curve(sized_run), traded)
    assert len(expected) == sized_run.judgement.folds.trades > 50
    assert gains == pytest.approx(expected, abs=1e-9)


def test_the_account_of_steps_sizes_their_trades(sized_run):
    """The curve ends where the record's account does."""
    curve = build_schedule_account(sized_run).curve
    made = sized_run.judgement.schedule
    assert len(curve.value) == made.trades + 1 > 50
    assert curve.value[-1] == made.equity
    falls = 1 - curve.value / np.maximum.accumulate(curve.value)
    assert falls.max() == pytest.approx(made.max_drawdown, rel=1e-12)


@pytest.mark.parametrize("notes", [(), ("no folds: too short",)])
def test_folds_are_proposed_where_they_fit(scheduled, notes):
    """Not where a note has said that the bars are too short for them."""
    judged = replace(scheduled.judgement, schedule=None, folds=None, notes=notes)
    rows = select(summarize_result(scheduled.result, judged), "evidence")
    assert any("Nobody searched again" in row.value for row in rows) == (not notes)


def test_the_page_has_a_row_a_step(scheduled, tmp_path):
    """And every sentence on the schedule."""
    steps = list_step_cells(scheduled.judgement.schedule)
    assert len(steps) == len(scheduled.judgement.schedule.rows)
    assert {len(cells) for cells in steps} == {len(STEP_COLUMNS)}
    evidence = select(summarize(scheduled), "evidence")
    sentences = {row.label for row in evidence}
    assert {"schedule", "shuffled bars", "turnover", "never again"} <= sentences
    assert not [row for row in evidence if "Nobody searched again" in row.value]
    page = write_report(scheduled, tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="steps"' in page
    assert 'data-chart="step_genes"' in page


@pytest.mark.parametrize("name", ["floats", "</script>", "<!--", "\u2028", "🦊", "a" * 10_000])
def test_what_a_page_carries_comes_back_and_ends_no_element(name):
    """Floats keep their bits, whole numbers and truths become integers; JSON stays strict."""
    floats = np.array([1.5, np.nan, -0.0])
    given = {
        name: floats, "short": np.array([1.25], np.float32), "truths": np.array([True, False]),
        "table": np.arange(6.0).reshape(2, 3), "numbers": [np.nan, np.inf, np.float64(2.0), None],
    }  # fmt: skip
    text = pack(given)
    assert not set(text) & set("<>&\"'")
    content = unpack_page(text)
    assert content[name].tobytes() == floats.tobytes()
    assert (content["short"][0], content["truths"].tolist()) == (1.25, [1, 0])
    assert content["table"].tolist() == given["table"].tolist()
    assert content["numbers"] == [None, None, 2.0, None]


@pytest.mark.parametrize(
    ("call", "names"),
    [
        (optimizer.evolve, {"population", "null", "bars", "strategy", "resume"}),
        (optimizer.judge, {"null", "threads", "pick"}),
        (optimizer.scan, {"dedupe", "bars", "high"}),
        (optimizer.null_markets, {"null_keep", "aligned_columns", "bars", "count"}),
        (optimizer.forecast, {"model", "finer", "bars", "out"}),
    ],
)
def test_a_shell_completes_every_setting_of_a_call(call, names):
    """Its own arguments and the fields of the configuration, each once."""
    assert names <= set(inspect.signature(call).parameters)


def test_a_notebook_shows_a_run_by_its_verdict(example_run, tmp_path):
    """Grade, sentence, next step, numbers of the pick and the front; names are text."""
    shutil.copytree(example_run, tmp_path / "run")
    record_judgement(tmp_path / "run", judgement("luck"))
    run = load_run(str(tmp_path / "run"))
    shown = run._repr_html_()
    assert shown.index("Probably luck") < shown.index("Next: ") < shown.index("Deepest drawdown")
    assert shown.startswith("<p>On a simulated market: <strong>Probably luck</strong><br>")
    assert "7 of 200" not in shown
    assert "As good on 2 of 3 shuffled markets" in shown
    assert "<table" in shown
    assert f"{len(run.members)} members" in shown


@pytest.fixture(scope="module")
def restless():
    """Prices of a random walk that moves more and more."""
    rng = np.random.Generator(np.random.PCG64(8))
    count = 900
    close = 100 * np.exp(np.cumsum(rng.normal(0, np.linspace(0.001, 0.01, count))))
    ends = np.concatenate([[100.0], close[:-1]])
    return make_bars(
        count, open=ends, close=close, high=np.maximum(ends, close), low=np.minimum(ends, close)
    )


def test_regimes_are_thirds_of_trend_and_volatility(restless):
    """By hand at one bar; each third holds a third of the bars; the first bars have none."""
    (regime,) = find_regimes((restless,), (Window.whole(restless),)).series
    assert (regime[:REGIME_BARS] == UNKNOWN).all()
    steps = np.diff(np.log(restless.close))
    behind = [steps[bar - REGIME_BARS : bar] for bar in range(REGIME_BARS, len(restless))]
    trend, volatility = np.array([(s.sum(), s.std()) for s in behind]).T
    expected = [
        3 * (trend[i] > np.quantile(trend, 1 / 3))
        + 3 * (trend[i] > np.quantile(trend, 2 / 3))
        + (volatility[i] > np.quantile(volatility, 1 / 3))
        + (volatility[i] > np.quantile(volatility, 2 / 3))
        for i in range(len(behind))
    ]
    assert regime[REGIME_BARS:].tolist() == expected
    assert np.ptp(np.bincount(regime[REGIME_BARS:] // 3)) <= 1


def test_a_regime_knows_no_later_bar_but_for_its_thirds(restless):
    """With the thirds of the same bars, later prices change nothing before them."""
    window = Window(0, 0, 500)
    later = make_bars(
        len(restless),
        **{
            name: np.where(np.arange(len(restless)) < 500, getattr(restless, name), 7.0)
            for name in ("open", "high", "low", "close")
        },
    )
    own, other = (find_regimes((each,), (window,)).series[0][:500] for each in (restless, later))
    assert own.tolist() == other.tolist()


def test_trades_on_held_out_bars_are_in_no_regime(example_run):
    """The table is of the bars that were searched, also once held-out ones were opened."""
    run = load_run(example_run)
    trades, table = run.trade_columns(0), run.regimes(0)
    last = np.arange(len(trades.r)) >= len(trades.r) - 5
    rest = run.market_regimes.summarize(replace(trades, is_held_out=last))
    assert rest["trades"].sum() == table["trades"].sum() - 5
    assert rest["sum_r"].sum() == pytest.approx(table["sum_r"].sum() - trades.r[last].sum())
