"""Parity: the batch engine against the reference, trade for trade and bit for bit."""

import hashlib
import importlib.metadata
import os
import platform
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.batch import ENGINE_VERSION, Engine
from engine.ledger import ACCUMULATORS, REASONS, Ledger, Trade
from engine.reference import Replayed, replay
from strategy.genes import Floats

POOL_PAYS_FROM = 8
"""Individuals from which starting a second process costs less than it saves."""

BARS_PER_POOL = 500_000
"""Bars times individuals, likewise."""


@dataclass(frozen=True)
class Certificate:
    """What a comparison of the reference with the batch engine found.

    Args:
        individuals: Individuals replayed.
        windows: Windows of each.
        trades: Trades that the reference made, over all of them.
        mismatches: Pairs of individual and window whose ledger or accumulators differ in any bit.
        first_mismatch: The first of them in full; empty when there is none.
        ledger_hash: SHA-256 of the reference's ledgers, in the order of individuals and windows.
        data_hash: SHA-256 of the content hashes of all series.
        strategy: Its name and version.
        engine_version: Version of the law.
        device: Where the batch engine ran.
        versions: Library name to version, and the platform.
    """

    individuals: int
    windows: int
    trades: int
    mismatches: int
    first_mismatch: str
    ledger_hash: str
    data_hash: str
    strategy: str
    engine_version: int
    device: str
    versions: dict[str, str]

    @property
    def is_green(self) -> bool:
        """Whether the engines agree in everything."""
        return self.mismatches == 0

    def as_dict(self) -> dict[str, object]:
        """All fields, ready for JSON."""
        return asdict(self)


def certify(engine: Engine, genomes: Floats, *, processes: int | None = None) -> Certificate:
    """Replay individuals on the reference and compare with the engine.

    Args:
        engine: The batch engine; its strategy, series, windows and costs are the reference's too.
        genomes: [N, G], legal.
        processes: Processes for the reference; one a core when None and when it pays.

    Returns:
        The certificate. Ledgers are compared with those that the engine lists one by one, and
        accumulators with those of its batch evaluation.
    """
    accumulators = engine.evaluate(genomes)
    digest = hashlib.sha256()
    trades, mismatches, first = 0, 0, ""
    for i, replayed in enumerate(_replay(engine, genomes, processes)):
        listed = engine.trades(genomes[i])
        for w, (ledger, folded) in enumerate(replayed):
            trades += len(ledger)
            _hash_ledger(digest, ledger)
            problem = compare_ledgers(ledger, listed[w]) or compare_accumulators(
                folded, accumulators[i, w]
            )
            if problem:
                mismatches += 1
                genes = engine.spec.layout.decode(genomes[i])
                first = first or f"individual {i}, window {w}: {problem}\n  genes: {genes}"
    return Certificate(
        individuals=len(genomes),
        windows=len(engine.windows),
        trades=trades,
        mismatches=mismatches,
        first_mismatch=first,
        ledger_hash=digest.hexdigest(),
        data_hash=data_hash(engine.series),
        strategy=f"{engine.spec.name} {engine.spec.version}",
        engine_version=ENGINE_VERSION,
        device=engine.device,
        versions=versions(),
    )


def compare_ledgers(expected: Ledger, actual: Ledger) -> str:
    """The first difference between two ledgers.

    Args:
        expected: The reference's.
        actual: The engine's.

    Returns:
        Empty when they are equal in every bit, else the trade in which they part, in full.
    """
    for k in range(min(len(expected), len(actual))):
        for name in Trade._fields:
            left, right = getattr(expected, name)[k : k + 1], getattr(actual, name)[k : k + 1]
            if left.tobytes() != right.tobytes():
                return (
                    f"trade {k}: {name} differs\n  reference: {_describe(expected.trade(k))}\n"
                    f"  engine:    {_describe(actual.trade(k))}"
                )
    if len(expected) != len(actual):
        more = expected if len(expected) > len(actual) else actual
        extra = _describe(more.trade(min(len(expected), len(actual))))
        return (
            f"the reference has {len(expected)} trades, the engine {len(actual)}\n"
            f"  first that only one has: {extra}"
        )
    if expected.rejected != actual.rejected:
        return f"the reference rejects {expected.rejected} signals, the engine {actual.rejected}"
    return ""


def compare_accumulators(expected: Sequence[float] | Floats, actual: Floats) -> str:
    """The first difference between two sets of accumulators [A]; empty when equal in every bit."""
    for name, left, right in zip(ACCUMULATORS, expected, actual, strict=True):
        if np.float64(left).tobytes() != np.float64(right).tobytes():
            return f"accumulator {name} differs: reference {float(left)!r}, engine {float(right)!r}"
    return ""


def data_hash(series: Sequence[Bars]) -> str:
    """One SHA-256 for all series of a run: of the only one, or of their hashes in order."""
    if len(series) == 1:
        only: str = series[0].content_hash
        return only
    return hashlib.sha256("\n".join(bars.content_hash for bars in series).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Versions of what computes numbers, and the platform."""
    found = {name: importlib.metadata.version(name) for name in ("numpy", "numba")}
    return {"python": platform.python_version(), **found, "platform": platform.platform()}


def _replay(engine: Engine, genomes: Floats, processes: int | None) -> Iterator[Replayed]:
    """The reference's ledger and accumulators for each individual, in order."""
    bars = sum(window.end - window.start for window in engine.windows)
    pays = len(genomes) >= POOL_PAYS_FROM and len(genomes) * bars >= BARS_PER_POOL
    processes = processes or ((os.cpu_count() or 1) if pays else 1)
    given = (engine.spec, engine.series, engine.windows, engine.costs)
    if processes == 1:
        yield from replay(*given, genomes)
        return
    # Individuals with common rows go to one process, which computes each row once.
    order = np.lexsort(genomes.T)
    shards = np.array_split(order, processes)
    context = get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=_ignore_interrupt) as pool:
        waiting = [pool.submit(replay, *given, genomes[shard]) for shard in shards]
        found: dict[int, Replayed] = {}
        for shard, future in zip(shards, waiting, strict=True):
            found.update(zip(shard.tolist(), future.result(), strict=True))
    yield from (found[i] for i in range(len(genomes)))


def _ignore_interrupt() -> None:
    # Ctrl-C is the parent's to handle; it ends its children itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _hash_ledger(digest: "hashlib._Hash", ledger: Ledger) -> None:
    for name, column in ledger.columns().items():
        little: npt.NDArray[np.generic] = column.astype(column.dtype.newbyteorder("<"))
        digest.update(f"{name} {len(ledger)}\n".encode())
        digest.update(little.tobytes())


def _describe(trade: Trade) -> str:
    values = trade._asdict() | {"reason": REASONS[trade.reason]}
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
