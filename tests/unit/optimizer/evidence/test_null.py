"""A search is counted among the same search on null markets, in the order of their numbers."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from optimizer.evidence.betting import compute_wealth, tally
from optimizer.evidence.figures import Figure
from optimizer.evidence.jobs.workers import Workers
from optimizer.evidence.null import (
    Compared,
    NullJob,
    NullKind,
    NullRecord,
    NullSearch,
    NullSettings,
    NullSetup,
    NullTest,
    compare_front,
    hypervolume,
)
from optimizer.evidence.null_markets import NullMarkets
from optimizer.evidence.pick import select_pick
from optimizer.run.search import search
from optimizer.store import RunStore
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task
from tests.support.recording import HEADER, make_generation

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
        test = NullTest(store, NullSettings, Figure(strength))
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
