"""Loops that another process compiles: when it does, and that they are all that a search needs."""

import pytest

from tests.support.commands import run
from tests.support.paths import ROOT

SEARCHES = """
from engine.runtime.compiling.loops import LoopCache
from tests.support.searches import evolve
from optimizer.first_run import main
from tests.support.searches import Analytic, HalfForbidden, float_layout, int_layout, settings
from tests.support.searches import Zdt1

main()
load, missing = LoopCache.load_overload, []

def loaded(self, types, context):
    missing.append((self._name, types))
    return load(self, types, context)

LoopCache.load_overload = loaded
list(evolve(HalfForbidden(float_layout(3), 3), settings(600, 3, archive=50, elite=0.5)))
list(evolve(Zdt1(float_layout(4)), settings(40, 3, archive=9)))
list(evolve(Analytic(int_layout((0, 9), (0, 9), ordered=True), 4), settings(40, 3)))
print(missing)
"""


@pytest.mark.slow
def test_no_loop_is_left_to_compile():
    """With few objectives or many, an archive that is full, and many individuals."""
    assert run(cwd=ROOT, program=("-c", SEARCHES)).out == "[]\n"
