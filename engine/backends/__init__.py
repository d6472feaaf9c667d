"""Engines that evaluate whole populations, one package a device."""

import importlib
from typing import NamedTuple, cast

from engine.backends.contract import Backend, BackendMaker, Form
from engine.backends.devices import why_no_cuda
from engine.errors import DeviceError

BACKENDS: dict[str, str] = {
    "cpu": "engine.backends.cpu:CpuBackend",
    "cuda": "engine.backends.cuda:CudaBackend",
}
"""Every backend by the name of its device; it is imported when it is asked for."""


class Choice(NamedTuple):
    """A chosen device and, for a person, why."""

    name: str
    reason: str


def why_absent(device: str) -> str:
    """Say why a backend cannot be used on this machine.

    Args:
        device: A name in `BACKENDS`.

    Returns:
        The reason; empty when it can be used.
    """
    return why_no_cuda() if device == "cuda" else ""


def choose_backend(device: str) -> Choice:
    """Turn a device's name into a backend that is there.

    Args:
        device: ``"auto"``, or a name in `BACKENDS`.

    Returns:
        The choice; only ``"auto"`` chooses, a device asked for by name is taken or refused.

    Raises:
        DeviceError: When no backend of that name exists, or its device is not there.
    """
    if device == "auto":
        reason = why_absent("cuda")
        if reason:
            return Choice("cpu", f"auto: no GPU is used, {reason}")
        return Choice("cuda", "auto: a GPU was found")
    if device not in BACKENDS:
        raise DeviceError(
            f"device '{device}' is unknown; known: auto, {', '.join(sorted(BACKENDS))}"
        )
    reason = why_absent(device)
    if reason:
        raise DeviceError(f"device '{device}' is not available: {reason}; use cpu or auto")
    return Choice(device, f"{device}: asked for by name")


def load_backend(name: str) -> BackendMaker:
    """The class of a backend.

    Args:
        name: A name in `BACKENDS`, as `choose_backend` gives it.

    Returns:
        What makes the backend; see `BackendMaker`.
    """
    module, _, attribute = BACKENDS[name].partition(":")
    return cast(BackendMaker, getattr(importlib.import_module(module), attribute))


__all__ = [
    "BACKENDS",
    "Backend",
    "BackendMaker",
    "Choice",
    "Form",
    "choose_backend",
    "load_backend",
    "why_absent",
]
