"""Who answers in the device's process: one backend for evaluation and for a search."""

import gc
import os
import subprocess
import sys
import weakref
from dataclasses import asdict
from typing import ClassVar

import pytest

from data.bars import Window
from engine.areas import Area
from engine.backends.cpu import CpuBackend
from engine.backends.isolated.lent import LentMaker
from engine.batch import Engine
from engine.costs import Costs
from engine.metrics import span_of
from engine.plain import plain_bars, plain_spec
from engine.wire import Frame
from optimizer.isolated.child import Searcher
from optimizer.isolated.parent import SearchWork
from optimizer.isolated.plain import generation_of
from optimizer.objectives import Goals, parse_objectives
from optimizer.problem import EngineProblem
from optimizer.search import evolve
from tests.support.searches import bits, settings
from tests.support.worlds import SHORT_SPECS, make_bars

SPEC = SHORT_SPECS["seller_exhaustion"]
BARS = make_bars(7, 500, jump=0.1)
WINDOWS = [Window.whole(BARS)]
GOALS = Goals(parse_objectives("sharpe,total_return,max_drawdown"), min_trades=2)
SETTINGS = settings(24, 4)
CAPACITY = 60


class Counted(CpuBackend):
    """Knows who was made."""

    made: ClassVar = weakref.WeakSet()

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.made.add(self)


@pytest.fixture
def problem():
    """On the CPU, in this process."""
    engine = Engine(SPEC, [BARS], WINDOWS, Costs(), device="cpu", threads=1)
    return EngineProblem(GOALS, [span_of(BARS, WINDOWS[0])], engine)


@pytest.fixture
def servant():
    """One that has made a backend."""
    servant = Searcher(lambda numbers: Counted)
    told, arrays = plain_bars([BARS])
    room = {"capacity": CAPACITY, "work_bytes": 2**20, "threads": 1, "devices": []}
    of_engine = {"spec": plain_spec(SPEC), "series": told, "costs": asdict(Costs())}
    assert servant.answer(Frame("make", {**of_engine, **room}, arrays)).kind == "done"
    return servant


def steps(servant, area, count):
    """Generations of so many steps."""
    descriptor = os.dup(area.descriptor)
    for _ in range(count):
        answer = servant.answer(Frame("step", {"area": descriptor, "bytes": area.bytes}))
        if answer.told.get("is_over"):
            return
        area.see(answer.told["bytes"])
        arrays = [area.array(place) for place in answer.told["places"]]
        yield generation_of(answer.told["generation"], arrays, len(SPEC.layout), 3)


def test_a_search_takes_the_backend_that_stands(servant, problem):
    """Nobody makes another, so that no memory is taken twice; the bank turns within its slots."""
    opening = SearchWork(problem, SETTINGS, None, None).opening
    assert servant.answer(opening).kind == "done"
    found = list(steps(servant, Area(), 99))
    assert bits(found) == bits(list(evolve(problem, SETTINGS)))
    assert len(Counted.made) == 1


def test_a_search_is_over_when_it_is(servant, problem):
    """However often it is asked; and where none was begun."""
    area = Area()
    assert list(steps(servant, area, 3)) == []
    servant.answer(SearchWork(problem, SETTINGS, None, None).opening)
    assert len(list(steps(servant, area, 99))) == SETTINGS.generations + 1
    assert list(steps(servant, area, 3)) == []


@pytest.mark.parametrize("kind", ["release", "windows", "room"])
def test_whatever_else_is_asked_ends_a_search(servant, problem, kind):
    """It holds the backend: what is released is gone, and no step comes any more."""
    area = Area()
    servant.answer(SearchWork(problem, SETTINGS, None, None).opening)
    assert len(list(steps(servant, area, 2))) == 2
    told = {"windows": [], "devices": [], "bytes": None, "series_bytes": 0}
    servant.answer(Frame(kind, told))
    assert list(steps(servant, area, 1)) == []
    gc.collect()
    assert len(Counted.made) == (kind != "release")


def test_what_is_lent_has_the_slots_of_what_was_made(servant):
    """An engine on it divides no memory anew."""
    maker = LentMaker(servant.made)
    engine_room = maker.room(None, 0)
    assert (engine_room.rows, engine_room.work) == (CAPACITY, 2**20)
    assert maker.slot_bytes([BARS]) == 1
    assert maker.series_bytes([BARS]) == 0


def test_what_nobody_knows_is_said():
    """An unknown question is answered, with its name."""
    answer = Searcher(lambda numbers: Counted).answer(Frame("dance"))
    assert (answer.kind, answer.told["why"]) == ("unknown", "nothing is known here of 'dance'")


def test_a_process_that_only_evaluates_loads_no_search():
    """Nor the command line's libraries: what it starts with is the engine's."""
    program = (
        "import sys, optimizer.isolated.child\n"
        "named = ('optimizer.search', 'deap', 'moocore', 'numba', 'pydantic', 'typer', 'torch')\n"
        "print([name for name in named if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert found.stdout.strip() == b"[]"


def test_a_process_without_a_parent_ends_in_silence():
    """A person sees no word of it."""
    command = [sys.executable, "-m", "optimizer.isolated.child", "cpu", "cpu"]
    found = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, b"", b"")
