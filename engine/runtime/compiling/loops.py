"""How every loop of this project is compiled: one place for flags that could change a bit.

Compiled loops are cached on disk. numba looks only at the file of the loop itself, so that a loop
would keep an old copy of another one that it calls; here the file of its machine code is named
after the digest of its module and of all that this imports (`module_digest.py`).
"""

import hashlib
import logging
import pickle
import re
import resource
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar, cast

import numba
from numba import njit
from numba.core.caching import NullCache, _Cache
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompileResult
from numba.core.environment import lookup_environment
from numba.core.event import Listener, register
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature

from data.files import (
    DamagedError,
    claiming,
    list_entries,
    read_sealed,
    remove_drafts,
    remove_entry,
    write_sealed,
)
from engine.errors import EngineError
from engine.runtime.collector import pause_collector
from engine.runtime.compiling.cache_dirs import ENGINE, loops_folder
from engine.runtime.compiling.compile_timer import add_compiling
from engine.runtime.compiling.module_digest import PACKAGES, UnknownSourceError, digest_module

LOG = logging.getLogger(__name__)

Loop = TypeVar("Loop", bound=Callable[..., object])


COMPILED: list[Any] = []
"""Loops that are compiled at the moment, each within the one before."""

SET_ENVIRONMENT: Any = JITCPUCodegen.set_env


class InnerCode(JITCodeLibrary):
    """Code of a loop, or of a function that only loops call, of which none is translated.

    Each loop that calls such a function optimises and translates it as a part of itself anyhow.
    numba did it for each function as well: of the reference, with calls eight deep, that was a
    quarter of the time that compiling took.
    """

    def _optimize_functions(self, ll_module: Any) -> None:  # noqa: ANN401 - llvmlite has no types
        """Leave functions as they are: passes over all that is put together do the same again."""
        ll_module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Put together all that it calls; translate it if it is kept, or called by Python."""
        is_inner = [isinstance(loop._cache, NullCache) for loop in COMPILED]
        if not is_inner or is_inner[0] or not is_inner[-1]:
            super().finalize()  # type: ignore[no-untyped-call]
            for variable in self._final_module.global_variables:
                environment = lookup_environment(variable.name)  # type: ignore[no-untyped-call]
                if environment is not None:
                    self.codegen.set_env(variable.name, environment)
            return
        for library in dict.fromkeys(self._linking_libraries):
            # Releases of numba before 0.63 have none.
            getattr(self, "_reload_init", set()).update(getattr(library, "_reload_init", ()))
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


def _set_environment(codegen: Any, name: str, environment: object) -> None:  # noqa: ANN401
    """Hand a function its environment, once it is translated."""
    if codegen._engine.is_symbol_defined(name):
        SET_ENVIRONMENT(codegen, name, environment)


JITCPUCodegen._library_class = InnerCode
cast(Any, JITCPUCodegen).set_env = _set_environment


class _Stopwatch(Listener):
    """Notes how long numba compiles, and its failures; no cycles are collected meanwhile.

    It locks, and compiles within a loop the callees of it. Walking the compiler's objects takes
    a tenth of its time.
    """

    def __init__(self) -> None:
        self._began = 0.0
        self._pause = ExitStack()

    def on_start(self, event: Any) -> None:  # noqa: ANN401 - numba has no types
        """A loop is compiled from now on."""
        if not COMPILED:
            self._pause.enter_context(pause_collector())
            self._began = perf_counter()
        COMPILED.append(event.data["dispatcher"])

    def on_end(self, event: Any) -> None:  # noqa: ANN401 - numba has no types
        """It was compiled, or could not be."""
        loop = COMPILED.pop()
        if event.data["args"] not in loop.overloads and isinstance(loop._cache, LoopCache):
            loop._cache.drop_claims()
        if not COMPILED:
            self._pause.close()
            add_compiling(perf_counter() - self._began)


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


class LoopCache(_Cache):
    """Machine code of a loop on disk, a file for each version of it and types of arguments."""

    def __init__(self, loop: Any, folder: Path) -> None:  # noqa: ANN401 - numba has no types
        self._loop, self._folder = loop, folder
        name = f"{loop.py_func.__module__}.{loop.py_func.__qualname__}"
        self._name = re.sub(r"[^\w.]", "", name)[-MOST_LETTERS:]
        self._claims: dict[object, tuple[Path, ExitStack]] = {}
        self._is_enabled = True

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._folder)

    def load_overload(self, sig: Any, target_context: Any) -> object:  # noqa: ANN401
        """Stored code of a loop; without it numba compiles, after a line in the log.

        numba's own first loads all that compiling needs, which takes half a second a process.
        """
        rtsys.initialize(target_context)
        _sweep(self._folder)
        path = self._place(sig, target_context.codegen()) if self._is_enabled else None
        content = None if path is None else _read_code(path)
        if path is not None and content is None:
            content = self._claim(sig, path)
        if content is not None:
            made = pickle.loads(content)
            return CompileResult._rebuild(target_context, *made)  # type: ignore[no-untyped-call]
        _say_that_it_takes_a_while()
        return None

    def _claim(self, sig: object, path: Path) -> bytes | None:
        """Have other processes wait while this one compiles; what one of them was quicker with."""
        with ExitStack() as claim:
            claim.enter_context(claiming(path, MOST_SECONDS))
            content = _read_code(path)
            if content is None:
                self._claims[sig] = path, claim.pop_all()
        return content

    def drop_claims(self) -> None:
        """Let other processes try what could not be compiled here."""
        while self._claims:
            self._claims.popitem()[1][1].close()

    def save_overload(self, sig: Any, data: Any) -> None:  # noqa: ANN401
        """Keep compiled code; after a failure the next process compiles it again."""
        path, claim = self._claims.pop(sig, (None, ExitStack()))
        with claim:
            if path is not None and path == self._place(sig, data.library.codegen):
                self._write_code(path, data)

    def _write_code(self, path: Path, data: Any) -> None:  # noqa: ANN401
        if data.library.has_dynamic_globals or not all(each.can_cache for each in data.lifted):
            LOG.warning("%s could not be kept: it reads objects of this process alone", self._name)
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_sealed(path, dumps(data._reduce()))  # type: ignore[no-untyped-call]
            self._remove_old()
        except OSError as error:
            LOG.warning("a compiled loop could not be kept (%s)", error)

    def is_empty(self) -> bool:
        """True if nothing was kept of the present loop."""
        try:
            return not any(self._folder.glob(f"{self._name}-{self._version()}-*{ENDING}"))
        except UnknownSourceError:
            return False

    def enable(self) -> None:
        """Look at the disk from now on."""
        self._is_enabled = True

    def disable(self) -> None:
        """Leave the disk alone from now on."""
        self._is_enabled = False

    def flush(self) -> None:
        """Remove all that was kept of the loop."""
        for file in self._folder.glob(f"{self._name}-*{ENDING}"):
            file.unlink(missing_ok=True)

    def _place(self, sig: Any, codegen: Any) -> Path | None:  # noqa: ANN401
        """Where its code for some types of arguments lies; None where its source is unknown."""
        arguments, result = normalize_signature(sig)  # type: ignore[no-untyped-call]
        try:
            kinds = [_describe_type(kind) for kind in (*arguments, result)]
            said = repr((kinds, sorted(self._loop.targetoptions.items()), codegen.magic_tuple()))
            types = hashlib.sha256(said.encode()).hexdigest()[:20]
            return self._folder / f"{self._name}-{self._version()}-{types}{ENDING}"
        except UnknownSourceError as error:
            LOG.warning("%s is compiled by each process: %s", self._name, error)
            return None

    def _version(self) -> str:
        function = self._loop.py_func
        if function.__closure__:
            raise UnknownSourceError("it was made by another function")
        return digest_module(function.__module__)

    def _remove_old(self) -> None:
        """Remove the oldest versions of the loop."""
        entries = list_entries(self._folder, f"{self._name}-*{ENDING}")
        versions = [entry.path.name[len(self._name) :].split("-")[1] for entry in entries]
        newest = list(dict.fromkeys(reversed(versions)))[:MOST_VERSIONS]
        for entry, version in zip(entries, versions, strict=True):
            if version not in newest:
                remove_entry(entry.path)


MOST_SECONDS = 60.0
"""Wait of a process for another one's code, before it compiles the loop as well."""

MOST_VERSIONS = 8
"""Versions of a loop that are kept; of checkouts, branches and Pythons that share a folder."""

MOST_LETTERS = 150
"""Letters of a loop's name in that of a file."""

ENDING = ".loop"


def _describe_type(kind: Any) -> object:  # noqa: ANN401
    """A type of an argument in words: a loop need not import what makes its arguments."""
    own, record = type(kind).__module__, getattr(kind, "instance_class", None)
    made = record and (record.__module__, record.__qualname__, record._fields)
    version = digest_module(own) if own.split(".")[0] in PACKAGES else ""
    return str(kind), version, made, [_describe_type(part) for part in getattr(kind, "types", ())]


def _read_code(path: Path) -> bytes | None:
    """Stored code of a loop; None where there is none, or it is damaged."""
    with suppress(DamagedError, OSError):
        return read_sealed(path)
    return None


def is_missing(loop: Callable[..., object]) -> bool:
    """True if no process has compiled a loop yet that could be kept."""
    kept = cast(Any, loop)._cache
    return isinstance(kept, LoopCache) and kept.is_empty()


def compiled_loop(loop: Loop) -> Loop:
    """Compile a loop: no fast-math, so nothing is fused or reordered; x / 0 follows IEEE."""
    return _compile_loop(loop)


def compiled_part(loop: Loop) -> Loop:
    """The same, for a loop that other loops call and Python does not: compiled within them."""
    return _compile_loop(loop, is_kept=False, no_cpython_wrapper=True)


def compiled_uncounted(loop: Loop) -> Loop:
    """The same, for parts that make no arrays and call each other often.

    References to arrays that they hand on are not counted: two atomic operations each, which take
    longer than what such loops do. The caller of the first one holds the arrays.
    """
    return _compile_loop(loop, is_kept=False, no_cpython_wrapper=True, _nrt=False, forceinline=True)


def compiled_unlocked(loop: Loop) -> Loop:
    """The same, for a loop that Python's threads run side by side."""
    return _compile_loop(loop, nogil=True)


def compiled_inline(loop: Loop) -> Loop:
    """The same, pasted into its callers."""
    return _compile_loop(loop, inline="always")


def compiled_alone(loop: Loop) -> Loop:
    """The same, for a loop that others call by its address."""
    return _compile_loop(loop, no_cpython_wrapper=True)


def _compile_loop(loop: Loop, *, is_kept: bool = True, **options: object) -> Loop:
    # An entry for C, which has no caller, would take long to compile.
    make = cast(Any, njit)(error_model="numpy", no_cfunc_wrapper=True, **options)
    made = make(loop)
    return cast(Loop, _cache_loop(made) if is_kept else made)


def _cache_loop(loop: Any) -> Any:  # noqa: ANN401 - numba has no types
    """A compiled loop, kept on disk where there is room for it."""
    base = loops_folder(_find_loop_folder(loop.py_func.__code__.co_filename))
    if base is not None:
        keep_loop(loop, base)
    return loop


def keep_loop(loop: Any, base: Path) -> None:  # noqa: ANN401 - numba has no types
    """Keep on disk what numba makes of a loop."""
    loop._cache = LoopCache(loop, base / "loops")


@cache
def _sweep(folder: Path) -> None:
    """Remove what processes left that were killed, once here: all loops may be there already."""
    remove_drafts(folder)


@cache
def _say_that_it_takes_a_while() -> None:
    LOG.info("compiling loops for this machine, which is done once and may take a minute")


@cache
def _find_loop_folder(file: str) -> Path:
    """The folder beside which loops are kept: the engine's, or that of a file elsewhere."""
    folder = Path(file).parent
    return ENGINE if ENGINE in (folder, *folder.parents) else folder
