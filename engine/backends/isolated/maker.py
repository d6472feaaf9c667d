"""What makes a backend in a process of its own, and starts that process before it is needed."""

import logging
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from data.bars import Bars
from engine.backends.contract import Backend, BackendMaker, Room
from engine.backends.isolated.calls import Child, FailedError
from engine.backends.isolated.keeper import MOST_FAILURES
from engine.backends.isolated.parent import IsolatedBackend
from engine.backends.isolated.patience import FIRST_DEADLINE_S
from engine.costs import Costs
from engine.errors import DeviceLostError
from engine.plain import plain_bars, plain_spec
from engine.process import module_command
from engine.wire import Frame
from strategy.spec import StrategySpec

LOG = logging.getLogger(__name__)


CHILD = "engine.backends.isolated.child"
"""The module that serves a device and knows of nothing else."""


def child_command(name: str, device: str, module: str = CHILD) -> tuple[str, ...]:
    """How to start the process of a device.

    Args:
        name: Backend, as the child knows it.
        device: The device as a person asked for it.
        module: What the process runs; it takes both words.
    """
    return module_command(module, name, device)


class IsolatedMaker:
    """Makes a backend in a child process, that of the backend it made last if there is one.

    To start another would take seconds. The earlier backend gives back what it holds; it is for who
    will ask it no more, and starts a process of its own where it is asked all the same. Where it
    has given the device up, the fallback makes the next one.

    Args:
        name: Backend, as the child knows it.
        devices: Numbers of its devices.
        fallback: Gives what makes the backend that goes on when the device fails for good; None to
            stop then.
        command: How to start the child.
        child: One that was started like that already.
    """

    def __init__(
        self,
        name: str,
        devices: Sequence[int],
        fallback: Callable[[], BackendMaker] | None = None,
        *,
        command: Sequence[str],
        child: Child | None = None,
    ) -> None:
        self.name = name
        self._devices = list(devices)
        self._command = tuple(command)
        self._fallback = fallback
        # It imports and starts the device while we go on.
        self._child: Child | None = child or Child(self._command)
        self._last: Callable[[], IsolatedBackend | None] = lambda: None

    def slot_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes that one slot takes over all series."""
        if other := self._other():
            return other.slot_bytes(series)
        answer = self._ask("slot_bytes", {"lengths": [len(bars) for bars in series]})
        return int(str(answer.told["bytes"]))

    def series_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows."""
        if other := self._other():
            return other.series_bytes(series)
        answer = self._ask("series_bytes", {"lengths": [len(bars) for bars in series]})
        return int(str(answer.told["bytes"]))

    def room(self, memory_bytes: int | None, series_bytes: int) -> Room:
        """How an amount of memory is divided; the device's own default when None."""
        if other := self._other():
            return other.room(memory_bytes, series_bytes)
        asked = {"bytes": memory_bytes, "series_bytes": series_bytes}
        told: Any = self._ask("room", asked).told
        return Room(**told)

    def __call__(
        self,
        spec: StrategySpec,
        series: Sequence[Bars],
        costs: Costs,
        *,
        capacity: int,
        work_bytes: int,
        threads: int | None = None,
    ) -> Backend:
        """Load series onto the device, with room for `capacity` slots."""
        if other := self._other():
            return other(
                spec, series, costs, capacity=capacity, work_bytes=work_bytes, threads=threads
            )
        told, arrays = plain_bars(series)
        settings = {"capacity": capacity, "work_bytes": work_bytes, "threads": threads}
        told_of = {"spec": plain_spec(spec), "series": told, "costs": asdict(costs)}
        make = Frame("make", {**told_of, **settings, "devices": self._devices}, arrays)
        fallback: Backend | None = None
        if self._fallback is not None:
            fallback = self._fallback()(
                spec, series, costs, capacity=capacity, work_bytes=work_bytes, threads=threads
            )
        child, self._child = self._started(), None
        backend = IsolatedBackend(child, self._command, make, fallback)
        backend.name = self.name
        self._last = weakref.ref(backend)
        return backend

    def _other(self) -> BackendMaker | None:
        """The fallback, where the backend made last has given the device up for it."""
        last = self._last()
        return self._fallback() if self._fallback and last and last.has_given_up else None

    def _started(self) -> Child:
        if self._child is None:
            last = self._last()
            self._child = (last and last.hand_on()) or Child(self._command)
        return self._child

    def _ask(self, kind: str, told: Mapping[str, object]) -> Frame:
        frame = Frame(kind, {**told, "devices": self._devices})
        for failures in range(1, MOST_FAILURES + 1):
            try:
                return self._started().ask(frame, FIRST_DEADLINE_S)
            except FailedError as error:
                LOG.warning("%s; failure %d in a row", error, failures)
                self._started().end()
                self._child, last = None, str(error)
        raise DeviceLostError(f"the device cannot be started: {last}; use --device cpu")
