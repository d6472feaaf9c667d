"""Null markets keep what is not an edge: legal bars, their bodies and gaps, their history."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Bars, Payments, Window
from optimizer.evidence.null_markets import NullMarkets
from optimizer.search.randomness import draw_words
from tests.support.evidence import HOUR_NS, counted_bars
from tests.support.finer import make_coarse
from tests.support.worlds import make_bars

COLUMNS = ("timestamp", "open", "high", "low", "close", "volume")
PRICES = COLUMNS[1:5]


def make_markets(bars, seed=1, window=None, keep="none"):
    """Null markets of one series."""
    return NullMarkets([bars], [window or Window.whole(bars)], seed, keep)


PERIODS = {"none": 1, "day": 1440, "week": 10080}


def list_classes(bars, keep="none"):
    """Minute of each bar within the rhythm, and whether a pause lies before it."""
    minute = bars.timestamp // (60 * 10**9) % PERIODS[keep]
    return minute, np.diff(bars.timestamp, prepend=bars.timestamp[0]) > bars.timeframe_ns


def draw_origins(bars, index, seed=1, first=1, keep="none"):
    """By the letter, bars of the bodies and of the gaps: each class in the order of its words."""
    minute, is_opener = list_classes(bars, keep)
    for purpose, classes in (("null_body", minute), ("null_gap", 2 * minute + is_opener)):
        drawn, origins = draw_words(seed, index, purpose, len(bars)), np.arange(len(bars))
        for name in set(classes[first:].tolist()):
            places = first + np.flatnonzero(classes[first:] == name)
            origins[places] = sorted(places, key=drawn.__getitem__)
        yield origins


def measure_body(bars, t):
    """High, low, close and volume of a bar, by its open."""
    opening = bars.open[t]
    return bars.high[t] / opening, bars.low[t] / opening, bars.close[t] / opening, bars.volume[t]


@st.composite
def worlds(draw):
    """A market with gaps, ties and jumps, and a window of it."""
    length = draw(st.integers(2, 150))
    bars = make_bars(
        draw(st.integers(0, 2**32)),
        length,
        tick=draw(st.sampled_from([1e-6, 0.5])),
        gaps=draw(st.sampled_from([0.0, 0.2, 1.0])),
        jump=draw(st.sampled_from([0.0, 0.3])),
        flat=draw(st.sampled_from([0.0, 0.4])),
    )
    # Gaps in price, which tell one from another.
    bars = replace(bars, open=(bars.low + bars.high) / 2)
    start = draw(st.integers(0, length - 1))
    return bars, Window(0, start, draw(st.integers(start + 1, length)))


def test_aligned_columns_move_with_their_bodies():
    """By the law; dated ones and payments stay, as all do where directions are drawn anew."""
    plain = counted_bars(12, {5, 9})
    extra = {"mood": np.arange(12.0), "rate": np.where(np.arange(12) == 3, np.nan, 7.0 + plain.low)}
    payments = {"fund": Payments(plain.timestamp[2:8], np.arange(6) / 1000)}
    bars = replace(plain, extra=extra, dated=("rate",), payments=payments)
    markets = make_markets(bars, window=Window(0, 4, 12))
    bodies, _ = draw_origins(bars, 1, first=4)
    (shuffled,), (mirrored,) = markets.shuffle_market(1), markets.mirror_market(1)
    assert shuffled.extra["mood"].tolist() == bodies.tolist() != list(range(12))
    assert shuffled.volume.tolist() == plain.volume[bodies].tolist()
    for other in (shuffled, mirrored):
        assert other.payments["fund"].describe() == bars.payments["fund"].describe()
    assert shuffled.extra["mood"][:4].tolist() == [0, 1, 2, 3]
    assert np.array_equal(shuffled.extra["rate"], extra["rate"], equal_nan=True)
    assert mirrored.extra["mood"].tolist() == list(range(12))
    assert np.array_equal(mirrored.extra["rate"], extra["rate"], equal_nan=True)
    (without,) = make_markets(plain, window=Window(0, 4, 12)).shuffle_market(1)
    assert shuffled.close.tolist() == without.close.tolist()


keeps = st.sampled_from(["none", "day", "week"])
indices = st.integers(1, 2**40)


@given(worlds(), keeps, indices)
def test_shuffled_bars_are_made_of_the_same_bodies_and_gaps(world, keep, index):
    """Within their classes, multiplied forwards and nothing else; history stays."""
    bars, window = world
    (actual,) = make_markets(bars, 3, window, keep).shuffle_market(index)
    first = max(window.start, 1)
    bodies, gaps = draw_origins(bars.until(window.end), index, 3, first, keep)
    assert len(actual) == window.end
    for name in COLUMNS:
        assert getattr(actual, name)[:first].tolist() == getattr(bars, name)[:first].tolist()
    assert actual.timestamp.tolist() == bars.timestamp[: window.end].tolist()
    for t in range(first, window.end):
        body, gap = bodies[t], gaps[t]
        opening = actual.close[t - 1] * (bars.open[gap] / bars.close[gap - 1])
        high, low, close, volume = measure_body(bars, body)
        expected = (opening, opening * high, opening * low, opening * close, volume)
        assert expected == tuple(getattr(actual, name)[t] for name in COLUMNS[1:])


@given(worlds(), st.integers(1, 999))
def test_mirrored_bars_equal_the_letter(world, index):
    """Each turned bar about the mean body, and about the mean gap of its kind."""
    bars, window = world
    (mirrored,) = make_markets(bars, 3, window).mirror_market(index)
    first = max(window.start, 1)
    moving = range(first, window.end)
    opens = np.diff(bars.timestamp, prepend=0) > bars.timeframe_ns
    gaps = {t: bars.open[t] / bars.close[t - 1] for t in moving}
    mean = float(sum((Fraction(measure_body(bars, t)[2]) for t in moving), Fraction(0))) / max(
        len(moving), 1
    )
    drawn = draw_words(3, index, "null_mirror", window.end)
    last = bars.close[first - 1]
    for t in moving:
        alike = [gaps[u] for u in moving if opens[u] == opens[t]]
        high, low, close, _ = measure_body(bars, t)
        gap = gaps[t]
        if drawn[t] >> np.uint64(63):
            q = 2 * mean - close
            turned = 2 * sum(alike) / len(alike) - gap
            lowest = min(2 * mean - high, q, 1.0)
            if turned > 1e-9 and lowest > 1e-9:
                gap, high, low, close = turned, max(2 * mean - low, q, 1.0), lowest, q
        opening = last * gap
        expected = [opening, opening * high, opening * low, opening * close]
        actual = [getattr(mirrored, name)[t] for name in PRICES]
        assert expected == pytest.approx(actual, rel=1e-9)
        last = mirrored.close[t]


def test_times_that_only_one_series_has_are_a_class_of_their_own():
    """What both have is shuffled alike, and the rest among itself, history counted too."""
    long, common = counted_bars(60), np.arange(60) % 3 > 0
    short = Bars(*(getattr(long, name)[common] for name in COLUMNS), "B", HOUR_NS)
    series = [replace(bars, extra={"place": np.arange(len(bars)) + 0.0}) for bars in (long, short)]
    windows = [Window(0, 10, 60), Window.whole(short, 1)]
    left, second = NullMarkets(series, windows, 1, "none").shuffle_market(4)
    before, after = (bars.open[10:] / bars.close[9:-1] for bars in (long, left))
    for some in (common[10:], ~common[10:]):
        np.testing.assert_allclose(sorted(after[some]), sorted(before[some]), rtol=1e-12)
    # Of the short series bars from its own second on move, so places differ, words do not.
    order = np.searchsorted(long.timestamp, short.timestamp)
    drawn = draw_words(1, 4, "null_body", 60)
    for shuffled, number, first in ((left, np.arange(60), 10), (second, order, 1)):
        places = [t for t in range(first, len(number)) if common[number[t]]]
        by_word = sorted(places, key=lambda t: drawn[number[t]])
        assert shuffled.extra["place"][places].tolist() == by_word


@pytest.mark.parametrize(
    ("hours", "expected"), [(24 * 20 + 1, "day"), (24 * 20, "none"), (24 * 40, "day")]
)
def test_the_rhythm_of_the_day_is_kept_where_slots_are_full(hours, expected):
    """Twenty bars that may move for each hour of the day; bar 0 never moves."""
    assert make_markets(counted_bars(hours), keep="auto").keep == expected


HOURS = make_coarse(make_bars(3, 2000, jump=0.05))
WINDOWS = [Window(0, 100, 450)]


@pytest.mark.parametrize("kind", ["shuffle_market", "mirror_market"])
@pytest.mark.parametrize("bars", [HOURS, make_coarse(make_bars(3, 2000, gaps=0.01), 3)])
def test_bars_are_still_made_up_of_finer_ones(kind, bars):
    """As many of them; bars before the window are as they were, and nothing lies behind it."""
    (null,) = getattr(NullMarkets([bars], WINDOWS, seed=1), kind)(1)
    made_up, before = (np.diff(some.finer_spans, axis=0)[0] for some in (null, bars.until(450)))
    assert sorted(made_up) == sorted(before)
    assert np.count_nonzero(made_up) > 300
    before_ns = int(bars.timestamp[100])
    kept = null.finer.between(0, before_ns)
    known = np.isin(bars.finer.timestamp, kept.timestamp)
    np.testing.assert_array_equal(kept.prices, bars.finer.prices[:, known])
    assert (np.diff(null.finer.timestamp) > 0).all()


def test_a_shuffled_bar_has_the_path_of_its_body():
    """As ratios to its open, in the same order."""
    marked = replace(HOURS, extra={"place": np.arange(len(HOURS)) + 0.0})
    (null,) = NullMarkets([marked], WINDOWS, seed=1).shuffle_market(1)
    for j in (100, 200, 449):
        body = int(null.extra["place"][j])
        came, was = null.finer_spans[0, j], HOURS.finer_spans[0, body]
        ratios = null.finer.prices[:, came : came + 4] / null.open[j]
        expected = HOURS.finer.prices[:, was : was + 4] / HOURS.open[body]
        np.testing.assert_allclose(ratios, expected, rtol=1e-12)
