"""Devices by name, and the errors of missing ones."""

import sys
import threading

import pytest

import engine.devices
from engine.devices import BACKENDS, choose_backend, choose_device, load_backend
from engine.errors import DeviceError
from engine.workload import Workload
from strategy import find_strategy
from tests.support.random_strategies import drawn_strategy


@pytest.fixture
def four_gpus(monkeypatch):
    """A machine with four GPUs, as far as names are concerned."""
    monkeypatch.setattr(engine.devices, "why_absent", lambda name: "")
    monkeypatch.setattr(engine.devices, "count_gpus", lambda: 4)


@pytest.mark.parametrize(
    ("name", "label", "devices"),
    [
        ("auto", "cuda:0,1,2,3", (0, 1, 2, 3)),
        ("cuda", "cuda:0,1,2,3", (0, 1, 2, 3)),
        ("cuda:2", "cuda:2", (2,)),
        ("cuda:3,1", "cuda:3,1", (3, 1)),
        ("cuda:1,1", "cuda:1", (1,)),
        ("cpu", "cpu", ()),
    ],
)
def test_names_of_devices(four_gpus, name, label, devices):
    """All GPUs, some by number, each once, or the processor."""
    choice = choose_backend(name)
    assert (choice.label, choice.devices) == (label, devices)


@pytest.mark.parametrize("name", ["cuda:", "cuda:a", "cuda:-1", "cuda:0,", "cpu:0", "gpu", ""])
def test_unknown_names_are_refused(four_gpus, name):
    """What is no device is named, with what would be one."""
    with pytest.raises(DeviceError, match=f"device '{name}' is unknown; known: auto, cuda:0"):
        choose_backend(name)


def test_a_gpu_that_is_not_there_is_refused(four_gpus):
    """A number that this machine lacks is never replaced by another."""
    with pytest.raises(DeviceError, match="'cuda:1,4' is not available: this machine shows 4 GPUs"):
        choose_backend("cuda:1,4")


def test_auto_says_why_it_takes_the_processor(monkeypatch):
    """Without a GPU auto takes the CPU and names the reason; cuda is refused with it."""
    monkeypatch.setattr(engine.devices, "why_absent", lambda name: "no driver")
    assert choose_backend("auto") == ("cpu", "no GPU is used, no driver", ())
    with pytest.raises(DeviceError, match="'cuda:0' is not available: no driver; use cpu or auto"):
        choose_backend("cuda:0")


def test_strategies_run_on_the_named_device(four_gpus, monkeypatch):
    """On GPUs by the same names and the same weighing, or refused; never somewhere else."""
    pytest.importorskip("triton", reason="triton is not installed (extra 'dev' or 'gpu')")
    strategy = drawn_strategy(1)
    few, many = Workload(10**6, 0), Workload(10**12, 0)
    for name, workload, label in (
        ("cuda:2", None, "cuda:2"),
        ("cpu", None, "cpu"),
        ("auto", few, "cpu"),
        ("auto", many, "cuda:0,1,2,3"),
    ):
        device = choose_device(strategy, name, workload)
        assert device.label == label
        numbers = ",".join(map(str, getattr(device.maker, "devices", ())))
        assert label == (f"cuda:{numbers}" if numbers else "cpu")
    monkeypatch.setattr(engine.devices, "why_absent", lambda name: "no driver")
    with pytest.raises(DeviceError, match="'cuda' is not available: no driver; use cpu or auto"):
        choose_device(strategy, "cuda")


SAMPLE = 35_040


@pytest.mark.parametrize(
    ("individuals", "bars", "rows", "threads", "expected", "reason"),
    [
        (512 * 101 + 4096, SAMPLE, 4000, 2, "cpu", "2 G individual-bars, a GPU would start longer"),
        (512 * 101 + 4096, SAMPLE, 4000, 16, "cpu", "2 G individual-bars, a GPU would start"),
        (512 * 4001, SAMPLE, 4000, 16, "cuda:0,1,2,3", "72 G individual-bars, a GPU pays"),
        (4096 * 1001, SAMPLE, 4000, 16, "cuda:0,1,2,3", "144 G individual-bars, a GPU pays"),
        (1024 * 41, 2_000_000, 4000, 16, "cuda:0,1,2,3", "84 G individual-bars, a GPU pays"),
        # Few individuals, but rows that take long.
        (128, 2_000_000, 4000, 2, "cuda:0,1,2,3", "0.26 G individual-bars, a GPU pays"),
        (1, 35_040, 6, None, "cpu", "0.035 M individual-bars, a GPU would start longer"),
    ],
)
def test_auto_weighs_the_work(four_gpus, individuals, bars, rows, threads, expected, reason):
    """A GPU where it is done first with its start, with the figure that decided."""
    workload = Workload(individuals * bars, rows * bars, threads)
    choice = choose_backend("auto", workload)
    assert choice.label == expected
    assert choice.reason.startswith(reason)
    for named in ("cpu", "cuda"):
        assert choose_backend(named, workload).name == named


def test_auto_asks_no_driver_for_little_work(monkeypatch):
    """To ask it takes longer than it may save."""
    monkeypatch.setattr(engine.devices, "why_absent", None)
    assert choose_backend("auto", Workload(10**6, 0)).name == "cpu"


def test_auto_knows_what_other_strategies_take(four_gpus, monkeypatch):
    """Those that fast kernels do not know take a core longer: a GPU pays for half as much."""
    monkeypatch.setattr(engine.devices, "_maker", lambda *given: None)
    workload = Workload(5e9, 0, 2)
    assert choose_device(find_strategy("seller_exhaustion"), "auto", workload).label == "cpu"
    device = choose_device(drawn_strategy(0), "auto", workload._replace(is_fast_case=False))
    assert device.label.startswith("cuda")
    assert device.reason == "5 G individual-bars, a GPU pays"


@pytest.mark.parametrize(
    ("population", "generations", "threads", "label"),
    [
        (512, 100, 16, "cpu"),
        (512, 100, 2, "cpu"),
        (4096, 100, 16, "cuda:0,1,2,3"),
        (4096, 100, 2, "cuda:0,1,2,3"),
        # A GPU is asked as often for few individuals as for many.
        (16, 3000, 16, "cpu"),
    ],
)
def test_auto_knows_what_a_call_takes(four_gpus, population, generations, threads, label):
    """Of strategies without a fast case, of which sixteen cores are as fast as four."""
    evaluated = population * generations * SAMPLE
    workload = Workload(evaluated, 0, threads, is_fast_case=False, calls=generations)
    assert choose_backend("auto", workload).label == label


def test_more_cores_make_a_gpu_pay_later(four_gpus):
    """Whatever the work, who has more cores needs more of it."""
    least = []
    for threads in (1, 2, 16, 64):
        sizes = [10**exponent for exponent in range(6, 14)]
        pays = [Workload(size, 0, threads).pays_on_a_gpu for size in sizes]
        assert pays == sorted(pays)
        least.append(sizes[pays.index(True)])
    assert least == sorted(least)


def test_a_gpu_starts_beside_the_import_of_torch(monkeypatch, tmp_path):
    """Its driver is asked in a thread, once, for no other device, and when Triton is imported."""
    started = []
    done = threading.Event()

    def start_gpus(numbers):
        started.append((numbers, threading.current_thread() is threading.main_thread()))
        assert "triton" in sys.modules
        done.set()

    importing = engine.devices.importlib.import_module

    def fake_import(name):
        if name == "triton":
            monkeypatch.setitem(sys.modules, "triton", object())
            raise ImportError("there is none, which is reported later")
        return importing(name)

    monkeypatch.delitem(sys.modules, "triton", raising=False)
    monkeypatch.setattr(engine.devices.importlib, "import_module", fake_import)

    monkeypatch.setattr(engine.devices, "start_gpus", start_gpus)
    (tmp_path / "a_gpu_of_tests.py").write_text("Maker = tuple")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(BACKENDS, "cuda", "a_gpu_of_tests:Maker")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    load_backend("cpu")
    assert started == []
    load_backend("cuda", (1, 2))
    assert done.wait(10)
    assert started == [((1, 2), False)]
    monkeypatch.setitem(sys.modules, "torch", object())
    monkeypatch.delitem(sys.modules, "a_gpu_of_tests")
    load_backend("cuda", (1, 2))
    assert len(started) == 1
