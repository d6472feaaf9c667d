"""Progress of long work: one event for all of it, and the clock of its watcher."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True)
class Progress:
    """How far a phase of long work is."""

    phase: str = ""  # such as ``generation`` or ``judging: folds``; empty where lines are all
    done: int = 0  # steps
    planned: int = 0  # steps; 0 where that is not known
    best: Mapping[str, float] = field(default_factory=dict)  # by objective, NaN where there is none
    note: str = ""  # results so far, in words
    left_s: float | None = None  # seconds left, where they follow from more than the steps so far
    # Sentences to read once: notes in any case, lines unless a person wants none.
    notes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def count(self) -> str:
        """The phase with its steps, such as ``generation 2 of 9``."""
        return f"{self.phase} {self.done:,} of {self.planned:,}" if self.planned else self.phase


Watch = Callable[[Progress], None]
"""Callback of progress."""


class Show:
    """Viewer of progress, a `Watch`; this one shows notes alone.

    The first and the last step of a phase are shown, and between them one every `every_s` seconds.
    Nothing is shown once `is_stopping`: after a hang-up nothing can be.

    Args:
        say: Takes a line.
    """

    every_s = 1.0
    has_lines = False

    def __init__(self, say: Callable[[str], object] = lambda line: None) -> None:
        self._say = say
        self.progress = Progress("")
        self.is_stopping = False
        self._began_s = self._heard_s = self._shown_s = 0.0
        self._done_before = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, progress: Progress) -> None:
        """Hear how far it is."""
        if self.is_stopping:
            return
        for line in progress.notes:
            self._say(f"note: {line}")
        for line in progress.lines if self.has_lines else ():
            self._say(line)
        if not progress.phase:
            return
        now_s, is_new = time.monotonic(), progress.phase != self.progress.phase
        if is_new:
            self._began_s, self._done_before = now_s, progress.done
        self.progress, self._heard_s = progress, now_s
        is_last = progress.planned > 0 and progress.done == progress.planned
        if is_new or is_last or now_s - self._shown_s >= self.every_s:
            self._shown_s = now_s
            self.show()

    def show(self) -> None:
        """Show the newest progress."""

    def close(self) -> None:
        """Take away the display."""

    def describe(self, *best: str) -> str:
        """A line on the newest progress, with the best values in words."""
        return join_words(self.progress.count, *best, self.progress.note, self.describe_left())

    def describe_left(self) -> str:
        """Time left in the phase; empty where it is unknown."""
        left_s = self.left_s
        return "" if left_s is None else f"{format_duration(left_s)} left"

    @property
    def left_s(self) -> float | None:
        """Seconds that the rest of the phase takes, at the pace of its steps if of nothing else.

        None where there is nothing to go by.
        """
        now_s, progress = time.monotonic(), self.progress
        left, gained = progress.planned - progress.done, progress.done - self._done_before
        if left <= 0:
            return None
        if progress.left_s is not None:
            return max(progress.left_s - (now_s - self._heard_s), 0.0)
        return (now_s - self._began_s) / gained * left if gained > 0 else None


def join_words(*words: str) -> str:
    """The words that exist, with commas."""
    return ", ".join(filter(None, words))


def format_duration(seconds: float) -> str:
    """A time in the two units that say most.

    >>> format_duration(7.4), format_duration(125), format_duration(3_900)
    ('7 s', '2 min 5 s', '1 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"
