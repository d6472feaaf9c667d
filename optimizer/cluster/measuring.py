"""Fingerprint of each worker of a cluster, and how fast it is reached; for doctor."""

import time
from dataclasses import dataclass
from statistics import median

from optimizer.cluster.cluster import Cluster
from optimizer.cluster.dask_client import CALL_S, Worker
from optimizer.cluster.fingerprint import Made
from optimizer.errors import WorkersLostError

CALLS, SENT_BYTES = 9, 8_000_000


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
    """All workers of a cluster, one after the other.

    Raises:
        WorkersLostError: When one ends meanwhile.
    """
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
    began, calls = time.perf_counter(), cluster.link.calls()
    calls.begin(worker, _echo, sent, worker=worker.address)
    if calls.collect(CALL_S):
        return time.perf_counter() - began
    raise WorkersLostError(f"{worker} does not answer any more")


def _echo(sent: bytes) -> bytes:
    """Bytes that came to a worker."""
    return sent
