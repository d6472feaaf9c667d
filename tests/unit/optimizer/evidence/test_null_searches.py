"""Null searches count in the order of their numbers, however they end, and are made once."""

from types import SimpleNamespace

import pytest

from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.jobs.workers import Workers
from optimizer.evidence.null import NullKind, NullSettings, tally
from optimizer.evidence.null_markets import NullMarkets
from optimizer.evidence.null_searches import (
    NullJob,
    NullSearch,
    NullSetup,
    compare_front,
    run_null_searches,
)
from optimizer.evidence.pick import select_pick
from optimizer.run.search import search
from optimizer.store import RunStore
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task
from tests.support.recording import HEADER, make_generation

BARS = make_planted_market(7, 900, 8)


class Crew:
    """Does jobs out of order, and remembers which it began.

    Args:
        strengths: Of searches 1, 2, ...
    """

    def __init__(self, strengths):
        self.begun, self._strengths = [], strengths

    def results(self, jobs):
        """Every second one first."""
        for job in [*jobs[1::2], *jobs[0::2]]:
            self.begun.append(job.number)
            yield job, NullSearch(job.number, 1, self._strengths[job.number - 1])


@pytest.fixture
def store(tmp_path):
    """A finished run, open for writing."""
    with RunStore.create(tmp_path, "run", HEADER) as store:
        store.record(make_generation(0))
        store.finish({"front": []})
        yield store


def list_rows(store):
    """Rows of one kind."""
    store.flush()
    return Checkpoint(store, NullSettings("none", "shuffled"), NullSearch)


STRENGTHS = [1.0, 3.0, 1.0, 2.0, 0.0, 5.0, 1.0, 1.0, 1.0]


def count_searches(crew, store, planned=9, stop_after=10, value=2.0):
    """Counts of null searches, the searches, and all messages."""
    messages = []
    limits = (planned, stop_after)
    null = run_null_searches(
        crew,
        "shuffled",
        value,
        limits,
        list_rows(store),
        lambda *progress: messages.append(progress),
    )
    return *null, messages


@pytest.mark.parametrize("stop_after", [1, 2, 3, 10])
def test_searches_count_in_the_order_of_their_numbers(store, stop_after):
    """As the law counts them, though they end in another order."""
    counts, searches, _ = count_searches(Crew(STRENGTHS), store, stop_after=stop_after)
    assert counts == tally(2.0, STRENGTHS, stop_after)
    assert [search.number for search in searches] == list(range(1, counts.searches + 1))
    assert [search.strength for search in searches] == STRENGTHS[: counts.searches]


def test_known_searches_are_not_made_again(store):
    """An interrupted judge goes on, and a longer plan adds what is missing."""
    first = Crew(STRENGTHS)
    assert count_searches(first, store, planned=4)[0] == tally(2.0, STRENGTHS[:4])
    second = Crew(STRENGTHS)
    assert count_searches(second, store)[0] == tally(2.0, STRENGTHS)
    assert sorted(first.begun + second.begun) == list(range(1, 10))
    assert count_searches(Crew([]), store, planned=3)[0] == tally(2.0, STRENGTHS[:3])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shuffled", "mirrored"])
def test_a_null_search_is_that_search_on_that_market(kind):
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
    ((_, elsewhere),) = Workers(setup, 2).results([NullJob(kind, 3)])
    assert elsewhere == null
    assert NullSearch.read(null.payload()) == null
    # The best of each objective over the front is held against that of null searches.
    searches = [null, setup.run(NullJob(kind, 4))]
    own = dict.fromkeys(task.goals.names, 0.5)
    result = SimpleNamespace(front=[SimpleNamespace(objectives=own)])
    counts = tally(1.0, [search.strength for search in searches])
    record = compare_front(task, result, 10, 1.0, counts, searches)
    for name, is_maximised in zip(task.goals.names, task.goals.maximised, strict=True):
        as_good = sum((s.objectives[name] >= 0.5) == is_maximised for s in searches)
        compared = record.objectives[name]
        assert (compared.at_least, compared.p) == (as_good, (as_good + 1) / 3), name
    assert record.strengths == tuple(search.strength for search in searches)
    assert NullKind.read(record.payload()) == record


def test_a_null_search_with_an_empty_front_has_nothing():
    """Its strength is below all others, its hypervolume 0."""
    task = make_task(BARS, min_trades=400)
    search = NullSetup(task, "none").run(NullJob("shuffled", 1))
    assert search == NullSearch(1, 0, None, hypervolume=0.0)
