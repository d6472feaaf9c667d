"""Digest of a module: of its source, and of all that it imports of our packages.

A compiled loop is kept under it. An edit compiles the loops of that module anew, and of all that
import it, by whatever way.
"""

import hashlib
import os
import re
import sys
import time
from contextlib import suppress
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba
import numpy as np

PACKAGES = {"data", "strategy", "engine", "optimizer"}

COMPILER = __name__.rpartition(".")[0]
"""Imports of its modules are not followed: where loops are kept is no part of them."""

IMPORTS = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)|import[ \t]+([^\n]*))", re.M
)

SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT",
            "ENABLE_AVX", "USING_SVML")  # fmt: skip
"""The compiler's own, as variables of the environment set them."""


class UnknownSourceError(Exception):
    """A module has no file, or another one than when it was imported."""


class ModuleSource(NamedTuple):
    """Text of a module."""

    digest: str
    imports: tuple[str, ...]  # modules of our packages


@cache
def digest_module(name: str) -> str:
    """Digest of a module, of all that it imports, and of the compiler, twenty digits.

    Raises:
        UnknownSourceError: When what was imported cannot be known.
    """
    sources: dict[str, str] = {}
    left = [name]
    while left:
        found = left.pop()
        if found not in sources:
            sources[found], imports = _read_source(found)
            left += () if found.startswith(COMPILER) else imports
    said = repr((_versions(), sorted(sources.items())))
    return hashlib.sha256(said.encode()).hexdigest()[:20]


@cache
def _read_source(name: str) -> ModuleSource:
    file, packages = _find_file(name), {*PACKAGES, name.split(".")[0]}
    with open(file, "rb") as opened:
        content = opened.read()
        if os.fstat(opened.fileno()).st_ctime_ns > BEGAN_NS:
            raise UnknownSourceError(f"{file} changed since this process began")
    package = name if file.endswith("__init__.py") else name.rpartition(".")[0]
    imports: list[str] = []
    for module, parts, modules in IMPORTS.findall(content.decode()):
        named = [resolve_name(module, package)] if module else re.findall(r"[\w.]+", modules)
        named = [each for each in named if each.split(".")[0] in packages]
        imports += named
        if named and parts and _find_file(named[0]).endswith("__init__.py"):
            parts = [f"{named[0]}.{part}" for part in re.findall(r"\w+", parts)]
            imports += [part for part in parts if _has_file(part)]
    return ModuleSource(hashlib.sha256(content).hexdigest(), tuple(imports))


@cache
def _find_file(name: str) -> str:
    """File of a module.

    Raises:
        UnknownSourceError: When it has none.
    """
    top, *parts = name.split(".")
    for folder in getattr(sys.modules.get(top), "__path__", ()):
        place = os.path.join(folder, *parts)
        for file in (f"{place}.py", os.path.join(place, "__init__.py")):
            if os.path.isfile(file):
                return file
    raise UnknownSourceError(f"{name} has no file")


def _has_file(name: str) -> bool:
    with suppress(UnknownSourceError):
        return bool(_find_file(name))
    return False


@cache
def _versions() -> tuple[object, ...]:
    settings = tuple(str(getattr(numba.config, name, None)) for name in SETTINGS)
    libraries = (numba.__version__, llvmlite.__version__, np.__version__)
    return (sys.implementation.cache_tag, tuple(sys.version_info), sys.abiflags, libraries,
            settings)  # fmt: skip


def _find_begin() -> int:
    """When this process began, nanoseconds since 1970; now where the system does not say."""
    try:
        since_boot = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return time.time_ns()
    booted = time.time_ns() - time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    # It is rounded down.
    return booted + (since_boot + 1) * 10**9 // os.sysconf("SC_CLK_TCK")


BEGAN_NS = _find_begin()
