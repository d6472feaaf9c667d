"""Classes that earlier scans gave to the symbols of this one, a small file a series.

Many scans may share a folder. A file names the closes that were seen by their SHA-256, so that a
corrected bar is noticed.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from data import Bars
from data.checks import format_time
from data.errors import list_some
from data.files import remove_drafts
from data.store import DamagedError, note_use, read_sealed, remove_oldest, write_sealed
from optimizer.trend_scan.params import ScanParams

VERSION = 2
"""Another one wherever the form of files changes: older files are then not found."""

MOST_BYTES = 2**25
"""Of all files together."""

MOST_TOLD = 16
"""Pairs of thresholds whose classes one file remembers."""

ENDING = ".trend"

MOST_NAMED = 5
"""Symbols that a note names before it counts the others."""

LastClass = tuple[str, int]
"""A class, and when the last bar of that scan opens, nanoseconds UTC."""


@dataclass(frozen=True)
class Memo:
    """Last classes of a series, as a file holds them."""

    key: str  # the file's name, which the parameters and the series decide
    bars: int = 0  # how many were seen
    closes: str = hashlib.sha256().hexdigest()  # SHA-256 of their closes, hexadecimal
    last_ns: int = -(2**63)  # when the last of them opens, nanoseconds UTC
    # Thresholds to the class last given by them, the newest last.
    told: Mapping[str, LastClass] = field(default_factory=dict)


class Recalled(NamedTuple):
    """History of one symbol."""

    name: str
    bars: Bars
    closes: str  # SHA-256 of its closes, hexadecimal
    memo: Memo  # of earlier scans
    last_class: LastClass | None  # class last given to it by the same thresholds, and when; or None

    @property
    def is_past(self) -> bool:
        """True if an earlier scan has seen later bars, so that nothing is kept of this one."""
        return int(self.bars.timestamp[-1]) < self.memo.last_ns


class ScanHistory:
    """Reads and writes last classes; where that fails it does without, with a note.

    Args:
        folder: Of kept classes; None where none are wanted.
        question: Asked of the symbols.
        start: Where rows were asked to begin; other rows are another series.
    """

    def __init__(self, folder: Path | None, question: ScanParams, start: str | None) -> None:
        self._folder, self._question, self._start = folder, question, start
        self._thresholds = f"{question.high!r} {question.low!r}"
        self._failures: dict[str, list[str]] = {}

    def recall(self, name: str, bars: Bars) -> Recalled:
        """History of a symbol."""
        trend = self._question.kind.name, self._question.parameters
        series = bars.symbol, bars.source, bars.timeframe_ns, self._start
        memo = self._read(name, build_key(*trend, *series))
        begun, closes = (
            hashlib.sha256(bars.close[:end].astype("<f8", copy=False).tobytes()).hexdigest()
            for end in (memo.bars, None)
        )
        known = Recalled(name, bars, closes, memo, None)
        if known.is_past:
            return known
        if begun != memo.closes:
            self._note_failure(
                name, f"bars up to {format_time(memo.last_ns)} are not those of the last scan"
            )
        return known._replace(last_class=memo.told.get(self._thresholds))

    def keep(self, known: Recalled, class_: str) -> None:
        """Keep the class of a symbol."""
        last_ns, memo = int(known.bars.timestamp[-1]), known.memo
        told = {name: last for name, last in memo.told.items() if name != self._thresholds}
        told = dict([*told.items(), (self._thresholds, (class_, last_ns))][-MOST_TOLD:])
        new = Memo(memo.key, len(known.bars), known.closes, last_ns, told)
        if self._folder is None or known.is_past or new == memo:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_sealed(self._folder / f"{memo.key}{ENDING}", json.dumps(asdict(new)).encode())
        except OSError as error:
            self._give_up("written", error)

    def notes(self) -> tuple[str, ...]:
        """Failures, each with the symbols that had it."""
        return tuple(
            f"{list_some(names[:MOST_NAMED], len(names))}: {text}" if names else text
            for text, names in self._failures.items()
        )

    def tidy(self) -> None:
        """Let go files used longest ago, and drafts of killed processes."""
        if self._folder is not None:
            remove_oldest(self._folder, f"*{ENDING}", MOST_BYTES)
            remove_drafts(self._folder)

    def _read(self, name: str, key: str) -> Memo:
        memo = Memo(key)
        if self._folder is None:
            return memo
        path = self._folder / f"{key}{ENDING}"
        try:
            if (content := read_sealed(path)) is None:
                return memo
            saved = json.loads(content)
            told = {name: (str(word), int(at)) for name, (word, at) in saved["told"].items()}
            memo = Memo(**{**saved, "told": told})
            if memo.key != key:
                raise DamagedError(path)
            note_use(path)
        except DamagedError:
            self._note_failure(
                name, "the class that was kept is damaged, so that no change is seen"
            )
            return Memo(key)
        except OSError as error:
            self._give_up("read", error)
        return memo

    def _give_up(self, what: str, error: OSError) -> None:
        reason = error.strerror or error
        self._failures[f"classes cannot be {what} in {self._folder} ({reason}), none are kept"] = []
        self._folder = None

    def _note_failure(self, name: str, text: str) -> None:
        self._failures.setdefault(text, []).append(name)


def build_key(*parts: object) -> str:
    """A name for the file of the series and parameters that these parts name."""
    return hashlib.sha256(json.dumps([VERSION, *parts]).encode()).hexdigest()
