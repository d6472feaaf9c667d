"""When the next call may be made: the plan's calls a minute, and waits after a failure."""

import secrets
import time
from collections import deque
from collections.abc import Callable

MINUTE_S = 60.0
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Waits after failures double from the first to the longest."""

SHOWN_S = 1.0
"""Shorter waits are not worth a line."""

Tell = Callable[[str], None]


class Pace:
    """Keeps calls apart and says so where that takes a while.

    Args:
        calls_per_minute: What the plan allows, within any 60 seconds.
        tell: Takes one line for each wait.
    """

    def __init__(self, calls_per_minute: int, tell: Tell) -> None:
        self._made: deque[float] = deque(maxlen=calls_per_minute)
        self._calls_per_minute = calls_per_minute
        self._tell = tell

    def take(self) -> None:
        """Wait until one more call is allowed, and count it."""
        if len(self._made) == self._calls_per_minute:
            wait_s = self._made[0] + MINUTE_S - time.monotonic()
            self.pause(wait_s, f"the plan allows {self._calls_per_minute} calls a minute")
        self._made.append(time.monotonic())

    def seconds_for(self, calls: int, each_s: float) -> float:
        """How long calls will take, with the waits that the plan asks for.

        Args:
            calls: How many.
            each_s: Seconds from the start of a call to where the next may begin.

        Returns:
            Seconds from now.
        """
        begin_s = now_s = time.monotonic()
        made = self._made.copy()
        for _ in range(calls):
            if len(made) == self._calls_per_minute:
                now_s = max(now_s, made[0] + MINUTE_S)
            made.append(now_s)
            now_s += each_s
        return now_s - begin_s

    def pause(self, seconds: float, why: str) -> None:
        """Wait, and say how long and why."""
        if seconds >= SHOWN_S:
            self._tell(f"waiting {seconds:.0f} s: {why}")
        if seconds > 0:
            time.sleep(seconds)


def backoff_s(failures: int) -> float:
    """Seconds to wait after so many failures in a row, at least 1.

    Returns:
        A doubling wait, between half of it and all of it, so that many programs that failed
        together do not come back together.
    """
    longest = min(FIRST_WAIT_S * 2.0 ** (failures - 1), LONGEST_WAIT_S)
    return longest * (0.5 + secrets.randbelow(501) / 1000)
