"""Rows that are kept between scans, so that new bars cost what they add, and what was said then.

A file holds the row of one series for one set of parameters, under a name made of both, and begins
with the SHA-256 of that name and of all that follows. It also says of which closes it is, by their
SHA-256: where an old bar was corrected, the row is no use. Whoever reads a file checks both. A file
appears whole or not at all, so that many scans may share a folder, and one that is killed leaves
nothing half written. What was used longest ago is let go where the folder grows too large.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.trends import TrendState
from optimizer.scanning.classes import Int8s
from strategy.genes import Floats

VERSION = 1
"""Another one wherever rows, states or the form of files change: older files are then not found."""

MOST_BYTES = 2**30
"""Of all files together."""

MOST_TOLD = 16
"""Pairs of thresholds whose classes one file remembers."""

ENDING, DRAFT = ".trend", ".part"

STALE_S = 3600.0
"""A draft that is older was left by a process that was killed."""

DIGEST, LENGTH = 32, 8
"""Bytes of a file's own hash, and of the length of what it says about its arrays."""

Told = tuple[str, int]
"""A class, and when the last bar of that scan opens, nanoseconds UTC."""


class DamagedError(Exception):
    """A file is not what was written."""


@dataclass(frozen=True, eq=False)
class KeptTrend:
    """A row as it was kept.

    Args:
        closes: SHA-256 of the closes that it was made of, hexadecimal.
        last_ns: When its last bar opens, nanoseconds UTC.
        row: [T].
        votes: [6, T].
        state: After its last bar.
        told: Thresholds to what was last said by them, the newest last.
    """

    closes: str
    last_ns: int
    row: Floats
    votes: Int8s
    state: TrendState
    told: Mapping[str, Told]


class KeptTrends:
    """A folder of kept rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, key: str) -> KeptTrend | None:
        """What is kept under a name, or None.

        Raises:
            DamagedError: When its bytes are not those that were written.
            OSError: When it cannot be read.
        """
        path = self.folder / f"{key}{ENDING}"
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        with contextlib.suppress(OSError):
            # It is used: the others go first.
            os.utime(path)
        if _digest(key, content[DIGEST:]) != content[:DIGEST]:
            raise DamagedError
        return _decode_trend(content[DIGEST:])

    def write(self, key: str, kept: KeptTrend) -> None:
        """Keep a row in place of what was there.

        Raises:
            OSError: When it cannot be written; what was there is left as it was.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        content = _encode_trend(kept)
        descriptor, draft = tempfile.mkstemp(suffix=DRAFT, dir=self.folder)
        try:
            # Not forced to disk: what a power cut leaves fails its hash and is computed again.
            with open(descriptor, "wb") as file:
                file.write(_digest(key, content) + content)
            os.replace(draft, self.folder / f"{key}{ENDING}")
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise

    def tidy(self, most_bytes: int = MOST_BYTES) -> None:
        """Let go what was used longest ago, down to so many bytes, and drafts of who was killed."""
        now, found = time.time(), []
        for path in self.folder.glob(f"*{ENDING}"):
            with contextlib.suppress(OSError):
                found.append((path.stat().st_mtime, path.stat().st_size, path))
        gone = []
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= most_bytes:
                break
            total -= size
            gone.append(path)
        for path in self.folder.glob(f"*{DRAFT}"):
            with contextlib.suppress(OSError):
                gone += [path] * (now - path.stat().st_mtime > STALE_S)
        for path in gone:
            # Another scan may have been quicker.
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)


def build_row_key(*parts: object) -> str:
    """A name for the row that these parts decide."""
    return hashlib.sha256(json.dumps([VERSION, *parts]).encode()).hexdigest()


def with_told(told: Mapping[str, Told], thresholds: str, now: Told) -> dict[str, Told]:
    """What is remembered, with what is said now as the newest."""
    others = {name: before for name, before in told.items() if name != thresholds}
    return dict([*others.items(), (thresholds, now)][-MOST_TOLD:])


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def _encode_trend(kept: KeptTrend) -> bytes:
    said = {
        "closes": kept.closes,
        "last_ns": kept.last_ns,
        "bars": kept.state.bars,
        "families": len(kept.votes),
        "told": kept.told,
    }
    text = json.dumps(said).encode()
    arrays = (kept.row.astype("<f8"), kept.votes, kept.state.values.astype("<f8"))
    return b"".join(
        (len(text).to_bytes(LENGTH, "little"), text, *(array.tobytes() for array in arrays))
    )


def _decode_trend(content: bytes) -> KeptTrend:
    """The row in bytes whose hash is right."""
    begin = LENGTH + int.from_bytes(content[:LENGTH], "little")
    said = json.loads(content[LENGTH:begin])
    bars, families = said["bars"], said["families"]
    votes_at = begin + 8 * bars
    state_at = votes_at + families * bars
    votes = np.frombuffer(content[votes_at:state_at], np.int8).reshape(families, bars)
    return KeptTrend(
        closes=said["closes"],
        last_ns=said["last_ns"],
        row=np.frombuffer(content[begin:votes_at], "<f8").astype(np.float64),
        votes=votes,
        state=TrendState(bars, np.frombuffer(content[state_at:], "<f8").astype(np.float64)),
        told={name: (str(word), int(at)) for name, (word, at) in said["told"].items()},
    )
