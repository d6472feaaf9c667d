"""Searches that measure power: null searches, and those of markets with a planted edge."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from data.bars import Bars
from data.checks import Floats
from data.progress import Progress, Watch, format_duration
from engine.accounts.metrics import pool_spans
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError
from optimizer.evidence.betting import DEFAULT_SEARCHES
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.jobs.executor import Executor
from optimizer.evidence.jobs.machine import ThisMachine, find_gpu
from optimizer.evidence.jobs.workers import Pool
from optimizer.evidence.null import NULL, NullJob, NullSearch, NullSetup
from optimizer.evidence.out_of_sample import FEWEST_TRADES
from optimizer.evidence.pick import compute_strengths
from optimizer.evidence.power import (
    SURE,
    PlantedSearch,
    PowerRecord,
    PowerRow,
    count_found,
    fit_curve,
)
from optimizer.formatting import format_count
from optimizer.run.problem import Asking, EngineProblem
from optimizer.run.record import build_identity, build_run_header
from optimizer.run.runner import on_searched_bars
from optimizer.run.tables import hash_genomes, load_warm_start
from optimizer.run.task import Task, prepare
from optimizer.search.breeding import sample_genomes
from optimizer.search.randomness import stream
from optimizer.store import RunStore
from optimizer.store.payload import encode, sha256

if TYPE_CHECKING:
    from engine.accounts.ledger import Ledger

MOST_CANDIDATES, GROUP, MOST_MOVES = 100, 10, 12

CLOSE = 0.1
"""Standard errors by which a mean may miss its aim; a candidate that misses more is left."""

MOST_CHANGED = 0.25
"""Share by which trades may become more or fewer, so that it stays the candidate that it was."""


@dataclass(frozen=True)
class PlantedTask(Task):
    """A task on bars with an edge."""

    edge_trades: int = 0  # of the candidate with the moved signals
    edge_strength: float = 0.0  # theirs, without chance


def plant_edge(task: Task, copies: Sequence[Task], edge: float, number: int) -> PlantedTask:
    """The task on its bars with an edge at the signals of a random candidate.

    Of each ten draws the strongest on the last copy comes first: a candidate ruined by costs would
    lend its signals to neighbours that earn far more on the same moves.

    Args:
        task: On shuffled bars.
        copies: The same on others, two at least. All but the last say what the candidate earns
            without an edge; what it earns more on the bars is chance, and stays.
        edge: Mean R a trade without chance, costs included.
        number: Of the market, by which candidates are drawn.

    Raises:
        ConfigError: When no candidate trades often enough, or none can have the edge.
    """
    layout = task.spec.layout
    *others, chooses = copies
    draw = stream(task.config.seed, number, "planted")
    genomes, _ = layout.repair(sample_genomes(draw, layout, MOST_CANDIDATES))
    _, account = chooses.engine("cpu").evaluate_account(genomes)
    strengths = np.nan_to_num(compute_strengths(account), nan=-np.inf)
    tens = np.arange(MOST_CANDIDATES).reshape(-1, GROUP)
    falling = np.argsort(-strengths[tens], axis=1, kind="stable") + tens[:, :1]
    for genome in genomes[falling.T.ravel()]:
        planted = _plant(task, others, genome, edge)
        if planted is not None:
            return planted
    raise ConfigError(
        f"of {MOST_CANDIDATES} random candidates none has {_count_least(task)} trades on bars like "
        f"these with a mean of {edge:g} R: take more bars, or wider bounds (--bound)"
    )


def _plant(task: Task, copies: Sequence[Task], genome: Floats, edge: float) -> PlantedTask | None:
    """The task on bars on which an individual has an edge; None where there are none."""
    ledgers = _trade(task, genome)
    r = _list_r(ledgers)
    count = len(r)
    if count < _count_least(task):
        return None
    usual = np.concatenate([_list_r(_trade(copy, genome)) for copy in copies])
    if not len(usual):
        return None
    aim, error = edge + r.mean() - usual.mean(), r.std() / math.sqrt(count)
    pushes, made, size = _list_pushes(task, ledgers), task, 0.0
    for _ in range(MOST_MOVES):
        missing = aim - r.mean()
        if abs(missing) <= CLOSE * error and abs(len(r) - count) <= MOST_CHANGED * count:
            values = {field.name: getattr(made, field.name) for field in fields(Task)}
            strength = edge * math.sqrt(len(r)) / math.hypot(edge, r.std())
            return PlantedTask(**values, edge_trades=len(r), edge_strength=strength)
        # A trade earns about as much more as its bars are moved.
        size += missing
        bars = zip(task.markets.series, pushes, strict=True)
        series = tuple(_move(series, size * push) for series, push in bars)
        made = replace(task, markets=replace(task.markets, series=series))
        r = _list_r(_trade(made, genome))
        if not len(r):
            return None
    return None


def _trade(task: Task, genome: Floats) -> "tuple[Ledger, ...]":
    return task.build_reference(task.markets.windows).trades(genome)


def _list_r(ledgers: "Sequence[Ledger]") -> Floats:
    return np.concatenate([ledger.r for ledger in ledgers])


def _count_least(task: Task) -> int:
    return max(task.config.min_trades, FEWEST_TRADES)


def _list_pushes(task: Task, ledgers: "Sequence[Ledger]") -> list[Floats]:
    """Log returns [S] of [T] that move each trade by its risk, over as many bars as trades last.

    Those of all bars searched add up to nothing, so that only signals tell.
    """
    markets = task.markets
    pushes = [np.zeros(len(bars)) for bars in markets.series]
    length = max(int(median(np.concatenate([ledger.held for ledger in ledgers]))), 1)
    for window, ledger in zip(markets.windows, ledgers, strict=True):
        risk = np.abs(ledger.entry - ledger.stop) / ledger.entry
        for begin, side, size in zip(ledger.entry_bar, ledger.side, risk, strict=True):
            pushes[window.series][begin : min(begin + length, window.end)] += side * size / length
    for number, push in enumerate(pushes):
        own = [window for window in markets.windows if window.series == number]
        span = slice(min(w.start for w in own), max(w.end for w in own))
        push[span] -= push[span].mean()
    return pushes


def _move(bars: Bars, push: Floats) -> Bars:
    """Bars with log returns moved by [T], each evenly from its open on; ranges are kept.

    Finer bars are moved evenly within theirs, which they still make up.
    """
    after = np.cumsum(push)
    prices = np.array([bars.open, bars.high, bars.low, bars.close])
    prices, finer = _move_prices(prices, after - push, after), bars.finer
    if finer is not None:
        first, end = bars.finer_spans
        counts = end - first
        bar = np.repeat(np.arange(len(bars)), counts)
        starts = counts.cumsum() - counts
        place = np.arange(len(bar)) - starts[bar]
        taken, share = first[bar] + place, push[bar] / counts[bar]
        before = (after - push)[bar] + place * share
        moved = _move_prices(finer.prices[:, taken], before, before + share)
        finer = replace(finer, timestamp=finer.timestamp[taken], prices=moved)
        whole, starts = counts > 0, starts[counts > 0]
        prices[1, whole] = np.maximum.reduceat(moved[1], starts)
        prices[2, whole] = np.minimum.reduceat(moved[2], starts)
        prices[3, whole] = moved[3, starts + counts[whole] - 1]
    opened, high, low, close = prices
    return replace(bars, open=opened, high=high, low=low, close=close, finer=finer)


def _move_prices(prices: Floats, before: Floats, after: Floats) -> Floats:
    """Prices [4, K] moved by log returns that grow from their opens to their closes."""
    opened, close = prices[0] * np.exp(before), prices[3] * np.exp(after)
    middle = np.exp((before + after) / 2)
    high = np.maximum(np.maximum(opened, close), prices[1] * middle)
    low = np.minimum(np.minimum(opened, close), prices[2] * middle)
    return np.array([opened, high, low, close])


EDGES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Mean R a trade that is planted, from the smallest on until `SURE` of the markets are found."""

MARKETS = 20

PLANTED = "power"
"""Name of rows of planted markets."""

FIRST_MARKET = 1_000_000_000
"""Number of the shuffled market before the first planted one; null searches never come so far."""

COPIES = 5
"""Shuffled markets, before that one, that say what a candidate earns without an edge."""

FOLDER = "power"
"""Name of the folder, among runs, of searches that measured power before any run."""


class PlantedJob(NamedTuple):
    """One planted market, by its number from 1 on."""

    number: int
    edge: float


@dataclass(frozen=True)
class PowerSetup(NullSetup):
    """Setup of null searches on bars with a planted edge."""

    def __getstate__(self) -> dict[str, object]:
        """Setup that other processes get."""
        return {name: value for name, value in self.__dict__.items() if name != "copies"}

    @cached_property
    def copies(self) -> tuple[Task, ...]:
        """Tasks on shuffled markets without an edge, the same for every planted one."""
        return tuple(map(self._shuffle, range(FIRST_MARKET - COPIES, FIRST_MARKET)))

    def build_task(self, job: Any) -> PlantedTask:  # noqa: ANN401 - a `PlantedJob`
        """The task on the bars of one market."""
        number = FIRST_MARKET + job.number
        return plant_edge(self._shuffle(number), self.copies, job.edge, number)

    def _shuffle(self, number: int) -> Task:
        return super().build_task(NullJob("shuffled", number))

    def search(self, job: Any, task: Task, problem: EngineProblem) -> Asking[PlantedSearch]:  # noqa: ANN401
        """Search one market; its caller evaluates."""
        found = yield from super().search(job, task, problem)
        planted = cast("PlantedTask", task)
        trades, strength = planted.edge_trades, planted.edge_strength
        return PlantedSearch(**asdict(found), edge_trades=trades, edge_strength=strength)


def measure_planned_power(
    config: RunConfig,
    watch: Watch,
    executor: Executor | None = None,
) -> PowerRecord:
    """Measure how large an edge a search would find before it is made; every search is recorded.

    They are in a folder of their own among the runs, so that no run counts as made. The cores of
    this machine make them where `executor` is None.

    Raises:
        StoreError: When another process measures it.
        ConfigError: When no edge can be planted into its bars.
    """
    whole = prepare(config, for_search=True)
    start = load_warm_start(config, whole.spec.layout)
    warm_start = None if start is None else start.genomes
    identity = build_identity(whole, hash_genomes(warm_start))
    task, device = on_searched_bars(whole), whole.device().label
    asked = encode([identity.digest, config.deciding("end")], what="the search")
    folder, name = Path(config.runs) / FOLDER, sha256(asked).hex()[:16]
    if (folder / name).exists():
        store = RunStore.open(folder / name, writable=True)
    else:
        store = RunStore.create(folder, name, build_run_header(whole, device, identity))
    with store, Pool() as pool:
        executor = executor or ThisMachine(pool)
        executor.check(task)
        if store.result is None:
            # Rows of evidence follow a result.
            store.finish({"front": []})
        setup = NullSetup(task, "auto", warm_start=warm_start)
        return build_power_record(store, setup, executor, device, watch)


def build_power_record(
    store: RunStore,
    setup: NullSetup,
    executor: Executor,
    device: str,
    watch: Watch,
) -> PowerRecord:
    """Null searches that are not known yet, then planted markets of one edge after the other.

    Each becomes a row of evidence; `device` is that of the run's own search.

    Raises:
        ConfigError: When no edge can be planted into the bars.
    """
    task, keep = setup.task, setup.markets.keep
    nulls = Checkpoint(store, NULL, {"null_keep": keep, "kind": "shuffled"}, NullSearch)
    planted = {
        edge: Checkpoint(store, PLANTED, {"null_keep": keep, "edge": edge}, PlantedSearch)
        for edge in EDGES
    }
    null_numbers, numbers = range(1, DEFAULT_SEARCHES + 1), range(1, MARKETS + 1)
    left = sum(MARKETS - len(kept.known) for kept in planted.values())
    missing = nulls.list_missing(null_numbers)
    watch(Progress(lines=(_estimate(setup, device, len(missing), left),)))
    submit: Callable[..., Generator[Any, None, None]] = partial(executor.submit, used=device)
    ended = submit(replace(setup, keep=keep), [NullJob("shuffled", number) for number in missing])
    found = nulls.complete(null_numbers, ended, watch, "power: searches without an edge")
    strengths = [search.value for search in found]
    with_edge = PowerSetup(task, keep, warm_start=setup.warm_start)
    made: list[PlantedSearch] = []
    rows: list[PowerRow] = []
    for edge, kept in planted.items():
        ended = submit(with_edge, [PlantedJob(n, edge) for n in kept.list_missing(numbers)])
        some = kept.complete(numbers, ended, watch, f"power: edges of {edge:g} R")
        made += some
        rows.append(count_found(edge, some, strengths))
        if rows[-1].found >= SURE * MARKETS:
            break
    years = pool_spans(task.markets.spans(task.markets.windows)).years
    often = median(one.edge_trades for one in made) / years
    curve, size = fit_curve(made, strengths), f"{task.config.population:,}"
    size += f" x {task.config.generations:,}"
    if task.lattice is not None:
        size = format_count(len(task.lattice), "point")
    return PowerRecord(size, DEFAULT_SEARCHES, keep, often, *curve, tuple(rows))


def _estimate(setup: NullSetup, device: str, nulls: int, planted: int) -> str:
    """Line on how long it takes, about."""
    seconds = setup.estimate(nulls + planted, find_gpu(setup.task, device) or "cpu")
    return (
        f"{format_count(nulls, 'search')} without an edge and at most {planted} with a planted "
        f"one, about {format_duration(max(seconds, 1.0))}"
    )
