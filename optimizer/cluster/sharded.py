"""One search with symbols on workers: a generation goes out once and comes back once.

Series are cut into consecutive shards. A worker keeps the bars, engine and rows of a shard; if it
is lost, another begins with the bars anew. Metrics are joined in the order of windows, and trades
of one account merged here, so every number is that of one engine.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from operator import attrgetter, methodcaller
from typing import Any, NamedTuple

import numpy as np

from data import Bars, Window
from engine.accounts.costs import Costs
from engine.accounts.cpu.joint import fold_account, fold_joint_money
from engine.accounts.ledger import ACCUMULATORS, Ledger
from engine.accounts.results import Results, join_results, order_windows
from engine.accounts.strategy_stakes import build_stakes
from engine.backend import Ints
from engine.batch import Engine
from engine.certificate import Certificate, data_hash
from engine.devices import Device
from engine.memory_plan import allow_host_bytes
from engine.out_of_core import create_engine, cut_windows
from engine.reference import Reference
from engine.replay.certificate import (
    Replay,
    build_certificate,
    compare_accounts,
    join_replays,
    replay,
    select_pieces,
)
from engine.replay.parity import Piece
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.cpu.threads import Threads
from engine.runtime.machine import available_cores
from optimizer.cluster.cluster import Cluster
from optimizer.cluster.jobs import (
    JobRequest,
    Parcel,
    refuse_own_indicators,
    run_jobs,
)
from optimizer.errors import ConfigError
from optimizer.evidence.jobs.executor import allocate_threads
from optimizer.run.problem import EngineProblem
from optimizer.run.task import Place, Task, TaskEvaluator
from optimizer.search.generation import Floats
from strategy.model import Strategy

log = logging.getLogger("optimizer.cluster.cluster")

LEAST_GENERATION_S = 0.5
"""Seconds of a generation below which sending it around takes longer than it saves."""

GATHERED_BYTES = 256_000_000
"""Bytes that come back at a time."""

RESULTS_BYTES = 8_000
"""Bytes of the trades of an individual in a window, about 500 of them."""

TIMED_INDIVIDUALS = 64

LIMITED = "whom an account with limits takes hangs on all symbols, and workers have some each"


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


def list_trades(engine: Engine, genomes: Floats) -> list[tuple[Ledger, ...]]:
    """Ledgers of genomes [N, G], [N] of [W]."""
    return list(engine.ledgers(genomes))


def replay_members(engine: Engine, genomes: Floats, pieces: Sequence[Piece]) -> Replay:
    """Genomes [N, G] replayed by the reference, some pieces of them in plain Python."""
    return replay(engine, genomes, pieces, threads=engine.threads)


class ShardedEngine:
    """An engine with series on workers.

    The task gives strategy, costs and settings; its series are not read here. Windows [W] refer to
    series [S], which are cut into so many shards; one a worker if None.
    """

    def __init__(
        self,
        cluster: Cluster,
        task: Task,
        series: Sequence[Bars],
        windows: Sequence[Window],
        device: str,
        shards: int | None = None,
    ) -> None:
        self.spec, self.windows, self.series = task.spec, tuple(windows), tuple(series)
        if task.costs.has_limits:
            raise ConfigError(f"--cluster: {LIMITED}; leave it out")
        self._cluster, config = cluster, task.config
        self._costs, self._merging = task.costs, Threads(available_cores(config.threads))
        refuse_own_indicators(task.spec)
        workers = len(cluster.workers)
        self._borders = _borders([len(bars) for bars in series], shards or workers)
        beside = -(-(len(self._borders) - 1) // workers)
        settings = task.costs, device, config.threads, config.memory, beside
        self._parcels = [
            Parcel(cluster, Shard(task.spec, self.series[begin:end], *settings))
            for begin, end in pairwise(self._borders)
        ]
        self._own = cut_windows(self.windows, self._borders)
        resources = self._ask("begin with", attrgetter("device", "threads", "n_parts"))
        devices, threads, parts = zip(*(shard for _, shard in resources), strict=True)
        self.device, self.threads = ", ".join(sorted(set(devices))), sum(threads)
        self.device_reason = f"{len(parts)} shards of {len(series)} series on {workers} workers"
        if parted := sum(n_parts > 1 for n_parts in parts):
            self.device_reason += (
                f"; memory holds {parted} of them in up to {max(parts)} parts only, which are "
                "computed anew each time: more workers on other hosts make it faster"
            )

    def on(self, windows: Sequence[Window]) -> "ShardedEngine":
        """The same shards for other windows of their series."""
        other = copy(self)
        other.windows, other._own = tuple(windows), cut_windows(windows, self._borders)
        return other

    def memory_plan(self, individuals: int) -> str:
        """For people."""
        room = individuals * len(self.windows) * len(ACCUMULATORS) * 8
        return f"{individuals:,} candidates: {room / 1e6:,.1f} MB of results a generation here"

    def evaluate(self, genomes: Floats) -> Floats:
        """Backtest genomes [P, G] in every window; as `engine.batch.Engine.evaluate`."""
        out = np.empty((len(genomes), len(self.windows), len(ACCUMULATORS)))
        for part in self._parts(len(genomes), out.itemsize * len(ACCUMULATORS)):
            call = methodcaller("evaluate", genomes[part])
            for indices, accumulators in self._ask("evaluate", call):
                out[part, indices] = accumulators
        return out

    def evaluate_account(self, genomes: Floats) -> tuple[Floats, Floats]:
        """The same, and all windows as one account; as `Engine.evaluate_account`."""
        if self.spec.account is not None:
            out, stakes = self.evaluate(genomes), build_stakes(self.spec, self._costs, genomes)
            ledgers = self.ledgers(genomes)
            return out, fold_joint_money(out, ledgers, self.windows, self.series, stakes)
        out = np.empty((len(genomes), len(self.windows), len(ACCUMULATORS)))
        account = np.empty((len(genomes), len(ACCUMULATORS)))
        order = order_windows(self.windows)
        for part in self._parts(len(genomes), out.itemsize * len(ACCUMULATORS) + RESULTS_BYTES):
            members = np.arange(len(genomes[part]))
            call = methodcaller("list_results", genomes[part])
            pieces: list[tuple[Ints, Ints, Results]] = []
            for indices, (accumulators, results) in self._ask("evaluate", call):
                out[part, indices] = accumulators
                pieces.append((members, indices, results))
            results = join_results(pieces, len(members), len(self.windows))
            account[part] = fold_account(
                out[part], results, order, self._costs.risk_fraction, self._merging
            )
        return out, account

    def ledgers(self, genomes: Floats) -> Iterator[tuple[Ledger, ...]]:
        """Trades of genomes [N, G], a ledger a window; as `engine.batch.Engine.ledgers`."""
        listed: list[dict[int, Ledger]] = [{} for _ in genomes]
        call = partial(list_trades, genomes=genomes)
        for indices, answer in self._ask("list trades of", call):
            for by_window, ledgers in zip(listed, answer, strict=True):
                by_window |= zip(indices.tolist(), ledgers, strict=True)
        for by_window in listed:
            yield tuple(by_window[index] for index in range(len(self.windows)))

    def certify(self, genomes: Floats) -> Certificate:
        """Replay individuals [N, G] where the bars are; as `engine.replay.certificate.certify`."""
        content = data_hash(self.series)
        return build_certificate(
            self.spec, self.windows, content, self.device, genomes, self._replay
        )

    def _replay(self, members: Floats, pieces: Sequence[Piece]) -> Replay:
        """Individuals [N, G], and pieces of them, replayed where the bars are."""
        call = partial(replay_members, genomes=members)
        replays = self._ask("replay", call, lambda own: {"pieces": select_pieces(pieces, own)})
        joined = join_replays(replays, len(members), len(self.windows))
        if len(self.windows) > 1:
            _, accounts = self.evaluate_account(members)
            arguments = self.spec, self.series, self.windows, self._costs
            compare_accounts(joined, accounts, members, Reference(*arguments, form=CompiledForm()))
        return joined

    def _parts(self, individuals: int, pair_bytes: int) -> Iterator[slice]:
        step = max(1, GATHERED_BYTES // (pair_bytes * len(self.windows)))
        return (slice(begin, begin + step) for begin in range(0, individuals, step))

    def _ask(
        self,
        what: str,
        call: Callable[..., Any],
        select: Callable[[Ints], Mapping[str, Any]] = lambda _: {},
    ) -> Iterator[tuple[Ints, Any]]:
        """Answers of shards to a call, as they come, each with the indices of its windows.

        `select` makes arguments of a shard's own, by these.
        """
        requests = (
            JobRequest(
                shard,
                f"{what} shard {shard}",
                self._parcels[shard],
                ShardJob(tuple(windows), partial(call, **select(indices))),
            )
            for shard, (indices, windows) in self._own.items()
        )
        with closing(run_jobs(self._cluster, requests)) as answers:
            for shard, answer in answers:
                yield self._own[shard][0], answer


def on_workers(cluster: Cluster, task: Task, shards: int | None = None) -> TaskEvaluator:
    """Evaluates a task on its shards; one a worker if `shards` is None."""
    markets, device = task.markets, task.config.device
    engine = ShardedEngine(cluster, task, markets.searched, markets.windows, device, shards)
    problem = EngineProblem(task.goals, markets.spans(markets.windows), engine)
    return TaskEvaluator(problem, engine.certify)


class Shards(Place):
    """A cluster, where it pays: where a generation takes `least_s` seconds here.

    Where the cluster has whole searches to judge it by afterwards, a search that does not pay there
    is made here, with a note; else it is refused.
    """

    def __init__(
        self, cluster: Cluster, *, is_judged: bool, least_s: float = LEAST_GENERATION_S
    ) -> None:
        self._cluster, self._is_judged, self._least_s = cluster, is_judged, least_s

    def make_evaluator(self, task: Task, device: Device) -> TaskEvaluator:
        """See `Place`."""
        # Also for a search here: workers are to judge it.
        refuse_own_indicators(task.spec)
        why = _hinders(task, self._least_s)
        if not why:
            return on_workers(self._cluster, task)
        if not self._is_judged:
            raise ConfigError(f"--cluster {self._cluster.address.text}: {why}; leave it out")
        log.info("searching on this machine: %s", why)
        return super().make_evaluator(task, device)


def _hinders(task: Task, least_s: float) -> str:
    """Reason why a search is not to be divided; empty if it is."""
    if len(task.markets.searched) < 2:
        return "one series is not divided among workers"
    if task.costs.has_limits:
        return LIMITED
    seconds = _generation_s(task) if least_s else 0.0
    if seconds >= least_s:
        return ""
    return (
        f"a generation takes about {seconds:.2f} s on this machine, below {least_s:g} s sending it "
        "around takes longer than it saves"
    )


def _generation_s(task: Task) -> float:
    """About how long a generation takes on all cores of this machine, by the first series."""
    markets = task.markets
    first = [window for window in markets.windows if window.series == 0]
    config = task.config
    engine = Engine(
        task.spec, markets.searched[:1], first, task.costs, device="cpu", threads=config.threads
    )
    genomes = task.random_individuals(2 * TIMED_INDIVIDUALS)
    engine.evaluate(genomes[:TIMED_INDIVIDUALS])
    began = time.perf_counter()
    engine.evaluate(genomes[TIMED_INDIVIDUALS:])
    seconds = time.perf_counter() - began
    share = sum(map(len, first)) / markets.n_bars
    return seconds / share * config.population / TIMED_INDIVIDUALS


def _borders(lengths: Sequence[int], shards: int) -> list[int]:
    """Borders of shards of series, [shards + 1 at most]: about as many bars in each.

    >>> _borders([5, 5, 5, 5], 2), _borders([9, 1, 1], 2), _borders([1, 1], 5)
    ([0, 2, 4], [0, 1, 3], [0, 1, 2])
    """
    sums = [0, *accumulate(lengths)]
    borders = [0]
    for shard in range(1, min(shards, len(lengths))):
        wanted = sums[-1] * shard / shards
        low, high = borders[-1] + 1, len(lengths) - (min(shards, len(lengths)) - shard)
        borders.append(min(range(low, high + 1), key=lambda end: abs(sums[end] - wanted)))
    return [*borders, len(lengths)]
