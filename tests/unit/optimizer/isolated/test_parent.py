"""A search in the device's process: whatever happens to that, the generations are the same."""

import os
import signal
import sys
import threading
import time
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from data.bars import Window
from engine.backends.chosen import Device
from engine.backends.cpu import CpuBackend
from engine.backends.isolated import Child, IsolatedMaker, child_command, patience
from engine.batch import Engine
from engine.costs import Costs
from engine.errors import DeviceError, DeviceLostError, EngineError, GenomeError
from engine.metrics import span_of
from optimizer.constraints import parse_constraints
from optimizer.errors import OptimizerError
from optimizer.isolated import CHILD, parent
from optimizer.isolated.parent import evolve_apart, evolve_moving
from optimizer.objectives import Goals, parse_objectives
from optimizer.problem import EngineProblem
from optimizer.search import evolve
from tests.support.parity import assert_same_bits
from tests.support.recording import assert_same_generation
from tests.support.searches import settings
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
SERIES = [make_bars(7, 500, jump=0.1), make_bars(8, 300)]
WINDOWS = [Window.whole(SERIES[0]), Window(1, 20, 280)]
SPANS = [span_of(SERIES[window.series], window) for window in WINDOWS]
COSTS = Costs(fee_bp=7.0, risk_fraction=0.03)
GOALS = Goals(parse_objectives("sharpe,total_return,max_drawdown"), min_trades=2)
GUESTS = random_genomes(SPEC, 5, seed=3)
SETTINGS = settings(24, 6)


def a_problem(device, goals=GOALS, **options):
    """The problem on a device."""
    engine = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1, **options)
    return EngineProblem(goals, SPANS, engine)


def apart(command, on_loss="stop"):
    """A device whose process is started with a command."""
    fallback = (lambda: CpuBackend) if on_loss == "cpu" else None
    return Device("a child", "a test", IsolatedMaker("cpu", (), fallback, command=command))


@pytest.fixture(scope="module")
def here():
    """The problem in this process."""
    return a_problem("cpu")


@pytest.fixture(scope="module")
def expected(here):
    """What is found here."""
    return list(evolve(here, SETTINGS))


@pytest.fixture(scope="module")
def there():
    """The problem on a device whose process searches, and never fails."""
    return a_problem(apart(child_command("cpu", "cpu", CHILD)))


@pytest.fixture
def faulty(tmp_path):
    """Make a problem on a device whose process fails as told."""

    def made(fault, steps, on_loss="stop"):
        module = "tests.support.faulty_searcher"
        command = [sys.executable, "-m", module, fault, steps, str(tmp_path / "done")]
        return a_problem(apart(command, on_loss))

    return made


def done(folder):
    """What processes did: pairs of a process and a word."""
    return [line.split() for line in (folder / "done").read_text().splitlines()]


def assert_same_search(expected, actual):
    """Every generation has the same bits and counts; only the time differs."""
    expected, actual = list(expected), list(actual)
    assert len(expected) == len(actual)
    for left, right in zip(expected, actual, strict=True):
        assert right.seconds > 0
        assert_same_generation(left, replace(right, seconds=left.seconds))


SEARCHES = {
    "one": settings(24, 6),
    "islands": settings(40, 6, islands=3, migration=2),
    "restart": settings(24, 8, patience=1, on_stagnation="restart"),
    "thinned": settings(24, 6, archive=5, elite=0.5, immigrants=0.1),
    "crowding": settings(24, 4, survival="crowding", mutation_probability=0.25),
    "one individual": settings(1, 2),
    "no generation": settings(24, 0),
}


@pytest.mark.parametrize("name", list(SEARCHES))
def test_settings_cross_to_the_device(here, there, name):
    """Whatever is asked for, the generations are those of a search in this process."""
    assert_same_search(evolve(here, SEARCHES[name]), evolve_apart(there, SEARCHES[name]))


@pytest.mark.parametrize(
    "goals",
    [
        Goals(parse_objectives("sharpe"), 0),
        Goals(parse_objectives("sharpe,total_return,max_drawdown,trades:min@worst"), 2),
        Goals(
            parse_objectives("sharpe,trades"),
            1,
            tuple(parse_constraints(["max_drawdown@worst <= 20%", "exposure < 0.5 soft"])),
            "q25",
        ),
    ],
    ids=["one", "four", "constraints"],
)
def test_goals_cross_to_the_device(here, there, goals):
    """One objective or four, constraints of both kinds, windows that count otherwise."""
    problems = (EngineProblem(goals, SPANS, each.engine) for each in (here, there))
    assert_same_search(
        *(found(p, SETTINGS) for found, p in zip((evolve, evolve_apart), problems, strict=True))
    )


def test_guests_cross_to_the_device(here, there):
    """They are among the first individuals."""
    found = list(evolve_apart(there, SETTINGS, guests=GUESTS))
    assert_same_search(evolve(here, SETTINGS, guests=GUESTS), found)


@pytest.mark.parametrize("after", [0, 3, 5, 6])
def test_a_search_goes_on_behind_a_generation(expected, there, after):
    """The bits are those of the search that was never interrupted."""
    found = evolve_apart(there, SETTINGS, resume_from=expected[after])
    assert_same_search(expected[after + 1 :], found)


def test_generations_stay_as_they_are(there):
    """They are copies, read-only, that no later generation writes to."""
    found = list(evolve_apart(there, SETTINGS))
    kept = [generation.population.genomes.copy() for generation in found]
    list(evolve_apart(there, SETTINGS, guests=GUESTS))
    for generation, genomes in zip(found, kept, strict=True):
        assert_same_bits(genomes, generation.population.genomes, "genomes")
        for part in (generation.population, generation.archive):
            assert not part.objectives.flags.writeable
            assert not part.lineage.flags.writeable
        assert not generation.memory.flags.writeable


def test_the_engine_may_be_used_between_generations(here, there, expected):
    """What it evaluates and what the search finds are the same as without the other."""
    found = []
    for number, generation in enumerate(evolve_apart(there, SETTINGS)):
        found.append(generation)
        genomes = random_genomes(SPEC, 10, number)
        assert_same_bits(here.engine.evaluate(genomes), there.engine.evaluate(genomes), "genomes")
    assert_same_search(expected, found)


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_a_search_that_is_left_harms_nobody(here, there, expected, taken):
    """Steps that were asked for ahead are waited for, and the next question gets its own answer."""
    search = evolve_apart(there, SETTINGS)
    assert_same_search(expected[:taken], islice(search, taken))
    search.close()
    genomes = random_genomes(SPEC, 10, seed=1)
    assert_same_bits(here.engine.evaluate(genomes), there.engine.evaluate(genomes), "genomes")
    assert_same_search(expected, evolve_apart(there, SETTINGS))


@pytest.mark.parametrize(
    "faults",
    ["killed+torn+lost+long", "endless+negative+kind+narrow", "fewer+skipped+nameless+numberless"],
)
def test_a_process_that_fails_is_replaced(faulty, tmp_path, here, faults, caplog):
    """It dies or lies; another process goes on behind the last generation, each time in a line."""
    wanted = settings(24, 12)
    assert_same_search(evolve(here, wanted), evolve_apart(faulty(faults, "2,5,8,11"), wanted))
    begun = [pid for pid, what in done(tmp_path) if what == "search"]
    assert len(begun) == len(set(begun)) == 5
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 4
    assert all("failure 1 in a row" in line for line in said)


@pytest.mark.parametrize("steps", ["1,7", "1,4,6,8"])
def test_failures_between_generations_do_not_add_up(faulty, expected, steps):
    """At the first step, at the last, and several times."""
    assert_same_search(expected, evolve_apart(faulty("killed", steps), SETTINGS))


def test_a_process_that_dies_as_it_begins_is_replaced(faulty, expected):
    """The second one searches."""
    assert_same_search(expected, evolve_apart(faulty("begun", "1"), SETTINGS))


def test_a_process_that_hangs_is_replaced(faulty, tmp_path, expected, monkeypatch):
    """No generation in time is a failure, once some have come; it is ended, not waited for."""
    problem = faulty("hangs", "6")
    search = evolve_apart(problem, SETTINGS)
    found = list(islice(search, 2))
    monkeypatch.setattr(patience, "SHORTEST_DEADLINE_S", 1.0)
    found += search
    assert_same_search(expected, found)
    with pytest.raises(ProcessLookupError):
        os.kill(int(done(tmp_path)[0][0]), 0)


def test_a_process_that_is_killed_at_any_moment_costs_no_bit(there):
    """By somebody else, again and again, while the search goes on."""
    wanted = settings(24, 40)
    search = evolve_apart(there, wanted)
    found, is_over = [next(search)], threading.Event()
    rng = np.random.Generator(np.random.PCG64(5))

    def kill():
        while not is_over.wait(float(rng.uniform(0.1, 0.4)) + 2.0):
            child = there.engine._backend._child
            if child is not None and child._process.poll() is None:
                os.kill(child.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    for generation in search:
        found.append(generation)
        time.sleep(0.05)
    is_over.set()
    killer.join()
    assert_same_search(evolve(a_problem("cpu"), wanted), found)


def test_a_generation_that_the_search_dies_of_is_made_here(faulty, tmp_path, expected, caplog):
    """After two failures on one generation; the process goes on with the next."""
    assert_same_search(expected, evolve_apart(faulty("killed", "3,4"), SETTINGS))
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "outside of the device's process" in line] == said[2:]
    assert len([what for _, what in done(tmp_path) if what == "search"]) == 3


def test_a_search_that_dies_of_every_generation_stays_here(faulty, tmp_path, expected, caplog):
    """After three generations nobody tries any more, which is said."""
    steps = ",".join(map(str, range(1, 100)))
    assert_same_search(expected, evolve_apart(faulty("killed", steps), SETTINGS))
    assert len([what for _, what in done(tmp_path) if what == "search"]) == 6
    assert "from 2 on all generations" in caplog.records[-1].getMessage()


def failing(tmp_path, fault, calls, on_loss="stop"):
    """A problem on a device that fails at evaluation, searching or not."""
    module = "tests.support.failing_child"
    command = [sys.executable, "-m", module, fault, calls, str(tmp_path / "calls")]
    return a_problem(apart(command, on_loss))


@pytest.mark.parametrize("fault", ["short", "numberless", "lost"])
def test_evaluation_is_looked_at_in_the_device_s_process(tmp_path, expected, fault):
    """Whom the device leaves out there, or gives no number, it fails on there."""
    assert_same_search(expected, evolve_apart(failing(tmp_path, fault, "3"), SETTINGS))
    processes = (tmp_path / "calls").read_text().split()
    assert [processes.index(pid) for pid in processes] == [0, 0, 0, *[3] * (len(processes) - 3)]


def test_three_failures_in_a_row_stop(tmp_path, expected):
    """A device that fails at every evaluation is lost; the generations before it were given."""
    calls = ",".join(map(str, range(4, 100)))
    search = evolve_apart(failing(tmp_path, "lost", calls), SETTINGS)
    assert_same_search(expected[:3], islice(search, 3))
    with pytest.raises(DeviceLostError, match=r"failed 3 times in a row, .*--on-gpu-loss cpu"):
        next(search)


def test_an_individual_that_kills_the_device_is_named(tmp_path):
    """Also where the search that meets it runs in the device's process."""
    hold = int(SPEC.layout.defaults[-1])
    search = evolve_apart(failing(tmp_path, "deadly", str(hold)), SETTINGS)
    named = rf"on this individual alone, please report it: {{.*\"max_hold\": {hold}\b"
    with pytest.raises(DeviceLostError, match=named):
        list(search)


@pytest.mark.parametrize(("fault", "calls"), [("killed", "2,3,4"), ("full", "2")])
def test_the_cpu_goes_on_when_asked_to(tmp_path, expected, fault, calls, caplog):
    """Behind the last generation that came, with the same bits, and a word."""
    search = evolve_apart(failing(tmp_path, fault, calls, "cpu"), SETTINGS)
    assert_same_search(expected, search)
    said = [record.getMessage() for record in caplog.records]
    assert sum("the CPU goes on" in line for line in said) == 1


@pytest.mark.parametrize(
    ("fault", "kind", "why"),
    [
        ("full", DeviceError, "^the GPU ran out of memory$"),
        ("contradiction", OptimizerError, "^the evaluation contradicts itself$"),
        ("illegal", GenomeError, "^individual 3 is not legal$"),
        ("defect", EngineError, "met a defect: IndexError: list index out of range"),
    ],
)
def test_what_would_happen_again_is_told_as_it_is(faulty, tmp_path, here, fault, kind, why):
    """As the error it is, by the first process; the device goes on to evaluate."""
    problem = faulty(fault, "2")
    with pytest.raises(kind, match=why) as caught:
        list(evolve_apart(problem, SETTINGS))
    assert not isinstance(caught.value, DeviceLostError)
    genomes = random_genomes(SPEC, 10, seed=1)
    assert_same_bits(here.engine.evaluate(genomes), problem.engine.evaluate(genomes), "genomes")
    assert len({pid for pid, _ in done(tmp_path)}) == 1


def test_ctrl_c_leaves_no_answer_behind(there, expected, monkeypatch):
    """While a generation is waited for: who goes on gets the generations that are missing."""
    search = evolve_apart(there, SETTINGS)
    found = list(islice(search, 2))
    with monkeypatch.context() as patched:

        def interrupted(*_):
            raise KeyboardInterrupt

        patched.setattr(Child, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            next(search)
    found += evolve_apart(there, SETTINGS, resume_from=found[-1])
    assert_same_search(expected, found)


def test_a_process_that_cannot_search_evaluates(expected):
    """The search is made here then, without a word."""
    problem = a_problem(apart(child_command("cpu", "cpu")))
    assert_same_search(expected, evolve_apart(problem, SETTINGS))
    assert not problem.engine.is_apart


def test_nothing_is_left_open(expected):
    """No descriptor and no process, whether the search ended or was left."""
    before = set(os.listdir("/proc/self/fd"))
    for taken in (2, None):
        problem = a_problem(apart(child_command("cpu", "cpu", CHILD)))
        search = evolve_apart(problem, SETTINGS)
        assert_same_search(expected[:taken], islice(search, taken))
        pid = problem.engine._backend._child.pid
        del problem, search
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    # Children that tests before have forgotten may end meanwhile.
    assert set(os.listdir("/proc/self/fd")) <= before


def test_a_search_beside_a_gpu_s_kernels(here, monkeypatch):
    """Interpreted, with rows that the device looks up itself: every bit is the CPU's."""
    pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    command = [sys.executable, "-m", "tests.support.interpreted_child"]
    wanted = settings(3, 2)
    assert_same_search(evolve(here, wanted), evolve_apart(a_problem(apart(command)), wanted))


@pytest.fixture
def moves(monkeypatch):
    """The generations behind which searches moved to the device's process."""
    seen, original = [], Engine.worked

    def worked(self, work):
        seen.append(work.last.number)
        return original(self, work)

    monkeypatch.setattr(Engine, "worked", worked)
    return seen


def test_a_short_search_does_not_move(there, expected, moves):
    """It ends before the device's process would have paid."""
    assert_same_search(expected, evolve_moving(there, SETTINGS))
    assert not moves


def test_a_search_moves_when_that_pays(there, expected, moves, monkeypatch):
    """Behind the first generation, if that was long enough; the others have the same bits."""
    monkeypatch.setattr(parent, "PAYS_AFTER_S", 0.0)
    assert_same_search(expected, evolve_moving(there, SETTINGS))
    assert moves == [0]


def test_only_what_is_not_evaluation_counts(there, expected, moves, monkeypatch):
    """A search whose evaluation takes long gains nothing where it would move."""
    monkeypatch.setattr(parent, "PAYS_AFTER_S", 2.0)
    judge = EngineProblem.evaluate

    def slowly(self, genomes):
        time.sleep(0.5)
        return judge(self, genomes)

    monkeypatch.setattr(EngineProblem, "evaluate", slowly)
    assert_same_search(expected, evolve_moving(there, SETTINGS))
    assert not moves


def test_a_search_that_a_device_does_not_take_stays(here, there, moves, monkeypatch):
    """Islands have no place there."""
    monkeypatch.setattr(parent, "PAYS_AFTER_S", 0.0)
    islands = SEARCHES["islands"]
    assert_same_search(evolve(here, islands), evolve_moving(there, islands))
    assert not moves


def test_a_search_that_is_taken_up_moves_too(there, expected, moves, monkeypatch):
    """From the middle, and from its end, where nothing is left."""
    monkeypatch.setattr(parent, "PAYS_AFTER_S", 0.0)
    assert_same_search(expected[4:], evolve_moving(there, SETTINGS, resume_from=expected[3]))
    assert moves == [4]
    assert not list(evolve_moving(there, SETTINGS, resume_from=expected[-1]))
