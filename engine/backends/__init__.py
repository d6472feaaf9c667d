"""Engines that evaluate whole populations, one package a device."""

from typing import NamedTuple

from engine.backends.contract import Backend, Form
from engine.backends.cpu import CpuBackend
from engine.errors import DeviceError

BACKENDS: dict[str, type[CpuBackend]] = {"cpu": CpuBackend}
"""Every backend by the name of its device."""


class Choice(NamedTuple):
    """A chosen device and, for a person, why."""

    name: str
    reason: str


def choose_backend(device: str) -> Choice:
    """Turn a device's name into a backend that is there.

    Args:
        device: ``"auto"``, or a name in `BACKENDS`.

    Returns:
        The choice; only ``"auto"`` chooses, a device asked for by name is taken or refused.

    Raises:
        DeviceError: When no backend of that name exists.
    """
    if device == "auto":
        return Choice("cpu", "auto: the CPU backend is the only one in this version")
    if device not in BACKENDS:
        raise DeviceError(
            f"device '{device}' is not available; available: auto, {', '.join(sorted(BACKENDS))}"
        )
    return Choice(device, f"{device}: asked for by name")


__all__ = ["BACKENDS", "Backend", "Choice", "Form", "choose_backend"]
