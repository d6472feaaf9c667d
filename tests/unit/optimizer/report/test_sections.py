"""Sections of a report, by hand: the account, its evidence, its trades, a chart of a trend."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from data import load_bars
from data.bars import Window
from engine.accounts.account import Account
from engine.accounts.ledger import REASONS, Trade
from engine.trends import trends
from optimizer import load_run
from optimizer.evidence.judgement import weigh_evidence
from optimizer.evidence.power import PowerRecord, PowerRow
from optimizer.evidence.returns import moments
from optimizer.report import gallery
from optimizer.report.account import (
    SHARPE_DAYS,
    Curve,
    equity_curve,
    monthly_returns,
    rolling_sharpe,
    worst_drawdowns,
)
from optimizer.report.charts.trend import compute_layers, trend
from optimizer.report.facts import summarize
from optimizer.report.schedule import list_fold_cells
from optimizer.report.summary import select
from optimizer.report.trades import (
    by_hour,
    by_label,
    by_reason,
    by_side,
    by_weekday,
    collect_trades,
    compute_cost_facts,
    measure_excursions,
    pack_trades,
    summarize_sides,
)
from tests.support.judged import judgement, record_judgement
from tests.support.markets import COSTS, build_trade_ledger, collect_ledgers, trade
from tests.support.trend import A, B, S
from tests.support.worlds import make_bars

STOP, TARGET = REASONS.index("stop"), REASONS.index("target")
DAY = 24 * 3_600_000_000_000


@pytest.fixture
def bars():
    """Two hundred bars of fifteen minutes."""
    return make_bars(1, 200)


def hold(windows, series, names):
    """An account of windows to be held."""
    return Account(tuple(series), tuple(windows), tuple(names), COSTS)


def test_parts_of_one_market_are_one_account(bars):
    """Equity and holding go from part to part, in the order of time."""
    late = replace(bars, timestamp=bars.timestamp + 10 * int(np.ptp(bars.timestamp)))
    ledgers = [
        build_trade_ledger([trade(3, STOP, 100.0, 90.0, 90.0)]),
        build_trade_ledger([trade(50, TARGET, 100.0, 95.0, 110.0)]),
    ]
    windows = [Window(1, 0, 200), Window(0, 0, 200)]
    trades = collect_trades(ledgers, windows, [bars, late], COSTS)
    curve = equity_curve(trades, ["ADA", "ADA"], 0.01, 0)
    gain = 1 + 0.01 * trades.r[1]
    assert curve.value.tolist() == [1.0, gain, gain * (1 + 0.01 * trades.r[0])]
    held = hold(windows[::-1], [bars, late], ["ADA", "ADA"]).hold_days
    once = bars.close[-1] / (bars.close[0] * (1 + COSTS.per_side))
    assert held[-1] == once * once


def test_a_listing_bar_does_not_decide_what_holding_gave(bars):
    """An open of a tenth of the close changes nothing: no purchase was possible there."""
    opens = bars.open.copy()
    opens[0], lows = bars.close[0] / 10, bars.low.copy()
    lows[0] = opens[0]
    listed = replace(bars, open=opens, low=lows)
    actual, expected = (
        hold([Window(0, 0, 200)], [series], ["ADA"]).hold_days for series in (listed, bars)
    )
    assert actual.tolist() == expected.tolist()


def test_drawdowns_are_named_by_depth_with_their_bars():
    """Peak, deepest point and recovery; one that goes on counts bars to the last."""
    value = np.array([1.0, 2.0, 1.5, 1.0, 2.0, 2.5, 2.0, 2.25])
    curve = Curve(np.arange(8) * DAY, value)
    half, fifth = worst_drawdowns(curve, np.arange(0, 20) * DAY // 2)
    assert (half.depth, half.from_ns, half.to_ns, half.recovered_ns) == (0.5, DAY, 3 * DAY, 4 * DAY)
    assert (half.bars, fifth.bars) == (6, 9)
    assert (fifth.depth, fifth.from_ns, fifth.recovered_ns) == (pytest.approx(0.2), 5 * DAY, None)
    assert worst_drawdowns(Curve(np.arange(2), np.array([1.0, 2.0])), np.arange(2)) == []


def test_months_and_years_multiply_to_the_end_of_equity():
    """Months without a trade are 0, those without a bar unknown; years are their months."""
    times = ["2023-11-03", "2023-11-20", "2024-01-31", "2024-02-01"]
    time_ns = np.array(times, "datetime64[ns]").astype(np.int64)
    days = np.arange(np.datetime64("2023-11-03"), np.datetime64("2024-03-06"))
    opens = days[days.astype("datetime64[M]") != np.datetime64("2023-12")]
    bar_times = opens.astype("datetime64[ns]").astype(np.int64)
    years, table = monthly_returns(Curve(time_ns, np.array([1.0, 1.1, 1.21, 0.605])), bar_times)
    assert years.tolist() == [2023, 2024]
    assert np.isfinite(table[:, :12]).sum(axis=1).tolist() == [1, 3]
    assert table[0, [10, 12]] == pytest.approx([0.1, 0.1])
    assert table[1, [0, 1, 2, 12]] == pytest.approx([0.1, -0.5, 0.0, -0.45])


def test_a_rolling_sharpe_is_that_of_its_days(bars):
    """The last is the one of the evidence over those days; too few days have none."""
    rng = np.random.Generator(np.random.PCG64(1))
    trades = collect_ledgers(bars, [trade(3, TARGET, 100.0, 95.0, 110.0)] * 200)
    days = np.arange(100)
    daily = rng.normal(0.1, 1.0, 200)
    moved = replace(trades, r=daily, exit_ns=np.repeat(days, 2) * DAY + 1)
    rolling = rolling_sharpe(moved, days)
    assert len(rolling) == 100 - SHARPE_DAYS + 1
    last = daily.reshape(100, 2).sum(axis=1)[-SHARPE_DAYS:]
    assert rolling[-1] == pytest.approx(moments(last).sharpe.value, rel=1e-12)
    assert len(rolling_sharpe(moved, days[: SHARPE_DAYS - 1])) == 0


def list_evidence(run):
    """Sentences of the evidence of a run, by what they are about."""
    return {row.label: row.value for row in select(summarize(run), "evidence")}


@pytest.fixture
def judge_run(example_run, tmp_path):
    """Gives a run with a judgement of a grade, as it was recorded."""

    def make_run(grade, **changes):
        path = tmp_path / grade
        shutil.copytree(example_run, path)
        recorded = record_judgement(path, replace(judgement(grade), **changes))
        return load_run(str(path)), recorded

    return make_run


def test_a_run_that_was_never_judged_names_the_command(example_run):
    """There is no judgement."""
    run = load_run(example_run)
    assert (run.judgement, run.verdict.grade) == (None, "not_judged")
    assert f"python -m optimizer judge {example_run} --null 299" in repr(run)
    assert not list_evidence(run)


def test_what_disagrees_comes_first():
    """Against an edge where the verdict is for one, for an edge where it is luck."""
    for grade, side in (("weak", "against"), ("luck", "for")):
        graded = judgement(grade)
        rows = weigh_evidence(replace(graded, verdict=replace(graded.verdict, grade=grade)))
        sides = [row.speaks == side for row in rows]
        assert any(sides)
        assert sides == sorted(sides, reverse=True)


def test_a_p_of_one_in_a_hundred_speaks_for_an_edge():
    """As the verdict takes it, exactly: 1 of 199 on mirrored bars; passed checks say nothing."""
    sides = {row.about: row.speaks for row in weigh_evidence(judgement("holds"))}
    assert sides["shuffled bars"] == sides["mirrored bars"] == "for"
    assert sides["sharpe a day"] == sides["late entries"] == "against"
    assert sides["neighbours"] == sides["halves"] == ""


def test_what_is_undefined_says_why(judge_run):
    """In rows and in folds; nowhere stands a number that is none."""
    run, _ = judge_run("holds")
    rows, folds = list_evidence(run), list_fold_cells(run.judgement.folds.rows)
    assert "undefined (no candidate was feasible)" in rows["late entries"]
    assert folds[1][4:] == ("undefined: no candidate was feasible",) * 2
    assert folds[0][1:3] == ("2020-01-01 to 2020-03-01", "2020-04-01 to 2020-06-01")
    message = " ".join([*rows.values(), *(cell for row in folds for cell in row)])
    assert "None" not in message
    assert "nan" not in message


def test_what_was_not_asked_for_is_named(judge_run):
    """Folds, look-ahead and held-out bars have a row for it."""
    run, _ = judge_run("not_judged", folds=None, causal=None)
    rows = list_evidence(run)
    assert {"folds", "look-ahead", "held-out bars"} <= rows.keys()
    run.result = replace(run.result, data=replace(run.result.data, held_out_bars=2))
    rows = list_evidence(run)
    assert "--open" in rows["held-out bars"]


def test_luck_names_the_search_that_could_be_blind(judge_run):
    """How to find out, or the sentence where that was measured; nothing of other verdicts."""
    run, _ = judge_run("luck")
    rows = list_evidence(run)
    assert f"python -m optimizer power {run.path}" in rows["power"]
    row = PowerRow(0.4, strength=4.0, markets=20, found=18)
    measured = PowerRecord("32 x 10", 299, "none", 40.0, 2.0, 0.5, (row,))
    run.judgement = replace(run.judgement, power=measured)
    rows = list_evidence(run)
    assert rows["power"] == measured.describe()
    curve, counted = gallery.Charts(run).power().data
    # Half are found of edges half as strong.
    assert (0.2, 0.5) in zip(curve["x"], curve["y"], strict=True)
    assert (*counted["x"], *counted["y"]) == (0.4, 0.9)
    run, _ = judge_run("weak")
    assert "power" not in list_evidence(run)


def test_groups_count_what_was_chosen_and_name_everything(bars):
    """Groups are those of all trades; counts and sums those of the chosen."""
    given = [trade(3, TARGET, 100.0, 95.0, 110.0), trade(40, STOP, 100.0, 90.0, 90.0)]
    trades = collect_ledgers(bars, given)
    everything, first = np.ones(2, bool), np.array([True, False])
    reasons = by_reason(trades, everything)
    assert reasons.labels[:5] == ("stop gap", "stop", "target", "time", "end")
    assert reasons.trades.tolist() == [0, 1, 1, 0, 0, 0, 0, 0]
    assert by_reason(trades, first).trades.tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert reasons.sum_r.sum() == pytest.approx(trades.r.sum())
    times = trades.entry_ns.astype("datetime64[ns]").astype("datetime64[s]").tolist()
    hours, days = by_hour(trades, everything), by_weekday(trades, everything)
    for time in times:
        assert hours.trades[time.hour] > 0
        assert days.trades[time.weekday()] > 0
    assert by_label(trades, everything, ["ADA", "BTC"]).trades.tolist() == [2, 0]


def test_shorts_cost_and_earn_as_the_law_has_it(bars):
    """Sold at 100 with a stop at 105, bought at 90: 2 R gross, 0.038 R of costs."""
    net = (-1 * (90.0 - 100.0) - COSTS.per_side * (100.0 + 90.0)) / 5.0
    short = Trade(3, 4, 6, TARGET, 100.0, 105.0, 90.0, 90.0, net, -1, 103.0, 3)
    trades = collect_ledgers(bars, [short, trade(20, STOP, 100.0, 90.0, 90.0)])
    assert trades.cost_r[0] == pytest.approx(0.038)
    facts = compute_cost_facts(trades, np.array([True, False]), COSTS)
    assert (facts.gross_r, facts.net_r) == (2.0, pytest.approx(net))
    sides = by_side(trades, np.ones(2, bool))
    assert dict(zip(sides.labels, sides.trades.tolist(), strict=True)) == {"long": 1, "short": 1}
    assert sides.sum_r[1] == net


def test_excursions_are_the_extremes_of_the_bars_of_a_trade(bars):
    """In units of the risk, for a long and for a short; never below 0; sides stand apart."""
    long = Trade(3, 4, 6, TARGET, 100.0, 95.0, 110.0, 110.0, 2.0, 1, 95.0, 3)
    short = Trade(19, 20, 22, STOP, 100.0, 105.0, 80.0, 105.0, -1.0, -1, 105.0, 3)
    trades = collect_ledgers(bars, [long, short])
    best, worst = measure_excursions(trades, [bars])
    assert best.tolist() == [
        max(bars.high[4:7].max() - 100.0, 0.0) / 5.0,
        max(100.0 - bars.low[20:23].min(), 0.0) / 5.0,
    ]
    assert worst.tolist() == [
        max(100.0 - bars.low[4:7].min(), 0.0) / 5.0,
        max(bars.high[20:23].max() - 100.0, 0.0) / 5.0,
    ]
    sides = summarize_sides(trades, [bars], np.ones(2, bool))
    assert [sides[name]["trades"] for name in ("all", "long", "short")] == [2, 1, 1]
    assert [sides[name]["sum_r"] for name in ("all", "long", "short")] == [1.0, 2.0, -1.0]
    assert (sides["all"]["profit_factor"], sides["long"]["mean_mfe_r"]) == (2.0, best[0])


def test_a_page_carries_what_its_script_needs_of_shorts(bars):
    """Places of shorts and of moved stops, and an exit at the last stop is not written twice."""
    moved = Trade(3, 4, 6, STOP, 100.0, 105.0, 80.0, 103.0, -0.6, -1, 103.0, 3)
    trades = collect_ledgers(bars, [trade(20, STOP, 100.0, 90.0, 90.0), moved])
    packed = pack_trades(trades, [bars])
    assert packed["shorts"].tolist() == packed["moved"].tolist() == [1]
    assert packed["moved_to"].tolist() == [103.0]
    assert packed["level"].tolist() == [1, 1]


BARS = load_bars("sample").until(1000)


def test_layers_make_the_row():
    """Row and votes are those of the engine; equities are known from the cutout on."""
    for parameters, is_script in ((A, False), (B, False), (S, True)):
        layers = compute_layers(BARS.close, parameters, is_script=is_script)
        (trend,) = trends([BARS.close], parameters, is_script=is_script)
        assert layers.row.tobytes() == trend.row.tobytes()
        assert (layers.votes == trend.votes).all()
        assert np.isnan(layers.equities[:, : parameters[9]]).all()
        assert (layers.equities[:, parameters[9] :] >= 0.25).all()
        assert layers.averages.shape == (6, 9, len(BARS))


def test_the_chart_shows_the_newest_bars():
    """As many as asked for, each class in its colour, all families, and words for the blind."""
    layers = compute_layers(BARS.close, A)
    chart = trend("SIMULATED", BARS.timestamp, BARS.close, layers, last=200)
    figure = chart.figure()
    by_name = {trace.name: trace for trace in figure.data}
    assert len(by_name["close"].x) == 200
    shown = layers.row[-200:]
    assert (~np.isnan(by_name["long"].y)).sum() == (shown > 0.1).sum()
    assert (~np.isnan(by_name["short"].y)).sum() == (shown < -0.1).sum()
    assert sum(str(name).startswith("equity of ") for name in by_name) == 6
    assert chart.alt.startswith("SIMULATED: the trend is ")
    few = BARS.until(50)
    short = trend("few", few.timestamp, few.close, compute_layers(few.close, A))
    assert len(short.data[0]["x"]) == 50
