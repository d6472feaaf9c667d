"""The duration of a bar: as text such as '15m', as nanoseconds, and as the steps of a file tell."""

import re

import numpy as np
import numpy.typing as npt

from data.errors import TimeframeError

SECOND_NS = 1_000_000_000
UNITS_NS = {
    "w": 7 * 86_400 * SECOND_NS,
    "d": 86_400 * SECOND_NS,
    "h": 3_600 * SECOND_NS,
    "m": 60 * SECOND_NS,
    "s": SECOND_NS,
}
"""Units of fixed length, longest first; months have none."""

FORM = re.compile(r"([1-9][0-9]{0,5})([smhdw])")

MOST_SHORT_STEPS_FRAC = 0.01
"""Share of steps that may be shorter than a bar (a 23-hour day in a local calendar is one)."""


def parse_timeframe(text: str, option: str = "--timeframe") -> int:
    """Nanoseconds of a duration such as ``15m``; `option` begins an error.

    Raises:
        TimeframeError: When the text is anything else.

    >>> parse_timeframe("15m")
    900000000000
    """
    match = FORM.fullmatch(text.strip())
    if match is None:
        raise TimeframeError(
            f"{option} {text!r} is not a duration; write a whole number and one of "
            "s, m, h, d, w, such as 15m, 1h or 1d"
        )
    return int(match[1]) * UNITS_NS[match[2]]


def format_timeframe(timeframe_ns: int) -> str:
    """Write nanoseconds in the longest unit that divides them; ``250000000ns`` where none does.

    >>> format_timeframe(900_000_000_000)
    '15m'
    """
    for unit, length_ns in UNITS_NS.items():
        if timeframe_ns % length_ns == 0:
            return f"{timeframe_ns // length_ns}{unit}"
    return f"{timeframe_ns}ns"


def infer_timeframe(timestamp: npt.NDArray[np.int64]) -> int:
    """The most common step of ascending times [T], in nanoseconds.

    Raises:
        TimeframeError: When there are fewer than two bars, when no step makes up half of all, or
            when more than one in a hundred steps is shorter than the most common one.

    Source: house rule; a wrong duration would scale every length of a strategy wrongly.
    """
    if len(timestamp) < 2:
        raise TimeframeError(
            f"{len(timestamp)} bar does not show how long a bar lasts; give --timeframe (a "
            "strategy also needs at least two bars more than its longest window)"
        )
    steps, counts = np.unique(np.diff(timestamp), return_counts=True)
    most = int(np.argmax(counts))
    shorter = int(counts[:most].sum())
    total = len(timestamp) - 1
    if 2 * int(counts[most]) < total or shorter > MOST_SHORT_STEPS_FRAC * total:
        raise TimeframeError(
            f"steps between bars do not show how long a bar lasts ({_common(steps, counts)}); "
            "give --timeframe"
        )
    return int(steps[most])


def _common(steps: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> str:
    order = np.argsort(-counts, kind="stable")[:3]
    named = [f"{counts[i]} of {format_timeframe(int(steps[i]))}" for i in order]
    return ", ".join(named)
