"""Search for parameter sets, record what was found, show it.

``evolve`` searches, ``load_run`` opens what was recorded; its front, generations and trades are
pandas frames.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optimizer.report import Run

__all__ = ["evolve", "load_run"]


def evolve(**settings: object) -> "Run":
    """Search, certify and record, without a word.

    Args:
        settings: Fields of `optimizer.config.run_config.RunConfig`, such as ``population=64``;
            what is not named has its default.

    Returns:
        The recorded run.

    Raises:
        ConfigError: When a setting is unknown or wrong.
        ParityError: When reference and engine disagree; the run is recorded all the same.
    """
    # Loaded only now: every command imports this package, and few need all of it.
    from optimizer.report.run import evolve as search

    return search(settings)


def load_run(
    name: str = "latest", runs: str | Path = "runs", data: str | Sequence[str] | None = None
) -> "Run":
    """Open a recorded run.

    Args:
        name: Its id, the beginning of it, its path, or ``latest``.
        runs: Folder in which runs are recorded.
        data: Where the bars are now, if they have moved; None for where they were.

    Returns:
        The run: its front and generations as frames, its trades, its charts.

    Raises:
        StoreError: When there is no such run, it is damaged, or it has no generation yet.
    """
    from optimizer.report import load_run as load

    return load(name, runs, data)
