"""Arrays that go to a device together: one copy, whatever they are."""

import math
from collections.abc import Hashable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch

from engine.runtime.cuda.watchdog import wait_for_work

ALIGNED = 16
"""Each array begins at a multiple of so many bytes."""

MOST_PLANS = 64
"""Shapes of arrays with remembered places."""

Name = TypeVar("Name", bound=Hashable)


class UploadedArray(NamedTuple, Generic[Name]):
    """An array among others."""

    name: Name
    begin: int  # its first byte
    n_bytes: int
    kind: np.dtype[np.generic]
    shape: tuple[int, ...]


class UploadPlan(NamedTuple, Generic[Name]):
    """Where arrays lie that are sent together."""

    parts: list[UploadedArray[Name]]
    size: int  # bytes of all


class Uploads:
    """Sends arrays to one device.

    Args:
        device: Where tensors are wanted.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._sent: torch.cuda.Event | None = None
        self._here = self._room(0)
        self._plans: dict[Any, tuple[UploadPlan[Any], list[npt.NDArray[Any]]]] = {}

    def __call__(self, arrays: Mapping[Name, npt.NDArray[np.generic]]) -> dict[Name, torch.Tensor]:
        """Copies of arrays on the device by their names, behind earlier launches.

        Raises:
            DeviceError: As `waiting.wait_for_work`.
        """
        return self.send(self.lay_out(arrays, {}))

    @property
    def address(self) -> int:
        """Where arrays are laid out, on the host."""
        return self._here.data_ptr()

    def lay_out(
        self, arrays: Mapping[Name, npt.NDArray[np.generic]], rooms: Mapping[Name, int]
    ) -> "UploadPlan[Name]":
        """Lay arrays out to be sent, in place of those before.

        `rooms` name arrays that have room for more along their first axis; its content is
        undefined.

        Raises:
            DeviceError: As `waiting.wait_for_work`.
        """
        shapes = tuple(
            (name, array.dtype, rooms.get(name, len(array)), *array.shape[1:])
            for name, array in arrays.items()
        )
        if shapes not in self._plans:
            self._plan(shapes)
        if self._sent is not None:
            wait_for_work(self._sent)
        plan, views = self._plans[shapes]
        for view, array in zip(views, arrays.values(), strict=True):
            view[: len(array)] = array
        return plan

    def send(self, plan: "UploadPlan[Name]") -> dict[Name, torch.Tensor]:
        """Copies of a laid-out block on the device by their names, behind earlier launches.

        It waits for nothing, and may be captured.
        """
        there = torch.empty(plan.size, dtype=torch.uint8, device=self._device)
        there.copy_(self._here[: plan.size], non_blocking=True)
        if self._device.type == "cuda" and not torch.cuda.is_current_stream_capturing():
            self._sent = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._sent.record()
        return {
            part.name: there[part.begin : part.begin + part.n_bytes]
            .view(torch.from_numpy(np.empty(0, part.kind)).dtype)
            .view(part.shape)
            for part in plan.parts
        }

    def _plan(self, shapes: tuple[tuple[Any, ...], ...]) -> None:
        """Find where arrays lie, in a buffer that has room for them."""
        parts, size = [], 0
        for name, kind, *shape in shapes:
            n_bytes = math.prod(shape) * kind.itemsize
            parts.append(UploadedArray(name, size, n_bytes, kind, tuple(shape)))
            size += -(-n_bytes // ALIGNED) * ALIGNED
        if size > len(self._here) or len(self._plans) == MOST_PLANS:
            self._plans.clear()
        if size > len(self._here):
            if self._sent is not None:
                wait_for_work(self._sent)
            self._here = self._room(2 * size)
        here = self._here.numpy()
        views = [
            here[part.begin : part.begin + part.n_bytes].view(part.kind).reshape(part.shape)
            for part in parts
        ]
        self._plans[shapes] = UploadPlan(parts, size), views

    def _room(self, size: int) -> torch.Tensor:
        is_pinned = self._device.type == "cuda"
        return torch.empty(size, dtype=torch.uint8, pin_memory=is_pinned)
