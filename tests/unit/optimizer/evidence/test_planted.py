"""Look-aheads that were planted, by every route that a later bar may take: each is caught.

Some are in rows of a strategy, one bar ahead or a tick; others in what computes rows, fills, sizes
or accounts, where a test puts a rule that reads on. The same without the plant is never accused.
"""

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest

from data.bars import Bars
from data.timeframe import DAY_NS, MINUTE_NS
from engine.accounts.costs import Costs
from engine.cpu import limited, market
from engine.positions.carried import CarriedRows
from strategy import STRATEGIES
from strategy import rows as computing
from strategy import words as w
from strategy.custom_indicator import OwnIndicator
from strategy.expressions import Call
from strategy.language import Term
from strategy.rows import Rows
from tests.support.evidence import make_planted_market
from tests.support.finer import make_coarse
from tests.support.judging import find_causal, make_task
from tests.support.random_strategies import drawn_exits
from tests.support.worlds import random_genomes

SIDES = {"long": 1, "short": -1}


def make_market(count=160):
    """Hours of prices in whole cents, with a column that says how many bars came before."""
    bars = make_planted_market(7, count, 8)
    prices = {name: np.round(getattr(bars, name), 2) for name in ("open", "high", "low", "close")}
    drawn = np.random.default_rng(3).normal(size=count)
    return replace(bars, **prices, extra={"mood": drawn, "rate": drawn / 1e4})


HOURS = make_market()


def own(function):
    """A row of one's own, without parameters."""
    return Term(Call(OwnIndicator("own", (), "0" * 64, function=function, warm_up=lambda: 0)))


def make_spec(side, above=None, **parts):
    """A strategy of one side: a cross of an average, and what it is given."""
    cross = {"long": w.crosses_above, "short": w.crosses_below}[side](w.close, w.sma(w.close, 4))
    condition = cross if above is None else cross & above
    given = {side: condition, "stop": w.share(w.gene("stop", 0.02, 0.01, 0.05)), "max_hold": 9}
    given["target"] = w.r_multiple(2)
    return w.strategy("Planted.", **{**given, **parts})


def beyond(side, left, right):
    """Whether a row lies above another, or below it for a short."""
    return left > right if side == "long" else right > left


NEXT_CLOSE = own(lambda bars: np.append(bars.close[1:], bars.close[-1:]))
NEXT_RANGE = own(lambda bars: np.append((bars.high - bars.low)[1:], 1.0) + 0.01)

OWN = {
    "entry": lambda side: {"above": beyond(side, NEXT_CLOSE, w.close)},
    "exit": lambda side: {f"exit_{side}": beyond(side, w.close, NEXT_CLOSE)},
    "trail": lambda side: {"trail": w.trail(w.from_entry(2 * NEXT_RANGE))},
    "order": lambda side: {"entry": w.limit_at(NEXT_CLOSE, 3)},
    "cancel": lambda side: {
        "entry": w.limit_at(w.close * (1 - 0.002 * SIDES[side]), 5),
        "cancel": beyond(side, w.close, NEXT_CLOSE),
    },
    "size": lambda side: {"account": w.account(10_000, w.volatility(0.01, NEXT_RANGE))},
}
"""Rows of one's own that read on, by the part that reads them."""


def find(spec, *series, costs=None, count=2):
    """What is found of random members."""
    task = make_task(*series, spec=spec, costs=costs or Costs(), min_trades=1)
    return find_causal(task, random_genomes(spec, count, seed=5))


def take_turns(names):
    """Each name with one of both sides, in turns."""
    return [*zip(names, cycle(SIDES), strict=False)]


@pytest.mark.parametrize(("name", "side"), take_turns(OWN))
def test_a_row_of_ones_own_is_caught(name, side):
    """Whichever part reads it."""
    record = find(make_spec(side, **OWN[name](side)), HOURS)
    assert record.mismatches > 0
    assert "in row '" in record.first


def read_ahead(owner, method, name=None):
    """A plant: rows that a method makes, those of one name or all, are of the next bar."""
    true = getattr(owner, method)

    def read(self, asked, *more):
        row = true(self, asked, *more)
        is_planted = name is None or asked.name == name
        return np.append(row[1:], row[-1:]) if is_planted else row

    return lambda monkeypatch: monkeypatch.setattr(owner, method, read)


def shift_higher(monkeypatch):
    """A higher bar is seen a bar before it is over."""
    true = computing.higher_series

    def make(*asked):
        series, newest = true(*asked)
        return series, np.append(newest[1:], newest[-1])

    monkeypatch.setattr(computing, "higher_series", make)


def leave_before_the_next_day(monkeypatch):
    """The clock ends positions at the last close of a day, by the time of the bar behind it."""
    true = market.session_exits

    def find(local, minute_ns, bar_ns):
        exits = true(local, minute_ns, bar_ns)
        is_last = np.append(local[1:] // DAY_NS != local[:-1] // DAY_NS, False)
        last = np.minimum.accumulate(np.where(is_last, np.arange(len(local)), len(local))[::-1])
        return np.where(last[::-1] < len(local), 2 * last[::-1] + 1, exits)

    monkeypatch.setattr(market, "session_exits", find)


def read_finer_ahead(monkeypatch):
    """Each bar is read by the finer ones of the next."""
    true = Bars.finer_spans.func

    def find(self):
        return np.append(true(self)[:, 1:], true(self)[:, -1:], axis=1)

    monkeypatch.setattr(Bars, "finer_spans", property(find))


def know_ends(monkeypatch):
    """A position is over two bars before it ends."""
    true = limited.collect_asks

    def collect(ledger, bars, *more):
        asks = true(ledger, bars, *more)
        early = np.maximum(ledger.exit_bar - 2, ledger.entry_bar)
        return asks._replace(over_ns=bars.timestamp[early])

    monkeypatch.setattr(limited, "collect_asks", collect)


FINER = make_coarse(make_market(960), timeframe_ns=240 * MINUTE_NS)
OTHERS = (replace(make_planted_market(k, 120, 8), symbol=f"S{k}") for k in (8, 9))
SYMBOLS = [replace(HOURS, extra={}).until(120), *OTHERS]
WIDE = {"target": w.r_multiple(1), "stop": w.share(w.gene("stop", 0.01, 0.005, 0.02))}
ONE = Costs(max_positions=1, rank="close")

PLANTS = {
    "column": (read_ahead(Rows, "_column", "mood"), lambda side: {
        "above": beyond(side, w.column("mood"), 0 * w.close)}, [HOURS]),
    "higher": (shift_higher, lambda side: {
        "above": beyond(side, w.higher(240, w.close), w.close)}, [HOURS]),
    "opening_range": (read_ahead(Rows, "_by_clock", "opening_high"), lambda side: {
        side: beyond(side, w.close, w.opening_high(120))}, [HOURS]),
    "session": (leave_before_the_next_day, lambda side: {
        "session": w.session_exit(1430)}, [HOURS.cut(0, 160, timestamp=HOURS.timestamp + (
            np.arange(160) // 7 * 17 * 60 * MINUTE_NS))]),
    "funding": (read_ahead(CarriedRows, "_derive"), lambda side: {
        "funding": w.funding(w.column("rate"))}, [HOURS]),
    "finer": (read_finer_ahead, lambda side: WIDE, [FINER]),
    "room": (know_ends, lambda side: {}, SYMBOLS, ONE),
}  # fmt: skip
"""What is put in place of a rule, parts of the strategy that reads by it, bars, and costs."""


@pytest.mark.parametrize(("name", "side"), take_turns(PLANTS))
def test_a_rule_that_reads_on_is_caught(name, side, monkeypatch):
    """And nothing is found of the same strategy by the rule as it is."""
    plant, parts, series, *costs = PLANTS[name]
    spec = make_spec(side, **parts(side))
    asked = {"costs": costs[0] if costs else None}
    honest = find(spec, *series, **asked)
    assert honest.trades > 0
    assert honest.first == ""
    plant(monkeypatch)
    assert find(spec, *series, **asked).mismatches > 0


HONEST = {name: spec.for_timeframe(3600.0) for name, spec in STRATEGIES.items()}
HONEST["drawn"] = drawn_exits(0, (240, 480))
SPRING = replace(make_planted_market(7, 300, 8), zone="Europe/London")
SPRING = replace(SPRING, extra={"forecast": make_market(300).extra["mood"]})


@pytest.mark.parametrize("name", HONEST)
def test_strategies_that_ship_and_drawn_ones_are_not_accused(name):
    """Nor are those of the documentation."""
    record = find(HONEST[name], SPRING)
    assert (record.mismatches, record.first) == (0, "")
    assert record.cuts >= 15
