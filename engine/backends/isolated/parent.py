"""The parent's side: a backend that asks a child, and replaces it when it fails."""

import logging
import math
import statistics
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from data.bars import Window
from engine.backends.contract import (
    AnswersAtOnce,
    Backend,
    Floats,
    Form,
    Ints,
    Probe,
    Slots,
    StretchedRows,
)
from engine.backends.isolated.blame import smallest_failing, told
from engine.errors import DeviceError, DeviceLostError, EngineError
from engine.ledger import ACCUMULATORS, Ledger
from engine.plain import ledgers_of, plain_windows, spec_of
from engine.process import Process
from engine.wire import Array, ClosedError, Frame

LOG = logging.getLogger(__name__)

MOST_FAILURES = 3
"""Of the device in a row; then a person is asked, or the fallback taken."""

SHORTEST_DEADLINE_S = 60.0
"""For an answer; a device may be shared, and a disk may be slow."""

FIRST_DEADLINE_S = 300.0
"""For the first answers, which wait for kernels to compile."""

DEADLINE_TIMES = 20.0
"""Medians of the last answers that an answer may take."""

BLAME_S = 120.0
"""To find out on which individual a device fails that fails on one population each time."""

REMEMBERED = 64
"""Answers that the median is taken over."""


class FailedError(Exception):
    """The child failed in a way that another child may not."""


class Child(Process):
    """A process that answers each frame with one."""

    def ask(self, frame: Frame, deadline_s: float) -> Frame:
        """Send a frame and wait for the answer.

        Raises:
            FailedError: When there is none, or it says that the device is lost.
            DeviceError: When the device says no, and would again.
            EngineError: When the child met a defect.
        """
        try:
            self.send(frame)
            answer = self.receive(deadline_s)
        except ClosedError as error:
            raise FailedError(f"the device's process failed: {error}{self.ending()}") from None
        why = str(answer.told.get("why", ""))
        if answer.kind == "lost":
            raise FailedError(why)
        if answer.kind == "device":
            raise DeviceError(why)
        if answer.kind != "done":
            raise EngineError(f"the device's process met a defect: {why}")
        return answer


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
            except FailedError as error:
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
        failed = 0
        while self._other is None:
            is_ready = False
            try:
                self._make_ready()
                is_ready = True
                return self._asked(frame, shape)
            except FailedError as error:
                failed += is_ready
                # Only who fails each time on the very same individuals may blame one of them.
                is_theirs = shape is not None and failed == MOST_FAILURES
                self._replace(str(error), frame if is_theirs else None)
            except DeviceError as error:
                if self._fallback is None:
                    raise
                self._give_up(str(error))
        return None

    def _make_ready(self) -> None:
        """Have a child that holds what the last one held."""
        if self._child is None:
            self._child = Child(self._command)
            self._start()
            self._refill()

    def _blame(self, frame: Frame) -> str:
        """Who of a population makes the device fail, in words; empty when nobody can be named."""
        genomes, slots = frame.arrays

        def fails(members: Ints, until: float) -> bool:
            self._make_ready()
            part = Frame(frame.kind, {}, [genomes[members], slots[members]])
            shape = (len(members), len(self._windows or ()), len(ACCUMULATORS))
            try:
                self._asked(part, shape, until - time.monotonic())
            except FailedError as error:
                LOG.warning("%s; with %d individuals", error, len(members))
                self.close()
                return True
            return False

        try:
            members = smallest_failing(fails, len(genomes), BLAME_S)
        except (FailedError, DeviceError):
            # The device does not even start any more: no individual is to blame.
            return ""
        finally:
            self.close()
        return told(spec_of(_mapping(self._make.told["spec"])).layout, _floats(genomes), members)

    def _asked(
        self, frame: Frame, shape: tuple[int, ...] | None = None, within_s: float = math.inf
    ) -> Frame:
        assert self._child is not None
        began = time.monotonic()
        answer = self._child.ask(frame, max(0.0, min(within_s, self._deadline())))
        if shape is not None:
            found = answer.arrays[0] if answer.arrays else np.empty(0)
            if found.shape != shape or np.isnan(_floats(found)).any():
                raise FailedError(f"the device gave {found.shape} of {shape}, or no numbers")
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

    def _replace(self, why: str, population: Frame | None = None) -> None:
        """End a child that failed; after too many in a row the device, whoever made it fail."""
        self.failures += 1
        # The next process has to start and compile before it can be as quick.
        self._taken.clear()
        pid = self._child.pid if self._child else 0
        self.close()
        LOG.warning("%s (process %d); failure %d in a row", why, pid, self.failures)
        if self.failures < MOST_FAILURES:
            return
        if self._fallback is None:
            blame = "" if population is None else self._blame(population)
            told_of = "; ".join(filter(None, (f"last: {why}", blame)))
            raise DeviceLostError(
                f"the device failed {MOST_FAILURES} times in a row, {told_of}; "
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


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value


def _filled(form: Form, lengths: Ints, slots: Ints) -> Frame:
    return Frame("fill", {"form": list(form)}, [lengths, slots])


def _floats(array: Array) -> Floats:
    found: Floats = array.view(np.float64)
    return found
