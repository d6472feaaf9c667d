"""From a person's wish to something that makes backends."""

from functools import partial
from typing import Literal, NamedTuple

from engine.backends import choose_backend, load_backend
from engine.backends.contract import BackendMaker
from engine.backends.isolated import IsolatedMaker

OnLoss = Literal["stop", "cpu"]
"""What to do when a GPU fails for good."""


class Device(NamedTuple):
    """A device that was chosen.

    Args:
        label: As a person asks for it, such as ``cuda:0,1``.
        reason: Why it was taken, for a person.
        maker: Makes backends on it.
    """

    label: str
    reason: str
    maker: BackendMaker


def choose_device(device: str, *, on_loss: OnLoss | None = None) -> Device:
    """Turn a device's name into one that is there.

    Args:
        device: As in `choose_backend`.
        on_loss: When not None, a GPU lives in a process of its own, which is replaced when it
            fails; after three failures in a row ``"stop"`` raises and ``"cpu"`` goes on there.

    Returns:
        The device.

    Raises:
        DeviceError: When it is not there.
    """
    choice = choose_backend(device)
    if on_loss is None or not choice.devices:
        return Device(choice.label, choice.reason, load_backend(choice.name, choice.devices))
    fallback = partial(load_backend, "cpu") if on_loss == "cpu" else None
    maker = IsolatedMaker(choice.name, choice.devices, fallback)
    return Device(choice.label, choice.reason, maker)
