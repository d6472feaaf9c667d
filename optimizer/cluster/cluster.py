"""Fit workers of a cluster: present, unfit and lost ones.

Processes with equal fingerprints, of versions, code and bits, give equal results.
"""

import hashlib
import importlib
import logging
import platform
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from data import Window, load_bars
from engine import ENGINE_VERSION
from engine.batch import Engine
from engine.runtime.machine import available_cores, read_package_version
from optimizer.cluster.address import Address
from optimizer.cluster.dask_client import CALL_S, Calls, Link, Worker
from optimizer.errors import ConfigError, WorkersLostError
from optimizer.formatting import format_count
from optimizer.search import SEARCH_VERSION
from optimizer.search.breeding import sample_genomes
from optimizer.search.randomness import stream
from strategy import find_strategy

OWN = ("data", "strategy", "engine", "optimizer")

LIBRARIES = ("numpy", "numba", "torch", "distributed", "cloudpickle")

PROBED = 8
"""Individuals of the sample that show whether the bits are the same."""

log = logging.getLogger(__name__)

PATIENCE_S = 60.0
"""Seconds without any worker, and seconds of silence after which a worker is named."""

MEETING_S = 300.0
"""Seconds for a worker's fingerprint: its first call compiles the engine, once."""

MOST_ENDS = 5
"""Times that all workers may end before one answers; their watcher begins others."""

CALLS, SENT_BYTES = 9, 8_000_000


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


class Cluster:
    """Fit workers of a cluster, until it is left.

    Args:
        address: Of the scheduler, or how many workers to begin here.
        folder: Where large bars are written for workers to read; None where there is none.
        patience_s: As `PATIENCE_S`.
        may_differ: Whether workers whose results would be others are only looked at.

    Attributes:
        workers: Workers that were there at the last look, by address.
        made: Fingerprint of each that was there at the beginning.
        here: Fingerprint of this process.
        link: Connection with the scheduler.

    Raises:
        ConfigError: When a worker is not fit, by name.
        LostError: When no scheduler answers at the address, or no worker comes.
    """

    def __init__(
        self,
        address: Address,
        folder: Path | None = None,
        patience_s: float = PATIENCE_S,
        *,
        may_differ: bool = False,
    ) -> None:
        self.address, self.folder, self._patience_s = address, folder, patience_s
        self.workers: dict[str, Worker] = {}
        self.here = made_here("cpu")
        self._heard: dict[str, tuple[float, float]] = {}
        self._silent: set[str] = set()
        self._looked, self._deserted = time.monotonic(), 0.0
        self.link = Link(address)
        try:
            self.made = self._meet()
            self._require_fit(may_differ)
        except BaseException:
            self.link.close()
            raise

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()

    def shares(self) -> dict[str, int]:
        """Host to how many workers share it."""
        return dict(Counter(worker.host for worker in self.workers.values()))

    def look(self, every_s: float = 0.0) -> None:
        """List workers, unless that was done just now; log each that came, went or is silent.

        LostError when the scheduler is gone, or no worker has been there for long; ConfigError when
        one came that speaks in the open.
        """
        now = time.monotonic()
        if now - self._looked < every_s:
            return
        self._looked = now
        before, self.workers = self.workers, {w.address: w for w in self.link.workers()}
        for address in before.keys() - self.workers.keys():
            log.info("%s is gone", before[address])
        for address in self.workers.keys() - before.keys():
            worker = self.workers[address]
            self.address.require_safe(address, str(worker))
            log.info("%s came", worker)
            if why := _describe_threads(worker):
                self._send_away(address, why)
        # Between two looks much may be done here, or this process be stopped.
        self._deserted = 0.0 if self.workers else self._deserted or now
        if self._deserted and now - self._deserted > self._patience_s:
            raise self._build_no_worker_error()
        if len(self.workers) < self.address.local:
            self.link.mend()
        self._listen(now)

    def _listen(self, now: float) -> None:
        """Log workers that have been silent for long, once."""
        for worker in self.workers.values():
            seen, since = self._heard.get(worker.address, (None, now))
            if seen != worker.last_seen:
                self._heard[worker.address] = worker.last_seen, now
                self._silent.discard(worker.address)
            elif now - since > self._patience_s and worker.address not in self._silent:
                self._silent.add(worker.address)
                log.info("%s has said nothing for %.0f s", worker, now - since)

    def send_away(self, address: str, made: Made) -> None:
        """End a worker that came later and would give other results."""
        self._send_away(address, ", ".join(made.differences(self.here)))
        self.look()

    def _send_away(self, address: str, why: str) -> None:
        if worker := self.workers.get(address):
            log.info("%s is refused and sent away: %s", worker, why)
        self.link.send_away(address)

    def _meet(self) -> dict[str, Made]:
        """Fingerprint of each worker, by address; a worker that ends meanwhile is left out."""
        for _ in range(MOST_ENDS):
            workers = self._await_workers()
            calls = Calls[Worker](self.link)
            for worker in workers:
                calls.begin(worker, made_here, worker=worker.address)
            try:
                if made := self._await_fingerprints(calls):
                    break
            finally:
                calls.cancel()
        else:
            raise WorkersLostError(
                f"--cluster {self.address.text}: {MOST_ENDS} times all workers ended before they "
                "identified themselves: see a worker's output, it may lack memory or a library"
            )
        self.workers = {worker.address: worker for worker in workers if worker.address in made}
        return made

    def _await_fingerprints(self, calls: Calls[Worker]) -> dict[str, Made]:
        made: dict[str, Made] = {}
        until, is_there = time.monotonic() + MEETING_S, True
        while calls.purposes and is_there:
            for worker, answer in calls.collect(2.0):
                if isinstance(answer, ImportError | AttributeError):
                    raise ConfigError(f"{worker} has not this version installed ({answer})")
                if isinstance(answer, Exception):
                    raise answer
                made[worker.address] = answer
            here = {worker.address for worker in self.link.workers()}
            is_there = any(worker.address in here for worker in calls.purposes)
            if is_there and time.monotonic() > until:
                raise WorkersLostError(
                    f"{calls.purposes[0]} has not answered for {MEETING_S:.0f} s: end it, or wait "
                    "until it has done what another client left"
                )
        for worker in calls.purposes:
            log.info("%s ended before it identified itself", worker)
        return made

    def _require_fit(self, may_differ: bool) -> None:
        refused = [
            f"{self.workers[address]}: {', '.join(differing)}"
            for address, made in self.made.items()
            if (differing := made.differences(self.here))
        ]
        if refused and not may_differ:
            raise ConfigError("; ".join(refused))
        summary = (
            f"{format_count(len(self.made), 'worker')} on "
            f"{format_count(len(self.shares()), 'host')}"
        )
        devices = ", ".join(sorted({made.device for made in self.made.values()}))
        log.info("%s: %s", summary, devices)

    def _await_workers(self) -> tuple[Worker, ...]:
        """All workers, once there are any; of this machine, once all have come."""
        began = time.monotonic()
        # A scheduler that begins workers itself knows how many there will be.
        while len(workers := self.link.workers()) < max(self.address.local, 1):
            if time.monotonic() - began > self._patience_s:
                raise self._build_no_worker_error()
            time.sleep(0.05)
        for worker in workers:
            self.address.require_safe(worker.address, str(worker))
            if why := _describe_threads(worker):
                raise ConfigError(f"{worker}: {why}")
        return workers

    def _build_no_worker_error(self) -> WorkersLostError:
        return WorkersLostError(
            f"--cluster {self.address.text}: no worker for {self._patience_s:.0f} s"
        )


def _describe_threads(worker: Worker) -> str:
    """Why a worker that does several pieces of work at a time is not fit; empty for one."""
    if worker.threads == 1:
        return ""
    return (
        f"does {worker.threads} pieces of work at a time: begin it with --nthreads 1, each piece "
        "uses as many cores as its share of the host"
    )


@dataclass(frozen=True)
class Measured:
    """A worker, measured while the others rest."""

    name: str  # with its host
    made: Made  # versions, bits, device and cores
    # In what its results would be others than those of this process; empty if fit.
    differs: tuple[str, ...]
    share: int  # workers on its host
    latency_s: float  # of a call and its answer, the median of some
    bytes_per_s: float  # there and back


def measure_workers(cluster: Cluster) -> list[Measured]:
    """All workers of a cluster, one after the other."""
    shares, measured = cluster.shares(), []
    for address, made in cluster.made.items():
        worker = cluster.workers[address]
        latency = median(_seconds(cluster, worker, b"") for _ in range(CALLS))
        sending = _seconds(cluster, worker, bytes(SENT_BYTES))
        rate = 2 * SENT_BYTES / max(sending - latency, 1e-6)
        differs = made.differences(cluster.here)
        measured.append(Measured(str(worker), made, differs, shares[worker.host], latency, rate))
    return measured


def _seconds(cluster: Cluster, worker: Worker, sent: bytes) -> float:
    began, calls = time.perf_counter(), Calls[Worker](cluster.link)
    calls.begin(worker, _echo, sent, worker=worker.address)
    if calls.collect(CALL_S):
        return time.perf_counter() - began
    raise WorkersLostError(f"{worker} does not answer any more")


def _echo(sent: bytes) -> bytes:
    """Bytes that came to a worker."""
    return sent
