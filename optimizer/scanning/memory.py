"""Classes that earlier scans said of the symbols of this one, a small file a series.

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
from data.files import remove_drafts
from data.store import DamagedError, note_use, read_sealed, remove_oldest, write_sealed
from optimizer.scanning.question import Question

VERSION = 2
"""Another one wherever the form of files changes: older files are then not found."""

MOST_BYTES = 2**25
"""Of all files together."""

MOST_TOLD = 16
"""Pairs of thresholds whose classes one file remembers."""

ENDING = ".trend"

MOST_NAMED = 5
"""Symbols that a note names before it counts the others."""

Told = tuple[str, int]
"""A class, and when the last bar of that scan opens, nanoseconds UTC."""


@dataclass(frozen=True)
class Memo:
    """What a file says of a series.

    Args:
        key: The file's name, which the parameters and the series decide.
        bars: How many were seen.
        closes: SHA-256 of their closes, hexadecimal.
        last_ns: When the last of them opens, nanoseconds UTC.
        told: Thresholds to what was last said by them, the newest last.
    """

    key: str
    bars: int = 0
    closes: str = hashlib.sha256().hexdigest()
    last_ns: int = -(2**63)
    told: Mapping[str, Told] = field(default_factory=dict)


class Recalled(NamedTuple):
    """What is known of one symbol.

    Args:
        closes: SHA-256 of its closes, hexadecimal.
        memo: What earlier scans left.
        told: What was last said of it by the same thresholds, and when; or None.
    """

    name: str
    bars: Bars
    closes: str
    memo: Memo
    told: Told | None

    @property
    def is_past(self) -> bool:
        """Whether an earlier scan has seen later bars, so that nothing is kept of this one."""
        return int(self.bars.timestamp[-1]) < self.memo.last_ns


class Memory:
    """Reads and writes last classes; where that fails it says so and does without.

    Args:
        folder: Of kept classes; None where none are wanted.
        question: What is asked of the symbols.
        start: Where rows were asked to begin; other rows are another series.
    """

    def __init__(self, folder: Path | None, question: Question, start: str | None) -> None:
        self._folder = folder
        self._question, self._start = question, start
        self._thresholds = f"{question.high!r} {question.low!r}"
        self._said: dict[str, list[str]] = {}

    def recall(self, name: str, bars: Bars) -> Recalled:
        """What is known of a symbol."""
        asked, series = self._question, (bars.symbol, bars.source, bars.timeframe_ns, self._start)
        memo = self._read(name, build_key(asked.kind.name, asked.parameters, *series))
        digest = hashlib.sha256(bars.close[: memo.bars].astype("<f8", copy=False).tobytes())
        begun = digest.hexdigest()
        digest.update(bars.close[memo.bars :].astype("<f8", copy=False).tobytes())
        known = Recalled(name, bars, digest.hexdigest(), memo, None)
        if known.is_past:
            return known
        if begun != memo.closes:
            self._say(
                name, f"bars up to {format_time(memo.last_ns)} are not those of the last scan"
            )
        return known._replace(told=memo.told.get(self._thresholds))

    def keep(self, known: Recalled, class_: str) -> None:
        """Keep the class that is said of a symbol."""
        last_ns, memo = int(known.bars.timestamp[-1]), known.memo
        told = with_told(memo.told, self._thresholds, (class_, last_ns))
        new = Memo(memo.key, len(known.bars), known.closes, last_ns, told)
        if self._folder is None or known.is_past or new == memo:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_sealed(self._folder / f"{memo.key}{ENDING}", json.dumps(asdict(new)).encode())
        except OSError as error:
            self._give_up("written", error)

    def notes(self) -> tuple[str, ...]:
        """What went wrong, each with whose it is."""
        lines = []
        for text, names in self._said.items():
            more = len(names) - MOST_NAMED
            whose = ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
            lines.append(f"{whose}: {text}" if names else text)
        return tuple(lines)

    def tidy(self) -> None:
        """Let go what was used longest ago, and drafts of who was killed."""
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
            memo = _decode_memo(content)
            if memo.key != key:
                raise DamagedError(path)
            note_use(path)
        except DamagedError:
            self._say(name, "the class that was kept is damaged, so that no change is seen")
            return Memo(key)
        except OSError as error:
            self._give_up("read", error)
        return memo

    def _give_up(self, what: str, error: OSError) -> None:
        reason = error.strerror or error
        self._said[f"classes cannot be {what} in {self._folder} ({reason}), none are kept"] = []
        self._folder = None

    def _say(self, name: str, text: str) -> None:
        self._said.setdefault(text, []).append(name)


def build_key(*parts: object) -> str:
    """A name for the file of the series and parameters that these parts name."""
    return hashlib.sha256(json.dumps([VERSION, *parts]).encode()).hexdigest()


def with_told(told: Mapping[str, Told], thresholds: str, now: Told) -> dict[str, Told]:
    """What is remembered, with what is said now as the newest."""
    others = {name: before for name, before in told.items() if name != thresholds}
    return dict([*others.items(), (thresholds, now)][-MOST_TOLD:])


def _decode_memo(content: bytes) -> Memo:
    """The memo in bytes whose digest is right."""
    saved = json.loads(content)
    told = {thresholds: (str(word), int(at)) for thresholds, (word, at) in saved["told"].items()}
    return Memo(**{**saved, "told": told})
