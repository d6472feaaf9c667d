"""Rows of a person's own indicators that a run recorded, so that any machine replays it alike."""

import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from data import Bars
from optimizer.atomic_write import write_whole
from optimizer.errors import OptimizerError, StoreError
from optimizer.run.indicator_cache import row_bytes, with_own
from optimizer.search.generation import Floats
from optimizer.store import RunStore
from optimizer.store.files import ROW_FOLDER, open_plain
from optimizer.store.payload import Payload
from strategy.custom_indicator import OwnIndicator
from strategy.lookahead_check import OwnCall, collect_calls
from strategy.model import Strategy
from strategy.series import Series

log = logging.getLogger(__name__)

EVIDENCE = "own_rows"
"""Name of the evidence that lists recorded rows."""

MOST_BYTES = 256 * 2**20
"""Of a run's files; of rows beyond that the digest alone is recorded."""

_WARNED: set[Path] = set()
"""Folders of runs that this process has warned of: it computes other bits."""


@dataclass(frozen=True)
class RowRecord:
    """A row that a run recorded."""

    # After the series, the indicator's text and libraries, and its parameters.
    name: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    call: str  # for people
    sha256: str  # of its float64, hexadecimal
    is_whole: bool  # whether a file has its bytes; else the digest alone was recorded


@dataclass(frozen=True)
class RowList(Payload):
    """Recorded rows that one row of evidence lists."""

    what: ClassVar[str] = "the list of recorded rows"

    rows: tuple[RowRecord, ...] = ()


@dataclass(frozen=True)
class RecordedRows:
    """Rows of own indicators as a run recorded them, for replays on any machine."""

    run: Path  # its folder
    rows: Mapping[str, RowRecord]  # by name

    def get(self, indicator: OwnIndicator, series: Series, values: Sequence[int]) -> Floats:
        """The row [T] as it was recorded, else as this machine computes it, with a warning."""
        here = indicator.here(series, values)
        known = self.rows.get(_hash_row_name(indicator, series, values))
        if known is None or known.sha256 == _sha256(here):
            return here
        row = self.read(known)
        if row is None or len(row) != len(here):
            why = "is damaged" if known.is_whole else "was recorded by its digest alone"
            difference = f"{known.call}, on {len(here):,} bars; that {why}, so this one is read"
            row = here
        else:
            difference = f"{known.call}, {_where(here, row)}; what the run recorded is read"
        if self.run not in _WARNED:
            # Once a run: where one row differs, so will others.
            _WARNED.add(self.run)
            log.warning(
                "own indicators have other bits on this machine than run '%s' recorded, first %s",
                self.run.name,
                difference,
            )
        return row

    def list_damaged(self) -> list[str]:
        """A line for each file that is not what was recorded."""
        kept = [row for row in self.rows.values() if row.is_whole]
        return [f"the row {row.call} is damaged" for row in kept if self.read(row) is None]

    def read(self, known: RowRecord) -> Floats | None:
        """A row by its record; None where its file is gone, damaged or no plain file."""
        try:
            # Never through a link: a run may come from anywhere.
            descriptor = open_plain(_resolve_row_folder(self.run), f"{known.name}.row", os.O_RDONLY)
            with open(descriptor, "rb") as file:
                content = file.read() if os.fstat(descriptor).st_size <= MOST_BYTES else b""
        except (OSError, StoreError):
            return None
        is_sound = hashlib.sha256(content).hexdigest() == known.sha256 and len(content) % 8 == 0
        return np.frombuffer(content, "<f8") if is_sound else None


def recorded_rows(store: RunStore) -> RecordedRows:
    """The rows that a run recorded; none of one without, or of a version before them.

    Raises:
        StoreError: When their list cannot be read.
    """
    lists = [RowList.read(row) for name, row in store.evidence if name == EVIDENCE]
    return RecordedRows(store.path, {row.name: row for listed in lists for row in listed.rows})


def find_differing_rows(
    store: RunStore, spec: Strategy, series: Sequence[Bars], genomes: Floats
) -> list[str]:
    """Recorded rows that this machine computes otherwise, a line each; the cause is unknown.

    Args:
        store: Of the run.
        spec: Its strategy.
        series: Bars that individuals are shown on.
        genomes: [N, G] of these.
    """
    if not spec.own:
        return []
    recorded, lines = recorded_rows(store), {}
    for own_series, indicator, values in _calls(spec, series, genomes):
        known = recorded.rows.get(_hash_row_name(indicator, own_series, values))
        here = indicator.here(own_series, values)
        if known is None or known.sha256 == _sha256(here):
            continue
        row = recorded.read(known)
        how = "at other bars" if row is None or len(row) != len(here) else _where(here, row)
        lines[known.name] = f"the row {known.call} is another one on this machine, {how}"
    return [*lines.values()]


def reading_recorded(spec: Strategy, store: RunStore) -> Strategy:
    """The strategy of a run, reading the rows that the run recorded."""
    if not spec.own:
        return spec
    recorded = recorded_rows(store)
    return with_own(spec, lambda indicator: replace(indicator, recorded=recorded))


def record_rows(store: RunStore, spec: Strategy, series: Sequence[Bars], genomes: Floats) -> None:
    """Write rows, as `write_rows` does, and list them as evidence on the run's result.

    Raises:
        StoreError: When recording has failed, or there is no result.
    """
    for name, rows in write_rows(store, spec, series, genomes).items():
        store.add_evidence(name, rows)
        store.flush()


def write_rows(
    store: RunStore, spec: Strategy, series: Sequence[Bars], genomes: Floats
) -> Mapping[str, Mapping[str, object]]:
    """Write rows of own indicators that shown individuals read, for replays on any machine.

    Args:
        store: Of a run, open for writing.
        spec: Its strategy; without an own indicator nothing is written.
        series: Bars that the individuals are shown on.
        genomes: [N, G], those that matter most first.

    Returns:
        Evidence that lists the rows which the run had not, by its name; empty where it had all.
    """
    if not spec.own:
        return {}
    known = dict(recorded_rows(store).rows)
    new: list[RowRecord] = []
    why, folder = "", store.path / ROW_FOLDER
    taken = sum(file.lstat().st_size for file in folder.glob("*.row") if file.stem in known)
    for own_series, indicator, values in _calls(spec, series, genomes):
        if (name := _hash_row_name(indicator, own_series, values)) in known:
            continue
        row = indicator.row(own_series, values)
        taken += row.nbytes
        if taken > MOST_BYTES:
            why = why or f"all take more than {MOST_BYTES / 1e6:,.0f} MB"
        why = why or _write_row(store.path, name, row)
        known[name] = RowRecord(name, indicator.format_call(values), _sha256(row), is_whole=not why)
        new.append(known[name])
    if left := sum(not row.is_whole for row in new):
        log.warning(
            "of %d rows of own indicators %d are recorded by their digest alone (%s): where "
            "another machine computes other bits of them, it says so and reads its own",
            len(new),
            left,
            why,
        )
    return {EVIDENCE: RowList(tuple(new)).payload()} if new else {}


def remove_unlisted_rows(store: RunStore) -> None:
    """Remove rows of an earlier result of a run, which no evidence lists any more."""
    known = recorded_rows(store).rows
    with suppress(OSError, StoreError):
        for file in _resolve_row_folder(store.path).glob("*.row"):
            if file.stem not in known:
                file.unlink()


def _resolve_row_folder(run: Path) -> Path:
    folder = run / ROW_FOLDER
    if folder.is_symlink():
        raise StoreError(f"{folder} is a link, and is not followed")
    return folder


def _write_row(run: Path, name: str, row: Floats) -> str:
    """Write a row; why that failed, or nothing."""
    try:
        folder = _resolve_row_folder(run)
        folder.mkdir(exist_ok=True)
        write_whole(folder / f"{name}.row", row_bytes(row), may_follow=False)
    except (OSError, OptimizerError) as error:
        return str(error)
    return ""


def _calls(spec: Strategy, series: Sequence[Bars], genomes: Floats) -> Iterator[OwnCall]:
    """Calls of own indicators that individuals [N, G] read."""
    individuals = [spec.layout.decode(genome) for genome in genomes]
    nothing = [np.empty(0, np.int64)] * len(individuals)
    for bars in series:
        for own_series, indicator, values in collect_calls(spec, bars, individuals, nothing):
            # No longer than its warm-up, a row is unknown at all bars.
            if len(own_series) > indicator.count_warm_up(values):
                yield own_series, indicator, values


def _hash_row_name(indicator: OwnIndicator, series: Series, values: Sequence[int]) -> str:
    decides = json.dumps([series.content_hash, indicator.digest(values)])
    return hashlib.sha256(decides.encode()).hexdigest()


def _sha256(row: Floats) -> str:
    return hashlib.sha256(row_bytes(row)).hexdigest()


def _where(here: Floats, recorded: Floats) -> str:
    """How far two rows lie apart, for people."""
    differs = (here != recorded) & ~(np.isnan(here) & np.isnan(recorded))
    apart = np.abs(here - recorded)[differs]
    most = f"by {np.nanmax(apart):.2g} at most" if not np.isnan(apart).all() else "known or not"
    return f"at {int(differs.sum()):,} of {len(here):,} bars, {most}"
