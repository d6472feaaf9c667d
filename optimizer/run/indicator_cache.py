"""Rows of a person's own indicators, kept from run to run as files.

A file is named after all that decides its row: text and libraries of the indicator, its numbers,
the series, and the machine, since another processor or library may round `exp` otherwise.
"""

import contextlib
import hashlib
import json
import logging
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np
from platformdirs import user_cache_path

from data.files import (
    DIGEST_BYTES,
    DamagedError,
    list_entries,
    note_use,
    read_sealed,
    remove_entry,
    remove_oldest,
    write_sealed,
)
from engine.runtime.machine import available_cores, describe_processor, versions
from optimizer.search.generation import Floats
from strategy.custom_indicator import OwnIndicator
from strategy.expressions import Call
from strategy.model import Strategy
from strategy.nodes import Node, transform_nodes
from strategy.series import Series

log = logging.getLogger(__name__)

APP, FOLDER = "exhaustion-optimizer", "own_rows"
"""Below the user's cache: where rows are kept."""

MOST_BYTES = 2 * 2**30
"""Of all files there; what has not been read for longest goes first."""

WORTH_S, WRITTEN_PER_S = 0.005, 50e6
"""Seconds that a file takes, and bytes a second: a row that is computed faster is not kept."""

SERIES_FOLDERS = "*/*"
"""Below the root: folders of series in those of indicators."""


@dataclass
class RowCache:
    """Rows that took long to compute, kept from run to run; any number of processes share it.

    Each indicator has a folder, and in it a folder a series.
    """

    root: Path  # made when the first row is kept
    _used: set[Path] = field(default_factory=set)
    _left: float = 0.0
    """Bytes to write before the size of all is taken again; below 0 where there is no room."""

    def get(self, indicator: OwnIndicator, series: Series, values: Sequence[int]) -> Floats:
        """The row [T] that was kept, else computed; read-only if it was kept."""
        if len(series) <= indicator.count_warm_up(values):
            return indicator.compute_row(series, values)
        folder = self._folder(indicator) / series.content_hash
        file = folder / f"{'_'.join(map(str, values)) or 'row'}.row"
        if (kept := self._read(file, len(series))) is not None:
            self._note_use(folder)
            return kept
        began = perf_counter()
        row = indicator.compute_row(series, values)
        if perf_counter() - began > WORTH_S + row.nbytes / WRITTEN_PER_S:
            self._note_use(folder)
            # Without room, or a place to write to, it is computed again the next time.
            with contextlib.suppress(OSError):
                self._write(file, row.astype("<f8", copy=False).tobytes())
        return row

    def forget(self, indicator: OwnIndicator) -> None:
        """Remove all rows of an indicator."""
        remove_entry(self._folder(indicator))

    def _folder(self, indicator: OwnIndicator) -> Path:
        decides = json.dumps([_machine(), indicator.digest(())])
        return self.root / hashlib.sha256(decides.encode()).hexdigest()

    @staticmethod
    def _read(file: Path, length: int) -> Floats | None:
        with contextlib.suppress(OSError):
            try:
                row = read_sealed(file)
            except DamagedError:
                row = b""
            if row is None or len(row) == 8 * length:
                return None if row is None else np.frombuffer(row, "<f8")
            log.info("%s is damaged; its row is computed anew", file)
        return None

    def _note_use(self, folder: Path) -> None:
        if folder not in self._used:
            self._used.add(folder)
            note_use(folder)

    def _write(self, file: Path, row: bytes) -> None:
        if self._has_room(DIGEST_BYTES + len(row)):
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_sealed(file, row)

    def _has_room(self, size: int) -> bool:
        """Make room: a series of an indicator goes whole, the one not used for longest first.

        Series that this process reads stay: its proof compares them.
        """
        if 0 <= self._left < size:
            total = remove_oldest(self.root, SERIES_FOLDERS, MOST_BYTES - size, self._used)
            is_full = total + size > MOST_BYTES
            # Other processes write too.
            self._left = -math.inf if is_full else max(size, (MOST_BYTES - total) / 16)
        self._left -= size
        return self._left >= 0

    def measure_bytes(self) -> int:
        """Bytes of all rows."""
        return sum(entry.size for entry in list_entries(self.root, SERIES_FOLDERS))


_cache_at = cache(RowCache)


def row_cache() -> RowCache:
    """That of this user, the same one for all of a process."""
    return _cache_at(Path(user_cache_path(APP)) / FOLDER)


def keeping_rows(spec: Strategy, kept: RowCache | None) -> Strategy:
    """The strategy with rows of its own indicators kept there, or nowhere."""

    def keeping(node: Node) -> Node:
        if isinstance(node, Call) and isinstance(node.indicator, OwnIndicator):
            return replace(node, indicator=replace(node.indicator, kept=kept))
        return node

    return transform_nodes(spec, keeping) if spec.own else spec


@cache
def _machine() -> str:
    """All that may decide the last bit of a row, beside its indicator's text and its libraries."""
    simd = np.show_config(mode="dicts").get("SIMD Extensions")
    threads = sorted(pair for pair in os.environ.items() if pair[0].endswith("_NUM_THREADS"))
    parts = [versions(), describe_processor(), available_cores(), simd, threads]
    return json.dumps(parts, sort_keys=True)
