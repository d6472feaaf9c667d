"""Parity: the batch engine against the reference, trade for trade and bit for bit."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from data.bars import Bars
from engine.batch import ENGINE_VERSION, Engine
from engine.ledger import ACCUMULATORS, REASONS, Ledger, Trade
from engine.machine import available_cores, versions
from engine.replaying import Market, Replayers
from strategy.genes import Floats

MOST_PROCESSES = 8
"""For the reference: more compute the same rows again. Measured with 796 members of a front on 16
cores, processes standing by: 2.0 s with 2 processes, 1.4 with 4, 0.9 with 8, 0.8 with 12."""

BARS_PER_PROCESS = 1_000_000
"""Bars times individuals that are worth a process of their own, which takes 0.3 s to start."""


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


def certify(
    engine: Engine,
    genomes: Floats,
    *,
    processes: int | None = None,
    replayers: Replayers | None = None,
) -> Certificate:
    """Replay individuals on the reference and compare with the engine.

    Args:
        engine: The batch engine; its strategy, series, windows and costs are the reference's too.
        genomes: [N, G], legal.
        processes: Processes for the reference; as many as pay when None.
        replayers: Where some of them may stand by already; they are ended.

    Returns:
        The certificate. Ledgers are compared with those that the engine lists one by one, and
        accumulators with those of its batch evaluation.
    """
    digest = hashlib.sha256()
    trades, mismatches, first = 0, 0, ""
    market = Market(engine.spec, engine.series, engine.windows, engine.costs)
    with replayers or Replayers() as crew:
        replays = crew.replay(market, genomes, processes or paying_processes(engine, len(genomes)))
        # What the engine says is asked for while the reference is at work.
        accumulators = engine.evaluate(genomes)
        listed = list(engine.ledgers(genomes))
        for i, replayed in enumerate(replays):
            for w, (ledger, folded) in enumerate(replayed):
                trades += len(ledger)
                _hash_ledger(digest, ledger)
                problem = compare_ledgers(ledger, listed[i][w]) or compare_accumulators(
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
    if expected.rejected == actual.rejected and all(
        getattr(expected, name).tobytes() == getattr(actual, name).tobytes()
        for name in Trade._fields
    ):
        return ""
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


def paying_processes(engine: Engine, individuals: int) -> int:
    """How many processes it pays to replay so many individuals with.

    Args:
        engine: What they are compared with; on the CPU no more cores are used than it may use.
        individuals: N.

    Returns:
        At least 1.
    """
    bars = sum(window.end - window.start for window in engine.windows)
    paying = individuals * bars // BARS_PER_PROCESS
    usable = engine.threads if engine.device == "cpu" else available_cores()
    return max(1, min(usable, MOST_PROCESSES, paying))


def _hash_ledger(digest: "hashlib._Hash", ledger: Ledger) -> None:
    for name, column in ledger.columns().items():
        little: npt.NDArray[np.generic] = column.astype(column.dtype.newbyteorder("<"))
        digest.update(f"{name} {len(ledger)}\n".encode())
        digest.update(little.tobytes())


def _describe(trade: Trade) -> str:
    values = trade._asdict() | {"reason": REASONS[trade.reason]}
    return ", ".join(f"{name}={value!r}" for name, value in values.items())
