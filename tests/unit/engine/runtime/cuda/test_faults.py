"""What the device's failures become."""

import gc
import weakref

import pytest

from data import Window
from engine.batch import Engine
from strategy import find_strategy
from tests.parity.test_language import EXAMPLE
from tests.support.comparisons import needs_gpu
from tests.support.worlds import make_bars, random_genomes

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")

from engine.errors import DeviceError, DeviceLostError  # noqa: E402
from engine.runtime.cuda import faults  # noqa: E402
from engine.runtime.cuda.faults import device_errors  # noqa: E402
from engine.runtime.shortage import offer_memory, withdraw_memory  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_lost(monkeypatch):
    """A process that has lost no device yet."""
    monkeypatch.setattr(faults, "_LOST", [])


@pytest.fixture
def without_collector():
    """What cycles hold stays."""
    gc.disable()
    yield
    gc.enable()


def failing(error):
    """A guarded function that fails, unless there is nothing to fail with."""

    @device_errors
    def work():
        if error is not None:
            raise error

    return work


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("tried to allocate"),
        RuntimeError("CUDA error: out of memory\nmore"),
        RuntimeError("CUDA driver error: out of memory"),
        RuntimeError("Triton Error [CUDA]: out of memory"),
    ],
    ids=["torch", "runtime", "driver", "triton"],
)
def test_out_of_memory_says_what_to_lower(error):
    """A device that is full is no defect of ours, and this process can go on using it."""
    with pytest.raises(DeviceError, match="ran out of memory: lower --memory") as caught:
        failing(error)()
    assert not isinstance(caught.value, DeviceLostError)
    assert failing(None)() is None


def test_what_others_hold_is_given_back_before_a_device_is_full():
    """The function is called again then, once for each offer that still stands."""
    held, kept = [True], [True]
    give_back, withdrawn = held.clear, kept.clear
    offer_memory(give_back)
    offer_memory(withdrawn)
    withdraw_memory(withdrawn)

    @device_errors
    def work():
        if held:
            raise torch.OutOfMemoryError("tried to allocate")
        return "done"

    assert (work(), kept) == ("done", [True])
    held.append(True)
    with pytest.raises(DeviceError, match="ran out of memory: lower --memory"):
        work()


def test_what_a_cycle_holds_is_given_back_before_a_device_is_full(without_collector):
    """As an exception does that a compiler caught below an engine's caller."""

    class Held:
        """Memory of a device."""

    held = Held()
    held.itself, left = held, weakref.ref(held)
    del held

    @device_errors
    def work():
        if left() is not None:
            raise torch.OutOfMemoryError("tried to allocate")
        return "done"

    assert work() == "done"


STICKY = [
    "CUDA error: an illegal memory access was encountered\nmore",
    "CUDA error: misaligned address",
    "CUDA error: unspecified launch failure",
    "CUDA error: device-side assert triggered",
    "CUDA error: all CUDA-capable devices are busy or unavailable",
    "CUDA error: unknown error",
    "Triton Error [CUDA]: an illegal memory access was encountered",
]


@pytest.mark.parametrize("text", STICKY)
def test_after_a_sticky_fault_only_a_new_process_may_use_the_device(text):
    """The first line is what a person reads, and nothing is asked of the device again."""
    with pytest.raises(DeviceLostError, match=r"the GPU failed \(.*\): a new process") as caught:
        failing(RuntimeError(text))()
    assert text.splitlines()[0] in str(caught.value)
    assert "more" not in str(caught.value)
    with pytest.raises(DeviceLostError, match=r"the GPU failed \(.*\): a new process"):
        failing(None)()


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: no kernel image is available for execution on the device",
        "Triton Error [CUDA]: invalid argument",
    ],
)
def test_what_the_driver_refuses_is_no_lost_device(text):
    """Another process would be refused the same."""
    with pytest.raises(DeviceError, match=r"the GPU refused .*: use --device cpu") as caught:
        failing(RuntimeError(text))()
    assert not isinstance(caught.value, DeviceLostError)
    assert failing(None)() is None


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), ValueError("CUDA")])
def test_other_errors_pass_as_they_are(error):
    """A defect of ours is not blamed on the device."""
    with pytest.raises(type(error), match=str(error)):
        failing(error)()


def test_what_a_guarded_function_holds_goes_with_it(without_collector):
    """Also where one is made for each call: the memory of a device waits for no collector."""

    class Held:
        """What a call holds."""

    def guard(held):
        return device_errors(lambda: held)

    held = Held()
    gone, work = weakref.ref(held), guard(held)
    assert work() is held
    del work, held
    assert gone() is None


@needs_gpu
@pytest.mark.parametrize("strategy", [find_strategy("seller_exhaustion"), EXAMPLE["rsi_pullback"]])
def test_the_memory_of_an_engine_goes_with_it(without_collector, strategy):
    """Whatever it was asked."""
    bars = make_bars(5, 3000)
    engine = Engine(strategy, [bars], [Window.whole(bars)], device="cuda")
    genomes = random_genomes(strategy, 64, seed=1)
    for _ in range(3):
        engine.evaluate(genomes)
    list(engine.ledgers(genomes[:2]))
    gone = weakref.ref(engine._backend)
    del engine
    assert gone() is None
