"""How long an answer of a device's process may take, from how long the last ones took."""

import statistics
from collections import deque

SHORTEST_DEADLINE_S = 60.0
"""For an answer; a device may be shared, and a disk may be slow."""

FIRST_DEADLINE_S = 300.0
"""For the first answers, which wait for kernels to compile."""

DEADLINE_TIMES = 20.0
"""Medians of the last answers that an answer may take."""

REMEMBERED = 64
"""Answers that the median is taken over."""


class Patience:
    """Knows how long to wait for an answer."""

    def __init__(self) -> None:
        self._taken: deque[float] = deque(maxlen=REMEMBERED)

    @property
    def deadline_s(self) -> float:
        """Seconds that the next answer may take."""
        if not self._taken:
            return FIRST_DEADLINE_S
        return max(SHORTEST_DEADLINE_S, DEADLINE_TIMES * statistics.median(self._taken))

    def note(self, seconds: float) -> None:
        """Remember how long an answer took."""
        self._taken.append(seconds)

    def renew(self) -> None:
        """Wait as for the first answers: what comes has to start or to compile, or takes longer."""
        self._taken.clear()
