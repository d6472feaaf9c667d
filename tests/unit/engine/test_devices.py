"""Descriptions of GPUs, from a driver that a test writes."""

import ctypes
import gc
import sys
import weakref
from types import SimpleNamespace

import pytest

from engine import devices
from engine.runtime import gpus


class Driver:
    """Answers as a driver with so many devices does, or fails."""

    def __init__(self, count, error=0):
        """Remember what to answer."""
        self.count, self.error = count, error
        self.retained = []

    def cuInit(self, flags):  # noqa: N802
        """Start."""
        return self.error

    def cuDeviceGetCount(self, count):  # noqa: N802
        """Write how many devices there are."""
        ctypes.cast(count, ctypes.POINTER(ctypes.c_int))[0] = self.count
        return 0

    def cuDeviceGet(self, handle, number):  # noqa: N802
        """Write a device's handle."""
        ctypes.cast(handle, ctypes.POINTER(ctypes.c_int))[0] = number
        return int(number >= self.count)

    def cuDevicePrimaryCtxRetain(self, context, handle):  # noqa: N802
        """Remember whose context was made."""
        self.retained.append(handle.value)
        return 0

    def cuDeviceGetName(self, name, length, number):  # noqa: N802
        """Write a device's name; the last one has none."""
        name.value = f"NVIDIA H{number}".encode()
        return int(number == 2)


@pytest.fixture
def machine(monkeypatch):
    """A machine with the driver that a test gives."""
    gpus.why_no_cuda.cache_clear()

    def make_driver(driver, *, is_built=True):
        monkeypatch.setattr(gpus, "_driver", lambda: driver)
        monkeypatch.setattr(gpus, "_is_torch_built_for_cuda", lambda: is_built)
        monkeypatch.setattr(gpus.importlib.util, "find_spec", lambda name: name)

    yield make_driver
    gpus.why_no_cuda.cache_clear()


@pytest.mark.parametrize(
    ("driver", "is_built", "reason"),
    [
        (None, True, "no NVIDIA driver was found"),
        (Driver(1, error=999), True, "the NVIDIA driver does not start (error 999)"),
        (Driver(0), True, "the NVIDIA driver shows no device"),
        (Driver(1), False, "torch is built without CUDA"),
        (Driver(1), True, ""),
    ],
)
def test_why_there_is_no_gpu(machine, driver, is_built, reason):
    """Each thing that can be missing is named; nothing when nothing is."""
    machine(driver, is_built=is_built)
    assert gpus.why_no_cuda() == reason
    assert gpus.describe_gpus() == (f"not used: {reason}" if reason else "NVIDIA H0, used")


def test_gpus_are_counted_and_named(machine):
    """All devices by name; one that has none by its number."""
    machine(Driver(3))
    assert gpus.count_gpus() == 3
    assert gpus.describe_gpus() == "NVIDIA H0, NVIDIA H1, GPU 2, used"


@pytest.mark.parametrize(
    ("driver", "numbers", "retained"),
    [
        (Driver(2), (0, 1), [0, 1]),
        (Driver(3), (2, 0), [2, 0]),
        (Driver(1), (5,), []),
        (Driver(2, error=3), (0,), []),
    ],
)
def test_a_start_makes_the_named_contexts(machine, driver, numbers, retained):
    """Of no other device, and of none that is not there; nothing is raised."""
    machine(driver)
    before = sys.getswitchinterval()
    gpus.start_gpus(numbers)
    assert driver.retained == retained
    assert sys.getswitchinterval() == before


def test_a_start_imports_nothing(machine, monkeypatch):
    """Another thread is at its own imports; what is there already takes its digest."""
    machine(Driver(1))
    monkeypatch.delitem(sys.modules, "triton.runtime.cache", raising=False)
    gpus.start_gpus((0,))
    assert "triton.runtime.cache" not in sys.modules
    asked = []
    there = SimpleNamespace(triton_key=lambda: asked.append("digest"))
    monkeypatch.setitem(sys.modules, "triton.runtime.cache", there)
    gpus.start_gpus((0,))
    assert asked == ["digest"]


def test_without_a_driver_nothing_is_started(machine):
    """There is nothing to do, and nothing to say."""
    machine(None)
    gpus.start_gpus((0,))


@pytest.mark.parametrize(
    ("message", "is_built"),
    [
        ("cuda: Optional[str] = None\n", False),
        ("cuda = None\n", False),
        ("cuda: Optional[str] = '12.8'\n", True),
        ('cuda = "13.0"\n', True),
        ("git = 'cuda'\n", False),
    ],
)
def test_torch_names_its_build(tmp_path, monkeypatch, message, is_built):
    """Read from the file that torch itself reads, without importing it."""
    (tmp_path / "version.py").write_text(message)
    module_spec = gpus.importlib.util.spec_from_file_location("torch", tmp_path / "__init__.py")
    monkeypatch.setattr(gpus.importlib.util, "find_spec", lambda name: module_spec)
    assert gpus._is_torch_built_for_cuda() == is_built


def test_the_installed_torch_is_read_rightly():
    """The file's build is torch's own."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert gpus._is_torch_built_for_cuda() == (torch.version.cuda is not None)


def test_a_backend_that_is_loaded_freezes_nothing(monkeypatch):
    """Thousands of engines would count and freeze all objects each time."""
    first = devices.load_backend("cpu")

    def refuse(**_):
        raise AssertionError("the collector was paused")

    monkeypatch.setattr(devices, "pause_collector", refuse)
    assert devices.load_backend("cpu") is first


def test_a_module_that_is_loaded_holds_nothing_of_its_callers(monkeypatch, tmp_path):
    """An error that it caught in a cycle is frozen with it, and what its frames hold too."""

    class Engine:
        """What a caller of the loader makes."""

    def load():
        engine = Engine()
        devices.load_backend("cpu")
        return weakref.ref(engine)

    (tmp_path / "a_cycle_of_tests.py").write_text(
        "def catch():\n"
        "    try:\n"
        "        raise ImportError\n"
        "    except ImportError as error:\n"
        "        held = error\n"
        "catch()\n"
        "Maker = tuple\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(devices.BACKENDS, "cpu", "a_cycle_of_tests:Maker")
    gc.freeze()
    try:
        engine = load()
        gc.collect()
        assert engine() is None
    finally:
        gc.unfreeze()
        del sys.modules["a_cycle_of_tests"]
