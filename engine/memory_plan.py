"""How much memory a population takes, known before any work."""

from dataclasses import dataclass

from engine.errors import MemoryPlanError
from engine.fast_case import FastCase


@dataclass(frozen=True)
class MemoryPlan:
    """Memory that a population will take, known before any work."""

    individuals: int  # P
    slots: int  # rows that the bank can hold; 0 where rows have no slots
    slot_bytes: int  # bytes of one slot, over all series
    work_bytes: int  # bytes that a device may take for individuals while it evaluates them
    series_bytes: int  # bytes of the series themselves, with what computing a row takes beside it
    result_bytes: int  # bytes of the accumulators [P, W, A]
    bars: int  # bars of all series
    free_bytes: int  # bytes that were free on the device

    def __str__(self) -> str:
        rows, work, series, results, free = (
            _format_bytes(count)
            for count in (
                self.slots * self.slot_bytes,
                self.work_bytes,
                self.series_bytes,
                self.result_bytes,
                self.free_bytes,
            )
        )
        lists = f", lists up to {work}" if self.work_bytes else ""
        room = f"up to {self.slots:,} rows, {rows} of {free} free{lists}"
        if not self.slots:
            room = f"rows and lists up to {work} of {free} free"
        return (
            f"{self.individuals:,} individuals on {self.bars:,} bars: {room}, series {series}, "
            f"results {results}"
        )


def row_capacity(case: FastCase, slot_bytes: int, memory_bytes: int) -> int:
    """How many rows a bank can hold, no more than a population within the bounds can ask for.

    `slot_bytes` is what one slot takes over all series, `memory_bytes` what rows may take.

    Raises:
        MemoryPlanError: When one individual's rows alone do not fit.
    """
    fits = memory_bytes // slot_bytes
    if fits < len(case.rows):
        raise MemoryPlanError(
            f"one individual needs {len(case.rows)} rows of {slot_bytes:,} bytes each, "
            f"{memory_bytes:,} bytes are allowed; allow at least {len(case.rows) * slot_bytes:,}"
        )
    return min(fits, most_rows(case))


def most_rows(case: FastCase) -> int:
    """Distinct rows that a population within the bounds can ask for."""
    bounds = [case.layout.gene(name) for row in case.rows for name in row.genes]
    constant = sum(not row.genes for row in case.rows)
    return constant + sum(int(gene.high - gene.low + 1) for gene in bounds)


def _format_bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
