"""Search for parameter sets, record what was found, show it.

``load_run`` opens a recorded run; its front, generations and trades are pandas frames.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.report import Run

__all__ = ["load_run"]


def load_run(name: str = "latest", runs: str | Path = "runs", data: str | None = None) -> "Run":
    """Open a recorded run; see `optimizer.report.load_run`."""
    # Loaded only now: every command imports this package, and few need tables.
    from optimizer.report import load_run as load

    return load(name, runs, data)
