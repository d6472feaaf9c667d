"""How every loop of this project is compiled: one place for flags that could change a bit.

Compiled loops are cached on disk. numba looks only at the file of the loop itself, so that a loop
would keep an old copy of another one that it calls; the place of the cache is therefore named
after the content of all files of its room: the backends are one, and any other folder is its own.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

import numba
from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled(loop: Loop) -> Loop:
    """Compile a loop: no fast-math, so nothing is fused or reordered; x / 0 follows IEEE."""
    with _cache_of_this_version(loop):
        return cast(Loop, njit(cache=True, error_model="numpy")(loop))


def compiled_unlocked(loop: Loop) -> Loop:
    """The same, for a loop that Python's threads run side by side."""
    with _cache_of_this_version(loop):
        return cast(Loop, njit(cache=True, error_model="numpy", nogil=True)(loop))


def compiled_parallel(loop: Loop) -> Loop:
    """The same, with the `prange` loops spread over threads; no two threads write one element."""
    with _cache_of_this_version(loop):
        return cast(Loop, njit(cache=True, error_model="numpy", parallel=True)(loop))


def compiled_inline(loop: Loop) -> Loop:
    """The same, pasted into its callers."""
    with _cache_of_this_version(loop):
        return cast(Loop, njit(cache=True, error_model="numpy", inline="always")(loop))


def digest_of(folder: Path) -> str:
    """Digest of all Python files in a folder and below, twelve digits."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder)}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def _cache_of_this_version(loop: Callable[..., object]) -> Iterator[None]:
    """Have numba choose a place for its cache that no other version of these loops uses."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    room = _room_of(loop.__code__.co_filename)
    base = Path(before) if before else room / "__pycache__"
    numba.config.CACHE_DIR = str(base / _version_of(room))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


@cache
def _room_of(file: str) -> Path:
    """The folder whose loops may call each other."""
    folder = Path(file).parent
    return _FOLDER if _FOLDER in (folder, *folder.parents) else folder


@cache
def _version_of(room: Path) -> str:
    """Name of the folder of what was compiled of a room as it is."""
    return f"loops-{digest_of(room)}"


_FOLDER = Path(__file__).parent
