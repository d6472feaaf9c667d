"""A schedule in the report: the account with its dates, genes over time, null, a row a step."""

import numpy as np
import pytest

from optimizer import load_run
from optimizer.errors import ConfigError
from optimizer.report import write_report
from optimizer.report.evidence import build_answer
from optimizer.report.schedule import (
    STEP_COLUMNS,
    build_schedule_curve,
    collect_step_genes,
    list_windows,
    stitched_curve,
)
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
    curve, dates = build_schedule_curve(run)
    assert curve.value[0] == 1
    assert curve.value[-1] == made.equity
    assert len(curve.value) == made.trades + 1
    assert len(dates) == len(made.rows)
    assert curve.time_ns[0] == dates[0]
    figure = run.plot.schedule()
    assert len(figure.layout.shapes) == len(made.rows)


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
    curve, _ = build_schedule_curve(sized_run)
    made = sized_run.judgement.schedule
    assert len(curve.value) == made.trades + 1 > 50
    assert curve.value[-1] == made.equity
    falls = 1 - curve.value / np.maximum.accumulate(curve.value)
    assert falls.max() == pytest.approx(made.max_drawdown, rel=1e-12)


def test_genes_are_shares_of_their_bounds(run):
    """A line a gene; a step without a pick is a gap."""
    made, genes = run.judgement.schedule, collect_step_genes(run)
    assert genes.shares.shape == (len(made.rows), len(genes.names))
    known = genes.shares[np.isfinite(genes.shares)]
    assert ((known >= 0) & (known <= 1)).all()
    low, high = run.bounds[run.number_of_gene("reward_r")]
    column = genes.shares[:, genes.names.index("reward r")]
    for row, share in zip(made.rows, column.tolist(), strict=True):
        assert not row.genes or share == (row.genes["reward_r"] - low) / (high - low)
    assert len(run.plot.step_genes().data) == len(genes.names)


def test_the_histogram_is_that_of_null_schedules(run):
    """Of stitched strengths, with the mark of the run's own."""
    figure = run.plot.null()
    assert figure.layout.yaxis.title.text == "schedules"
    assert figure.data[-1].x[0] == run.judgement.schedule.strength


def test_the_page_has_a_row_a_step(run, tmp_path):
    """And every sentence on the schedule."""
    answer = build_answer(run)
    assert len(answer.steps) == len(run.judgement.schedule.rows)
    assert {len(cells) for cells in answer.steps} == {len(STEP_COLUMNS)}
    sentences = {row.about for row in answer.evidence}
    assert {"schedule", "shuffled bars", "turnover", "never again"} <= sentences
    assert not [row for row in answer.evidence if "Nobody searched again" in row.sentence]
    page = write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="steps"' in page
    assert 'data-chart="step_genes"' in page


def test_a_run_without_a_schedule_says_how(example_run):
    """The error has the command."""
    with pytest.raises(ConfigError, match="judge it with --schedule 30d,180d"):
        load_run(example_run).plot.schedule()
