"""The reference in threads: each member once, rows shared, no thread left after the end."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from threading import enumerate as enumerate_threads

import numpy as np
import pytest

from data.bars import Window
from engine.reference import Reference
from engine.replay import threads as replay_threads
from engine.replay.parity import compare_ledgers
from engine.replay.threads import replaying, sharing_order
from strategy.errors import StrategyError
from strategy.expressions import Call
from strategy.indicator_registry import KINDS
from strategy.nodes import walk
from strategy.rows import bound
from tests.support.parity import assert_same_bits
from tests.support.references import FORMS, compiled_reference
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
SERIES = [make_bars(5, 600, jump=0.1), make_bars(6, 400)]
WINDOWS = [Window(1, 0, 400), Window.whole(SERIES[0]), Window(0, 100, 400), Window(1, 90, 350)]


def make_reference():
    """One that knows nothing yet."""
    return compiled_reference(SPEC, SERIES, WINDOWS)


@pytest.mark.parametrize(("threads", "individuals"), [(1, 0), (2, 1), (1, 20), (7, 20)])
def test_everybody_is_replayed_once_in_every_window(individuals, threads):
    """In any order and by any thread: the ledger and sums that a single thread finds."""
    genomes = random_genomes(SPEC, individuals, seed=1)
    expected = make_reference()
    with replaying(make_reference(), genomes, threads) as replays:
        actual = {(replayed.individual, replayed.window): replayed for replayed in replays}
    assert sorted(actual) == [(i, w) for i in range(individuals) for w in range(len(WINDOWS))]
    for (i, w), replayed in actual.items():
        ((ledger, sums),) = expected.replay(genomes[i], [w])
        assert compare_ledgers(ledger, replayed.ledger) == ""
        assert_same_bits(sums, replayed.accumulators, f"individual {i}, window {w}")


def test_rows_are_computed_once():
    """However many read them, in whatever thread."""
    genomes = np.repeat(random_genomes(SPEC, 12, seed=1), 10, axis=0)
    genomes[:, SPEC.layout.index("reward_r")] = np.linspace(1.0, 3.0, len(genomes))
    form, runs = FORMS["compiled_reference"], Counter()

    def counting(loop):
        runs[loop] += 1
        return form(loop)

    reference = Reference(SPEC, SERIES, WINDOWS, form=counting)
    with replaying(reference, np.random.default_rng(1).permutation(genomes), 3) as replays:
        assert len(list(replays)) == len(genomes) * len(WINDOWS)
    calls = {node for node in walk(SPEC) if isinstance(node, Call)}
    distinct = {bound(call, SPEC.layout.decode(genome)) for call in calls for genome in genomes}
    computed = sum(runs[loop] for loop in {KINDS[call.indicator].loop for call in calls})
    assert computed == len(distinct) * len(SERIES)


@pytest.mark.parametrize("threads", [1, 2])
def test_who_leaves_early_leaves_nobody_at_work(threads, monkeypatch):
    """The threads end after the individual that they are at."""
    genomes = random_genomes(SPEC, 400, seed=1)
    reference, replayed, may_go_on = make_reference(), [], Event()
    replay, early = reference.replay, genomes[sharing_order(SPEC, genomes)[:50]].tolist()

    def count_calls(genome, windows):
        replayed.append(0)
        if genome.tolist() not in early:
            may_go_on.wait()
        return replay(genome, windows)

    reference.replay = count_calls

    class Pool(ThreadPoolExecutor):
        """Lets those go on who wait, once it is known that nobody reads on."""

        def shutdown(self, *arguments, **options):
            """As it is asked to."""
            may_go_on.set()
            super().shutdown(*arguments, **options)

    monkeypatch.setattr(replay_threads, "ThreadPoolExecutor", Pool)

    def leave():
        with replaying(reference, genomes, threads) as replays:
            next(replays)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leave()
    assert len(replayed) <= 50 + threads
    assert [thread.name for thread in enumerate_threads() if thread.name.startswith("replay")] == []


def test_what_fails_in_a_thread_is_an_error_here():
    """It is raised where the answer is asked for."""
    genomes = random_genomes(SPEC, 40, seed=1)
    genomes[7, SPEC.layout.index("z_window")] = 1.0
    with (
        pytest.raises(StrategyError, match="zscore"),
        replaying(make_reference(), genomes, 3) as replays,
    ):
        list(replays)
