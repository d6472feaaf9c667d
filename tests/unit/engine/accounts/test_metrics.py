"""Metrics from accumulators, by hand, and the reasons of those that are undefined."""

import math

import numpy as np
import pytest

from engine.accounts.ledger import ACCUMULATORS
from engine.accounts.metrics import (
    METRICS,
    UNDEFINED,
    Span,
    compute_metrics,
    list_first_dates,
    power,
)

YEAR = Span(bars=1000, years=1.0)


def measure_once(span=YEAR, **accumulators):
    """Metrics of one individual in one window, and the reasons of the undefined ones."""
    values = {"equity": 1.0, "peak_equity": 1.0, **accumulators}
    row = np.array([[[values.get(name, 0.0) for name in ACCUMULATORS]]])
    table = compute_metrics(row, [span])
    reasons = {name: UNDEFINED[table.why(name)[0, 0]] for name in METRICS if table.why(name)[0, 0]}
    return table.name_metrics(0), reasons


# Four trades of +2, -1, +1, -1 R at one percent of equity each.
FOUR = {
    "trades": 4.0, "wins": 2.0, "sum_r": 1.0, "sum_r2": 7.0, "gain_r": 3.0, "loss_r": 2.0,
    "loss_r2": 2.0, "max_drawdown_r": 1.0, "equity": 1.02 * 0.99 * 1.01 * 0.99,
    "max_drawdown": 0.0101, "bars_in_market": 40.0,
}  # fmt: skip


def test_metrics_by_hand():
    """Each metric of four trades equals that by hand."""
    metrics, reasons = measure_once(Span(bars=1000, years=0.5), **FOUR)
    std = math.sqrt((7.0 - 0.25) / 3.0)
    expected = {
        "trades": 4.0, "win_rate": 0.5, "mean_r": 0.25, "expectancy": 0.25, "std_r": std,
        "sum_r": 1.0, "strength": 1.0 / math.sqrt(7.0), "profit_factor": 1.5,
        "sharpe_trade": 0.25 / std, "sharpe": 0.25 / std * math.sqrt(8.0),
        "sortino": 0.25 / math.sqrt(2.0 / 4.0), "total_return": FOUR["equity"] - 1.0,
        "max_drawdown": 0.0101, "max_drawdown_r": 1.0,
        "cagr": FOUR["equity"] * FOUR["equity"] - 1.0,
        "calmar": (FOUR["equity"] * FOUR["equity"] - 1.0) / 0.0101,
        "calmar_simple": (FOUR["equity"] - 1.0) / 0.5 / 0.0101, "exposure": 0.04,
        "mean_hold_bars": 10.0, "trades_per_year": 8.0,
    }  # fmt: skip
    assert metrics == pytest.approx(expected, rel=1e-15)
    assert reasons == {}


THREE = {"trades": 3.0, "wins": 2.0, "sum_r": 3.0, "sum_r2": 5.0, "gain_r": 3.0}
NOTHING = ("strength", "std_r", "profit_factor", "sortino", "calmar", "calmar_simple")
BEYOND = {**FOUR, "equity": math.inf, "peak_equity": math.inf}
RATIOS = ("calmar", "calmar_simple")
LOST = {"total_return": -1.0, "max_drawdown": 1.0}

UNDEFINED_CASES = {
    "one trade": ({"trades": 1.0, "wins": 1.0, "sum_r": 2.0, "sum_r2": 4.0, "gain_r": 2.0,
                   "equity": 1.02}, {},
                  {"sharpe": "one_trade", "std_r": "one_trade", "profit_factor": "no_losses",
                   "sortino": "no_losses", **dict.fromkeys(RATIOS, "no_drawdown")}),
    "equal trades": ({"trades": 3.0, "sum_r": -3.0, "sum_r2": 3.0, "loss_r": 3.0, "loss_r2": 3.0},
                     {"strength": -3.0 / math.sqrt(3.0)},
                     dict.fromkeys(("std_r", "sharpe_trade", "sharpe", "sortino"), "no_variation")),
    # A variance of 1e-10 of the mean square is none; what is larger by a digit is one.
    "rounding": ({"trades": 2.0, "sum_r": 2.0, "sum_r2": 2.0 * (1.0 + 0.49e-10)}, {},
                 dict.fromkeys(("std_r", "sharpe"), "no_variation")),
    "variation": ({"trades": 2.0, "sum_r": 2.0, "sum_r2": 2.0 * (1.0 + 0.51e-10)},
                  {"sharpe_trade": pytest.approx(1e5, rel=0.01)}, {"std_r": ""}),
    # A squared loss of 1e-10 of all squares is no loss to divide by.
    "rounded loss": ({**THREE, "loss_r": 2e-5, "loss_r2": 4e-10}, {}, {"sortino": "no_losses"}),
    "small loss": ({**THREE, "loss_r": 3e-5, "loss_r2": 9e-10},
                   {"sortino": 1.0 / math.sqrt(9e-10 / 3.0)}, {"sortino": ""}),
    "trades of nothing": ({"trades": 2.0}, {}, dict.fromkeys(NOTHING, "no_variation")),
    # All is lost, which is a return and a drawdown, but no ratio of them.
    "ruin": ({**FOUR, "max_drawdown": 1.0, "equity": 0.0}, {**LOST, "cagr": -1.0},
             dict.fromkeys(RATIOS, "ruined")),
    "nearly ruin": ({**FOUR, "max_drawdown": 1.0, "equity": 1e-300},
                    {"total_return": -1.0, "calmar": -1.0}, {"calmar": ""}),
    "beyond all numbers": (BEYOND, {}, dict.fromkeys(
        ("total_return", "cagr", "max_drawdown", *RATIOS), "overflow")),
    "ruin after that": ({**BEYOND, "equity": 0.0}, LOST, dict.fromkeys(RATIOS, "ruined")),
}  # fmt: skip
"""Sums; metrics; and why others are undefined, empty where they are not."""


@pytest.mark.parametrize("name", UNDEFINED_CASES)
def test_what_is_undefined_has_a_reason(name):
    """And is never an infinity."""
    sums, expected, why = UNDEFINED_CASES[name]
    metrics, reasons = measure_once(**sums)
    assert {name: metrics[name] for name in expected} == expected
    assert {name: reasons.get(name, "") for name in why} == why
    assert {name for name, value in metrics.items() if not math.isfinite(value)} == set(reasons)


@pytest.mark.parametrize(("days", "is_known"), [(19, False), (20, True)])
def test_a_few_days_tell_nothing_of_a_year(days, is_known):
    """Two windows, a bar each six hours, share a day: 20 of them in all are needed, as one."""
    day = 24 * 3600 * 10**9
    first, second = (
        np.arange(0, 10 * day, day // 4),
        np.arange(9 * day + 1, days * day, day // 4),
    )
    spans = [Span(len(t), 0.5, int(t[0]), int(t[-1]), list_first_dates(t)) for t in (first, second)]
    sums = np.array([[FOUR.get(name, 0.0) for name in ACCUMULATORS]])
    table = compute_metrics(np.stack([sums, sums], axis=1), spans, account=sums)
    for name in ("cagr", "calmar", "calmar_simple", "trades_per_year"):
        assert [UNDEFINED[why] for why in table.why(name)[0]] == ["few_days"] * 2
        assert UNDEFINED[table.pooled.why(name)[0, 0]] == ("" if is_known else "few_days")
    assert not np.isnan(table.column("sharpe")).any()


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [(14.54, 1 / 5.35, 1.649307972251569), (1.05, 12.175, 1.8112554955402178)],
)
def test_powers_have_the_bits_of_the_law(base, exponent, expected):
    """Check values of an independent implementation, to the last digit."""
    assert power(np.array([base]), exponent).tolist() == [expected]
