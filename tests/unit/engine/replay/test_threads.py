"""The reference in threads: each member once, rows shared, no thread left after the end."""

import pytest

from data.bars import Window
from engine.replay.parity import compare_ledgers
from engine.replay.threads import replaying
from tests.support.parity import assert_same_bits
from tests.support.references import compiled_reference
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
