"""A device in a process of its own: whatever happens to the process, the bits are the same."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data.bars import Window
from engine import backends
from engine.backends import chosen
from engine.backends.chosen import Device
from engine.backends.cpu import CpuBackend
from engine.backends.isolated import Child, IsolatedMaker, blame, child_command, patience
from engine.batch import Engine
from engine.costs import Costs
from engine.errors import DeviceError, DeviceLostError, EngineError
from engine.plain import plain_spec, spec_of
from engine.wire import ClosedError, Frame, receive, send
from strategy import STRATEGIES
from tests.support.parity import assert_same_bits
from tests.support.worlds import SHORT_SPECS, make_bars, random_genomes

SPEC = SHORT_SPECS["seller_exhaustion"]
SERIES = [make_bars(7, 500, jump=0.1), make_bars(8, 300)]
WINDOWS = [Window.whole(SERIES[0]), Window(1, 20, 280)]
COSTS = Costs(fee_bp=7.0, risk_fraction=0.03)


def expected(genomes):
    """What the CPU says in this process."""
    return Engine(SPEC, SERIES, WINDOWS, COSTS, device="cpu", threads=1).evaluate(genomes)


@pytest.fixture
def isolated(tmp_path):
    """Make an engine whose device lives in a child that fails as told; gives its backend too."""

    def made(fault, calls, on_loss="stop"):
        module = "tests.support.failing_child"
        command = [sys.executable, "-m", module, fault, calls, str(tmp_path / "calls")]
        fallback = (lambda: CpuBackend) if on_loss == "cpu" else None
        maker = IsolatedMaker("cpu", (), fallback, command=command)
        device = Device("a child", "a test", maker)
        return Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)

    return made


def pids(folder):
    """Processes that were asked to evaluate, in order."""
    return [int(line) for line in (folder / "calls").read_text().split()]


@pytest.mark.parametrize("fault", ["killed", "torn", "lost", "short", "numberless"])
def test_a_failed_child_is_replaced(isolated, tmp_path, fault, caplog):
    """The third evaluation fails; another process makes it again, with the same rows and bits."""
    engine = isolated(fault, "3")
    for seed in range(1, 6):
        genomes = random_genomes(SPEC, 20, seed)
        assert_same_bits(expected(genomes), engine.evaluate(genomes), f"population {seed}")
    asked = pids(tmp_path)
    assert len(asked) == 6
    assert len(set(asked[:3])) == len(set(asked[3:])) == 1
    assert asked[0] != asked[-1]
    (line,) = [record.getMessage() for record in caplog.records]
    assert "failure 1 in a row" in line


def test_a_child_that_hangs_is_replaced(isolated, tmp_path, monkeypatch):
    """No answer in time is a failure; the process is ended, not waited for."""
    engine = isolated("hangs", "2")
    genomes = random_genomes(SPEC, 5, seed=1)
    engine.evaluate(genomes)
    monkeypatch.setattr(patience, "SHORTEST_DEADLINE_S", 1.0)
    began = time.monotonic()
    assert_same_bits(expected(genomes), engine.evaluate(genomes), "after the hang")
    assert time.monotonic() - began < 60
    with pytest.raises(ProcessLookupError):
        os.kill(pids(tmp_path)[0], 0)


def test_three_failures_in_a_row_stop(isolated, tmp_path):
    """A device that keeps failing is not asked a fourth time for all; the error says what to do."""
    engine = isolated("lost", "2,3,4")
    genomes = random_genomes(SPEC, 5, seed=1)
    engine.evaluate(genomes)
    with pytest.raises(DeviceLostError, match=r"failed 3 times in a row, .*--on-gpu-loss cpu"):
        engine.evaluate(genomes)
    assert len(set(pids(tmp_path)[:4])) == 3


def deadly(holds):
    """A population of 40 whose max_hold is 5, but for those that are given."""
    genomes = random_genomes(SPEC, 40, seed=9)
    genomes[:, SPEC.layout.index("max_hold")] = 5
    for member, hold in holds.items():
        genomes[member, SPEC.layout.index("max_hold")] = hold
    return genomes


@pytest.mark.parametrize("holds", [{23: 7}, {0: 7}, {39: 7, 3: 7}], ids=["one", "first", "two"])
def test_an_individual_that_kills_the_device_is_named(isolated, tmp_path, holds):
    """With every gene to the last bit, after halving and no more; who is well goes unnamed."""
    engine, genomes = isolated("deadly", "7"), deadly(holds)
    with pytest.raises(DeviceLostError) as caught:
        engine.evaluate(genomes)
    message = str(caught.value)
    assert "it fails on this individual alone, please report it: {" in message
    named = json.loads(message[message.index("{") : message.index("}") + 1])
    genome = SPEC.layout.encode(named)
    assert any((genome == genomes[member]).all() for member in holds)
    assert len(pids(tmp_path)) <= 3 + 2 * 6
    assert "use --device cpu, or --on-gpu-loss cpu" in message


def test_a_deadly_individual_does_not_stop_who_may_go_on(isolated, tmp_path):
    """With the fallback chosen nobody looks for it: the CPU goes on at once, as ever."""
    engine, genomes = isolated("deadly", "7", on_loss="cpu"), deadly({23: 7})
    assert_same_bits(expected(genomes), engine.evaluate(genomes), "fallback")
    assert len(pids(tmp_path)) == 3


def test_a_device_that_fails_on_nobody_alone_names_nobody(isolated):
    """Where neither half fails by itself the device is to blame, or all of them together."""
    engine = isolated("lost", "1,2,3")
    with pytest.raises(DeviceLostError) as caught:
        engine.evaluate(random_genomes(SPEC, 10, seed=1))
    assert "it fails on" not in str(caught.value)


def halves(members, suspects):
    """What a search for them finds."""

    def fails(part, until):
        return suspects <= set(part.tolist())

    return blame.smallest_failing(fails, members, 60.0).tolist()


@pytest.mark.parametrize("members", [1, 2, 3, 17, 100])
def test_the_one_who_fails_is_found(members):
    """Wherever he is."""
    for suspect in {0, members // 2, members - 1}:
        assert halves(members, {suspect}) == [suspect]


def test_those_who_fail_together_are_found_as_far_as_they_are_together():
    """Two who are in one half stay suspects; two in different halves are nobody's fault alone."""
    assert halves(16, {8, 9}) == [8, 9]
    assert halves(16, {7, 8}) == list(range(16))


def test_a_search_that_takes_too_long_ends():
    """With as many suspects as are left."""
    assert blame.smallest_failing(lambda part, until: True, 64, 0.0).tolist() == list(range(64))


def test_failures_between_successes_do_not_add_up(isolated):
    """Only failures in a row count."""
    engine = isolated("killed", "2,4,6,8,10")
    for seed in range(1, 7):
        genomes = random_genomes(SPEC, 5, seed)
        assert_same_bits(expected(genomes), engine.evaluate(genomes), f"population {seed}")


@pytest.mark.parametrize(("fault", "calls"), [("killed", "2,3,4"), ("full", "2")])
def test_the_cpu_goes_on_when_asked_to(isolated, fault, calls):
    """With the fallback chosen, a device that fails for good costs time and no bit."""
    engine = isolated(fault, calls, on_loss="cpu")
    for seed in range(1, 5):
        genomes = random_genomes(SPEC, 15, seed)
        assert_same_bits(expected(genomes), engine.evaluate(genomes), f"population {seed}")
    alone = Engine(SPEC, SERIES, WINDOWS, COSTS, device="cpu")
    for left, right in zip(alone.trades(genomes[0]), engine.trades(genomes[0]), strict=True):
        assert_same_bits(left.r, right.r, "ledger")


def test_a_full_device_is_told_as_it_is(isolated):
    """Another process would be as short of memory: the error is the device's own."""
    engine = isolated("full", "1")
    with pytest.raises(DeviceError, match="ran out of memory"):
        engine.evaluate(random_genomes(SPEC, 5, seed=1))


def test_a_defect_is_not_blamed_on_the_device(isolated):
    """What would happen again in another process is raised with its name."""
    engine = isolated("defect", "1")
    with pytest.raises(EngineError, match="met a defect: IndexError: list index out of range"):
        engine.evaluate(random_genomes(SPEC, 5, seed=1))


def test_everything_that_an_engine_gives_crosses_the_pipe(isolated):
    """Rows, signals and ledgers are those of the process itself."""
    engine, alone = isolated("killed", "0"), Engine(SPEC, SERIES, WINDOWS, COSTS, device="cpu")
    genome = random_genomes(SPEC, 2, seed=3)[0]
    for left, right in zip(alone.signals(genome), engine.signals(genome), strict=True):
        assert_same_bits(left, right, "signals")
    for left, right in zip(alone.trades(genome), engine.trades(genome), strict=True):
        assert left.rejected == right.rejected
        for name, column in left.columns().items():
            assert_same_bits(column, right.columns()[name], name)
    form = engine._columns[0][0]
    assert_same_bits(alone.row(form, (5,), 1), engine.row(form, (5,), 1), "row")
    assert engine.threads == 1


def test_the_child_ends_with_its_parent(isolated, tmp_path):
    """No process is left behind when the engine is gone."""
    engine = isolated("killed", "0")
    engine.evaluate(random_genomes(SPEC, 2, seed=1))
    (pid,) = set(pids(tmp_path))
    os.kill(pid, 0)
    del engine
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("name", ["cpu", "cuda"])
def test_a_child_without_a_parent_ends_in_silence(name):
    """It was started for nothing, or its parent was killed: a person sees no word of it."""
    if name == "cuda":
        pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    command = child_command(name, name)
    found = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, b"", b"")


def test_a_program_that_is_no_child_is_refused():
    """A child that cannot start is a device that is not there, not a hang."""
    maker = IsolatedMaker("cpu", (), command=[sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(
        DeviceLostError, match=r"cannot be started: .*exit code 3; use --device cpu"
    ):
        Engine(SPEC, SERIES, WINDOWS, device=Device("none", "a test", maker))


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_a_process_that_was_begun_for_nothing_is_ended(monkeypatch, device):
    """It starts before the driver has said what there is; where there is nothing it goes again."""
    begun = []

    def child(command):
        begun.append(Child([sys.executable, "-c", "input()"]))
        return begun[-1]

    monkeypatch.setattr(chosen, "has_driver", lambda: True)
    monkeypatch.setattr(chosen, "Child", child)
    monkeypatch.setattr(backends, "why_absent", lambda name: "there is none")
    if device == "auto":
        assert chosen.choose_device(device, on_loss="stop").label == "cpu"
    else:
        with pytest.raises(DeviceError, match="there is none"):
            chosen.choose_device(device, on_loss="stop")
    (process,) = begun
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_strategies_cross_the_pipe(name):
    """A strategy told in plain values is the same strategy."""
    import json

    spec = SHORT_SPECS[name]
    assert spec_of(json.loads(json.dumps(plain_spec(spec)))) == spec


@given(
    st.text(max_size=20),
    st.dictionaries(st.text(max_size=5), st.integers() | st.floats(allow_nan=False), max_size=3),
    st.lists(st.integers(0, 50), max_size=3),
)
def test_frames_arrive_as_sent(kind, told, sizes):
    """Any kind, values and arrays, to the last bit."""
    rng = np.random.Generator(np.random.PCG64(len(sizes)))
    arrays = [rng.integers(0, 255, size * 8, np.uint8).view(np.float64) for size in sizes]
    reader, writer = os.pipe()
    try:
        send(writer, Frame(kind, told, arrays))
        found = receive(reader, 5.0)
    finally:
        os.close(reader)
        os.close(writer)
    assert (found.kind, found.told) == (kind, told)
    assert [array.tobytes() for array in found.arrays] == [array.tobytes() for array in arrays]


@pytest.mark.parametrize("sizes", [[400_000], [0, 1] * 1500, [0] * 3000, [50_000, 0, 3, 70_000]])
def test_frames_longer_than_a_pipe_arrive_whole(sizes):
    """However often it is full, and however many arrays there are, also empty ones."""
    reader, writer = os.pipe()
    rng = np.random.Generator(np.random.PCG64(1))
    arrays = [rng.standard_normal(size) for size in sizes]
    with ThreadPoolExecutor(1) as other:
        found = other.submit(receive, reader, 60.0)
        send(writer, Frame("many", {}, arrays))
        for sent, arrived in zip(arrays, found.result().arrays, strict=True):
            assert_same_bits(sent, arrived, "array")
    os.close(reader)
    os.close(writer)


def test_nobody_who_reads_is_told():
    """As an error, whatever is still to be written."""
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(ClosedError, match="nobody reads"):
        send(writer, Frame("lost", {}, [np.zeros(100_000)]))
    os.close(writer)


@pytest.mark.parametrize("shape", [[-1], [10**15], [2**40, 2**40], [2**32, 2**32], ["x"]])
def test_sizes_that_make_no_sense_are_refused(shape):
    """No array is made for what a process says that has lost its mind."""
    head = json.dumps(["done", {}, [["float64", *shape]]]).encode()
    reader, writer = os.pipe()
    os.write(writer, len(head).to_bytes(8, "little") + head + bytes(64))
    os.close(writer)
    with pytest.raises(ClosedError, match=r"not a frame|it ended"):
        receive(reader, 5.0)
    os.close(reader)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "ended"),
        (b"\x05\0\0\0\0\0\0\0[1,", "ended"),
        (b"\x04\0\0\0\0\0\0\0nope", "not a frame"),
    ],
)
def test_what_is_no_frame_is_refused(raw, why):
    """Half a frame, none, or noise: an error at once."""
    reader, writer = os.pipe()
    os.write(writer, raw)
    os.close(writer)
    with pytest.raises(ClosedError, match=why):
        receive(reader, 5.0)
    os.close(reader)


def test_a_child_that_dies_at_its_start_is_replaced(tmp_path):
    """The first process ends before it says a word; the second one serves."""
    program = (
        f"import pathlib, sys; seen = pathlib.Path({str(tmp_path / 'seen')!r})\n"
        "if not seen.exists(): seen.touch(); sys.exit(1)\n"
        "sys.argv = ['child', 'cpu', 'cpu']\n"
        "from engine.backends.isolated.child import main; main()"
    )
    maker = IsolatedMaker("cpu", (), command=[sys.executable, "-c", program])
    device = Device("a child", "a test", maker)
    engine = Engine(SPEC, SERIES, WINDOWS, COSTS, device=device, threads=1)
    genomes = random_genomes(SPEC, 5, seed=1)
    assert_same_bits(expected(genomes), engine.evaluate(genomes), "second process")
