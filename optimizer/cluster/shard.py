"""A part of the series of a search, on a worker: its engine, and calls of that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from data import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.ledger import Ledger
from engine.accounts.metrics import Span, compute_metrics
from engine.batch import Engine
from engine.memory_plan import allow_host_bytes
from engine.out_of_core import create_engine
from engine.replay.certificate import Replay, replay
from engine.replay.sample import Piece
from optimizer.cluster.searches import allocate_threads
from optimizer.search.generation import Floats
from strategy.model import Strategy


@dataclass(frozen=True)
class Shard:
    """Part of the series of a search, to be evaluated by one worker."""

    spec: Strategy  # the strategy
    series: tuple[Bars, ...]  # [S] of them
    costs: Costs  # as of the search
    device: str  # to evaluate on; ``"auto"`` is a GPU where the worker has one
    threads: int | None  # cores to use at most; all of a worker's if None
    memory: int | None  # for rows, of one host; half of the free memory if None
    beside: int  # shards of one worker

    def on_host(self, share: int) -> "_Held":
        """An engine of it, on a host that `share` workers share."""
        parts = share * self.beside
        memory = allow_host_bytes(self.memory) if parts > 1 else self.memory
        engine = create_engine(
            self.spec,
            self.series,
            [Window.whole(bars, number) for number, bars in enumerate(self.series)],
            self.costs,
            device=self.device,
            threads=allocate_threads(self.threads, share),
            memory_bytes=None if memory is None else memory // parts,
        )
        return _Held(engine)


class ShardJob(NamedTuple):
    """A call of the engine of a shard."""

    windows: tuple[Window, ...]  # [W] of its series
    call: Callable[[Engine], Any]  # that can be pickled


@dataclass(frozen=True)
class _Held:
    engine: Engine

    def run(self, job: ShardJob) -> object:
        return job.call(self.engine.on(job.windows))


class ShardResources(NamedTuple):
    """Resources of a shard."""

    device: str  # of its worker
    threads: int  # cores that it uses
    n_parts: int  # in how many parts memory holds its series


def describe_resources(engine: Engine) -> ShardResources:
    """Resources that an engine runs with."""
    return ShardResources(engine.device, engine.threads, engine.n_parts)


def measure(engine: Engine, genomes: Floats, spans: Sequence[Span], names: Sequence[str]) -> Any:  # noqa: ANN401
    """Values [P, W, M] of metrics, reasons [P, W, M], and ruin [P, W]; `spans` [W] of windows."""
    table = compute_metrics(engine.evaluate(genomes), spans, names)
    return table.values, table.reasons, table.ruined


def list_trades(engine: Engine, genomes: Floats) -> list[tuple[Ledger, ...]]:
    """Ledgers of genomes [N, G], [N] of [W]."""
    return list(engine.ledgers(genomes))


def replay_members(engine: Engine, genomes: Floats, pieces: Sequence[Piece]) -> Replay:
    """Genomes [N, G] replayed by the reference, some pieces of them in plain Python."""
    return replay(engine, genomes, pieces, threads=engine.threads)
