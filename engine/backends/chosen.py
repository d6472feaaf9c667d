"""From a person's wish to something that makes backends."""

from functools import partial
from typing import Literal, NamedTuple

from engine.backends import choose_backend, load_backend
from engine.backends.contract import BackendMaker
from engine.backends.devices import has_driver
from engine.backends.isolated import CHILD, Child, IsolatedMaker, child_command
from engine.errors import DeviceError

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


def choose_device(device: str, *, on_loss: OnLoss | None = None, module: str = CHILD) -> Device:
    """Turn a device's name into one that is there.

    Args:
        device: As in `choose_backend`.
        on_loss: When not None, a GPU lives in a process of its own, which is replaced when it
            fails; after three failures in a row ``"stop"`` raises and ``"cpu"`` goes on there.
        module: What that process runs, see `child_command`.

    Returns:
        The device.

    Raises:
        DeviceError: When it is not there.
    """
    if on_loss is None:
        choice = choose_backend(device)
        return Device(choice.label, choice.reason, load_backend(choice.name, choice.devices))
    # The driver takes a while to say what there is; a GPU's process has begun by then.
    command = child_command("cuda", device, module)
    child = Child(command) if device != "cpu" and has_driver() else None
    try:
        choice = choose_backend(device)
    except DeviceError:
        _end(child)
        raise
    if not choice.devices:
        _end(child)
        return Device(choice.label, choice.reason, load_backend(choice.name))
    fallback = partial(load_backend, "cpu") if on_loss == "cpu" else None
    maker = IsolatedMaker(choice.name, choice.devices, fallback, command=command, child=child)
    return Device(choice.label, choice.reason, maker)


def _end(child: Child | None) -> None:
    if child is not None:
        child.end()
