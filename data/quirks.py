"""What is legal in bars, but odd enough to know before trusting a result on them."""

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from data.checks import format_time

Floats = npt.NDArray[np.float64]

JUMP_FRAC = 0.25
"""Opens that differ more from the close before are looked at: no more than a few are real."""

SPLITS = (2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 30, 50, 100)
SPLIT_TOLERANCE = 0.05
MOST_SHOWN = 5


def quirks_of(bars: Bars) -> tuple[str, ...]:
    """Name what is odd about a series.

    Args:
        bars: The series.

    Returns:
        One line each; none for a series without any.
    """
    return (*_silent(bars), *_flat(bars), *_jumps(bars), *_gaps(bars))


def splits_of(bars: Bars) -> tuple[str, ...]:
    """Name the jumps that look like splits which prices are not adjusted for.

    A trade across one has a result that nobody had, so that whoever searches must know.

    Args:
        bars: The series.

    Returns:
        One line each, as `quirks_of` has them.
    """
    ratio, places = _jumping(bars)
    return _told(bars, ratio, [i for i in places if _split(ratio[i])])


def longest_gaps(bars: Bars, most: int = MOST_SHOWN) -> list[dict[str, object]]:
    """The longest steps between neighbours.

    Args:
        bars: The series.
        most: How many to tell.

    Returns:
        The longest first: when the bar before opens, when the bar after, and the bars missing.
    """
    steps = np.diff(bars.timestamp)
    longest = np.argsort(-steps, kind="stable")[:most]
    return [
        {
            "from": format_time(int(bars.timestamp[i])),
            "to": format_time(int(bars.timestamp[i + 1])),
            "missing_bars": int(steps[i] // bars.timeframe_ns - 1),
        }
        for i in longest.tolist()
        if steps[i] > bars.timeframe_ns
    ]


def _silent(bars: Bars) -> tuple[str, ...]:
    silent = bars.volume == 0
    if not silent.any():
        return ()
    share = f"{silent.mean():.1%}"
    return (
        f"{_bars(int(silent.sum()))} without volume ({share}), at most {_longest_run(silent)} in a "
        "row",
    )


def _flat(bars: Bars) -> tuple[str, ...]:
    flat = bars.high == bars.low
    if not flat.any():
        return ()
    return (f"{_bars(int(flat.sum()))} whose high is the low ({flat.mean():.1%})",)


def _jumps(bars: Bars) -> tuple[str, ...]:
    return _told(bars, *_jumping(bars))


def _jumping(bars: Bars) -> tuple[Floats, list[int]]:
    """Opens over the closes before them [T - 1], and where these are far from 1."""
    ratio: Floats = bars.open[1:] / bars.close[:-1]
    found = np.flatnonzero((ratio > 1 + JUMP_FRAC) | (ratio < 1 / (1 + JUMP_FRAC)))
    return ratio, found.tolist()


def _told(bars: Bars, ratio: Floats, found: list[int]) -> tuple[str, ...]:
    told = []
    for i in found[:MOST_SHOWN]:
        at, change = format_time(int(bars.timestamp[i + 1])), float(ratio[i]) - 1
        told.append(f"the open of {at} is {change:+.0%} from the close before{_split(ratio[i])}")
    more = [f"{len(found) - MOST_SHOWN} more such opens"] if len(found) > MOST_SHOWN else []
    return (*told, *more)


def _split(ratio: np.float64) -> str:
    """A remark where a jump is about as large as a split that prices are not adjusted for."""
    for parts in SPLITS:
        if abs(ratio * parts - 1) < SPLIT_TOLERANCE:
            return f", as a {parts}:1 split makes that is not adjusted for"
        if abs(ratio / parts - 1) < SPLIT_TOLERANCE:
            return f", as a 1:{parts} split makes that is not adjusted for"
    return ""


def _gaps(bars: Bars) -> tuple[str, ...]:
    gaps = bars.gaps()
    if not gaps.count:
        return ()
    longest = longest_gaps(bars, 1)[0]
    return (
        f"{gaps.count:,} {'gap' if gaps.count == 1 else 'gaps'}, {_bars(gaps.missing_bars)} "
        f"missing; the longest from {longest['from']} to {longest['to']}",
    )


def _bars(count: int) -> str:
    return "1 bar" if count == 1 else f"{count:,} bars"


def _longest_run(flags: npt.NDArray[np.bool_]) -> int:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.astype(np.int8), [0]))))
    return int((edges[1::2] - edges[::2]).max())
