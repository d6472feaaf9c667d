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

ROW_BYTES = 1024
"""What a row takes beside its population: digests, summary, and the tables' own bookkeeping."""

LOG_BYTES = 12 * 2**20
"""Most that the write-ahead log and the run's other files usually grow to."""


def estimate_bytes(
    individuals: int, genes: int, objectives: int, generations: int, *, keep: Keep = "all"
) -> int:
    """Bytes that a run takes on disk, while it runs.

    Args:
        individuals: P.
        genes: G.
        objectives: O.
        generations: How many follow the initial one.
        keep: What stays of older generations. A front may grow to the whole population, so
            ``"front"`` is estimated as ``"all"``; only ``"last"`` has a smaller bound.

    Returns:
        A bound from above, at most about a quarter and `LOG_BYTES` too high.
    """
    rows = generations + 1
    whole_rows = min(rows, WHOLE_GENERATIONS + 1) if keep == "last" else rows
    population = whole_bytes(individuals, genes, objectives)
    # Of each page, a few bytes link it to the next; a page is not shared by two populations.
    pages = -(-population // (PAGE_BYTES - 64)) + 1
    return rows * ROW_BYTES + whole_rows * pages * PAGE_BYTES + LOG_BYTES


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
            "another place, record less (keep='front' or 'last'), or search less"
        )
