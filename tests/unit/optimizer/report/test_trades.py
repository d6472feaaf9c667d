"""Trades as columns, and what follows from them, by hand."""

import numpy as np
import pytest

from engine.accounts.ledger import REASONS, Trade
from optimizer.report.trade_marks import pack_trades
from optimizer.report.trades import (
    by_hour,
    by_label,
    by_reason,
    by_side,
    by_weekday,
    compute_cost_facts,
    measure_excursions,
    summarize_sides,
)
from tests.support.ledgers import COSTS, collect_ledgers, trade
from tests.support.worlds import make_bars

STOP, TARGET = REASONS.index("stop"), REASONS.index("target")


@pytest.fixture
def bars():
    """Two hundred bars of fifteen minutes."""
    return make_bars(1, 200)


def test_costs_in_r_are_what_separates_gross_from_net(bars):
    """10 basis points of 100 and of 110 are 0.21; a risk of 5 makes 0.042 R."""
    trades = collect_ledgers(bars, [trade(3, TARGET, 100.0, 95.0, 110.0)])
    assert trades.cost_r[0] == pytest.approx(0.042)
    facts = compute_cost_facts(trades, np.ones(1, bool), COSTS)
    assert (facts.gross_r, facts.cost_r) == (2.0, pytest.approx(0.042))
    assert facts.net_r == pytest.approx(float(trades.r[0]))
    assert facts.break_even_bp == pytest.approx(10 / 210 * 10_000)


def test_groups_count_what_was_chosen_and_name_everything(bars):
    """Groups are those of all trades; counts and sums those of the chosen."""
    given = [trade(3, TARGET, 100.0, 95.0, 110.0), trade(40, STOP, 100.0, 90.0, 90.0)]
    trades = collect_ledgers(bars, given)
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
        "reverse": 0,
    }
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
