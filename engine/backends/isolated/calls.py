"""The device's process, and the populations that are handed to it through memory that both see."""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.areas import Area, places_of
from engine.backends.contract import Floats
from engine.backends.isolated.work import STEP, Found
from engine.errors import DeviceError, EngineError
from engine.process import Process
from engine.wire import Array, ClosedError, Frame

AREAS = 3
"""Populations under way at most: two on a device's lanes, one that is laid out or collected."""


class FailedError(Exception):
    """The child failed in a way that another child may not."""


class UnknownError(Exception):
    """The child has never heard of what it was asked."""


@dataclass(eq=False)
class Call:
    """A population that a child evaluates while its parent goes on.

    Args:
        kind: What the child does: ``"evaluate"``, ``"try"`` or ``"stretched"``.
        arrays: What it needs for that; they stay as they are until it is done.
        out: [P, W, A] receives the accumulators.
        told: Plain values beside them.

    Attributes:
        child: Who works on it, None when nobody does.
        began: When it was handed over, on the clock of `time.monotonic`.
        is_well: Once it is done, whether out is whole; None where the child cannot do it.
        error: What came instead.
    """

    kind: str
    arrays: Sequence[Array]
    out: Floats
    told: dict[str, object] = field(default_factory=dict)
    child: "Child | None" = None
    began: float = 0.0
    is_well: bool | None = None
    error: BaseException | None = None


class Child(Process):
    """A process that answers frames, one by one, and works on calls beside them.

    Each has areas of its own: what a process does that was ended or replaced is seen by nobody.

    Args:
        command: Program and arguments.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._areas: Sequence[Area] = [Area() for _ in range(AREAS)]
        self._free = list(self._areas)
        self._taken: dict[Call, tuple[Area, Floats]] = {}
        self._steps: deque[Area] = deque()
        super().__init__(command, [area.descriptor for area in self._areas])

    def ask(self, frame: Frame, deadline_s: float) -> Frame:
        """Send a frame and wait for the answer.

        Raises:
            FailedError: When there is none, or it says that the device is lost.
            DeviceError: When the device says no, and would again.
            EngineError: When the child met a defect.
            UnknownError: When it knows nothing of such frames.
        """
        self._tell(frame)
        return self._answer(deadline_s)

    def ask_steps(self, ahead: int) -> None:
        """Ask for steps of work, until so many are asked for that nobody has taken.

        Raises:
            FailedError: When the child is gone.
        """
        while len(self._steps) < ahead:
            if not self._free:
                raise FailedError("the device's process was ended")
            area = self._free[-1]
            self._tell(Frame(STEP, {"area": area.descriptor, "bytes": area.bytes}))
            self._steps.append(self._free.pop())

    def take_step(
        self, deadline_s: float, take: Callable[[Frame, Sequence[Array]], Found]
    ) -> Found | None:
        """Wait for the step that was asked for first.

        Args:
            deadline_s: Longest wait.
            take: Makes something of what is told and of arrays, which it copies.

        Returns:
            What was made of it; None when the work is over.

        Raises:
            FailedError: As `ask`, and when what came cannot be.
            DeviceError, EngineError: As `ask`.
            Exception: What `take` raises.
        """
        area = self._steps.popleft()
        try:
            answer = self._answer(deadline_s)
            if answer.told.get("is_over"):
                return None
            told: Any = answer.told
            area.see(told.get("bytes", 0))
            return take(answer, [area.array(place) for place in told.get("places", ())])
        except (ValueError, TypeError, KeyError, OverflowError, OSError) as error:
            raise FailedError(f"the device's process sent what cannot be ({error})") from None
        finally:
            if area in self._areas:
                self._free.append(area)

    def forget_steps(self, deadline_s: float) -> None:
        """Wait for all steps that were asked for, and look at none.

        Raises:
            FailedError: As `ask`.
        """
        while self._steps:
            with contextlib.suppress(EngineError):
                self.take_step(deadline_s, lambda answer, arrays: None)

    def _tell(self, frame: Frame) -> None:
        """Send a frame.

        Raises:
            FailedError: When the child is gone.
        """
        try:
            self.send(frame)
        except ClosedError as error:
            raise FailedError(f"the device's process failed: {error}{self.ending()}") from None
        except BaseException:
            # Half of a frame may have gone.
            self.end()
            raise

    def _answer(self, deadline_s: float) -> Frame:
        """Wait for an answer and understand it."""
        try:
            answer = self.receive(deadline_s)
        except ClosedError as error:
            raise FailedError(f"the device's process failed: {error}{self.ending()}") from None
        except BaseException:
            # Its answer would be taken for that to the next frame.
            self.end()
            raise
        why = str(answer.told.get("why", ""))
        if answer.kind == "lost":
            raise FailedError(why)
        if answer.kind == "device":
            raise DeviceError(why)
        if answer.kind == "unknown":
            raise UnknownError(why)
        if answer.kind != "done":
            raise EngineError(f"the device's process met a defect: {why}")
        return answer

    def begin(self, call: Call) -> None:
        """Hand a call over; at most `AREAS` are under way.

        Raises:
            FailedError: When the child is gone.
            DeviceError: When there is no room for the arrays.
        """
        arrays = [np.ascontiguousarray(array) for array in call.arrays]
        shapes = [(array.dtype.name, array.shape) for array in arrays]
        places, size = places_of([*shapes, ("float64", call.out.shape)])
        if not self._free:
            raise FailedError("the device's process was ended")
        area = self._free[-1]
        area.grow(size)
        *views, out = (area.array(place) for place in places)
        for view, array in zip(views, arrays, strict=True):
            view[...] = array
        # Who is left out is noticed, whatever lay here before.
        out[..., :1] = np.nan
        told = {"area": area.descriptor, "bytes": area.bytes, "places": places}
        call.began = time.monotonic()
        self._tell(Frame(call.kind, {**call.told, **told}))
        self._taken[call] = self._free.pop(), out.view(np.float64)
        call.child = self

    def finish(self, call: Call, deadline_s: float) -> bool | None:
        """Wait for a call, and copy what it gave.

        Returns:
            Whether out is whole; None where the child's backend leaves it to others.

        Raises:
            FailedError: As `ask`, and when somebody was left out or is not a number.
            DeviceError, EngineError: As `ask`.
        """
        call.child = None
        if call not in self._taken:
            raise FailedError("the device's process was ended")
        area, found = self._taken.pop(call)
        try:
            is_well = self.ask(Frame("wait", {"area": area.descriptor}), deadline_s).told["is_well"]
            are_numbers = not is_well or bring(found, call.out)
        finally:
            if area in self._areas:
                self._free.append(area)
        if not are_numbers:
            raise FailedError("the device left somebody out, or gave no numbers")
        return None if is_well is None else bool(is_well)

    def end(self) -> None:
        """End it, whatever it is doing, and give its areas back."""
        super().end()
        for area in self._areas:
            area.close()
        self._areas = ()
        self._free.clear()
        self._taken.clear()
        self._steps.clear()


def bring(found: Floats, out: Floats) -> bool:
    """Copy accumulators [P, W, A]; whether all of them are numbers."""
    out[...] = found
    return not np.isnan(out.min(initial=0.0))
