"""What earlier scans know of the symbols of this one."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from data import Bars
from data.checks import format_time
from engine.trends import TrendState
from optimizer.scanning.classes import Int8s
from optimizer.scanning.kept import (
    DamagedError,
    KeptTrend,
    KeptTrends,
    Told,
    build_row_key,
    with_told,
)
from optimizer.scanning.question import Question
from strategy.genes import Floats

MOST_NAMED = 5
"""Symbols that a note names before it counts the others."""


class Recalled(NamedTuple):
    """What is known of one symbol.

    Args:
        key: Name of its row in the folder of kept ones.
        closes: SHA-256 of its closes, hexadecimal.
        kept: The row that its closes begin with, or None.
        told: What was last said of it by the same thresholds, and when; or None.
        remembered: Thresholds to what was last said by them.
        is_past: Whether an earlier scan has seen later bars, so that nothing is kept of this one.
    """

    name: str
    bars: Bars
    key: str
    closes: str
    kept: KeptTrend | None = None
    told: Told | None = None
    remembered: Mapping[str, Told] = {}
    is_past: bool = False

    @property
    def state(self) -> TrendState | None:
        """What the row goes on from."""
        return self.kept.state if self.kept else None


class Memory:
    """Reads and writes kept rows; where that fails it says so and does without.

    Args:
        folder: Of kept rows; None where none are wanted.
        question: What is asked of the symbols.
        start: Where rows were asked to begin; other rows are another series.
    """

    def __init__(self, folder: Path | None, question: Question, start: str | None) -> None:
        self._store = None if folder is None else KeptTrends(folder)
        self._question, self._start = question, start
        self._thresholds = f"{question.high!r} {question.low!r}"
        self._said: dict[str, list[str]] = {}

    def recall(self, name: str, bars: Bars) -> Recalled:
        """What is known of a symbol."""
        asked, series = self._question, (bars.symbol, bars.source, bars.timeframe_ns, self._start)
        key = build_row_key(asked.kind.name, asked.parameters, *series)
        kept = self._read(name, key)
        seen = 0 if kept is None else kept.state.bars
        digest = hashlib.sha256(bars.close[:seen].astype("<f8", copy=False).tobytes())
        begun = digest.hexdigest()
        digest.update(bars.close[seen:].astype("<f8", copy=False).tobytes())
        found = Recalled(name, bars, key, digest.hexdigest())
        if kept is None:
            return found
        if bars.timestamp[-1] < kept.last_ns:
            return found._replace(is_past=True)
        found = found._replace(told=kept.told.get(self._thresholds), remembered=kept.told)
        if begun != kept.closes:
            until = format_time(kept.last_ns)
            self._say(
                name, f"bars up to {until} are not those of the last scan, computed from nothing"
            )
            return found
        return found._replace(kept=kept)

    def keep(
        self, known: Recalled, row: Floats, votes: Int8s, state: TrendState, class_: str
    ) -> None:
        """Keep the row of a symbol, and the class that is said of it."""
        last_ns = int(known.bars.timestamp[-1])
        told: Told = (class_, last_ns)
        is_known = known.kept is not None and known.kept.state.bars == len(row)
        if self._store is None or known.is_past or (is_known and known.told == told):
            return
        remembered = with_told(known.remembered, self._thresholds, told)
        try:
            new = KeptTrend(known.closes, last_ns, row, votes, state, remembered)
            self._store.write(known.key, new)
        except OSError as error:
            self._give_up("written", error)

    def notes(self) -> tuple[str, ...]:
        """What went wrong, each with whose it is."""
        found = []
        for text, names in self._said.items():
            more = len(names) - MOST_NAMED
            whose = ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
            found.append(f"{whose}: {text}" if names else text)
        return tuple(found)

    def tidy(self) -> None:
        """Let go what is too much."""
        if self._store is not None:
            self._store.tidy()

    def _read(self, name: str, key: str) -> KeptTrend | None:
        if self._store is None:
            return None
        try:
            return self._store.read(key)
        except DamagedError:
            self._say(name, "the row that was kept is damaged, computed from nothing")
        except OSError as error:
            self._give_up("read", error)
        return None

    def _give_up(self, what: str, error: OSError) -> None:
        folder = "" if self._store is None else self._store.folder
        reason = error.strerror or error
        self._said[f"rows cannot be {what} in {folder} ({reason}), none are kept"] = []
        self._store = None

    def _say(self, name: str, text: str) -> None:
        self._said.setdefault(text, []).append(name)
