"""A schedule in the report: the account with its dates, genes over time, null, a row a step."""

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from optimizer import load_run
from optimizer.cli.result import print_answer, print_result
from optimizer.formatting import fraction
from optimizer.report import write_report
from optimizer.report.facts import summarize
from optimizer.report.model import choose_members
from optimizer.report.page import page_html
from optimizer.report.schedule import (
    STEP_COLUMNS,
    build_schedule_account,
    list_step_cells,
    list_windows,
    stitched_curve,
)
from optimizer.report.summary import select
from optimizer.store.listing import summarise
from strategy import words as w
from tests.support.evidence import make_planted_market
from tests.support.judging import judge_briefly, recorded_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run judged by a schedule, with a few null ones."""
    bars = make_planted_market(7, 2400, 8)
    path = recorded_run(tmp_path_factory.mktemp("drawn"), bars, polish=8)
    plan = {"every": "14d", "train": "40d", "purge": 24, "null": 3, "resamples": 19}
    judge_briefly(path, causal=False, **plan)
    return load_run(str(path))


def test_the_curve_ends_where_the_account_does(run):
    """Equity from 1 at the first date, and a line where each step begins."""
    made = run.judgement.schedule
    curve, _, dates, _ = build_schedule_account(run)
    assert curve.value[0] == 1
    assert curve.value[-1] == made.equity
    assert len(curve.value) == made.trades + 1
    assert len(dates) == len(made.rows)
    assert curve.time_ns[0] == dates[0]
    figure = run.plot.schedule()
    assert len(figure.layout.shapes) == len(made.rows)


def test_growth_is_over_the_bars_that_were_searched(run):
    """A window that is held out, years later, is no time in which the account could grow."""
    (searched,) = run.result.data.windows
    later = {"first": searched.last, "last": "2030-01-01T00:00:00Z"}
    held_out = replace(searched, sample="held out", **later)
    longer = copy(run)
    data = replace(run.result.data, windows=(searched, held_out))
    longer.result = replace(run.result, data=data)
    grown, *_ = select(summarize(longer), "figure")
    assert grown == select(summarize(run), "figure")[0]


def test_the_first_screen_is_that_of_the_account(run, capsys):
    """Tiles, curve, sentence, index and terminal are those of all steps, not of the one search."""
    made, pick = run.judgement.schedule, run.pick
    facts = summarize(run)
    tiles = {fact.label: fact for fact in select(facts, "figure")}
    assert "in all" in tiles["Return a year"].note
    assert tiles["Return a year"].note.startswith(fraction(made.equity - 1.0))
    assert tiles["Deepest drawdown"].value == fraction(made.max_drawdown)
    assert tiles["Trades"].value == str(made.trades) != str(pick.trades)
    (subject,) = select(facts, "subject")
    assert subject.label == "Account of all steps"
    assert subject.value.startswith(f"{made.trades} trades in {len(made.rows)} steps, each with")
    steps, line = run.plot.answer().data[-1], build_schedule_account(run).curve
    assert steps.name == "all steps"
    assert steps.y[-1] == line.value[-1] == made.equity
    assert run.plot.schedule().data[-1].y[-1] == made.equity
    role = choose_members(run, None).roles[pick.member]
    assert role.startswith("the strongest of one search over all bars, which the verdict is not")
    page = page_html(run)
    assert "The account of all steps." in page
    assert "Not what to expect" not in page
    summary = summarise(run.path)
    assert (summary.strength, summary.trades) == (made.strength, made.trades)
    assert (summary.total_return, summary.max_drawdown) == (made.equity - 1.0, made.max_drawdown)
    assert fraction(summary.cagr) == tiles["Return a year"].value
    print_result(run.result, run.judgement, is_whole=False)
    print_answer(run.result, run.judgement)
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


def list_gains(run, curve, traded):
    """What each of the account's trades gained, and what two units did; trades by windows."""
    series = run.task.markets.series
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


def test_the_page_has_a_row_a_step(run, tmp_path):
    """And every sentence on the schedule."""
    steps = list_step_cells(run.judgement.schedule)
    assert len(steps) == len(run.judgement.schedule.rows)
    assert {len(cells) for cells in steps} == {len(STEP_COLUMNS)}
    evidence = select(summarize(run), "evidence")
    sentences = {row.label for row in evidence}
    assert {"schedule", "shuffled bars", "turnover", "never again"} <= sentences
    assert not [row for row in evidence if "Nobody searched again" in row.value]
    page = write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="steps"' in page
    assert 'data-chart="step_genes"' in page
