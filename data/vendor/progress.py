"""What a fetch tells while it is going on, for whoever shows it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

logger = logging.getLogger("data.vendor")
"""Lines for people: what is waited for, and what was found."""


@dataclass(frozen=True)
class FetchStep:
    """How far a fetch is.

    Args:
        series: What is fetched, such as ``X:ADAUSD 15m``.
        done: Pieces that are safe in the cache.
        pieces: Pieces that this fetch is made of; 0 before that is known.
        bars: Bars in the pieces that are done.
        left_s: Seconds until all pieces are done, as far as can be told.
        note: What a person should know now, such as what is waited for; empty for nothing.
    """

    series: str
    done: int = 0
    pieces: int = 0
    bars: int = 0
    left_s: float = 0.0
    note: str = ""


Watch = Callable[[FetchStep], None]


def log_step(step: FetchStep) -> None:
    """Write what a fetch begins with, and each note, to the log, where nobody else watches."""
    if step.pieces and not step.done and not step.note:
        minutes, seconds = divmod(round(step.left_s), 60)
        pieces = "1 piece" if step.pieces == 1 else f"{step.pieces} pieces"
        logger.info("%s: fetching %s, %d:%02d left", step.series, pieces, minutes, seconds)
    if step.note:
        logger.info("%s: %s", step.series, step.note)
