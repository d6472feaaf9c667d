"""Populations under way in a child: several at once, none lost, and nothing of a dead one seen."""

import os
import signal
import sys
import time

import numpy as np
import pytest

from data.bars import Window
from engine import areas
from engine.areas import places_of
from engine.backends.chosen import Device
from engine.backends.cpu import CpuBackend
from engine.backends.isolated import IsolatedMaker, calls
from engine.backends.isolated.calls import AREAS, Call, Child
from engine.backends.isolated.child import Servant
from engine.batch import Engine
from engine.costs import Costs
from engine.errors import DeviceError, DeviceLostError
from engine.wire import Frame
from tests.support.late_child import DEADLY_HOLD
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
SERIES = [make_bars(7, 500, jump=0.1), make_bars(8, 300)]
WINDOWS = [Window.whole(SERIES[0]), Window(1, 20, 280)]
COSTS = Costs(fee_bp=7.0, risk_fraction=0.03)
ECHO = [sys.executable, "-S", "-c", "input()"]


@pytest.fixture(scope="module")
def alone():
    """What the CPU says in this process."""
    return Engine(SPEC, SERIES, WINDOWS, COSTS, device="cpu", threads=1)


@pytest.fixture
def late(tmp_path):
    """Make an engine whose device works when it is waited for, and is killed as told."""

    def made(killed="0", on_loss="stop", **options):
        file = str(tmp_path / "asked")
        command = [sys.executable, "-m", "tests.support.late_child", file, killed]
        fallback = (lambda: CpuBackend) if on_loss == "cpu" else None
        device = Device("a child", "a test", IsolatedMaker("cpu", (), fallback, command=command))
        return Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1, **options)

    return made


def asked(folder):
    """What processes were asked, without their numbers, in order."""
    return [line.split(maxsplit=1)[1] for line in (folder / "asked").read_text().splitlines()]


def pids(folder):
    """The processes, in the order in which they were first asked."""
    lines = (folder / "asked").read_text().splitlines()
    return list(dict.fromkeys(int(line.split()[0]) for line in lines))


def populations(sizes):
    """One of each size, nobody deadly."""
    found = [random_genomes(SPEC, size, seed) for seed, size in enumerate(sizes, start=1)]
    for genomes in found:
        genomes[genomes[:, -1] == DEADLY_HOLD, -1] += 1
    return found


def assert_each(alone, engine, asked_for):
    """All results are those of the CPU."""
    for number, found in enumerate(engine.evaluate_each(asked_for)):
        assert_same_bits(alone.evaluate(asked_for[number]), found, f"population {number}")


def test_the_next_population_is_begun_before_the_last_is_waited_for(late, tmp_path, alone):
    """Two are in the child at once, in memory of their own, and the bits are the same."""
    engine, asked_for = late(), populations([5, 3, 7, 7, 1, 2])
    assert_each(alone, engine, asked_for)
    assert_each(alone, engine, asked_for)
    lines = [line for line in asked(tmp_path) if line != "decline"]
    again = lines[-12:]
    assert again[:4] == ["begin 5", "begin 3", "wait", "begin 7"]
    assert len(pids(tmp_path)) == 1


@pytest.mark.parametrize("chunk", [1, 2, 5])
def test_more_parts_than_areas_take_turns(late, alone, chunk):
    """A population in many parts goes through few areas."""
    engine, (genomes,) = late(chunk=chunk), populations([17])
    assert 17 // chunk >= AREAS
    for _ in range(2):
        assert_same_bits(alone.evaluate(genomes), engine.evaluate(genomes), f"by {chunk}")


@pytest.mark.parametrize("sizes", [[5, 3, 7, 7, 1, 2], [30, 20, 9, 40, 12, 12]])
@pytest.mark.parametrize("killed", ["1", "2", "3", "2,5", "4,6"])
def test_a_child_killed_with_two_under_way_costs_no_bit(late, tmp_path, alone, killed, sizes):
    """Both are made again by its successor."""
    engine, asked_for = late(killed), populations(sizes)
    assert_each(alone, engine, asked_for)
    assert len(pids(tmp_path)) == 1 + len(killed.split(","))


@pytest.mark.parametrize("killed", ["0", "1", "2", "3", "4,7", "5"])
def test_rows_under_way_are_not_replaced(late, tmp_path, alone, killed):
    """Where a full bank gives slots to other rows, what is under way has read those it needs."""
    engine, asked_for = late(killed, memory_bytes=250_000), populations([5, 6, 7, 4, 6, 3])
    capacity = engine._bank.capacity
    assert max(engine.distinct_rows(p) for p in asked_for) <= capacity
    assert engine.distinct_rows(np.concatenate(asked_for)) > capacity
    assert_each(alone, engine, [*asked_for, *asked_for])
    assert engine.rows_computed > capacity


def test_rows_are_looked_up_by_the_device(late, tmp_path, alone):
    """Where it can: refused at first, then without a slot crossing the pipe."""
    engine, (genomes,) = late(), populations([20])
    for _ in range(2):
        assert_same_bits(alone.evaluate(genomes), engine.evaluate(genomes), "tried")
    lines = [line for line in asked(tmp_path) if line != "fill"]
    assert lines == ["try 20", "wait", "begin 20", "wait", "try 20", "wait"]


def test_who_declined_once_is_not_asked_again(late, tmp_path, alone):
    """For as few individuals or fewer; for more it is."""
    engine = late()
    for size in (5, 5, 3, 7, 6):
        (genomes,) = populations([size])
        assert_same_bits(alone.evaluate(genomes), engine.evaluate(genomes), f"{size}")
    lines = [line for line in asked(tmp_path) if line not in ("fill", "wait")]
    assert lines == ["decline", "begin 5", "begin 5", "begin 3", "decline", "begin 7", "begin 6"]


def test_a_child_killed_between_generations_is_replaced(late, tmp_path, alone, caplog):
    """Also when several are handed over before anybody notices."""
    engine, asked_for = late(), populations([5, 20, 6])
    assert_each(alone, engine, asked_for)
    (pid,) = pids(tmp_path)
    os.kill(pid, signal.SIGKILL)
    assert_each(alone, engine, asked_for)
    assert len(pids(tmp_path)) == 2
    assert len(caplog.records) == 1


@pytest.mark.parametrize("size", [6, 30])
def test_an_individual_that_kills_is_named_whoever_is_under_way(late, tmp_path, size):
    """The population before it is well, and it is found whether rows are looked up or tried."""
    engine, (well, ill) = late(), populations([5, size])
    well[:, -1] = ill[:, -1] = 5
    engine.evaluate(well)
    ill[-2, -1] = DEADLY_HOLD
    found = engine.evaluate_each([well, ill])
    next(found)
    with pytest.raises(DeviceLostError, match=r"on this individual alone, .*\"max_hold\": 7"):
        next(found)


def test_the_cpu_goes_on_with_what_is_under_way(late, alone):
    """Three failures with two populations under way, and the fallback has both."""
    engine, asked_for = late("3,4,5", on_loss="cpu"), populations([5, 6, 20, 4])
    assert_each(alone, engine, asked_for)
    assert_each(alone, engine, asked_for)


def test_no_room_for_a_population_is_told(late, alone, monkeypatch):
    """As it is, for another process would have no more room; once there is some, it goes on."""
    engine, (genomes, more) = late(), populations([5, 2000])
    engine.evaluate(genomes)
    with monkeypatch.context() as full:

        def no_room(*_):
            raise OSError(28, "No space left on device")

        full.setattr(areas, "_fill", no_room)
        with pytest.raises(DeviceError, match=r"no room for .*No space left on device"):
            engine.evaluate(more)
        assert_same_bits(alone.evaluate(genomes), engine.evaluate(genomes), "what fits")
    assert_same_bits(alone.evaluate(more), engine.evaluate(more), "with room")


def test_without_room_the_cpu_goes_on_when_asked_to(late, alone, monkeypatch):
    """The device is given up with a word, and no bit changes."""

    def no_room(*_):
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(areas, "_fill", no_room)
    engine, asked_for = late(on_loss="cpu"), populations([5, 6])
    assert_each(alone, engine, asked_for)


def test_an_interrupted_wait_leaves_no_answer_behind(late, tmp_path, alone, monkeypatch):
    """Ctrl-C while an answer is waited for: the next question gets its own answer."""
    engine, (genomes, other) = late(), populations([5, 6])
    engine.evaluate(genomes)
    with monkeypatch.context() as patched:

        def interrupted(*_):
            raise KeyboardInterrupt

        patched.setattr(Child, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.evaluate(genomes)
    assert_same_bits(alone.evaluate(other), engine.evaluate(other), "the next")
    assert len(pids(tmp_path)) == 2


def test_a_forgotten_population_harms_nobody(late, alone):
    """Its results are waited for when its area is needed, and go where nobody looks."""
    engine, asked_for = late(), populations([5, 6, 7, 4])
    next(engine.evaluate_each(asked_for))
    assert_each(alone, engine, asked_for)


@pytest.mark.parametrize("shape", [(0, 3, 19), (1, 1, 19), (20_000, 1, 19), (3, 9000, 19)])
def test_results_are_brought_whole(shape):
    """A number that is none is noticed wherever it is."""
    found = np.random.Generator(np.random.PCG64(1)).standard_normal(shape)
    out = np.full(shape, np.nan)
    assert calls.bring(found, out)
    assert_same_bits(found, out, "brought")
    for place in {0, found.size // 2, found.size - 1} if found.size else ():
        wrong = found.copy()
        wrong.reshape(-1)[place] = np.nan
        assert not calls.bring(wrong, out)


def a_call(n):
    """One of n individuals, that nobody answers."""
    return Call("evaluate", [np.zeros((n, 8)), np.zeros((n, 3), np.int32)], np.empty((n, 1, 19)))


def test_two_hundred_children_leave_nothing_open():
    """No descriptor, no mapping and no process, whatever was under way when they were ended."""
    before, maps = set(os.listdir("/proc/self/fd")), mappings()
    for n in range(200):
        child = Child(ECHO)
        for part in range(n % (AREAS + 1)):
            child.begin(a_call(10 + n * part))
        child.end()
        with pytest.raises(ProcessLookupError):
            os.kill(child.pid, 0)
    # Children that tests before have forgotten may end meanwhile.
    assert set(os.listdir("/proc/self/fd")) <= before
    assert mappings() <= maps


def mappings():
    """Areas that are mapped into this process."""
    with open("/proc/self/maps", encoding="utf-8") as lines:
        return sum("exhaustion" in line for line in lines)


def test_a_child_has_its_own_descriptors_and_no_others():
    """Three streams and its areas; none of another child's, none that we have open besides."""
    told = "import os, sys; print(*sorted(map(int, os.listdir('/proc/self/fd'))), file=sys.stdout)"
    other = Child(ECHO)
    with open(os.devnull, "rb"):
        child = Child([sys.executable, "-S", "-c", told])
        areas_of = {area.descriptor for area in child._areas}
        found = set(map(int, child._process.stdout.read().split()))
    # The last one is that of the folder which is being listed.
    assert {0, 1, 2} | areas_of <= found
    assert len(found) == 3 + AREAS + 1
    child.end()
    other.end()


def test_what_a_replaced_child_writes_is_seen_by_nobody():
    """Not even where it is not dead yet: its successor's areas are other files."""
    first = Child(ECHO)
    first.begin(a_call(10))
    kept = [os.dup(area.descriptor) for area in first._areas]
    first.end()
    second = Child(ECHO)
    call = a_call(10)
    second.begin(call)
    ((area, found),) = second._taken.values()
    before = found.copy()
    for descriptor in kept:
        os.pwrite(descriptor, bytes(range(256)) * 20, 0)
        os.close(descriptor)
    assert_same_bits(before, found, "the successor's")
    assert area.bytes > 0
    second.end()


def test_sizes_beyond_an_area_are_refused_by_the_child():
    """A frame that tells more than there is becomes an error of its call, not the end of it."""
    area = areas.Area()
    places, size = places_of([("float64", (4, 8)), ("int32", (4, 3)), ("float64", (4, 1, 19))])
    area.grow(size)
    servant = Servant(lambda numbers: CpuBackend)
    descriptor = os.dup(area.descriptor)
    beyond = [*places[:2], ("float64", places[2][1], (4000, 1, 19))]
    for told, why in (
        ({"bytes": 10**9, "places": places}, "greater than file size"),
        ({"bytes": area.bytes, "places": beyond}, "ends before"),
    ):
        assert servant.answer(Frame("evaluate", {"area": descriptor, **told})) is None
        with pytest.raises(ValueError, match=why):
            servant.answer(Frame("wait", {"area": descriptor}))


def test_a_child_that_stops_reading_is_a_failure(late, tmp_path, alone, monkeypatch):
    """Stopped in the middle of a search it is ended and replaced, after the time it has."""
    monkeypatch.setattr("engine.backends.isolated.patience.SHORTEST_DEADLINE_S", 0.5)
    engine, asked_for = late(), populations([5, 6])
    assert_each(alone, engine, asked_for)
    (pid,) = pids(tmp_path)
    os.kill(pid, signal.SIGSTOP)
    began = time.monotonic()
    assert_each(alone, engine, asked_for[:1])
    assert time.monotonic() - began < 60
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.fixture
def counted(monkeypatch):
    """Every child that is started, in order."""
    begun = []

    class Counted(Child):
        def __init__(self, command):
            super().__init__(command)
            begun.append(self)

    for module in ("maker", "keeper"):
        monkeypatch.setattr(f"engine.backends.isolated.{module}.Child", Counted)
    return begun


def shared_device(tmp_path, killed="0"):
    """A device for more than one engine."""
    command = [sys.executable, "-m", "tests.support.late_child", str(tmp_path / "asked"), killed]
    return Device("a child", "a test", IsolatedMaker("cpu", (), command=command))


def test_the_next_engine_takes_the_process_over(tmp_path, alone, counted):
    """On other bars and windows; nothing is started, and what was under way is finished first."""
    device, asked_for = shared_device(tmp_path), populations([5, 20, 6])
    first = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    found = first.evaluate_each(asked_for)
    assert_same_bits(alone.evaluate(asked_for[0]), next(found), "before")
    other = make_bars(9, 700, jump=0.2)
    second = Engine(SPEC, [other], [Window.whole(other)], COSTS, device=device, threads=1)
    expected = Engine(SPEC, [other], [Window.whole(other)], COSTS, device="cpu", threads=1)
    assert_each(expected, second, asked_for)
    assert len(counted) == 1
    for number, rest in enumerate(found, start=1):
        assert_same_bits(alone.evaluate(asked_for[number]), rest, f"rest {number}")
    assert_each(expected, second, asked_for)
    assert_each(alone, first, asked_for)
    assert len(counted) == 2


def test_a_process_that_died_is_not_taken_over(tmp_path, alone, counted, caplog):
    """The next engine starts its own, and somebody is told."""
    device, asked_for = shared_device(tmp_path), populations([5, 6])
    first = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    assert_each(alone, first, asked_for)
    os.kill(counted[0].pid, signal.SIGKILL)
    second = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    assert_each(alone, second, asked_for)
    assert len(counted) == 2
    assert "another process is started" in caplog.text


def test_an_engine_that_is_gone_leaves_no_process_to_take_over(tmp_path, alone, counted):
    """It ended with its engine; the next one starts its own."""
    device, asked_for = shared_device(tmp_path), populations([5])
    first = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    assert_each(alone, first, asked_for)
    del first
    with pytest.raises(ProcessLookupError):
        os.kill(counted[0].pid, 0)
    second = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    assert_each(alone, second, asked_for)


def test_a_process_that_was_taken_over_is_replaced_like_any(tmp_path, alone, counted):
    """Killed in its second life it costs no bit either."""
    device, asked_for = shared_device(tmp_path, "6"), populations([5, 20, 6])
    first = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    assert_each(alone, first, asked_for)
    second = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    assert_each(alone, second, [*asked_for, *asked_for])
    assert len(counted) == 2


def test_a_device_that_was_given_up_is_not_tried_again(tmp_path, alone, counted):
    """The next engine on it goes on where the last one did, and no process is started for it."""
    command = [sys.executable, "-m", "tests.support.late_child", str(tmp_path / "asked"), "2,3,4"]
    maker = IsolatedMaker("cpu", (), lambda: CpuBackend, command=command)
    device, asked_for = Device("a child", "a test", maker), populations([5, 6])
    first = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    assert_each(alone, first, asked_for)
    assert len(counted) == 3
    second = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    assert_each(alone, second, [*asked_for, *asked_for])
    assert len(counted) == 3
