"""From a person's wish to something that makes backends."""

from typing import NamedTuple

from engine.backends import choose_backend, load_backend
from engine.backends.contract import BackendMaker


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


def choose_device(device: str) -> Device:
    """Turn a device's name into one that is there.

    Args:
        device: As in `choose_backend`.

    Returns:
        The device.

    Raises:
        DeviceError: When it is not there.
    """
    choice = choose_backend(device)
    return Device(choice.label, choice.reason, load_backend(choice.name, choice.devices))
