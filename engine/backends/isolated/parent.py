"""The parent's side: a backend that asks a child, and replaces it when it fails."""

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

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
from engine.backends.isolated.calls import AREAS, Call, Child, FailedError, UnknownError
from engine.backends.isolated.held import Rows
from engine.backends.isolated.keeper import MOST_FAILURES, Keeper
from engine.backends.isolated.work import AHEAD, FIRST_STEPS, Found, Work
from engine.errors import DeviceError, EngineError
from engine.ledger import Ledger
from engine.plain import ledgers_of, plain_windows, spec_of
from engine.wire import Array, Frame

LOG = logging.getLogger(__name__)

BLAME_S = 120.0
"""To find out on which individual a device fails that fails on one population each time."""


class IsolatedBackend(Keeper, AnswersLater):
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
        self._under_way: list[Call] = []
        self._declined = 0
        self._at_work: Child | None = None
        self._knows_work = True
        self._steps = 0
        self.probe: Probe | None = None
        self.name = "isolated"
        super().__init__(child, command, make, fallback)

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
        self._patience.renew()
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
    def can_work(self) -> bool:
        """Whether a child is there that may be given work; asked once, it may know of none."""
        return self._knows_work and not self.has_given_up

    def worked(self, work: Work[Found], forget: Callable[[], None]) -> Iterator[Found]:
        """What the child finds at work of another kind, step by step; it works ahead.

        Between two steps the backend may be used as ever; the work is then begun anew behind the
        last one. It ends where it is over, where the child knows nothing of it, where the device
        was given up, and where the child failed on one step so often that only one failure is left:
        who asks can see whether anything is missing.

        Args:
            work: What to ask for.
            forget: Called before the work takes the rows' slots.

        Yields:
            What `Work.take` made of each step.

        Raises:
            DeviceLostError: When no child can be started.
            DeviceError, EngineError: As `Child.ask`, and what `Work.take` raises.
        """
        self._drain()
        while True:
            found = self._tried(partial(self._worked, work, forget))
            if found is None:
                return
            yield found

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
            child.ask(Frame("release"), self._patience.deadline_s)
        except (FailedError, EngineError) as error:
            LOG.warning("%s; another process is started", error)
            child.end()
            return None
        return child

    def _take_windows(self, windows: Sequence[Window]) -> None:
        """Tell the child the windows, unless they are those of the last call."""
        if windows is not self._windows:
            self._drain()
            self._windows = windows
            self._ask(Frame("windows", {"windows": plain_windows(windows)}))

    def _hand_over(self, call: Call, windows: Sequence[Window]) -> None:
        """Have the child begin a call; if it is not there, whoever waits starts another."""
        self._leave_work()
        self._take_windows(windows)
        if len(self._under_way) == AREAS:
            self._finish(self._under_way[0])
        self._under_way.append(call)
        if self._child is not None:
            with contextlib.suppress(FailedError, DeviceError):
                self._child.begin(call)

    def _drain(self) -> None:
        """Wait for all that is under way; what it gave, or its error, waits for who asks."""
        self._leave_work()
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
        is_well = self._child.finish(call, max(0.0, min(within_s, self._patience.deadline_s)))
        if is_well is not None:
            self._patience.note(time.monotonic() - call.began)
            self.failures = 0
        return is_well

    def _ask(self, frame: Frame) -> Frame | None:
        """The child's answer, from as many children as it takes; None when the fallback goes on."""
        self._leave_work()
        return self._tried(lambda: self._asked(frame))

    def _worked(self, work: Work[Found], forget: Callable[[], None]) -> Found | None:
        """The next step of work, begun where it is not; None where there is none to be had."""
        if self.failures >= MOST_FAILURES - 1:
            return None
        if self._at_work is None or self._at_work is not self._child:
            self._drain()
            self._make_ready()
            forget()
            self._held.clear()
            self._patience.renew()
            try:
                self._asked(work.opening)
            except UnknownError:
                self._knows_work = False
                return None
            self._at_work, self._steps = self._child, 0
        assert self._child is not None
        began = time.monotonic()
        self._child.ask_steps(AHEAD)
        found = self._child.take_step(self._patience.deadline_s, work.take)
        self._steps += 1
        if self._steps > FIRST_STEPS:
            self._patience.note(time.monotonic() - began)
        self.failures = 0
        return found

    def _leave_work(self) -> None:
        """Have the child do nothing else than answer; steps that it is ahead are lost."""
        child, self._at_work = self._at_work, None
        if child is None or child is not self._child:
            return
        try:
            child.forget_steps(self._patience.deadline_s)
        except FailedError as error:
            LOG.warning("%s; another process is started", error)
            self.close()
        self._patience.renew()

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


def _mapping(value: object) -> Mapping[str, object]:
    assert isinstance(value, Mapping)
    return value


def _floats(array: Array) -> Floats:
    found: Floats = array.view(np.float64)
    return found
