"""Run ids and where runs live: nothing that a person types leads out of the runs directory."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from optimizer.errors import StoreError

DATABASE = "run.sqlite"
"""File in a run's directory that holds everything that was recorded."""

LATEST = "latest"
"""Stands for the run that was created last, wherever a run can be named."""

_RUN_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")


def new_run_id(now: datetime | None = None) -> str:
    """Name a run after the moment at which it starts.

    Args:
        now: Aware moment; the present when left out.

    Returns:
        Such as ``20261121-093015-3fa9c1``: UTC, then six random digits of the operating system, so
        that no search's random stream is touched; sorting ids sorts them by time.
    """
    moment = datetime.now(UTC) if now is None else now.astimezone(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


def validate_run_id(text: str) -> str:
    """Return `text` when it is a legal run id.

    Args:
        text: 1 to 64 letters, digits, dots, underscores and hyphens; starts with a letter or a
            digit, does not end with a dot, and is not ``latest``.

    Raises:
        StoreError: When it is anything else, such as a path.
    """
    if not _RUN_ID.fullmatch(text) or ".." in text or text.lower() == LATEST:
        raise StoreError(
            f"run id {_shown(text)} is not legal: use 1 to 64 letters, digits, '.', '_' and '-', "
            "starting with a letter or a digit"
        )
    return text


def run_path(runs_dir: Path, run_id: str) -> Path:
    """Directory of a run, whether it exists or not.

    Raises:
        StoreError: When the id is not legal, or the directory lies outside `runs_dir` because
            something there is a symbolic link.
    """
    path = runs_dir / validate_run_id(run_id)
    if not path.resolve().is_relative_to(runs_dir.resolve()):
        raise StoreError(f"run '{run_id}' is a link that leads out of {runs_dir}: not followed")
    return path


def _shown(text: str) -> str:
    return repr(text if len(text) <= 64 else text[:61] + "...")
