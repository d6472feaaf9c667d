"""The language: operators become a tree, words of words too; the rest is refused in words."""

# ruff: noqa: F403, F405

import math
import re
from functools import reduce

import numpy as np
import pandas as pd
import pytest

from strategy.conditions import AllOf, AnyOf, Compare, Held, Within
from strategy.expressions import Arithmetic, Call, Column, Number
from strategy.forms import SessionExit, Trail
from strategy.pretty_print import format_tree
from strategy.rows import row_values
from strategy.source_location import PlacedError
from strategy.words import *
from tests.support.agreement import compute_row
from tests.support.own_words import efficiency
from tests.support.worlds import make_bars

CLOSE, OPEN, TWO = Column("close"), Column("open"), Number(2.0)
STOP, NUMBER = share(0.01), gene("shared", 2, 1, 4)
RISES, FALLS = close > open, close < 2
UP, DOWN = Compare(CLOSE, ">", OPEN), Compare(CLOSE, "<", TWO)
NOT_UP, NOT_DOWN = Compare(CLOSE, "<=", OPEN), Compare(CLOSE, ">=", TWO)
OVER, UNDER = Compare(CLOSE, ">", TWO), Compare(CLOSE, "<=", TWO)

TREES = [
    (close + open + high, Arithmetic("+", Arithmetic("+", CLOSE, OPEN), Column("high"))),
    *((row, Arithmetic(sign, TWO, CLOSE)) for row, sign in (
        (2 * close, "*"), (2 / close, "/"), (2 - close, "-"), (2 + close, "+"),
        (np.float64(2) * close, "*"), (np.int64(2) * close, "*"))),
    (-close, Arithmetic("*", Number(-1.0), CLOSE)),
    (+close, CLOSE),
    (abs(close), Arithmetic("abs", CLOSE, None)),
    (minimum(close, 2), Arithmetic("minimum", CLOSE, TWO)),
    (RISES, UP),
    (2 > close, DOWN),  # noqa: SIM300 - a number on the left
    (close >= 2, NOT_DOWN),
    (RISES & FALLS, AllOf((UP, DOWN))),
    (RISES | FALLS, AnyOf((UP, DOWN))),
    (any_of(RISES), AnyOf((UP,))),
    (held(RISES, 3), Held(UP, Number(3.0))),
    # Not moves inwards at once: all and any, held and within change places.
    (~RISES, NOT_UP),
    (~(RISES & FALLS), AnyOf((NOT_UP, NOT_DOWN))),
    (~held(RISES, 3), Within(NOT_UP, Number(3.0))),
    (~within(RISES, 3), Held(NOT_UP, Number(3.0))),
    # A cross asks at two bars; its opposite is either half of it.
    (crosses_above(close, 2), AllOf((OVER, Compare(CLOSE, "<=", TWO, bars_ago=1)))),
    (~crosses_above(close, 2), AnyOf((UNDER, Compare(CLOSE, ">", TWO, bars_ago=1)))),
    (crosses_below(close, 2), AllOf((DOWN, Compare(CLOSE, ">=", TWO, bars_ago=1)))),
    (equals(close, 2), AllOf((NOT_DOWN, UNDER))),
    (rsi(x=close, n=14), Call("rsi", CLOSE, (Number(14.0),))),
]  # fmt: skip


@pytest.mark.parametrize(("written", "tree"), TREES, ids=repr)
def test_what_is_written_is_a_tree(written, tree):
    """Left to right, a number where a number is; a number on the left turns a comparison round."""
    assert written.tree == tree
    assert hash(written.tree) == hash(tree)


def test_what_is_written_reads_as_it_was_written():
    """Brackets, offsets, zones and crosses too; forms have their defaults."""
    assert session_exit() == SessionExit(Number(1440.0), 0)
    assert trail(share(0.1)) == Trail(share(0.1), Number(0.0))
    n = length("n", 20, 5, 50)
    rows = {
        "sma(high - low, n)": sma(high - low, n),
        "(close - (2 * std(close, 20))) / open": (close - 2 * std(close, 20)) / open,
        "higher(240, ema(close, 20))": higher(240, ema(close, 20)),
        'vwap("America/New_York")': vwap("America/New_York"),
        "opening_high(60, -300)": opening_high(60, -300),
        'abs(column("funding"))': abs(column("funding")),
        "maximum(high, obv())": maximum(high, obv()),
        "efficiency(20)": efficiency(20),
        "higher(60, open, 30)": higher(60, open, 30),
        "(close > open) & (held(volume < 5, 3))": (close > open) & held(volume < 5, 3),
        "crosses_above(close, 2)": crosses_above(close, 2),
        "equals(volume, 0)": equals(volume, 0),
        "(close <= 2) | (close > 2 at the bar before)": ~crosses_above(close, 2),
        "(close > 2) & (open <= 2)": (close > 2) & (open <= 2),
    }
    assert {text: repr(row) for text, row in rows.items()} == {text: text for text in rows}
    forms = {
        "share(0.01)": share(0.01), "session_exit(600)": session_exit(600),
        'session_exit(600, "Europe/Berlin")': session_exit(600, "Europe/Berlin"),
        "session_exit(600, -300)": session_exit(600, -300),
    }  # fmt: skip
    assert {text: format_tree(form) for text, form in forms.items()} == {t: t for t in forms}


def simple(**given):
    """A strategy with an entry and a stop, and what is given."""
    return strategy("x", **{"long": close > open, "stop": STOP, **given})


def repeat(join, first, times=60):
    """A row or condition that is joined to itself so often."""
    return reduce(lambda x, _: join(x), range(times), first)


MISTAKES = [
    (lambda: 1 < close < 2, "no a < b < c"),
    (lambda: close == 2, "equals(a, k)"),
    (lambda: ~close, "opposite of a condition"),
    (lambda: gene("k", 2, 1, 4) > 3, "a row on one side"),
    (lambda: np.where(close > open, 1, 0), "not computed"),
    (lambda: rsi(close, period=14), "'period'"),
    (lambda: swing_high(5, 5), "at least 6"),
    (lambda: vwap("Europe/Berlim"), "'Europe/Berlin'"),
    (lambda: higher(60, vwap()), "inside of higher"),
    (lambda: higher(60, close, "UTC"), "offset in minutes"),
    (lambda: risk(gene("k", 1, 0.5, 2)), "2 % is 0.02"),
    # What never ends, or is too large.
    (lambda: repeat(lambda x: x + x, close), "10,000"),
    (lambda: repeat(lambda x: sma(x, 3), close, 3000), "100"),
    (lambda: repeat(lambda c: c | (close > 1), close > open, 3000), "all_of"),
    (lambda: simple(long=open < LARGE, short=open > LARGE), "10,000"),
    # Numbers by which a word is written out are no genes: each value is another row.
    (lambda: value_when(RISES, close, 1.5), "ago whole and at least 0, and no gene, got 1.5"),
    (lambda: value_when(RISES, close, -1), "got -1"),
    (lambda: alma(close, 0), "alma needs n whole and at least 1, and no gene, got 0"),
    (lambda: alma(close, length("n", 9, 5, 20)), "alma needs n whole"),
    (lambda: alma(close, 9, 0.85, 0), "alma needs sigma above 0"),
    # A row is of all candidates, a switch of one.
    (lambda: where(switch("on", RISES), close), "no switch"),
    # Parts of a strategy.
    (lambda: simple(sl=share(0.02)), "stop=share(0.02)"),
    (lambda: simple(exit_short=close > 1), "short=..."),
    (lambda: simple(stop=lowest(low, 5)), "level(lowest(low, 5))"),
    (lambda: simple(break_even=share(0.01)), "units of risk"),
    (lambda: simple(cancel=by_side(close, None)), "cancel is a condition"),
    (lambda: simple(name="a\nplot(close)"), "letters"),
    (lambda: simple(long=column("x") > gene("x", 1, 0, 2)), "both named 'x'"),
    (lambda: simple(long=close > swing_high(length("b", 20, 9, 40), length("a", 3, 1, 9))),
     "less_than=[('a', 'b')]"),
    (lambda: simple(long=ema(close, length("a", 9, 2, 20)) > ema(close, length("b", 5, 2, 20)),
                    less_than=[("a", "b")]), "9 and 5"),
]  # fmt: skip
"""Mistakes that the page of messages has not."""

LARGE = repeat(lambda x: x + x, close, 12)


@pytest.mark.parametrize(("mistake", "word"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_refused_in_one_line_with_its_place(mistake, word):
    """This file and a line first, then what to write."""
    with pytest.raises(PlacedError, match=re.escape(word)) as raised:
        mistake()
    place, fault = str(raised.value).split(": ", 1)
    assert re.fullmatch(rf"{re.escape(__file__)}:\d+", place)
    assert "\n" not in fault


band = bollinger_upper(close) - bollinger_lower(close)

WRITTEN = [
    (bollinger_percent(close), (close - bollinger_lower(close)) / band),
    (donchian_upper(9), highest(high, 9)),
    (donchian_lower(9), lowest(low, 9)),
    (heikin_close(), ohlc4),
    (awesome_oscillator(), sma(hl2, 5) - sma(hl2, 34)),
]
"""Words that no table of another program has."""


@pytest.mark.parametrize(("word", "written"), WRITTEN, ids=range(len(WRITTEN)))
def test_a_word_is_what_one_would_write(word, written):
    """The same tree, so the same digest and the same row."""
    assert word.tree == written.tree


def test_heikin_ashi_bars_follow_their_recurrence():
    """An open half way through the bar before; how it began shows no more after sixty bars."""
    bars = make_bars(5, 300)
    closes = (bars.open + bars.high + bars.low + bars.close) / 4
    opens = [(bars.open[0] + bars.close[0]) / 2]
    for before in closes[:-1].tolist():
        opens.append((opens[-1] + before) / 2)
    tops = np.maximum(bars.high, np.maximum(opens, closes))
    bottoms = np.minimum(bars.low, np.minimum(opens, closes))
    words = (heikin_open(), heikin_high(), heikin_low(), heikin_close())
    for row, expected in zip(words, (opens, tops, bottoms, closes), strict=True):
        values = row_values(row.tree, bars)
        np.testing.assert_allclose(values[60:], expected[60:], rtol=1e-14)


rises, is_wide = close > open, high - low > sma(high - low, 5)
CONDITIONS = (
    rises,
    close <= open,
    rises & is_wide,
    rises | ~is_wide,
    crosses_above(close, sma(close, 5)),
    held(rises, 2) | within(is_wide, 3),
)


@pytest.fixture(scope="module")
def bars():
    """Bars, and closes that often equal their opens."""
    return make_bars(5, 400)


@pytest.mark.parametrize("condition", CONDITIONS, ids=range(len(CONDITIONS)))
def test_rows_of_conditions_choose_and_remember(condition, bars):
    """As numpy and pandas do, from the bar on at which all numbers are known."""
    holds = compute_row(condition, bars) == 1
    unknown = (close - open) / (close - close)
    only = compute_row(where(condition, close, unknown), bars)
    np.testing.assert_array_equal(compute_row(where(condition, close), bars), only)
    either = compute_row(known_or(where(condition, close), high), bars)
    chosen = compute_row(where(condition, close, high), bars)
    known = ~np.isnan(chosen)
    assert known[8:].all()
    np.testing.assert_array_equal(chosen[known], np.where(holds, bars.close, bars.high)[known])
    np.testing.assert_array_equal(either[known], chosen[known])
    kept = pd.Series(np.where(holds & known, bars.close, np.nan))
    np.testing.assert_array_equal(compute_row(value_when(condition, close), bars), kept.ffill())
    before = kept.dropna().shift().reindex(kept.index).ffill()
    np.testing.assert_array_equal(compute_row(value_when(condition, close, 1), bars), before)
    places = pd.Series(np.where(holds & known, np.arange(len(kept)), np.nan)).ffill()
    np.testing.assert_array_equal(
        compute_row(bars_since(condition), bars), np.arange(len(kept)) - places
    )


def test_a_lazy_cross_remembers_the_bar_that_asked_before(bars):
    """Two bars apart or more, unlike the cross of the bar before."""
    average = compute_row(sma(close, 5), bars)
    asked, earlier, expected = compute_row(is_wide, bars) == 1, None, []
    for above, asks in zip((bars.close - average).tolist(), asked, strict=True):
        expected.append(asks and earlier is not None and above > 0 >= earlier)
        earlier = above if asks and not math.isnan(above) else earlier
    lazy = compute_row(lazily(is_wide, crosses_above(close, sma(close, 5))), bars) == 1
    np.testing.assert_array_equal(lazy, expected)
    assert (lazy != (compute_row(is_wide & CONDITIONS[4], bars) == 1)).any()


@pytest.mark.parametrize("row", [volume, where(rises, volume)], ids=["whole", "with_holes"])
def test_sums_begin_anew_with_each_day(row):
    """From the second day on, the first bar's value as it is; a day may begin with a hole."""
    bars = make_bars(6, 400)
    values, ours = pd.Series(compute_row(row, bars)), compute_row(session_total(row), bars)
    days = pd.to_datetime(bars.timestamp).normalize()
    sums = values.groupby(days).cumsum().to_numpy()
    is_first = days == days[0]
    assert np.isnan(ours[is_first]).all()
    np.testing.assert_allclose(ours[~is_first], sums[~is_first], rtol=1e-12)
