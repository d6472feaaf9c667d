"""Several files of one market as one series: months or years that follow each other."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.bars import Bars
from data.checks import COLUMNS, VALUES, format_time
from data.errors import BarsError


def join_bars(series: Sequence[Bars], symbol: str) -> Bars:
    """Put series of one market together, oldest first.

    Args:
        series: At least one, of equal durations, in any order; where two of them have bars of one
            time, these must be equal.
        symbol: Name of the market.

    Returns:
        One series; its notes are those of its parts, each once, and how many bars stood in two.

    Raises:
        BarsError: When durations differ, or two parts tell different things about one time.
    """
    durations = {bars.timeframe_ns: bars for bars in series}
    if len(durations) != 1:
        named = ", ".join(f"{bars.timeframe} ({bars.symbol})" for bars in durations.values())
        raise BarsError(f"parts of one series must have bars of one duration, there are {named}")
    ordered = sorted(series, key=lambda bars: int(bars.timestamp[0]))
    columns = {name: np.concatenate([getattr(bars, name) for bars in ordered]) for name in COLUMNS}
    order = np.argsort(columns["timestamp"], kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    twice = np.flatnonzero(np.diff(columns["timestamp"]) == 0) + 1
    for name in VALUES:
        differs = twice[columns[name][twice] != columns[name][twice - 1]]
        if len(differs):
            i = int(differs[0])
            one, two = (float(columns[name][k]) for k in (i - 1, i))
            raise BarsError(
                f"two parts differ about {format_time(int(columns['timestamp'][i]))}: {name} is "
                f"{one!r} and {two!r}; leave one of them out"
            )
    keep = np.ones(len(order), dtype=np.bool_)
    keep[twice] = False
    notes = dict.fromkeys(note for bars in ordered for note in bars.notes)
    overlap = (f"{len(twice)} bars stood in two parts, equal in both",) if len(twice) else ()
    return replace(
        ordered[0],
        timestamp=columns["timestamp"][keep],
        open=columns["open"][keep],
        high=columns["high"][keep],
        low=columns["low"][keep],
        close=columns["close"][keep],
        volume=columns["volume"][keep],
        symbol=symbol,
        source=", ".join(bars.source for bars in ordered),
        is_simulated=any(bars.is_simulated for bars in series),
        notes=(f"joined from {len(series)} parts", *notes, *overlap),
    )
