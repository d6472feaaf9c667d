"""Trade lists of TradingView's scripts, as PineForge publishes them: side, bars and both prices.

`PLANS` says the scripts in words; here stands what cannot be said, and the rule behind each
difference. Trades that are still open at a list's end are left out on both sides.
"""

import gzip

import numpy as np
import pandas as pd
import pytest

from data.bars import Bars
from optimizer.agreement.matching import list_ours, match
from tests.support.agreement import Suite, read_trades, run_strategy
from tests.support.pine_plans import PLANS
from tests.support.references import BACKEND_PARAMETERS

MINUTE_NS = 60 * 10**9

UNKNOWN = "an unknown comparison counts as its opposite there, before all averages are known"
OTHER_ORDER = "an order of the other side stands on there after a fill, which ends it here"
WORSE = "of a stop and a target in one bar the path decides there; here the worse is assumed"
EQUAL = "averages that are equal have crossed there, by rounding"
TIE = "0.18999999999960 is not below 0.19000000000005 there"
ASKS_FLAT = "a signal there waits for a flat account, and an order stands on after a fill"

UNEQUAL = {
    "bracket-atr-trail-series-int-points-01": (44, WORSE),
    "bracket-entry-exit-same-pass-attach-01": (5, WORSE),
    "bracket-exit-three-way-set-once-entry-01": (15, WORSE),
    "bracket-narrow-stop-limit-with-trail8-01": (141, WORSE),
    "composite-ies-rsi-macd-momentum-01": (1, UNKNOWN),
    "composite-ies-three-ema-bias-score-01": (1, UNKNOWN),
    "na-nz-fixnan-history-chain-01": (1, "an unknown change counts as 0 there"),
    "order-cross-entry-cancel-same-pass-01": (24, OTHER_ORDER),
    "order-dual-four-bar-stop-no-close-01": (4, OTHER_ORDER),
    "order-dual-side-same-id-stop-no-cancel-01": (4, OTHER_ORDER),
    "order-flip-stop-no-paired-close-01": (20, ASKS_FLAT),
    "order-same-id-stop-minute-zero-01": (29, OTHER_ORDER),
    "order-same-id-stop-modification-01": (4, OTHER_ORDER),
    "order-same-id-stop-raise-only-01": (7, OTHER_ORDER),
    "order-stale-stop-after-close-no-cancel-01": (18, OTHER_ORDER),
    "order-stop-cancel-no-regime-close-01": (1, UNKNOWN),
    "order-stop-entry-cancel-opposite-01": (1, UNKNOWN),
    "ta-engulfing-candle-pattern-01": (2, TIE),
    "ta-multi-indicator-score-composite-01": (1, UNKNOWN),
    "ta-rsi-macd-and-continuous-state-01": (2, UNKNOWN),
    "ta-stochastic-rsi-cross-01": (86, EQUAL),
    "ta-str-match-regex-filter-01": (2, UNKNOWN),
}
"""Closed trades of a list that differ, and the rule behind them."""

ADDS = "positions are added to"
COUNTS = "fills of a day are counted"
LATER = "a stop and a target that stand from the bar after the entry on"
BOTH_STAND = "an order of the other side that turns the position after the first fill"
AT_CLOSE = "orders that fill at the close of their signal"
BEYOND = "a stop beyond the open that ends the trade where it began"
WITHIN = "a trail that moves within the bar"

UNSAYABLE = {
    "anomaly-equity-mirror-strategy-equity-01": "orders that the cash must pay for when they fill",
    "bracket-exit-tp-sl-fixed-01": LATER,
    "bracket-partial-exit-qty-percent-01": "halves of a position with a stop or a target of each",
    "bracket-tp-sl-oca-reduce-isolate-01": LATER,
    "bracket-trail-points-with-offset-only-01": WITHIN,
    "bracket-trailing-activation-offset-path-01": WITHIN,
    "cap-max-intraday-filled-orders-isolate-01": COUNTS,
    "cap-risk-gates-allow-max-intraday-01": COUNTS,
    "composite-bracket-cap-range-pending-stop-01": COUNTS,
    "composite-scalping-integration-01": LATER,
    "composite-scalping-tight-tp-sl-points-01": LATER,
    "magnifier-tick-dist-endpoints-01": BEYOND,
    "magnifier-tick-dist-endpoints-rsi-cross-08a": BEYOND,
    "magnifier-tick-dist-volume-weighted-on-01": BEYOND,
    "oca-exit-bracket-internal-cancel-01": "a stop and a target that move with a range",
    "oca-raw-strategy-order-reduce-01": LATER,
    "order-close-all-cancel-all-01": ADDS,
    "order-deferred-flip-pooc-cross-bar-01": AT_CLOSE,
    "order-dual-stop-both-touch-priority-01": BOTH_STAND,
    "order-dual-stop-far-only-01": BOTH_STAND,
    "order-dual-stop-near-only-01": BOTH_STAND,
    "order-dual-stop-open-high-first-path-01": BOTH_STAND,
    "order-dual-stop-open-low-first-path-01": BOTH_STAND,
    "order-dual-stop-open-tie-01": BOTH_STAND,
    "order-dual-stop-source-order-long-first-01": BOTH_STAND,
    "order-dual-stop-source-order-short-first-01": BOTH_STAND,
    "order-opposite-entry-close-same-pass-01": BOTH_STAND,
    "order-process-on-close-true-01": AT_CLOSE,
    "order-stop-entry-reversal-grouping-01": ADDS,
    "pyramid-cash-fractional-commission-01": ADDS,
    "pyramid-close-id-grouping-01": ADDS,
    "pyramid-deferred-flip-close-all-01": ADDS,
    "pyramid-flip-stop-pyramiding-2-01": BOTH_STAND,
    "risk-max-contracts-held-gate-pyramid-01": ADDS,
}
"""Lists of scripts that words cannot say, each with what is missing."""

FIRST_DAYS = {"Size (qty)": "2025-03-31", "Position size (qty)": "2025-04-05"}
"""First day of a chart, by the name of the list's last column."""


class ScriptLists:
    """Lists of a folder beside the bars of their charts.

    Args:
        folder: Of the lists, ``NAME.csv.gz``, and of the bars.
    """

    def __init__(self, folder):
        self._folder = folder
        table = pd.read_csv(folder / "ohlcv_ETH-USDT-USDT_15m_warmup6m.csv.gz")
        times = table.pop("timestamp").to_numpy() * 10**6
        self._bars = {}
        for day in FIRST_DAYS.values():
            first = np.searchsorted(times, pd.Timestamp(day, tz="UTC").value)
            columns = (table[name].to_numpy(np.float64)[first:] for name in table)
            self._bars[day] = Bars(
                times[first:], *columns, symbol="ETH/USDT", timeframe_ns=15 * MINUTE_NS
            )
        self.names = {path.name.removesuffix(".csv.gz") for path in folder.glob("*.csv.gz")}
        self.names -= {name for name in self.names if name.startswith("ohlcv")}

    def read(self, name):
        """Bars of a list, and its trades in them."""
        path = self._folder / f"{name}.csv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            bars = self._bars[FIRST_DAYS[file.readline().strip().rpartition(",")[2]]]
        return bars, *read_trades(path, bars, "Etc/GMT-8")

    def compare(self, name, engine_name):
        """Closed trades of a list, how many are ours, those beside, the first that is not ours.

        Ours that begin after the list's last entry are not looked at, nor is one open at its end.
        """
        bars, theirs, unit = self.read(name)
        closed = theirs.keep(~theirs.is_open)
        ours = list_ours(run_strategy(PLANS[name], bars, engine_name), has_parts=False)
        is_equal, is_theirs = match(closed, ours, unit)
        beside = int((~is_theirs & (ours.entry_bar <= theirs.entry_bar.max())).sum())
        first = None if is_equal.all() else closed.number[np.argmin(is_equal)]
        return len(closed), int(is_equal.sum()), beside, first


def measure(folder):
    """The suite, with trades counted by the engine of the CPU; lists of one rule are a row."""
    lists, rules = ScriptLists(folder), {}
    for name in sorted(lists.names):
        if name in UNSAYABLE:
            rule, counts = UNSAYABLE[name], (int((~lists.read(name)[1].is_open).sum()), 0, 0)
        else:
            closed, equal, *_ = lists.compare(name, "cpu")
            rule, counts = UNEQUAL.get(name, (0, ""))[1], (closed, closed, equal)
        rules.setdefault(rule, []).append((1, *counts))
    rows = [(*map(sum, zip(*counts, strict=True)), rule) for rule, counts in rules.items()]
    rows.sort(reverse=True)
    return Suite(
        "TradingView, lists of scripts",
        "trades",
        *(sum(row[k] for row in rows) for k in (1, 2, 3)),
        f"{len(PLANS)} of {len(lists.names)} lists are said; the others add to positions, or need "
        "orders of both sides that stand on",
        ("lists", "trades", "sayable", "equal", "what differs, or is missing"),
        tuple((*(f"{count:,}" for count in counts), rule) for *counts, rule in rows),
    )


@pytest.fixture(scope="module")
def lists(script_folder):
    """The lists, their bars read once."""
    return ScriptLists(script_folder)


SAMPLE = {
    *sorted(PLANS)[::12],
    *("composite-vcp-pivot-strength-5-01", "na-deep-history-int-na-01", "ta-rci-14-zero-cross-01"),
    *("ta-stochastic-rsi-cross-01", "vwap-bands-breakout-1sigma-01"),
}
"""Lists that the reference reads too, with those of rows that remember."""


@pytest.mark.parametrize(
    ("name", "engine_name"),
    [
        *(pytest.param(name, "compiled_reference") for name in sorted(SAMPLE)),
        *(
            pytest.param(name, *parameter.values, marks=parameter.marks)
            for parameter in BACKEND_PARAMETERS
            for name in PLANS
        ),
    ],
)
def test_every_closed_trade_of_a_list_is_ours(name, engine_name, lists):
    """In side, bars and both prices, but for those that a named rule moves."""
    closed, equal, beside, first = lists.compare(name, engine_name)
    unequal, _ = UNEQUAL.get(name, (0, ""))
    assert (closed - equal, first is not None) == (unequal, unequal > 0), first
    assert beside <= 1 + 3 * unequal


def test_every_list_of_the_folder_is_named(lists):
    """A list that is not compared would look like one that agrees."""
    assert PLANS.keys() | UNSAYABLE.keys() == lists.names
    assert not PLANS.keys() & UNSAYABLE.keys()
