"""Where compiled code is kept: one folder a user for each compiler, safe for many runs at once.

A person's own folder stays as set. Both compilers write a file beside its place and move it there
whole, so that no process reads half of one.
"""

import os
import stat
import tempfile
from functools import cache
from pathlib import Path

from platformdirs import user_cache_path

from data.files import temporary_folder
from engine.errors import DeviceError

APP = "exhaustion-optimizer"

ENGINE = Path(__file__).parents[2]


@cache
def loops_folder(room: Path = ENGINE) -> Path | None:
    """Where numba's code of a folder of loops is kept: the first place that can be written.

    ``NUMBA_CACHE_DIR``, else where Python keeps its own code of that folder, the user's cache, or a
    folder for temporary files; None where none can, and code is kept in memory.
    """
    configured = os.environ.get("NUMBA_CACHE_DIR")
    candidates = [Path(configured)] if configured else []
    return _first_usable([*candidates, room / "__pycache__", *_folders_of_user("loops")])


@cache
def kernels_folder() -> Path:
    """Where Triton's code is kept: as ``TRITON_CACHE_DIR`` or ``TRITON_HOME`` say, else ours.

    Raises:
        DeviceError: When that cannot be written; Triton cannot do without.
    """
    configured, home = os.environ.get("TRITON_CACHE_DIR"), os.environ.get("TRITON_HOME")
    if configured or home:
        folder = Path(configured or os.path.join(str(home), ".triton", "cache"))
        if not _is_usable(folder):
            name = "TRITON_CACHE_DIR" if configured else "TRITON_HOME"
            raise DeviceError(
                f"compiled kernels cannot be kept in {folder}, which {name} names: "
                "it cannot be written, or others can write it too; name another folder"
            )
        return folder
    usable = _first_usable(_folders_of_user("kernels"))
    if usable is None:
        raise DeviceError(
            "there is no folder for compiled kernels that can be written; "
            "let TRITON_CACHE_DIR name one"
        )
    return usable


def workers_folder() -> Path | None:
    """Where workers on this machine keep temporary files: Dask also imports modules from there."""
    return _first_usable(_folders_of_user("workers")[::-1])


def keep_kernels() -> None:
    """Have Triton keep its code there; before it compiles anything."""
    os.environ["TRITON_CACHE_DIR"] = str(kernels_folder())


def _folders_of_user(name: str) -> list[Path]:
    """The user's cache, and a private folder for homes that cannot be written."""
    homes = Path(user_cache_path(APP)), _private_folder()
    return [home / name for home in homes if home is not None]


def _private_folder() -> Path | None:
    """A folder among temporary files; None where the system has no room for any."""
    try:
        return temporary_folder() / f"{APP}-{os.getuid()}"
    except FileNotFoundError:
        return None


def _first_usable(folders: list[Path]) -> Path | None:
    return next((folder for folder in folders if _is_usable(folder)), None)


def _is_usable(folder: Path) -> bool:
    """True if we can write there and others cannot: they would leave code that we run."""
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.parent == _private_folder() and not _is_private(folder.parent):
            return False
        if folder.stat().st_mode & stat.S_IWOTH:
            return False
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _is_private(folder: Path) -> bool:
    """True if a folder within a shared one is real, ours, and closed to others."""
    status = folder.lstat()
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    return is_ours and not stat.S_IMODE(status.st_mode) & 0o022
