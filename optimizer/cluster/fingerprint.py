"""Fingerprint of a process; equal ones give equal results: versions, code, and bits."""

import hashlib
import importlib
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from data import Window, load_bars
from engine import ENGINE_VERSION
from engine.batch import Engine
from engine.runtime.machine import available_cores, read_package_version
from optimizer.search import SEARCH_VERSION
from optimizer.search.operators import sample_genomes
from optimizer.search.randomness import stream
from strategy import find_strategy

OWN = ("data", "strategy", "engine", "optimizer")

LIBRARIES = ("numpy", "numba", "torch", "distributed", "cloudpickle")

PROBED = 8
"""Individuals of the sample that show whether the bits are the same."""


@dataclass(frozen=True)
class Made:
    """Fingerprint of a process: versions, and the bits of a few known individuals."""

    versions: Mapping[str, str]  # name to version of all that decides bits
    bits: str  # hash of the engine's accumulators of some individuals on the sample
    device: str = ""  # where that was computed
    host: str = ""  # name of the machine
    cores: int = 1  # that the process may use
    seconds: float = 0.0  # how long it took

    @property
    def digest(self) -> str:
        """Digest of all that has to be equal; device, host and cores need not be."""
        parts = [*sorted(self.versions.items()), ("bits", self.bits)]
        return hashlib.sha256(repr(parts).encode()).hexdigest()

    def differences(self, expected: "Made") -> tuple[str, ...]:
        """A text for each thing in which this differs, such as ``engine 2, here 3``."""
        names = [*expected.versions, *(self.versions.keys() - expected.versions.keys())]
        pairs = [(n, self.versions.get(n, "none"), expected.versions.get(n, "none")) for n in names]
        if expected.bits != self.bits:
            pairs.append(("bits of the sample", self.bits[:12], expected.bits[:12]))
        return tuple(f"{name} {value}, here {here}" for name, value, here in pairs if value != here)


@cache
def made_here(device: str = "auto") -> Made:
    """Versions and bits of this process, worked out once; `device` as `engine.batch.Engine`."""
    began = time.perf_counter()
    bits, used = _bits(device)
    return Made(
        versions=versions(),
        bits=bits,
        device=used,
        host=platform.node(),
        cores=available_cores(),
        seconds=time.perf_counter() - began,
    )


@cache
def versions() -> dict[str, str]:
    """Versions of all that decides bits, and a hash of our own code."""
    return {
        "optimizer": read_package_version("exhaustion-optimizer"),
        "engine": str(ENGINE_VERSION),
        "search": str(SEARCH_VERSION),
        **{f"code of {name}": _hash_package(name) for name in OWN},
        "python": platform.python_version(),
        **{name: read_package_version(name) for name in LIBRARIES},
    }


def _bits(device: str) -> tuple[str, str]:
    """Hash of the engine's accumulators of a few individuals, and the device of them."""
    bars = load_bars("sample")
    spec = find_strategy("seller_exhaustion").for_timeframe(bars.timeframe_ns / 1e9)
    genomes = sample_genomes(stream(1, 0, "initial"), spec.layout, PROBED)
    genomes, _ = spec.layout.repair(genomes)
    engine = Engine(spec, [bars], [Window.whole(bars)], device=device)
    return hashlib.sha256(engine.evaluate(genomes).tobytes()).hexdigest(), engine.device


def _hash_package(package: str) -> str:
    """Digest of a package's own files."""
    return digest_folder(Path(str(importlib.import_module(package).__file__)).parent)


def digest_folder(folder: Path) -> str:
    """Digest of all Python files in a folder and below, twelve digits."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        digest.update(f"{file.relative_to(folder)}\n".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
