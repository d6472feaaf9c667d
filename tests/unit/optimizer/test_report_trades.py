"""Trades as columns, and what follows from them, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from data.bars import Window
from engine.costs import Costs
from engine.ledger import REASONS, Trade
from optimizer.report.charts import price
from optimizer.report.model import _columns
from optimizer.report.trades import (
    buy_and_hold,
    by_hour,
    by_label,
    by_month,
    by_reason,
    by_side,
    by_weekday,
    collect_trades,
    cost_facts,
    drawdown,
    equity_curve,
)
from tests.support.ledgers import ledger_of
from tests.support.worlds import make_bars

COSTS = Costs(fee_bp=10, slippage_bp=0)
STOP, TARGET = REASONS.index("stop"), REASONS.index("target")


def trade(bar, reason, entry, stop, leave):
    """A trade that is entered after `bar` and left two bars later, at given prices."""
    risk = entry - stop
    r = ((leave - entry) - COSTS.per_side * (entry + leave)) / risk
    return Trade(bar, bar + 1, bar + 3, reason, entry, stop, entry + 2 * risk, leave, r, 1, stop)


@pytest.fixture
def bars():
    """Two hundred bars of fifteen minutes."""
    return make_bars(1, 200)


def collected(bars, *ledgers):
    """Trades of ledgers, each in a window of its own over the same bars, all but one held out."""
    roles = ["search", *["held_out"] * len(ledgers)]
    windows = [Window(0, i * 100, (i + 1) * 100, roles[i]) for i in range(len(ledgers))]
    return collect_trades([ledger_of(one) for one in ledgers], windows, [bars], COSTS)


def test_costs_in_r_are_what_separates_gross_from_net(bars):
    """10 basis points of 100 and of 110 are 0.21; a risk of 5 makes 0.042 R."""
    trades = collected(bars, [trade(3, TARGET, 100.0, 95.0, 110.0)])
    assert trades.cost_r[0] == pytest.approx(0.042)
    facts = cost_facts(trades, np.ones(1, bool), COSTS)
    assert (facts.gross_r, facts.cost_r) == (2.0, pytest.approx(0.042))
    assert facts.net_r == pytest.approx(float(trades.r[0]))
    assert facts.break_even_bp == pytest.approx(10 / 210 * 10_000)


def test_costs_without_a_trade_have_no_break_even(bars):
    """There is nothing to divide by."""
    facts = cost_facts(collected(bars, []), np.ones(0, bool), COSTS)
    assert (facts.gross_r, facts.net_r) == (0.0, 0.0)
    assert np.isnan(facts.break_even_bp)


def test_equity_of_one_series_is_the_product_of_the_law(bars):
    """Each trade multiplies equity by 1 + fraction of risk times r."""
    given = [trade(3, TARGET, 100.0, 95.0, 110.0), trade(20, STOP, 100.0, 90.0, 90.0)]
    trades = collected(bars, given)
    curve = equity_curve(trades, ["ADA"], 0.01, int(bars.timestamp[0]))
    first = 1.0 * (1 + 0.01 * trades.r[0])
    assert curve.value.tolist() == [1.0, first, first * (1 + 0.01 * trades.r[1])]
    assert curve.time_ns.tolist() == bars.timestamp[[0, 6, 23]].tolist()
    assert drawdown(curve)[2] == curve.value[2] / curve.value[1] - 1


def test_held_out_bars_go_on_with_the_same_account(bars):
    """Equity after both windows is the product over all trades."""
    given = [trade(3, TARGET, 100.0, 95.0, 110.0)], [trade(120, STOP, 100.0, 90.0, 90.0)]
    trades = collected(bars, *given)
    assert trades.has_held_out
    assert trades.is_held_out.tolist() == [False, True]
    curve = equity_curve(trades, ["ADA", "ADA"], 0.01, 0)
    assert curve.value[-1] == (1 + 0.01 * trades.r[0]) * (1 + 0.01 * trades.r[1])


def test_equity_ends_at_ruin(bars):
    """What a loss of 1.4 R leaves of equity that is wholly at risk is nothing, for ever."""
    loss, gain = trade(3, STOP, 100.0, 90.0, 86.0), trade(20, TARGET, 100.0, 95.0, 110.0)
    trades = collected(bars, [loss, gain], [loss, gain])
    alone = equity_curve(trades, ["ADA", "ADA"], 1.0, 0)
    assert alone.value.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    beside = equity_curve(collected(bars, [loss, gain], []), ["ADA", "BTC"], 1.0, 0)
    assert beside.value.tolist() == [1.0, 0.5, 0.5]


def test_several_series_are_accounts_side_by_side(bars):
    """Their mean is shown, in the order of time."""
    other = make_bars(2, 200)
    windows = [Window(0, 0, 200), Window(1, 0, 200)]
    ledgers = [
        ledger_of([trade(50, TARGET, 100.0, 95.0, 110.0)]),
        ledger_of([trade(3, STOP, 100.0, 90.0, 90.0)]),
    ]
    trades = collect_trades(ledgers, windows, [bars, other], COSTS)
    curve = equity_curve(trades, ["ADA", "BTC"], 0.01, 0)
    loss, gain = 0.01 * trades.r[1], 0.01 * trades.r[0]
    assert curve.value == pytest.approx([1.0, 1 + loss / 2, 1 + (loss + gain) / 2])


def test_buying_and_holding_pays_one_entry(bars):
    """The last value is the last close over the first open and its cost; before it begins, 1."""
    late = Window(0, 100, 200)
    curve = buy_and_hold([late], [bars], ["ADA"], COSTS, 50)
    expected = bars.close[199] / (bars.open[100] * (1 + COSTS.per_side))
    assert curve.value[-1] == expected
    ranges = [Window(0, 0, 200), Window(1, 100, 200)]
    both = buy_and_hold(ranges, [bars, bars], ["ADA", "BTC"], COSTS, 50)
    first = bars.close[0] / (bars.open[0] * (1 + COSTS.per_side))
    assert both.value[0] == (first + 1) / 2


def test_parts_of_one_market_are_one_account(bars):
    """Equity and holding go from part to part, in the order of time."""
    late = replace(bars, timestamp=bars.timestamp + 10 * int(np.ptp(bars.timestamp)))
    ledgers = [
        ledger_of([trade(3, STOP, 100.0, 90.0, 90.0)]),
        ledger_of([trade(50, TARGET, 100.0, 95.0, 110.0)]),
    ]
    windows = [Window(1, 0, 200), Window(0, 0, 200)]
    trades = collect_trades(ledgers, windows, [bars, late], COSTS)
    curve = equity_curve(trades, ["ADA", "ADA"], 0.01, 0)
    gain = 1 + 0.01 * trades.r[1]
    assert curve.value.tolist() == [1.0, gain, gain * (1 + 0.01 * trades.r[0])]
    held = buy_and_hold(windows[::-1], [bars, late], ["ADA", "ADA"], COSTS, 50)
    once = bars.close[-1] / (bars.open[0] * (1 + COSTS.per_side))
    assert held.value[-1] == once * once


def test_groups_count_what_was_chosen_and_name_everything(bars):
    """Groups are those of all trades; counts and sums those of the chosen."""
    given = [trade(3, TARGET, 100.0, 95.0, 110.0), trade(40, STOP, 100.0, 90.0, 90.0)]
    trades = collected(bars, given)
    everything, first = np.ones(2, bool), np.array([True, False])
    reasons = by_reason(trades, everything)
    assert dict(zip(reasons.labels, reasons.trades.tolist(), strict=True)) == {
        "stop gap": 0,
        "stop": 1,
        "target": 1,
        "time": 0,
        "end": 0,
        "signal": 0,
        "session": 0,
    }
    assert by_reason(trades, first).trades.tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert reasons.sum_r.sum() == pytest.approx(trades.r.sum())
    times = trades.entry_ns.astype("datetime64[ns]").astype("datetime64[s]").tolist()
    hours, days = by_hour(trades, everything), by_weekday(trades, everything)
    for time in times:
        assert hours.trades[time.hour] > 0
        assert days.trades[time.weekday()] > 0
    assert by_label(trades, everything, ["ADA", "BTC"]).trades.tolist() == [2, 0]


def test_months_without_a_trade_are_there_too(bars):
    """The axis of time has no holes."""
    trades = collected(bars, [trade(3, TARGET, 100.0, 95.0, 110.0)] * 2)
    trades.entry_ns[1] = np.datetime64("1970-04-02", "ns").astype(np.int64)
    months = by_month(trades, np.ones(2, bool))
    assert months.labels == ("1970-01", "1970-02", "1970-03", "1970-04")
    assert months.trades.tolist() == [1, 0, 0, 1]
    assert by_month(collected(bars, []), np.ones(0, bool)).labels == ()


def test_shorts_cost_and_earn_as_the_law_has_it(bars):
    """Sold at 100 with a stop at 105, bought at 90: 2 R gross, 0.038 R of costs."""
    net = (-1 * (90.0 - 100.0) - COSTS.per_side * (100.0 + 90.0)) / 5.0
    short = Trade(3, 4, 6, TARGET, 100.0, 105.0, 90.0, 90.0, net, -1, 103.0)
    trades = collected(bars, [short, trade(20, STOP, 100.0, 90.0, 90.0)])
    assert trades.cost_r[0] == pytest.approx(0.038)
    facts = cost_facts(trades, np.array([True, False]), COSTS)
    assert (facts.gross_r, facts.net_r) == (2.0, pytest.approx(net))
    sides = by_side(trades, np.ones(2, bool))
    assert dict(zip(sides.labels, sides.trades.tolist(), strict=True)) == {"long": 1, "short": 1}
    assert sides.sum_r[1] == net


def test_the_chart_of_a_short_tells_its_side_and_where_its_stop_went(bars):
    """Its entry points down, and both stops are drawn; no target is none."""
    endless = Trade(3, 4, 6, STOP, 100.0, 105.0, -np.inf, 103.0, -0.6, -1, 103.0)
    drawn = price.trade(bars, collected(bars, [endless]), 0)
    assert "short, entry 100, stop 105 moved to 103, target none, exit 103 by stop" in drawn.alt
    _, stop, target, way = drawn.data
    assert {y for y in stop["y"].tolist() if y == y} == {103.0, 105.0}
    assert not len(target["y"])
    assert way["marker"]["symbol"] == ["triangle-down", "x"]
    marks = price.entries_and_exits(collected(bars, [endless]), 0)
    assert [trace["name"] for trace in marks.data if len(trace["x"])] == [
        "entry of a short",
        "exit with a loss",
    ]


def test_a_page_carries_what_its_script_needs_of_shorts(bars):
    """Places of shorts and of moved stops, and an exit at the last stop is not written twice."""
    moved = Trade(3, 4, 6, STOP, 100.0, 105.0, 80.0, 103.0, -0.6, -1, 103.0)
    trades = collected(bars, [trade(20, STOP, 100.0, 90.0, 90.0), moved])
    found = _columns(trades)
    assert found["shorts"].tolist() == found["moved"].tolist() == [1]
    assert found["moved_to"].tolist() == [103.0]
    assert found["level"].tolist() == [1, 1]
