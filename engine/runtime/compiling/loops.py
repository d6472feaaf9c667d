"""How every loop of this project is compiled: one place for flags that could change a bit.

Compiled loops are cached on disk. numba looks only at the file of the loop itself, so that a loop
would keep an old copy of another one that it calls; the place of the cache is therefore named
after the content of all files that may be called: those of the engine are one set, and any other
folder is its own.
"""

import hashlib
import logging
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core.caching import FunctionCache
from numba.core.event import Listener, register
from numba.core.runtime.nrt import rtsys

from data.files import taking_turns
from engine.errors import EngineError
from engine.runtime.compiling.cache_dirs import loops_folder
from engine.runtime.compiling.compile_timer import add_compiling

LOG = logging.getLogger(__name__)

Loop = TypeVar("Loop", bound=Callable[..., object])


class _Stopwatch(Listener):
    """Notes how long numba compiles; it locks, and compiles within a loop what that one calls."""

    def __init__(self) -> None:
        self._begun: list[float] = []

    def on_start(self, event: object) -> None:
        """A loop is compiled from now on."""
        self._begun.append(perf_counter())

    def on_end(self, event: object) -> None:
        """It was compiled."""
        began = self._begun.pop()
        if not self._begun:
            add_compiling(perf_counter() - began)


LEAST_MEMORY = 1_500_000_000
"""Bytes of address space without which numba and its libraries abort or never return."""


def require_compiler() -> None:
    """Refuse to compile where a setting or a limit of the system forbids it.

    Raises:
        EngineError: Naming what to change.
    """
    if cast(Any, numba.config).DISABLE_JIT:
        raise EngineError(
            "NUMBA_DISABLE_JIT is set, and without its compiler there is no engine: unset it"
        )
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY and most < LEAST_MEMORY:
        raise EngineError(
            f"ulimit -v allows this process {most / 1e6:,.0f} MB, and compiled loops need "
            f"{LEAST_MEMORY / 1e6:,.0f} MB of address space: raise it"
        )


require_compiler()
register("numba:compile", _Stopwatch())  # type: ignore[no-untyped-call]


class _SharedCache(FunctionCache):
    """A loop's place on disk, for many processes at once."""

    def load_overload(self, sig: object, target_context: object) -> object:
        """What is kept of a loop; without it numba compiles, and the log says so beforehand.

        numba's own first loads all that compiling needs, which takes half a second a process.
        """
        rtsys.initialize(target_context)
        found = self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        if found is None:
            _say_that_it_takes_a_while()
        return found

    def save_overload(self, sig: object, data: object) -> None:
        """Keep what was compiled; where that fails the next process compiles it again."""
        try:
            with taking_turns(Path(self.cache_path)):
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            LOG.warning("a compiled loop could not be kept (%s)", error)

    def is_empty(self) -> bool:
        """Whether nothing was kept of the loop as it is."""
        return not self._cache_file._load_index()  # type: ignore[no-untyped-call]


def is_missing(loop: Callable[..., object]) -> bool:
    """Whether no process compiled a loop yet, where it could be kept."""
    kept = cast(Any, loop)._cache
    return isinstance(kept, _SharedCache) and kept.is_empty()


def compiled(loop: Loop) -> Loop:
    """Compile a loop: no fast-math, so nothing is fused or reordered; x / 0 follows IEEE."""
    return _made(loop)


def compiled_part(loop: Loop) -> Loop:
    """The same, for a loop that other loops call and Python does not, which compiles sooner."""
    return _made(loop, no_cpython_wrapper=True)


def compiled_uncounted(loop: Loop) -> Loop:
    """The same, for loops that make no arrays and call each other often.

    References to arrays that they hand on are not counted: two atomic operations each, which take
    longer than what such loops do. Whoever calls the first of them holds the arrays.
    """
    return _made(loop, no_cpython_wrapper=True, _nrt=False, forceinline=True)


def compiled_unlocked(loop: Loop) -> Loop:
    """The same, for a loop that Python's threads run side by side."""
    return _made(loop, nogil=True)


def compiled_inline(loop: Loop) -> Loop:
    """The same, pasted into its callers."""
    return _made(loop, inline="always")


def _made(loop: Loop, **options: object) -> Loop:
    # A way in for C, which nobody uses, would take long to compile.
    make = cast(Any, njit)(error_model="numpy", no_cfunc_wrapper=True, **options)
    return cast(Loop, _kept(make(loop)))


def _kept(loop: Any) -> Any:  # noqa: ANN401 - numba has no types
    """A compiled loop, kept on disk where there is room for it."""
    room = _room_of(loop.py_func.__code__.co_filename)
    base = loops_folder(room)
    if base is not None:
        keep_loop(loop, base / _version_of(room))
    return loop


def keep_loop(loop: Any, folder: Path) -> None:  # noqa: ANN401 - numba has no types
    """Keep on disk what numba makes of a loop, in a folder that no other version of it uses."""
    with _cache_in(folder):
        loop._cache = _SharedCache(loop.py_func)  # type: ignore[no-untyped-call]


@cache
def _say_that_it_takes_a_while() -> None:
    LOG.info("compiling loops for this machine, which is done once and may take a minute")


def digest_of(folder: Path) -> str:
    """Digest of all Python files in a folder and below, twelve digits."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder)}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


@contextmanager
def _cache_in(folder: Path) -> Iterator[None]:
    """Have numba choose a place for its cache that no other version of these loops uses."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
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


_FOLDER = Path(__file__).parents[2]
