"""From a person's wish, such as ``auto`` or ``cuda:1``, to what makes a backend on that device."""

import contextlib
import gc
import importlib
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import NamedTuple, cast

from engine.accounts.costs import Costs, has_orders
from engine.backend import BackendMaker
from engine.errors import DeviceError
from engine.runtime.collector import pause_collector
from engine.runtime.gpus import count_gpus, start_gpus, why_no_cuda, why_no_orders
from engine.workload import Workload
from strategy.model import Strategy

BACKENDS: dict[str, str] = {
    "cpu": "engine.cpu:CpuBackend",
    "cuda": "engine.cuda.language:CudaLanguageMaker",
}
"""Every backend by the name of its device, imported at first use."""

OF_LIMITS: dict[str, str] = {
    "cpu": "engine.cpu.limited:LimitedBackend",
    "cuda": "engine.cuda.language:CudaLimitedMaker",
}
"""The same for accounts with limits."""

NUMBERS = r"[0-9]{1,3}(,[0-9]{1,3})*"
"""Numbers of GPUs, behind the colon of a device's name."""


class Choice(NamedTuple):
    """A chosen device."""

    name: str  # backend, a name in `BACKENDS`
    reason: str  # why, for a person
    devices: tuple[int, ...] = ()  # numbers of the GPUs to use; none where a backend has no numbers

    @property
    def label(self) -> str:
        """The device as a person writes it, such as ``cuda:0,1``."""
        return ":".join(filter(None, (self.name, ",".join(map(str, self.devices)))))


def why_absent(device: str) -> str:
    """Why the backend of a name in `BACKENDS` cannot be used here; empty when it can."""
    return why_no_cuda() if device == "cuda" else ""


def choose_backend(device: str, workload: Workload | None = None) -> Choice:
    """Turn a device's name into an available backend.

    ``"auto"``, ``"cpu"``, ``"cuda"`` for all GPUs of this machine, or some of them by number, as in
    ``"cuda:1"`` and ``"cuda:0,1"``. Only ``"auto"`` chooses, by `workload`, and takes a GPU
    wherever one exists with None; a device by name is taken or refused.

    Raises:
        DeviceError: When no backend of that name exists, or its device is not there.
    """
    if device == "auto":
        if workload is not None and not workload.pays_on_a_gpu:
            # The driver is not asked, which takes a fifth of a second where there is one.
            return Choice("cpu", f"{workload}, a GPU would start longer than this takes")
        reason = why_absent("cuda")
        if reason:
            return Choice("cpu", f"no GPU is used, {reason}")
        gpus = tuple(range(count_gpus()))
        if workload is None:
            return Choice("cuda", "a GPU was found", gpus)
        return Choice("cuda", f"{workload}, a GPU pays", gpus)
    name, colon, numbers = device.partition(":")
    if name not in BACKENDS or (colon and (name != "cuda" or not re.fullmatch(NUMBERS, numbers))):
        raise DeviceError(
            f"device '{device}' is unknown; known: auto, cuda:0, cuda:0,1, "
            f"{', '.join(sorted(BACKENDS))}"
        )
    reason = why_absent(name)
    if reason:
        raise DeviceError(f"device '{device}' is not available: {reason}; use cpu or auto")
    return Choice(name, "chosen by name", _gpus(device, numbers) if name == "cuda" else ())


def _gpus(device: str, numbers: str) -> tuple[int, ...]:
    there = count_gpus()
    wanted = tuple(dict.fromkeys(map(int, numbers.split(",")))) if numbers else range(there)
    absent = [number for number in wanted if number >= there]
    if absent:
        raise DeviceError(
            f"device '{device}' is not available: this machine shows {there} GPU"
            f"{'s, cuda:0 to cuda:' + str(there - 1) if there > 1 else ', cuda:0'}"
        )
    return tuple(wanted)


def load_backend(
    name: str, devices: tuple[int, ...] = (), backends: dict[str, str] = BACKENDS
) -> BackendMaker:
    """Maker of a backend; name and numbers of its devices as `choose_backend` gives them."""
    module, _, attribute = backends[name].partition(":")
    is_there = module in sys.modules
    loaded = importlib.import_module(module) if is_there else _load_module(module, devices)
    maker = getattr(loaded, attribute)
    return cast(BackendMaker, maker(devices or (0,)) if name == "cuda" else maker)


def _load_module(module: str, devices: tuple[int, ...]) -> ModuleType:
    """A module that is not there yet, imported on a stack of its own.

    Libraries catch errors while they load, in cycles that hold every frame below them, and so an
    engine that a caller makes later. In a program of ours they are frozen, and never collected.
    """
    with (
        pause_collector(is_program=gc.get_freeze_count() > 0),
        ThreadPoolExecutor(1) as stack,
    ):
        if devices and "torch" not in sys.modules:
            # To import torch takes two seconds, in which the driver and Triton can do their part.
            with contextlib.suppress(ImportError):
                stack.submit(importlib.import_module, "triton").result()
            threading.Thread(target=start_gpus, args=(devices,), daemon=True).start()
        return stack.submit(importlib.import_module, module).result()


class Device(NamedTuple):
    """A device that was chosen."""

    label: str  # as a person writes it, such as ``cuda:0,1``
    reason: str  # why it was taken, for a person
    maker: BackendMaker  # makes backends on it


def choose_strategy_backend(
    spec: Strategy,
    device: str,
    workload: Workload | None = None,
    costs: Costs | None = None,
) -> Choice:
    """The backend that a strategy runs on, not yet loaded; as `choose_backend`.

    ``"auto"`` takes the CPU for orders where nothing compiles them for a GPU.
    """
    choice = choose_backend(device, workload)
    is_walked = has_orders(spec, costs or Costs())
    if choice.name == "cpu" or not is_walked or not (reason := why_no_orders()):
        return choice
    if device != "auto":
        raise DeviceError(f"device '{device}' runs no orders: {reason}; use cpu or auto")
    return Choice("cpu", f"orders run on CPU cores, {reason}")


def choose_device(
    spec: Strategy,
    device: str,
    workload: Workload | None = None,
    costs: Costs | None = None,
) -> Device:
    """The device that a strategy runs on; arguments and errors of `choose_strategy_backend`."""
    choice = choose_strategy_backend(spec, device, workload, costs)
    backends = OF_LIMITS if costs is not None and costs.has_limits else BACKENDS
    maker = load_backend(choice.name, choice.devices, backends)
    return Device(choice.label, choice.reason, maker)


def settle_device(spec: Strategy, device: str | Device, costs: Costs | None) -> Device:
    """A device, chosen here if a name; arguments and errors as in `choose_device`."""
    if isinstance(device, str):
        return choose_device(spec, device, costs=costs)
    return device
