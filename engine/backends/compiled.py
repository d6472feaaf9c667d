"""How every loop of this backend is compiled: one place for flags that could change a bit.

Compiled loops are cached on disk. numba looks only at the file of the loop itself, so that a loop
would keep an old copy of another one that it calls; the place of the cache is therefore named
after the content of all files that hold loops.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

import numba
from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled(loop: Loop) -> Loop:
    """Compile a loop: no fast-math, so nothing is fused or reordered; x / 0 follows IEEE."""
    with _cache_of_this_version():
        return cast(Loop, njit(cache=True, error_model="numpy")(loop))


def compiled_parallel(loop: Loop) -> Loop:
    """The same, with the `prange` loops spread over threads; no two threads write one element."""
    with _cache_of_this_version():
        return cast(Loop, njit(cache=True, error_model="numpy", parallel=True)(loop))


def compiled_inline(loop: Loop) -> Loop:
    """The same, pasted into its callers."""
    with _cache_of_this_version():
        return cast(Loop, njit(cache=True, error_model="numpy", inline="always")(loop))


def digest_of(folder: Path) -> str:
    """Digest of all Python files in a folder and below, twelve digits."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder)}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def _cache_of_this_version() -> Iterator[None]:
    """Have numba choose a place for its cache that no other version of these loops uses."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    base = Path(before) if before else _FOLDER / "__pycache__"
    numba.config.CACHE_DIR = str(base / f"loops-{_DIGEST}")  # type: ignore[attr-defined]
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


_FOLDER = Path(__file__).parent
_DIGEST = digest_of(_FOLDER)
