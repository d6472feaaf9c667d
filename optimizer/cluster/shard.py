"""A part of the series of a search, on a worker: what it is asked, and what it answers."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from data import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.derived import Span
from engine.accounts.metrics import compute_metrics
from engine.batch import Engine
from engine.memory_plan import allow_host_bytes
from engine.out_of_core import create_engine
from engine.replay.certificate import replay
from engine.replay.sample import Piece
from optimizer.cluster.searches import allocate_threads
from optimizer.search.generation import Floats
from strategy.model import Strategy


@dataclass(frozen=True)
class Shard:
    """Some of the series of a search, to be evaluated by one worker."""

    spec: Strategy  # the strategy
    series: tuple[Bars, ...]  # [S] of them
    costs: Costs  # as of the search
    device: str  # to evaluate on; ``"auto"`` is a GPU where the worker has one
    threads: int | None  # cores to use at most; all of a worker's if None
    memory: int | None  # for rows, of one host; half of what is free if None
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


@dataclass(frozen=True)
class _Held:
    engine: Engine

    def run(self, job: "Begin") -> object:
        return job.of(self.engine.on(job.windows) if job.windows else self.engine)


@dataclass(frozen=True)
class Began:
    """Resources of a shard."""

    device: str  # of its worker
    threads: int  # cores that it uses
    n_parts: int  # in how many parts memory holds its series


@dataclass(frozen=True, eq=False)
class Begin:
    """A question to a shard."""

    windows: tuple[Window, ...] = ()  # [W] of its series; none for those that the engine has

    def of(self, engine: Engine) -> object:
        """Resources that it runs with."""
        return Began(engine.device, engine.threads, engine.n_parts)


@dataclass(frozen=True, eq=False)
class Evaluate(Begin):
    """Accumulators of genomes [P, G]."""

    genomes: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def of(self, engine: Engine) -> Floats:
        """Accumulators [P, W, A]."""
        return engine.evaluate(self.genomes)


@dataclass(frozen=True, eq=False)
class ListResults(Evaluate):
    """Accumulators of genomes, with the results of their trades."""

    def of(self, engine: Engine) -> Any:  # noqa: ANN401 - accumulators and results
        """Accumulators [P, W, A], and `Results`."""
        return engine.list_results(self.genomes)


@dataclass(frozen=True, eq=False)
class Measure(Evaluate):
    """Metrics of genomes, by name [M]; `spans` [W] are the lengths of the windows."""

    spans: tuple[Span, ...] = ()
    names: tuple[str, ...] = ()

    def of(self, engine: Engine) -> Any:  # noqa: ANN401 - three arrays
        """Values [P, W, M], reasons [P, W, M], and ruin [P, W]."""
        table = compute_metrics(engine.evaluate(self.genomes), self.spans, self.names)
        return table.values, table.reasons, table.ruined


@dataclass(frozen=True, eq=False)
class ListTrades(Evaluate):
    """Trades of genomes [N, G]."""

    def of(self, engine: Engine) -> Any:  # noqa: ANN401 - lists of ledgers
        """Ledgers, [N] of [W]."""
        return list(engine.ledgers(self.genomes))


@dataclass(frozen=True, eq=False)
class ReplayMembers(Evaluate):
    """Genomes replayed by the reference, some pieces of them in plain Python."""

    pieces: tuple[Piece, ...] = ()

    def of(self, engine: Engine) -> Any:  # noqa: ANN401 - a Replay
        """Replay on the worker's cores."""
        return replay(engine, self.genomes, self.pieces, threads=engine.threads)
