"""Cuts, poison, and equality on both sides; a strategy that reads a later bar is named.

Look-aheads are planted by every route that a later bar may take: in rows of a strategy, one bar
ahead or a tick, and in what computes rows, fills, sizes or accounts, where a test puts a rule that
reads on. The same without the plant is never accused.
"""

import threading
from dataclasses import replace
from itertools import cycle, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Bars, Payments, Window
from data.timeframe import DAY_NS, MINUTE_NS
from data.zones import to_local
from engine import population
from engine.accounts.costs import Costs
from engine.accounts.ledger import REASONS
from engine.cpu import limited
from engine.population import CarriedRows
from optimizer.evidence import lookahead
from optimizer.evidence.lookahead import (
    WAYS,
    choose_cuts,
    choose_trade_cuts,
    compare_bits,
    cut_windows,
    is_beginning,
    poison_bars,
)
from optimizer.evidence.splits import groups
from strategy import STRATEGIES, find_strategy
from strategy import rows as computing
from strategy import words as w
from strategy.custom_indicator import OwnIndicator
from strategy.expressions import Call
from strategy.language import Term, as_setting
from strategy.rows import Rows
from tests.support.evidence import counted_bars, make_ledger, make_planted_market
from tests.support.judging import find_causal, make_task
from tests.support.random_strategies import drawn_exits
from tests.support.series import make_coarse
from tests.support.worlds import make_bars, random_genomes

SIGNAL = REASONS.index("signal")


def test_cuts_are_even_ones_and_those_where_clocks_change():
    """A bar that opens early, one behind a gap, and the first of summer time; none at the end."""
    bars = make_bars(11, 400)
    hour, times = bars.timeframe_ns, bars.timestamp.copy()
    times[120:] -= hour // 2
    times[333:] += hour
    moved = replace(bars, timestamp=times, zone="Europe/London")
    window = Window(0, 100, 400)
    even = {end for _, end in groups(101, 400, 16)} - {400}
    changes = np.flatnonzero(np.diff(to_local(times, "Europe/London")) != np.diff(times)) + 1
    assert choose_cuts(moved, window) == tuple(sorted(even | {120, 333} | set(changes.tolist())))
    assert choose_cuts(bars.until(10), Window(0, 5, 10)) == (6, 7, 8, 9)


def test_a_member_is_cut_at_trades_of_its_own():
    """The first, the last and drawn ones: after the signal, and at the exit."""
    bars, window, count = make_bars(11, 900), Window(0, 100, 850), 40
    exits = 110 + 12 * np.arange(count)
    reasons = np.where(np.arange(count) % 2, 3, SIGNAL)
    ledger = make_ledger([1.0] * count, exit_bar=exits, reason=reasons)
    object.__setattr__(ledger, "signal_bar", exits - 5)
    cuts = choose_trade_cuts(bars, window, ledger, 1, 7)
    assert cuts == choose_trade_cuts(bars, window, ledger, 1, 7)
    assert cuts != choose_trade_cuts(bars, window, ledger, 1, 8)
    signals = {cut - 106 for cut in cuts if (cut - 106) % 12 == 0}
    assert {0, 12 * (count - 1)} <= signals
    assert 8 <= len(signals) <= 12
    left = {cut for cut in cuts if (cut - 106) % 12}
    chosen = sorted(place // 12 for place in signals)
    assert left == {int(exits[k]) + k % 2 for k in chosen}
    assert choose_trade_cuts(bars, window, make_ledger([]), 1, 7) == ()


@given(st.integers(2, 40), st.data())
def test_wrong_bars_lie_beyond_all_and_leave_earlier_ones(length, data):
    """Far up and far down, a day late below, and both ways from a true open; bars stay legal."""
    bars = counted_bars(length)
    cut = data.draw(st.integers(1, length - 1))
    up, down, both = (poison_bars(bars, cut, way) for way in WAYS)
    for name in ("timestamp", "open", "high", "low", "close", "volume"):
        for wrong in (up, down, both):
            assert len(wrong) == cut + 1
            assert getattr(wrong, name)[:cut].tolist() == getattr(bars, name)[:cut].tolist()
    assert up.low[cut] > 1.99 * bars.high[: cut + 1].max()
    assert down.high[cut] < bars.low[: cut + 1].min() / 1.99
    assert both.open[cut] == bars.open[cut]
    assert (both.high[cut], both.low[cut]) == (up.high[cut], bars.low[: cut + 1].min() / 2)
    assert up.volume[cut] > bars.volume[: cut + 1].max() > down.volume[cut]
    late = down.timestamp[cut] - bars.timestamp[cut]
    assert (late, up.timestamp[cut]) == (24 * 3600 * 10**9, bars.timestamp[cut])


def test_poison_reaches_every_value_of_an_extra_column():
    """Also one that is not known, or that a sum would leave as it was."""
    mood = np.array([1.0, np.nan, np.nan, 0.0, -1 / 3, 1.7e308, 5e-324, 2.0])
    for cut, way in product(range(1, 8), WAYS):
        wrong = poison_bars(replace(counted_bars(8), extra={"mood": mood}), cut, way).extra["mood"]
        assert np.array_equal(wrong[:cut], mood[:cut], equal_nan=True)
        assert np.isfinite(wrong[cut])
        assert wrong[cut] != mood[cut]


def test_poison_reaches_payments_of_later_bars():
    """A payment belongs to the first bar that opens no earlier."""
    bars = counted_bars(8)
    times = bars.timestamp[[1, 3, 4, 6]] - np.array([0, 60, 0, 60]) * 10**9
    rates = np.array([0.001, 0.002, 0.0, -0.004])
    paying = replace(bars, payments={"fund": Payments(times, rates)})
    for way in WAYS:
        wrong = poison_bars(paying, 4, way, 3).payments["fund"].rates
        assert wrong[:2].tolist() == rates[:2].tolist()
        assert (wrong[2:] != rates[2:]).all()


def test_one_bit_is_a_difference():
    """Of whom it is, and that a zero has no sign of its own."""
    left = np.arange(24.0).reshape(3, 2, 4)
    right = left.copy()
    right[1, 0, 2] = np.nextafter(right[1, 0, 2], np.inf)
    right[0, 0, 0] = -0.0
    assert compare_bits(left, right).tolist() == [False, False, True]


def test_a_ledger_begins_another_as_far_as_it_was_known():
    """In every bit where trades have ended, and by what is known at an entry of those that run."""
    whole = make_ledger([1.0, -1.0, 2.0], exit_bar=[3, 6, 9])
    cut = make_ledger([1.0, 0.3], exit_bar=[3, 8])
    assert is_beginning(cut, whole, 6, int(whole.entry_bar[1]) + 1)
    assert is_beginning(whole, whole, 20, 20)
    assert not is_beginning(cut, whole, 8, 20)
    assert not is_beginning(make_ledger([]), whole, 6, 20)
    assert not is_beginning(make_ledger([1.0, 0.3], exit_bar=[3, 5]), whole, 6, 7)
    ended = make_ledger([1.0, np.nextafter(-1, 0)], exit_bar=[3, 6])
    assert not is_beginning(ended, whole, 7, int(whole.entry_bar[1]) + 1)
    stopped = make_ledger([1.0, 0.3], exit_bar=[3, 8])
    object.__setattr__(stopped, "stop", np.nextafter(stopped.stop, 0))
    assert not is_beginning(stopped, whole, 6, int(whole.entry_bar[1]) + 1)


SIDES = {"long": 1, "short": -1}


def make_market(count=160):
    """Hours of prices in whole cents, with a column that says how many bars came before."""
    bars = make_planted_market(7, count, 8)
    prices = {name: np.round(getattr(bars, name), 2) for name in ("open", "high", "low", "close")}
    drawn = np.random.default_rng(3).normal(size=count)
    return replace(bars, **prices, extra={"mood": drawn, "rate": drawn / 1e4})


HOURS = make_market()


def own(function, *settings):
    """A row of one's own."""
    names = tuple(f"setting_{place}" for place in range(len(settings)))
    indicator = OwnIndicator("own", names, "0" * 64, function=function, warm_up=lambda *_: 0)
    return Term(Call(indicator, None, tuple(map(as_setting, settings))))


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


def find(spec, *series, costs=None, count=1):
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
    true = population.session_exits

    def find(local, minute_ns, bar_ns):
        exits = true(local, minute_ns, bar_ns)
        is_last = np.append(local[1:] // DAY_NS != local[:-1] // DAY_NS, False)
        last = np.minimum.accumulate(np.where(is_last, np.arange(len(local)), len(local))[::-1])
        return np.where(last[::-1] < len(local), 2 * last[::-1] + 1, exits)

    monkeypatch.setattr(population, "session_exits", find)


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


HONEST = {
    name: STRATEGIES[name].for_timeframe(3600.0) for name in ("adaptive_trend", "forecast_follow")
}
HONEST["drawn"] = drawn_exits(0, (240, 480))
SPRING = replace(make_planted_market(7, 300, 8), zone="Europe/London")
SPRING = replace(SPRING, extra={"forecast": make_market(300).extra["mood"]})


@pytest.mark.parametrize("name", HONEST)
def test_strategies_that_read_no_later_bar_are_not_accused(name):
    """Whether their rows are a trend, forecasts of a column, or those of higher bars."""
    record = find(HONEST[name], SPRING)
    assert (record.mismatches, record.first) == (0, "")
    assert record.cuts >= 15


BARS = make_planted_market(7, 500, 8)
FEW = BARS.until(250)

RESTING = w.strategy(
    "Waits at the channel's ends, and turns round.",
    name="resting",
    long=w.close > w.sma(w.close, w.length("n", 20, 5, 60)),
    short=w.close < w.sma(w.close, w.length("n", 20, 5, 60)),
    entry=w.by_side(w.stop_at(w.highest(w.high, 5), 8), w.limit_at(w.close * 1.002, 3)),
    reverse=True,
    stop=w.from_entry(w.gene("k", 2.0, 0.5, 4.0) * w.atr(20)),
    target=w.r_multiple(2),
)


def test_orders_that_the_next_bar_fills_are_no_look_ahead():
    """Whether a bar behind the cut fills one hangs on that bar; whether there is one does not."""
    record = find(RESTING, FEW, count=6)
    every = make_task(FEW, spec=RESTING).engine().evaluate(random_genomes(RESTING, 6, seed=5))
    assert (record.members, record.mismatches) == (6, 0)
    assert record.trades == int(every[:, :, 0].sum()) > 0


def test_own_code_runs_where_a_signal_can_end_it():
    """In the main thread, however many cores there are."""
    ran_in = set()

    def note_thread(bars):
        ran_in.add(threading.current_thread())
        return bars.close

    find(make_spec("long", own(note_thread) > w.open), FEW)
    assert ran_in == {threading.main_thread()}


def test_one_member_that_looks_ahead_is_found_among_others():
    """By its number, whether its own trades were listed or not."""

    def peek(bars, ahead):
        return bars.close[np.minimum(np.arange(len(bars)) + ahead, len(bars) - 1)]

    spec = make_spec("long", own(peek, w.whole("ahead", 0, 0, 3)) > w.sma(w.close, 5))
    genomes = random_genomes(spec, 8, seed=5)
    genomes[:, spec.layout.index("ahead")] = 0
    genomes[5, spec.layout.index("ahead")] = 2
    record = find_causal(make_task(FEW, spec=spec), genomes)
    assert record.first.endswith("in row 'own(ahead)' of member 5")
    assert 0 < record.mismatches <= record.cuts


def test_many_windows_share_cuts(monkeypatch):
    """As many as four have; a record says so, and finds what cuts of its own in each would find."""
    shipped = find_strategy("mean_reversion").for_timeframe(3600.0)
    windows = [Window(0, start, start + 40) for start in range(50, 450, 40)]
    task, genomes = make_task(BARS, spec=shipped, windows=windows), random_genomes(shipped, 6, 5)
    shared = find_causal(task, genomes)
    few = find_causal(make_task(BARS, spec=shipped, windows=windows[:4]), genomes)
    assert (shared.is_shared, few.is_shared) == (True, False)
    monkeypatch.setattr(lookahead, "FULL_WINDOWS", len(windows))
    alone = find_causal(task, genomes)
    assert alone.cuts >= 10 * 16
    assert 10 * 4 <= shared.cuts < alone.cuts / 2
    assert replace(alone, cuts=shared.cuts, is_shared=True) == shared


def test_moments_cut_all_symbols_of_an_account_with_limits():
    """Bars that are over by then; a window that has none is left out. The record counts them."""
    other = replace(make_planted_market(8, 420, 8), symbol="OTHER")
    other = replace(other, timestamp=other.timestamp + other.timeframe_ns // 2)
    windows = [Window(0, 0, 200), Window(0, 200, 420), Window(1, 0, 420)]
    moment = int(BARS.over_ns[99])
    task = make_task(BARS, other, spec=RESTING, windows=windows)
    cut = cut_windows(task, moment)
    assert cut.places == (0, 2)
    assert cut.windows[0] == Window(0, 0, 100)
    assert cut.windows[1].end == 99
    assert cut_windows(task, int(BARS.timestamp[0])) is None
    shipped = find_strategy("mean_reversion").for_timeframe(3600.0)
    limits, genomes = Costs(max_positions=1, rank="close"), random_genomes(shipped, 6, seed=5)
    record, plain = (
        find_causal(make_task(BARS, other, spec=shipped, costs=costs), genomes)
        for costs in (limits, Costs())
    )
    assert record.mismatches == plain.mismatches == 0
    assert record.cuts > plain.cuts
