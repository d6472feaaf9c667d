"""A search is counted among the same search on null markets, which keep all that is no edge."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from data.bars import Bars, Payments, Window
from optimizer.evidence.betting import compute_wealth, tally
from optimizer.evidence.figures import Figure
from optimizer.evidence.jobs.workers import Workers
from optimizer.evidence.null import (
    NULL,
    Compared,
    NullJob,
    NullKind,
    NullRecord,
    NullSearch,
    NullSetup,
    NullTest,
    compare_front,
    hypervolume,
)
from optimizer.evidence.null_markets import NullMarkets
from optimizer.evidence.pick import select_pick
from optimizer.run.runner import search
from optimizer.search.randomness import draw_words
from optimizer.store import RunStore
from tests.support.evidence import HOUR_NS, counted_bars, make_planted_market
from tests.support.judging import make_task
from tests.support.recording import HEADER, make_generation
from tests.support.series import make_coarse
from tests.support.worlds import make_bars

BARS = make_planted_market(7, 900, 8)
FOUND = [1.0, 3.0, 1.0, 2.0, 0.0, 5.0, 1.0, 1.0, 1.0]


def test_wealth_of_the_law():
    """A bet on so few that do as well; each value as the law has it."""
    law = {
        (0, 0): 1.0, (1, 1): 0.005, (141, 0): 99.771812, (142, 0): 100.223244,
        (199, 0): 121.534048, (199, 1): 60.614726, (299, 1): 106.359907, (299, 2): 39.718361,
        (999, 3): 213.950204,
    }  # fmt: skip
    for seen, wealth in law.items():
        assert compute_wealth(*seen) == pytest.approx(wealth, abs=5e-7), seen


@pytest.mark.parametrize(
    ("hits", "planned", "searches", "is_more"),
    [
        # It is enough after 142 searches without one, 285 with one, 469 with two.
        ([], 299, 142, True),
        ([9], 299, 285, True),
        ([9, 40], 999, 469, True),
        # The second that does as well is luck of 299, the first of fewer than 285.
        ([9, 40], 299, 40, False),
        ([9], 284, 9, False),
        # A plan that can show nothing calls luck as the usual one does.
        ([9, 40], 60, 40, False),
    ],
)
def test_a_bet_ends_as_soon_as_it_is_decided(hits, planned, searches, is_more):
    """By the numbers of searches that did as well, whatever comes behind."""
    values = [float(number in hits) for number in range(1, 1000)]
    counted = tally(0.5, values, planned)
    assert (counted.searches, counted.is_more, counted.is_luck) == (searches, is_more, not is_more)
    assert tally(0.5, values[: searches - 1], planned).is_stopped is False
    best = max(compute_wealth(t, sum(hit <= t for hit in hits)) for t in range(searches + 1))
    assert counted.p == pytest.approx(1 / best)


def test_who_looks_at_any_time_is_wrong_in_one_of_a_hundred():
    """Users on markets without an edge who go on to 2,000 searches, whatever they see."""
    users, longest = 20_000, 2_000
    random = np.random.default_rng(5)
    chance, hits = random.random(users), np.zeros(users, int)
    best = np.ones(users)
    for searches in range(1, longest + 1):
        hits += random.random(users) < chance
        likely = np.flatnonzero(hits <= searches / 50 + 2)
        wealth = [compute_wealth(searches, count) for count in range(int(searches / 50) + 3)]
        best[likely] = np.maximum(best[likely], np.array(wealth)[hits[likely]])
    assert 0.005 < (best >= 100).mean() < 0.0125


def test_an_empty_front_is_minus_infinity():
    """Every null search is at least as good then, and an empty null front only as good as it."""
    assert tally(-math.inf, [-math.inf, 1.0]).at_least == 2
    assert tally(0.5, [-math.inf, math.nan]).at_least == 0


def test_hypervolume_starts_from_an_account_that_does_nothing():
    """Two boxes that overlap, of strength above 0 and drawdown below 1."""
    values = np.array([[2.0, 0.5], [1.0, 0.2], [3.0, 1.0], [-1.0, 0.1]])
    volume = hypervolume(values, ["strength", "max_drawdown"], [True, False])
    assert volume.value == pytest.approx(2 * 0.5 + 1 * 0.8 - 1 * 0.5)
    factor = hypervolume(np.array([[1.5], [1.25]]), ["profit_factor"], [True])
    assert factor.value == 0.5
    small = hypervolume(np.array([[1e-12, 0.5]]), ["total_return", "exposure"], [True, False])
    assert small.value == pytest.approx(5e-13, rel=1e-9)


@pytest.mark.parametrize(
    ("run", "at_least", "side"), [(20, 0, ""), (98, 1, ""), (98, 2, "against"), (142, 0, "for")]
)
def test_so_few_searches_speak_for_nothing(run, at_least, side):
    """Below 142 no outcome is more than luck."""
    strengths = (1.0,) * (run - at_least) + (3.0,) * at_least
    counted = tally(2.0, strengths, 299)
    strength = Compared(2.0, at_least, counted.p)
    kind = NullKind(run, counted.is_stopped, counted.best, strength, {}, None, strengths)
    (row,) = NullRecord(run, "none", kind).list_rows(None)
    assert f"{at_least} of {run} " in row.sentence
    assert row.speaks == side


class Crew:
    """Does jobs out of order, every second one first, and remembers which it began."""

    def __init__(self):
        self.begun = []

    def submit(self, setup, jobs, **hints):
        """Each job with its strength of `FOUND`."""
        for job in [*jobs[1::2], *jobs[0::2]]:
            self.begun.append(job.number)
            yield job, NullSearch(job.number, 1, FOUND[job.number - 1])


@pytest.fixture
def make_null(tmp_path):
    """Makes null searches of a finished run: of shuffled bars, which say luck at once."""

    def make(crew, planned=9, strength=4.0):
        test = NullTest(store, NULL, Figure(strength))
        setup = NullSetup(make_task(BARS), "none")
        record = test.make(setup, planned, crew.submit, lambda *_: None)
        store.flush()
        assert test.read_so_far("none").kinds == record.kinds
        assert record.mirrored is None
        return record.shuffled

    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
        store.finish({"front": []})
        yield make


@pytest.mark.parametrize("strength", [1.0, 2.0, 3.0, 9.0])
def test_searches_count_in_the_order_of_their_numbers(make_null, strength):
    """As the law counts them, though they end in another order."""
    kind = make_null(Crew(), strength=strength)
    assert kind.tally == tally(strength, FOUND, 9)
    assert kind.strengths == tuple(FOUND[: kind.run])


def test_known_searches_are_not_made_again(make_null):
    """An interrupted judge goes on; a longer plan adds, and a shorter one leaves none out."""
    first, second, idle = Crew(), Crew(), Crew()
    assert make_null(first, planned=4).tally == tally(4.0, FOUND[:4])
    assert make_null(second).tally == tally(4.0, FOUND)
    assert sorted(first.begun + second.begun) == list(range(1, 10))
    assert make_null(idle, planned=3).tally == tally(4.0, FOUND)
    assert idle.begun == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shuffled", "mirrored"])
def test_a_null_search_is_that_search_on_that_market(kind, pool):
    """Same settings and seed, on bars that anybody can make; in any process the same."""
    task = make_task(BARS)
    setup = NullSetup(task, "none")
    null = setup.run(NullJob(kind, 3))
    markets = NullMarkets([BARS], task.markets.windows, task.config.seed, "none")
    market = {"shuffled": markets.shuffle_market, "mirrored": markets.mirror_market}[kind](3)
    alone = make_task(*market)
    engine = alone.engine()
    front = search(alone, engine).front
    pick = select_pick(engine, front.genomes)
    values = task.goals.natural(front.objectives)
    assert (null.number, null.members) == (3, len(front))
    assert (null.strength, null.trades) == (pick.strength.value, pick.trades)
    assert null.objectives["max_drawdown"] == values[:, -1].min()
    assert null.objectives[task.goals.names[0]] == values[:, 0].max()
    ((_, elsewhere),) = Workers(setup.run, 2, pool).results([NullJob(kind, 3)])
    assert elsewhere == null
    assert NullSearch.read(null.payload()) == null
    # The best of each objective over the front is held against that of null searches.
    searches = [null, setup.run(NullJob(kind, 4))]
    own = dict.fromkeys(task.goals.names, 0.5)
    result = SimpleNamespace(front=[SimpleNamespace(objectives=own)])
    compared = compare_front(task, result, searches)["objectives"]
    for name, is_maximised in zip(task.goals.names, task.goals.maximised, strict=True):
        as_good = sum((s.objectives[name] >= 0.5) == is_maximised for s in searches)
        assert compared[name].at_least == as_good, name


def test_a_null_search_with_an_empty_front_has_nothing():
    """Its strength is below all others, its hypervolume 0."""
    task = make_task(BARS, min_trades=400)
    search = NullSetup(task, "none").run(NullJob("shuffled", 1))
    assert search == NullSearch(1, 0, None, hypervolume=0.0)


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


GAPPED = make_bars(3, 40, gaps=0.3, jump=0.3)


@given(worlds(), keeps, indices)
@example((replace(GAPPED, open=(GAPPED.low + GAPPED.high) / 2), Window(0, 4, 40)), "none", 7)
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
