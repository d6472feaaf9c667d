"""The parent's side: a backend that asks a child, and replaces it when it fails."""

import logging
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from data.bars import Bars, Window
from engine.backends.contract import (
    AnswersAtOnce,
    Backend,
    BackendMaker,
    Floats,
    Form,
    Ints,
    Probe,
    Room,
    Slots,
    StretchedRows,
)
from engine.costs import Costs
from engine.errors import DeviceError, DeviceLostError, EngineError
from engine.ledger import ACCUMULATORS, Ledger
from engine.plain import ledgers_of, plain_bars, plain_spec, plain_windows
from engine.process import Process, module_command
from engine.wire import Array, ClosedError, Frame
from strategy.spec import StrategySpec

LOG = logging.getLogger(__name__)

MOST_FAILURES = 3
"""Of the device in a row; then a person is asked, or the fallback taken."""

SHORTEST_DEADLINE_S = 60.0
"""For an answer; a device may be shared, and a disk may be slow."""

FIRST_DEADLINE_S = 300.0
"""For the first answers, which wait for kernels to compile."""

DEADLINE_TIMES = 20.0
"""Medians of the last answers that an answer may take."""

REMEMBERED = 64
"""Answers that the median is taken over."""


class _FailedError(Exception):
    """The child failed in a way that another child may not."""


class Child(Process):
    """A process that answers each frame with one."""

    def ask(self, frame: Frame, deadline_s: float) -> Frame:
        """Send a frame and wait for the answer.

        Raises:
            _FailedError: When there is none, or it says that the device is lost.
            DeviceError: When the device says no, and would again.
            EngineError: When the child met a defect.
        """
        try:
            self.send(frame)
            answer = self.receive(deadline_s)
        except ClosedError as error:
            raise _FailedError(f"the device's process failed: {error}{self.ending()}") from None
        why = str(answer.told.get("why", ""))
        if answer.kind == "lost":
            raise _FailedError(why)
        if answer.kind == "device":
            raise DeviceError(why)
        if answer.kind != "done":
            raise EngineError(f"the device's process met a defect: {why}")
        return answer


def child_command(name: str, device: str) -> tuple[str, ...]:
    """How to start the process of a device.

    Args:
        name: Backend, as the child knows it.
        device: The device as a person asked for it.
    """
    return module_command("engine.backends.isolated.child", name, device)


class IsolatedBackend(AnswersAtOnce):
    """A backend in a child process, behind the same contract.

    Args:
        child: The process, started.
        command: How to start another.
        make: Frame that makes the backend there.
        fallback: Makes the backend that goes on when the device fails for good; None to stop.
    """

    def __init__(
        self, child: Child, command: Sequence[str], make: Frame, fallback: Backend | None
    ) -> None:
        self._child: Child | None = child
        self._command, self._make = tuple(command), make
        self._fallback = fallback
        self._other: Backend | None = None
        self._held: dict[int, tuple[Form, tuple[int, ...]]] = {}
        self._windows: Sequence[Window] | None = None
        self._taken: deque[float] = deque(maxlen=REMEMBERED)
        self.failures = 0
        self.probe: Probe | None = None
        self.name = "isolated"
        self.threads = 1
        while self._other is None:
            try:
                self._start()
                break
            except _FailedError as error:
                self._replace(str(error))
                self._child = Child(self._command)

    def fill(self, form: Form, lengths: Ints, slots: Ints) -> None:
        """Compute rows in the child; what lies where is remembered for its successor."""
        rows = [tuple(row) for row in lengths.tolist()]
        held = {slot: (form, row) for slot, row in zip(slots.tolist(), rows, strict=True)}
        if self._ask(_filled(form, lengths, slots)) is None:
            self._went_on().fill(form, lengths, slots)
        self._held |= held

    def evaluate(self, genomes: Floats, slots: Slots, windows: Sequence[Window]) -> Floats:
        """Accumulators [P, W, A]; an answer that is short or not a number is a failure."""
        self._take_windows(windows)
        shape = (len(genomes), len(windows), len(ACCUMULATORS))
        answer = self._ask(Frame("evaluate", {}, [genomes, slots]), shape)
        if answer is None:
            return self._went_on().evaluate(genomes, slots, windows)
        return _floats(answer.arrays[0])

    def evaluate_in_stretches(
        self, rows: StretchedRows, windows: Sequence[Window], out: Floats
    ) -> bool:
        """Evaluate into out [P, W, A] a stretch of bars at a time, if the child's device can."""
        self._take_windows(windows)
        # It takes longer than calls before it.
        self._taken.clear()
        told = {"forms": [list(form) for form, _ in rows.groups]}
        lengths = [lengths for _, lengths in rows.groups]
        answer = self._ask(Frame("stretched", told, [rows.genomes, rows.row_of, *lengths]))
        if answer is None:
            return self._went_on().evaluate_in_stretches(rows, windows, out)
        if not answer.arrays:
            return False
        self._held.clear()
        out[...] = answer.arrays[0]
        return True

    def signals(self, genome: Floats, slots: Slots, window: Window) -> Slots:
        """Signal bars [S] of one individual in one window."""
        (told,) = plain_windows([window])
        answer = self._ask(Frame("signals", {"window": told}, [genome, slots]))
        if answer is None:
            return self._went_on().signals(genome, slots, window)
        return np.array(answer.arrays[0], np.int32)

    def trades(self, genome: Floats, slots: Slots, window: Window) -> Ledger:
        """The ledger of one individual in one window."""
        (((ledger,),)) = self.ledgers(genome[None], slots[None], [window])
        return ledger

    def ledgers(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window]
    ) -> list[tuple[Ledger, ...]]:
        """The ledgers [W] of each of several individuals."""
        told = {"windows": plain_windows(windows)}
        answer = self._ask(Frame("ledgers", told, [genomes, slots]))
        if answer is None:
            return self._went_on().ledgers(genomes, slots, windows)
        found, n = ledgers_of(answer.arrays), len(windows)
        return [tuple(found[i : i + n]) for i in range(0, len(found), n)]

    def rows(self, slot: int, series: int) -> Floats:
        """A copy of one row [T], as it stands in its slot."""
        answer = self._ask(Frame("rows", {"slot": slot, "series": series}))
        if answer is None:
            return self._went_on().rows(slot, series)
        return _floats(answer.arrays[0])

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def __del__(self) -> None:
        self.close()

    def _take_windows(self, windows: Sequence[Window]) -> None:
        """Tell the child the windows, unless they are those of the last call."""
        if windows is not self._windows:
            self._windows = windows
            self._ask(Frame("windows", {"windows": plain_windows(windows)}))

    def _ask(self, frame: Frame, shape: tuple[int, ...] | None = None) -> Frame | None:
        """The child's answer, from as many children as it takes; None when the fallback goes on."""
        while self._other is None:
            try:
                if self._child is None:
                    self._child = Child(self._command)
                    self._start()
                    self._refill()
                return self._asked(frame, shape)
            except _FailedError as error:
                self._replace(str(error))
            except DeviceError as error:
                if self._fallback is None:
                    raise
                self._give_up(str(error))
        return None

    def _asked(self, frame: Frame, shape: tuple[int, ...] | None = None) -> Frame:
        assert self._child is not None
        began = time.monotonic()
        answer = self._child.ask(frame, self._deadline())
        if shape is not None:
            found = answer.arrays[0] if answer.arrays else np.empty(0)
            if found.shape != shape or np.isnan(_floats(found)).any():
                raise _FailedError(f"the device gave {found.shape} of {shape}, or no numbers")
            self._taken.append(time.monotonic() - began)
            self.failures = 0
        return answer

    def _deadline(self) -> float:
        if not self._taken:
            return FIRST_DEADLINE_S
        return max(SHORTEST_DEADLINE_S, DEADLINE_TIMES * statistics.median(self._taken))

    def _start(self) -> None:
        self.threads = int(str(self._asked(self._make).told["threads"]))

    def _refill(self) -> None:
        """Give a new child the rows and the windows that the last one had."""
        for form, lengths, slots in self._rows_held():
            self._asked(_filled(form, lengths, slots))
        if self._windows is not None:
            self._asked(Frame("windows", {"windows": plain_windows(self._windows)}))

    def _rows_held(self) -> Iterator[tuple[Form, Ints, Ints]]:
        """Forms, lengths and slots of all rows that were asked for."""
        by_form: dict[Form, list[tuple[int, tuple[int, ...]]]] = {}
        for slot, (form, row) in self._held.items():
            by_form.setdefault(form, []).append((slot, row))
        for form, held in by_form.items():
            lengths = np.array([row for _, row in held], np.int64).reshape(len(held), -1)
            yield form, lengths, np.array([slot for slot, _ in held], np.int64)

    def _replace(self, why: str) -> None:
        self.failures += 1
        # The next process has to start and compile before it can be as quick.
        self._taken.clear()
        pid = self._child.pid if self._child else 0
        self.close()
        LOG.warning("%s (process %d); failure %d in a row", why, pid, self.failures)
        if self.failures < MOST_FAILURES:
            return
        if self._fallback is None:
            raise DeviceLostError(
                f"the device failed {self.failures} times in a row, last: {why}; "
                "use --device cpu, or --on-gpu-loss cpu to go on there"
            )
        self._give_up(why)

    def _give_up(self, why: str) -> None:
        LOG.warning("the device is given up, the CPU goes on: %s", why)
        self.close()
        self._other = self._fallback
        for form, lengths, slots in self._rows_held():
            self._went_on().fill(form, lengths, slots)

    def _went_on(self) -> Backend:
        assert self._other is not None
        return self._other


class IsolatedMaker:
    """Makes a backend in a child process.

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

    def slot_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes that one slot takes over all series."""
        answer = self._ask("slot_bytes", {"lengths": [len(bars) for bars in series]})
        return int(str(answer.told["bytes"]))

    def series_bytes(self, series: Sequence[Bars]) -> int:
        """Bytes that series take beside all rows."""
        answer = self._ask("series_bytes", {"lengths": [len(bars) for bars in series]})
        return int(str(answer.told["bytes"]))

    def room(self, memory_bytes: int | None, series_bytes: int) -> Room:
        """How an amount of memory is divided; the device's own default when None."""
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
        return backend

    def _started(self) -> Child:
        if self._child is None:
            self._child = Child(self._command)
        return self._child

    def _ask(self, kind: str, told: Mapping[str, object]) -> Frame:
        frame = Frame(kind, {**told, "devices": self._devices})
        for failures in range(1, MOST_FAILURES + 1):
            try:
                return self._started().ask(frame, FIRST_DEADLINE_S)
            except _FailedError as error:
                LOG.warning("%s; failure %d in a row", error, failures)
                self._started().end()
                self._child, last = None, str(error)
        raise DeviceLostError(f"the device cannot be started: {last}; use --device cpu")


def _filled(form: Form, lengths: Ints, slots: Ints) -> Frame:
    return Frame("fill", {"form": list(form)}, [lengths, slots])


def _floats(array: Array) -> Floats:
    found: Floats = array.view(np.float64)
    return found
