"""How much of a run is kept, how many bytes that takes, and whether there is room for them."""

import shutil
from pathlib import Path
from typing import Literal

from optimizer.errors import StoreError
from optimizer.runs.rows import whole_bytes

Keep = Literal["all", "front", "last"]
"""What stays of generations before the newest two: everything, their front, or their summary."""

KEEPS: tuple[Keep, ...] = ("all", "front", "last")
"""All that `Keep` can be."""

WHOLE_GENERATIONS = 2
"""So many of the newest always stay whole: one to go on from, one in case that it is damaged."""

PAGE_BYTES = 4096
"""Size of a page of the database, the unit in which it grows."""

USABLE_BYTES = 4000
"""Of each page, what holds rows; the rest links it to others."""

ROW_BYTES = 1024
"""What a row takes beside its population: digests, summary, and the tables' own bookkeeping."""

STATE_BYTES = 512
"""What a search of a few islands remembers beside its individuals."""

LOG_BYTES = 12 * 2**20
"""What the write-ahead log and the run's other files take, but for large populations."""


def estimate_bytes(
    individuals: int,
    genes: int,
    objectives: int,
    generations: int,
    *,
    keep: Keep = "all",
    budget: int | None = None,
    archive: int = 0,
) -> int:
    """Bytes that a run takes on disk, while it runs.

    Args:
        individuals: P.
        genes: G.
        objectives: O.
        generations: How many follow the initial one.
        keep: What stays of older generations. A front may grow to the whole population, so
            ``"front"`` is estimated as ``"all"``; only ``"last"`` has a smaller bound.
        budget: As in `RunStore.create`; a bound as well, whatever `keep` is.
        archive: Most individuals of the archive, which is kept with each whole generation.

    Returns:
        A bound from above: at most about twice what the populations take, and `LOG_BYTES`.
    """
    rows = generations + 1
    whole_rows = min(rows, WHOLE_GENERATIONS + 1) if keep == "last" else rows
    population = whole_bytes(individuals + archive, genes, objectives) + STATE_BYTES
    pages = _pages(rows - whole_rows, ROW_BYTES) + _pages(whole_rows, ROW_BYTES + population)
    if budget is not None:
        newest = _pages(min(rows, WHOLE_GENERATIONS + 1), ROW_BYTES + population)
        # A row that is thinned may leave a page half empty.
        pages = min(pages, newest + rows + budget // USABLE_BYTES)
    # The log may hold one group of commits and two populations more than it is meant to.
    return pages * PAGE_BYTES + LOG_BYTES + 2 * population


def free_bytes(path: Path) -> int:
    """Bytes that are free where a path lies, or will lie once its directories are made."""
    place = path.absolute()
    return shutil.disk_usage(next(p for p in (place, *place.parents) if p.exists())).free


def require_space(path: Path, needed: int) -> None:
    """Refuse to start what cannot fit.

    Args:
        path: Where it is to be written.
        needed: Bytes.

    Raises:
        StoreError: When fewer are free, naming both.
    """
    free = free_bytes(path)
    if needed > free:
        raise StoreError(
            f"{path}: the run needs up to {needed:,} bytes and {free:,} are free: free some, use "
            "another place (--runs), record less (--keep last, or a smaller --budget), or search "
            "less"
        )


def _pages(rows: int, row_bytes: int) -> int:
    """Pages of rows: small ones share a page, large ones end within one."""
    if row_bytes <= USABLE_BYTES:
        return -(-rows // (USABLE_BYTES // row_bytes))
    return rows * (-(-row_bytes // USABLE_BYTES) + 1)
