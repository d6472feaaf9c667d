"""The reference in processes: the certificate of threads."""

from functools import partial

import numpy as np
import pytest

from data.bars import Window
from engine.batch import Engine
from engine.replay.certificate import certify
from optimizer.evidence.jobs import replaying
from optimizer.evidence.jobs.replaying import replay_in_processes
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

pytestmark = pytest.mark.slow

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(5, 600, jump=0.1)
GENOMES = random_genomes(SPEC, 20, seed=1)


def test_a_certificate_of_processes_is_that_of_threads(pool):
    """Also of an engine that is wrong: the first difference is the same one."""
    engine = Engine(SPEC, [BARS], [Window.whole(BARS), Window(0, 100, 400)])
    in_processes = partial(certify, engine, GENOMES, replaying=partial(replay_in_processes, pool))
    expected = certify(engine, GENOMES)
    assert in_processes() == expected
    assert len(pool._idle) >= replaying.PROCESSES
    assert (expected.mismatches, expected.trades > 0) == (0, True)
    evaluate = engine.evaluate
    engine.evaluate = lambda given: evaluate(given) + (np.arange(len(given)) == 7)[:, None, None]
    wrong = certify(engine, GENOMES)
    assert wrong.mismatches == 2
    assert in_processes() == wrong
