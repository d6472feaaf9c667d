"""Waiting for a GPU: by repeated queries, so that a hanging GPU becomes an error.

Whatever blocks until a device has done its work goes through here: a call that waits inside the
driver would never return from a device that hangs.
"""

import statistics
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from engine.errors import DeviceLostError

SPIN_S = 1e-3
"""So long a wait asks without a pause: 512 individuals take a fifth of that."""

LONGEST_PAUSE_S = 1e-3

PAUSES = 32
"""A pause is so small a part of the wait until then."""

LEAST_S, FIRST_S = 60.0, 300.0
"""A device may take so long at least, and for the first `FIRST_WAITS` waits of a process."""

TIMES = 20
"""Otherwise a device may take so many times the median of its last waits."""

FIRST_WAITS, REMEMBERED_WAITS = 16, 256


class Watchdog:
    """Waits, and notices when that takes far longer than it did before.

    Args:
        clock: Seconds.
        pause: Sleeps for so many seconds.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock, self._pause = clock, pause
        self._waits: deque[float] = deque(maxlen=REMEMBERED_WAITS)

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Wait until a test of the device succeeds, which returns at once.

        Raises:
            DeviceLostError: When it is not done within `limit_s`.
        """
        if is_done():
            return
        began = self._clock()
        while not is_done():
            waited = self._clock() - began
            if waited > LEAST_S and waited > self.limit_s():
                raise DeviceLostError.because(f"it did not answer for {waited:.0f} s")
            # Also a pause of nothing lets other threads of this process go on.
            self._pause(0.0 if waited < SPIN_S else min(waited / PAUSES, LONGEST_PAUSE_S))
        self._waits.append(self._clock() - began)

    def limit_s(self) -> float:
        """Seconds that a wait may take by now."""
        if len(self._waits) < FIRST_WAITS:
            return FIRST_S
        return max(LEAST_S, TIMES * statistics.median(self._waits))


_WATCHDOG = Watchdog()


def wait_for_work(work: torch.cuda.Stream | torch.cuda.Event) -> None:
    """Wait until a stream is idle, or an event has come.

    Raises:
        DeviceLostError: When the device hangs.
        RuntimeError: When it has failed.
    """
    _WATCHDOG.wait(work.query)


def wait_for_launches(device: torch.device) -> None:
    """Wait for launches on a device's current stream; raises as `wait_for_work`."""
    if device.type == "cuda":
        wait_for_work(torch.cuda.current_stream(device))


def on_device(device: torch.device) -> torch.cuda.device:
    """Make a device the target of launches; a host's memory has none."""
    return torch.cuda.device(device if device.type == "cuda" else -1)


def to_device(array: npt.NDArray[np.generic], device: torch.device) -> torch.Tensor:
    """A copy of an array on a device, behind earlier launches; see `wait_for_work`."""
    return move_tensor(torch.from_numpy(np.array(array, order="C")), device)


def move_tensor(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor of the host on a device, behind earlier launches; see `wait_for_work`."""
    wait_for_launches(device)
    return tensor.to(device)


def to_host(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """A copy of a tensor on the host, also of what lies there already; see `wait_for_work`."""
    wait_for_launches(tensor.device)
    array = tensor.cpu().numpy()
    return array if tensor.is_cuda else np.array(array)
