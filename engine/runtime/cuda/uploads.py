"""Arrays that go to a device together: one copy, whatever they are."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import torch

from engine.runtime.cuda.watchdog import wait_for_work

ALIGNED = 16
"""Each array begins at a multiple of so many bytes."""

Name = TypeVar("Name", bound=Hashable)


class Uploads:
    """Sends arrays to one device.

    Args:
        device: Where tensors are wanted.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._sent: torch.cuda.Event | None = None
        self._here = self._room(0)

    def __call__(self, arrays: Mapping[Name, npt.NDArray[np.generic]]) -> dict[Name, torch.Tensor]:
        """Copies of arrays on the device by their names, behind what was launched there.

        Raises:
            DeviceError: As `waiting.wait_for_work`.
        """
        ends = np.cumsum([-(-array.nbytes // ALIGNED) * ALIGNED for array in arrays.values()])
        self._make_room(int(ends[-1]))
        begins = [0, *ends[:-1].tolist()]
        here = self._here.numpy()
        for begin, array in zip(begins, arrays.values(), strict=True):
            room = here[begin : begin + array.nbytes].view(array.dtype)
            room.reshape(array.shape)[...] = array
        there = torch.empty(int(ends[-1]), dtype=torch.uint8, device=self._device)
        there.copy_(self._here[: len(there)], non_blocking=True)
        if self._device.type == "cuda":
            self._sent = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._sent.record()
        return {
            name: there[begin : begin + array.nbytes]
            .view(torch.from_numpy(array[:0]).dtype)
            .view(array.shape)
            for begin, (name, array) in zip(begins, arrays.items(), strict=True)
        }

    def _make_room(self, needed: int) -> None:
        """Have a buffer for so many bytes that no earlier copy reads any more."""
        if self._sent is not None:
            wait_for_work(self._sent)
        if needed > len(self._here):
            self._here = self._room(2 * needed)

    def _room(self, size: int) -> torch.Tensor:
        is_pinned = self._device.type == "cuda"
        return torch.empty(size, dtype=torch.uint8, pin_memory=is_pinned)
