"""Calls over a network: at the pace that is allowed, and again after failures that may pass."""

import secrets
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import urllib3
from urllib3.exceptions import InvalidHeader

TRIES = 8
MINUTE_S = 60.0
LONGEST_ASKED_S, LONGEST_PAGE_S = 300.0, 900.0
"""A fetch ends where a vendor asks to wait longer, or a page with all its waits takes longer."""

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Waits after failures double from the first to the longest: eight tries outlast a minute's ban."""

SHOWN_S = 1.0
"""Shorter waits are not worth a line."""

Tell = Callable[[str], None]
Answer = TypeVar("Answer")


@dataclass(eq=False)
class CallError(Exception):
    """A call failed; its words hold neither the address nor the key."""

    words: str
    status: int = 0  # of the answer; 0 where there was none
    can_repeat: bool = False  # whether the same call may succeed later
    # Seconds to wait by the vendor's word; None without one.
    retry_after_s: float | None = None
    body: bytes = b""  # first part of the answer, for the vendor's own words
    tries: int = 1  # calls that were made

    def __str__(self) -> str:
        return self.words + (f" after {self.tries} tries" if self.tries > 1 else "")

    @property
    def wait(self) -> str:
        """The end of a message: the requested wait."""
        asked_s = self.retry_after_s
        return "" if asked_s is None else f"; it asks to wait {asked_s:.0f} s"


class Pace:
    """Pace of calls that a plan allows within any 60 seconds; longer waits are shown.

    Args:
        calls_per_minute: None where the client keeps to a pace itself.
        tell: Takes one line for each wait.
    """

    def __init__(self, calls_per_minute: int | None, tell: Tell) -> None:
        self._made: deque[float] = deque(maxlen=calls_per_minute or 0)
        self._calls_per_minute, self._tell = calls_per_minute, tell

    def call(self, question: Callable[[], Answer]) -> Answer:
        """Ask, and ask again after failures that may pass; the last failure is a `CallError`."""
        began = time.monotonic()
        for tries in range(1, TRIES + 1):
            self.take()
            try:
                return question()
            except CallError as error:
                failed = error
            failed.tries = tries
            wait_s = backoff_s(tries) if failed.retry_after_s is None else failed.retry_after_s
            left_s = LONGEST_PAGE_S - (time.monotonic() - began)
            if not failed.can_repeat or tries == TRIES or wait_s > min(LONGEST_ASKED_S, left_s):
                break
            self.pause(wait_s, f"{failed.words}, try {tries} of {TRIES}")
        raise failed from None

    def take(self) -> None:
        """Wait until one more call is allowed, and count it."""
        if self._calls_per_minute and len(self._made) == self._calls_per_minute:
            wait_s = self._made[0] + MINUTE_S - time.monotonic()
            self.pause(wait_s, f"the plan allows {self._calls_per_minute} calls a minute")
        self._made.append(time.monotonic())

    def pause(self, seconds: float, why: str) -> None:
        """Wait, and show how long and why."""
        if seconds >= SHOWN_S:
            self._tell(f"waiting {seconds:.0f} s: {why}")
        if seconds > 0:
            time.sleep(seconds)


def backoff_s(failures: int) -> float:
    """Seconds to wait after so many failures: drawn, so that programs do not come back together."""
    longest = min(FIRST_WAIT_S * 2.0 ** (failures - 1), LONGEST_WAIT_S)
    return longest * (0.5 + secrets.randbelow(501) / 1000)


def parse_retry_delay(value: str | None) -> float | None:
    """Seconds of a Retry-After header; None without one."""
    try:
        return None if value is None else max(urllib3.Retry().parse_retry_after(value), 0.0)
    except (InvalidHeader, ValueError, OverflowError):
        return None
