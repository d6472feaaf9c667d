"""Keeps a child that holds a backend: replaces it when it fails, and knows when to stop."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from data.bars import Window
from engine.backends.contract import Backend
from engine.backends.isolated.calls import Call, Child, FailedError
from engine.backends.isolated.held import HeldRows
from engine.backends.isolated.patience import Patience
from engine.backends.isolated.work import Found
from engine.errors import DeviceError, DeviceLostError
from engine.plain import plain_windows
from engine.wire import Frame

LOG = logging.getLogger(__name__)

MOST_FAILURES = 3
"""Of the device in a row; then a person is asked, or the fallback taken."""


class Keeper(ABC):
    """A child with a backend, and its successors, which are given what it held.

    Args:
        child: The process, started.
        command: How to start another.
        make: Frame that makes the backend there.
        fallback: The backend that goes on when the device fails for good; None to stop.

    Attributes:
        failures: In a row, with nothing that went well between them.
        threads: Cores that the device uses.
    """

    def __init__(
        self, child: Child, command: Sequence[str], make: Frame, fallback: Backend | None
    ) -> None:
        self._child: Child | None = child
        self._command, self._make = tuple(command), make
        self._fallback = fallback
        self._other: Backend | None = None
        self._held = HeldRows()
        self._windows: Sequence[Window] | None = None
        self._patience = Patience()
        self.failures = 0
        self.threads = 1
        while self._other is None:
            try:
                self._start()
                break
            except FailedError as error:
                self._replace(str(error))
                self._child = Child(self._command)

    @property
    def has_given_up(self) -> bool:
        """Whether the fallback goes on, for the device failed for good."""
        return self._other is not None

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def __del__(self) -> None:
        self.close()

    @abstractmethod
    def _blame(self, call: Call) -> str:
        """Who of a population makes the device fail, in words; empty when nobody can be named."""

    def _asked(self, frame: Frame) -> Frame:
        assert self._child is not None
        return self._child.ask(frame, self._patience.deadline_s)

    def _tried(self, action: Callable[[], Found], call: Call | None = None) -> Found | None:
        """What an action gives, with as many children as it takes; None when the fallback goes on.

        A call is given where it may be blamed.
        """
        while self._other is None:
            is_ready = False
            try:
                self._make_ready()
                is_ready = True
                return action()
            except FailedError as error:
                self._replace(str(error), call if is_ready else None)
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
        self._patience.renew()
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
