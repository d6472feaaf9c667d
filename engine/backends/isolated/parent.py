"""The parent's side: a backend that asks a child, and replaces it when it fails."""

import contextlib
import logging
import math
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from data.bars import Window
from engine.backends.contract import (
    AnswersLater,
    Backend,
    Floats,
    Form,
    Ints,
    Probe,
    Slots,
    StretchedRows,
)
from engine.backends.isolated.blame import smallest_failing, told
from engine.backends.isolated.calls import AREAS, Call, Child, FailedError
from engine.backends.isolated.held import HeldRows, Rows
from engine.errors import DeviceError, DeviceLostError, EngineError
from engine.ledger import Ledger
from engine.plain import ledgers_of, plain_windows, spec_of
from engine.wire import Array, Frame

LOG = logging.getLogger(__name__)

Found = TypeVar("Found")

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


class IsolatedBackend(AnswersLater):
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
        self._held = HeldRows()
        self._under_way: list[Call] = []
        self._declined = 0
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
        rows = Rows(form, lengths, slots)
        # What is under way reads the rows that lie there now, also where it is asked for again.
        self._drain()
        if self._ask(rows.frame) is None:
            self._went_on().fill(*rows)
        self._held.note(rows)

    def begin(
        self, genomes: Floats, slots: Slots, windows: Sequence[Window], out: Floats
    ) -> Callable[[], None]:
        """Start to evaluate into out [P, W, A] in the child; what is returned waits.

        Whom the device leaves out, or gives no number, it fails on.
        """
        call = Call("evaluate", [genomes, slots], out)
        self._hand_over(call, windows)

        def wait() -> None:
            self._finish(call)

        return wait

    def try_begin(
        self, genomes: Floats, windows: Sequence[Window], out: Floats
    ) -> Callable[[], bool] | None:
        """The same, with rows looked up by the child's device, if it does that for so many."""
        if self._other is not None or len(genomes) <= self._declined:
            return None
        call = Call("try", [genomes], out)
        self._hand_over(call, windows)

        def wait() -> bool:
            is_well = self._finish(call)
            if is_well is None:
                self._declined = max(self._declined, len(genomes))
            return bool(is_well)

        return wait

    def evaluate_in_stretches(
        self, rows: StretchedRows, windows: Sequence[Window], out: Floats
    ) -> bool:
        """Evaluate into out [P, W, A] a stretch of bars at a time, if the child's device can."""
        forms, lengths = zip(*rows.groups, strict=True)
        told: dict[str, object] = {"forms": [list(form) for form in forms]}
        call = Call("stretched", [rows.genomes, rows.row_of, *lengths], out, told)
        # Slots hold something else then, and it takes longer than calls before it.
        self._drain()
        self._taken.clear()
        self._hand_over(call, windows)
        is_done = bool(self._finish(call))
        if is_done:
            self._held.clear()
        return is_done

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

    @property
    def has_given_up(self) -> bool:
        """Whether the fallback goes on, for the device failed for good."""
        return self._other is not None

    def hand_on(self) -> Child | None:
        """Give the process away, for another backend; who asks this one again starts another.

        Returns:
            The process, which holds nothing any more; None where there is none in good order.
        """
        self._drain()
        child, self._child = self._child, None
        if child is None:
            return None
        try:
            child.ask(Frame("release"), self._deadline())
        except (FailedError, EngineError) as error:
            LOG.warning("%s; another process is started", error)
            child.end()
            return None
        return child

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
            self._drain()
            self._windows = windows
            self._ask(Frame("windows", {"windows": plain_windows(windows)}))

    def _hand_over(self, call: Call, windows: Sequence[Window]) -> None:
        """Have the child begin a call; if it is not there, whoever waits starts another."""
        self._take_windows(windows)
        if len(self._under_way) == AREAS:
            self._finish(self._under_way[0])
        self._under_way.append(call)
        if self._child is not None:
            with contextlib.suppress(FailedError, DeviceError):
                self._child.begin(call)

    def _drain(self) -> None:
        """Wait for all that is under way; what it gave, or its error, waits for who asks."""
        for call in tuple(self._under_way):
            with contextlib.suppress(EngineError):
                self._finish(call)

    def _finish(self, call: Call) -> bool | None:
        """Wait for a call, if nobody has; again and elsewhere when the child fails on it."""
        if call in self._under_way:
            self._under_way.remove(call)
            try:
                blamed = call if call.kind == "evaluate" else None
                call.is_well = self._tried(lambda: self._attempt(call), blamed)
                if self._other is not None:
                    call.is_well = self._by_other(call)
            except BaseException as error:
                call.error = error
        if call.error is not None:
            raise call.error
        return call.is_well

    def _attempt(self, call: Call) -> bool | None:
        """Finish a call, if it is no mere try: who tried looks rows up then, and asks again."""
        try:
            return self._run(call)
        except FailedError as error:
            if call.kind != "try":
                raise
            self._replace(str(error))
            return False

    def _by_other(self, call: Call) -> bool:
        """What the fallback does with a call that no child finished."""
        if call.kind != "evaluate":
            return False
        genomes, slots = call.arrays
        windows = self._windows or ()
        self._went_on().begin(_floats(genomes), slots, windows, call.out)()  # type: ignore[arg-type]
        return True

    def _run(self, call: Call, within_s: float = math.inf) -> bool | None:
        """Finish a call in the child, which begins it if it has not."""
        assert self._child is not None
        if call.child is not self._child:
            self._child.begin(call)
        is_well = self._child.finish(call, max(0.0, min(within_s, self._deadline())))
        if is_well is not None:
            self._taken.append(time.monotonic() - call.began)
            self.failures = 0
        return is_well

    def _ask(self, frame: Frame) -> Frame | None:
        """The child's answer, from as many children as it takes; None when the fallback goes on."""
        return self._tried(lambda: self._asked(frame))

    def _asked(self, frame: Frame) -> Frame:
        assert self._child is not None
        return self._child.ask(frame, self._deadline())

    def _tried(self, action: Callable[[], Found], call: Call | None = None) -> Found | None:
        """What an action gives, with as many children as it takes; None when the fallback goes on.

        A call is given where it may be blamed.
        """
        failed = 0
        while self._other is None:
            is_ready = False
            try:
                self._make_ready()
                is_ready = True
                return action()
            except FailedError as error:
                failed += is_ready
                # The first failure may have been that of a try, or of others under way.
                is_theirs = failed >= MOST_FAILURES - 1
                self._replace(str(error), call if is_theirs else None)
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

    def _blame(self, call: Call) -> str:
        """Who of a population makes the device fail, in words; empty when nobody can be named."""
        genomes, slots = call.arrays

        def fails(members: Ints, until: float) -> bool:
            self._make_ready()
            part = Call(call.kind, [genomes[members], slots[members]], call.out[members])
            try:
                self._run(part, until - time.monotonic())
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

    def _deadline(self) -> float:
        if not self._taken:
            return FIRST_DEADLINE_S
        return max(SHORTEST_DEADLINE_S, DEADLINE_TIMES * statistics.median(self._taken))

    def _start(self) -> None:
        self.threads = int(str(self._asked(self._make).told["threads"]))

    def _refill(self) -> None:
        """Give a new child the rows and the windows that the last one had."""
        for rows in self._held:
            self._asked(rows.frame)
        if self._windows is not None:
            self._asked(Frame("windows", {"windows": plain_windows(self._windows)}))

    def _replace(self, why: str, population: Call | None = None) -> None:
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
        for rows in self._held:
            self._went_on().fill(*rows)

    def _went_on(self) -> Backend:
        assert self._other is not None
        return self._other


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value


def _floats(array: Array) -> Floats:
    found: Floats = array.view(np.float64)
    return found
