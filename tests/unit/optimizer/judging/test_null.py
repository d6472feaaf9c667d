"""Null searches count in the order of their numbers, however they end, and are made once."""

import math
from dataclasses import replace

import pytest

from engine.workload import Workload
from optimizer.evidence.lookahead import estimate_causality_seconds
from optimizer.evidence.null import NullKind, tally
from optimizer.evidence.null_markets import NullMarkets
from optimizer.judging.checkpoint import Checkpoint
from optimizer.judging.null import (
    NullJob,
    NullSearch,
    NullSetup,
    compare_front,
    list_strengths,
    run_null_searches,
)
from optimizer.judging.pick import select_pick
from optimizer.judging.verdict import derive_verdict, estimate_null_seconds, estimate_trials_seconds
from optimizer.judging.workers import Workers
from optimizer.run.search import search
from optimizer.store import RunStore
from optimizer.store.result import load_result
from tests.support.evidence import make_planted_market
from tests.support.judging import make_task, recorded_run
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
            yield job, NullSearch(job.kind, job.number, 1, self._strengths[job.number - 1])


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
    return Checkpoint(store, "null/none/shuffled", NullSearch)


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


def test_an_early_stop_begins_nothing_more(store):
    """What had ended by then is kept, and counts when it is asked for again."""
    crew = Crew(STRENGTHS)
    counts, _, message = count_searches(crew, store, stop_after=1)
    assert (counts.searches, counts.is_stopped) == (2, True)
    # Numbers 2, 4, 6 and 8 come before 1, with which 2 counts.
    assert crew.begun == [2, 4, 6, 8, 1]
    assert message[-1][1:] == (5, 9, "1 did as well so far")
    more = Crew(STRENGTHS)
    assert count_searches(more, store, stop_after=1)[0] == counts
    assert more.begun == []


def test_known_searches_are_not_made_again(store):
    """An interrupted judge goes on, and a longer plan adds what is missing."""
    first = Crew(STRENGTHS)
    assert count_searches(first, store, planned=4)[0] == tally(2.0, STRENGTHS[:4])
    second = Crew(STRENGTHS)
    assert count_searches(second, store)[0] == tally(2.0, STRENGTHS)
    assert sorted(first.begun + second.begun) == list(range(1, 10))
    assert count_searches(Crew([]), store, planned=3)[0] == tally(2.0, STRENGTHS[:3])


def test_a_gap_ends_what_counts():
    """Its content is unknown."""
    rows = {n: NullSearch("shuffled", n, 1, STRENGTHS[n - 1]) for n in (1, 2, 4)}
    assert list_strengths(rows) == [1.0, 3.0]
    empty = {1: NullSearch("shuffled", 1, 0, None)}
    assert list_strengths(empty) == [float("-inf")]


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
    assert (null.kind, null.number, null.members) == (kind, 3, len(front))
    assert (null.strength, null.trades) == (pick.strength.value, pick.trades)
    assert null.objectives["max_drawdown"] == values[:, -1].min()
    assert null.objectives[task.goals.names[0]] == values[:, 0].max()
    ((_, elsewhere),) = Workers(setup, 2).results([NullJob(kind, 3)])
    assert elsewhere == null
    assert NullSearch.read(null.payload()) == null


def test_a_null_search_with_an_empty_front_has_nothing():
    """Its strength is below all others, its hypervolume 0."""
    task = make_task(BARS, min_trades=400)
    search = NullSetup(task, "none").run(NullJob("shuffled", 1))
    assert search == NullSearch("shuffled", 1, 0, None, hypervolume=0.0)


def test_warm_started_searches_take_their_guests_along():
    """Individuals that took part in the search take part in every null search."""
    task = make_task(BARS, generations=0)
    guests = search(make_task(BARS, seed=9), task.engine()).front.genomes[:4]
    plain = NullSetup(task, "none").run(NullJob("shuffled", 2))
    warm = NullSetup(task, "none", guests).run(NullJob("shuffled", 2))
    assert plain != warm


def test_soft_constraints_and_objectives_are_compared_too():
    """The best of each over the front, in its natural sense; what is missed has no hypervolume."""
    task = make_task(BARS, constraints=["max_drawdown <= 1% soft", "trades@worst >= 1"])
    engine = task.engine()
    front = search(task, engine).front
    assert task.goals.names[-1] == "missed"
    members = [
        FakeMember(dict(zip(task.goals.names, row, strict=True)))
        for row in task.goals.natural(front.objectives).tolist()
    ]
    setup = NullSetup(task, "none")
    searches = [setup.run(NullJob("shuffled", n)) for n in range(1, 6)]
    pick = select_pick(engine, front.genomes)
    counts = tally(pick.strength.value, [null.strength or float("-inf") for null in searches])
    record = compare_front(task, FakeResult(members), 10, pick.strength.value, counts, searches)
    for name, is_maximised in zip(task.goals.names, task.goals.maximised, strict=True):
        best = max if is_maximised else min
        own = best(member.objectives[name] for member in members)
        others = [null.objectives.get(name) for null in searches]
        as_good = sum(
            other is not None and (other >= own if is_maximised else other <= own)
            for other in others
        )
        compared = record.objectives[name]
        assert (compared.value, compared.at_least) == (own, as_good), name
        assert compared.p == pytest.approx((as_good + 1) / 6)
    assert record.hypervolume is not None
    assert record.strengths == tuple(null.strength for null in searches)
    assert NullKind.read(record.payload()) == record


class FakeMember:
    """A member of a result, as far as it is compared."""

    def __init__(self, objectives):
        self.objectives = objectives


class FakeResult:
    """A result, as far as it is compared."""

    def __init__(self, front):
        self.front = front


def test_the_time_they_take_is_that_of_what_makes_them():
    """398 searches of a core each, or on a GPU where that is done first; with rows and breeding."""
    work = Workload(1.7e9, 0.1e9, threads=16)
    for cores in (1, 16):
        on_cores_s = estimate_null_seconds(work, 10**6, 100, cores, "cpu")
        assert on_cores_s == pytest.approx(398 * (2 + 0.5 + 1.8) / cores)
        on_gpu_s = 4 + 398 * (0.017 + 0.1 / 6 + 0.015 + 1.8 / max(cores - 1, 1))
        there_s = estimate_null_seconds(work, 10**6, 100, cores, "cuda:0")
        assert there_s == pytest.approx(min(on_cores_s, on_gpu_s))
        # A generation waits as long for the GPU, however many cores there are.
        assert estimate_null_seconds(work, 10**6, 10**4, 16, "cuda:0") == pytest.approx(
            398 * (2 + 0.5 + 1.8) / 16
        )
    slow = work._replace(is_fast_case=False)
    assert estimate_null_seconds(slow, 0, 1, 1, "cpu") > estimate_null_seconds(work, 0, 1, 1, "cpu")


def test_a_run_is_told_what_its_null_searches_take(tmp_path):
    """Whatever its own search took, and with the look-ahead check of each of its windows."""
    path = recorded_run(tmp_path, make_planted_market(7, 6000, 8), judge=False, min_trades=40)
    with RunStore.open(path) as store:
        result = load_result(store)
    fast = replace(result, timing=replace(result.timing, search_s=1e-3, compile_s=0.0))
    sentences = {derive_verdict(window, None).sentence for window in (result, fast)}
    assert len(sentences) == 1
    bars, rows = result.data.bars, min(4 * result.evaluated, 4096)
    work = Workload(result.evaluated * bars, rows * bars)
    null_s = estimate_null_seconds(
        work, result.evaluated, result.generation, result.device.threads, "cpu"
    )
    trials_s = estimate_trials_seconds(result.data.windows, result.evaluated)
    seconds = math.ceil(null_s + estimate_causality_seconds([bars], len(result.front)) + trials_s)
    assert f"(about {seconds} s)" in sentences.pop()
    window = result.data.windows[0]
    many = replace(result, data=replace(result.data, windows=(replace(window, bars=500),) * 1000))
    trials_s = estimate_trials_seconds(many.data.windows, result.evaluated)
    assert trials_s > 3
    seconds = math.ceil(
        null_s + estimate_causality_seconds([500] * 1000, len(result.front)) + trials_s
    )
    assert f"(about {seconds} s)" in derive_verdict(many, None).sentence
    trials_s += estimate_null_seconds(
        work, result.evaluated, result.generation, result.device.threads, "cuda:0"
    )
    seconds = math.ceil(trials_s + estimate_causality_seconds([500] * 1000, len(result.front)))
    many = replace(many, device=replace(result.device, name="cuda:0"))
    assert f"(about {seconds} s)" in derive_verdict(many, None).sentence
    damaged = replace(result, data=replace(result.data, windows=(replace(window, first="x"),)))
    assert derive_verdict(damaged, None).grade == derive_verdict(result, None).grade
    held_out = replace(window, sample="held out")
    opened = replace(result, data=replace(result.data, windows=(window, *[held_out] * 1000)))
    assert derive_verdict(opened, None) == derive_verdict(result, None)
