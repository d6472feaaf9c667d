"""Searches that measure power: null searches, and those of markets with a planted edge."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from statistics import median
from typing import Any, ClassVar, NamedTuple, cast

from data.progress import Progress, Watch, format_duration
from engine.accounts.metrics import pool_spans
from engine.runtime.machine import available_cores
from optimizer.config.run_config import RunConfig
from optimizer.evidence.betting import DEFAULT_SEARCHES
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.jobs.executor import Executor
from optimizer.evidence.jobs.machine import ThisMachine, find_gpu
from optimizer.evidence.jobs.workers import Pool
from optimizer.evidence.null import (
    NullJob,
    NullSearch,
    NullSettings,
    NullSetup,
    estimate_null_seconds,
)
from optimizer.evidence.planted_markets import PlantedTask, plant_edge
from optimizer.evidence.power import (
    SURE,
    PlantedSearch,
    PowerRecord,
    PowerRow,
    count_found,
    fit_curve,
)
from optimizer.evidence.statistic import RowSettings
from optimizer.formatting import format_count
from optimizer.run.genes_file import hash_genomes, load_warm_start
from optimizer.run.problem import Asking, EngineProblem
from optimizer.run.record import build_identity, build_run_header
from optimizer.run.search import on_searched_bars
from optimizer.run.task import Task, prepare
from optimizer.store import RunStore
from optimizer.store.payload import encode, sha256

EDGES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Mean R a trade that is planted, from the smallest on until `SURE` of the markets are found."""

MARKETS = 20

FIRST_MARKET = 1_000_000_000
"""Number of the shuffled market before the first planted one; null searches never come so far."""

COPIES = 5
"""Shuffled markets, before that one, that say what a candidate earns without an edge."""

FOLDER = "power"
"""Name of the folder, among runs, of searches that measured power before any run."""


@dataclass(frozen=True)
class PowerSettings(RowSettings[PowerRecord]):
    """Settings that decide searches of planted markets."""

    what: ClassVar[str] = "settings of planted markets"
    question: ClassVar[str] = "power"
    part: ClassVar[str] = "power"
    noun: ClassVar[str] = "search"

    null_keep: str  # rhythm that shuffled bars keep
    edge: float


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
        planted = cast("PlantedTask", task).planted
        return PlantedSearch(
            **asdict(found), edge_trades=planted.trades, edge_strength=planted.strength
        )


def measure_planned_power(
    config: RunConfig,
    watch: Watch,
    executor: Executor | None = None,
) -> PowerRecord:
    """Measure how large an edge a search would find before it is made; every search is recorded.

    They are in a folder of their own among the runs, so that no run counts as made.

    Args:
        config: Of the search.
        watch: Callback of progress.
        executor: Where whole searches are made; the cores of this machine if None.

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
        setup = NullSetup(task, "auto", warm_start)
        return build_power_record(store, setup, executor, device, watch)


def build_power_record(
    store: RunStore,
    setup: NullSetup,
    executor: Executor,
    device: str,
    watch: Watch,
) -> PowerRecord:
    """Null searches that are not known yet, then planted markets of one edge after the other.

    Args:
        store: Each search becomes a row of its evidence.
        setup: Of null searches.
        executor: Where whole searches are made.
        device: Of the run's own search.
        watch: Callback of progress.

    Raises:
        ConfigError: When no edge can be planted into the bars.
    """
    task, keep = setup.task, setup.markets.keep
    nulls = Checkpoint(store, NullSettings(keep, "shuffled"), NullSearch)
    planted = {edge: Checkpoint(store, PowerSettings(keep, edge), PlantedSearch) for edge in EDGES}
    null_numbers, numbers = range(1, DEFAULT_SEARCHES + 1), range(1, MARKETS + 1)
    left = sum(MARKETS - len(kept.known) for kept in planted.values())
    missing = sum(number not in nulls.known for number in null_numbers)
    watch(Progress(lines=(_estimate(setup, device, missing, left),)))
    search = partial(_search_missing, partial(executor.submit, used=device), watch)
    without_edge = [NullJob("shuffled", number) for number in null_numbers]
    search(nulls, replace(setup, keep=keep), "searches without an edge", without_edge)
    strengths = [nulls.known[number].value for number in null_numbers]
    with_edge = PowerSetup(task, keep, setup.warm_start)
    made: list[PlantedSearch] = []
    rows: list[PowerRow] = []
    for edge, kept in planted.items():
        search(kept, with_edge, f"edges of {edge:g} R", [PlantedJob(n, edge) for n in numbers])
        some = [kept.known[number] for number in numbers]
        made += some
        rows.append(count_found(edge, some, strengths))
        if rows[-1].found >= SURE * MARKETS:
            break
    years = pool_spans(task.markets.spans(task.markets.windows)).years
    often = median(one.edge_trades for one in made) / years
    curve = fit_curve(made, strengths)
    return PowerRecord(_name_search(task), DEFAULT_SEARCHES, keep, often, *curve, tuple(rows))


def _search_missing(
    submit: Callable[..., Generator[tuple[Any, Any], None, None]],
    watch: Watch,
    kept: Checkpoint[Any],
    setup: NullSetup,
    what: str,
    jobs: Sequence[NullJob | PlantedJob],
) -> None:
    """Make the rows that are not known yet, each on record as it ends."""
    missing = [job for job in jobs if job.number not in kept.known]
    if not missing:
        return
    known = len(jobs) - len(missing)
    watch(Progress(f"power: {what}", known, len(jobs)))
    with closing(submit(setup, missing)) as ended:
        for count, (_, row) in enumerate(ended, 1):
            kept.add(row)
            watch(Progress(f"power: {what}", known + count, len(jobs)))


def _name_search(task: Task) -> str:
    config = task.config
    if task.lattice is not None:
        return format_count(len(task.lattice), "point")
    return f"{config.population:,} x {config.generations:,}"


def _estimate(setup: NullSetup, device: str, nulls: int, planted: int) -> str:
    """Line on how long it takes, about."""
    task, (work, individuals) = setup.task, setup.estimate_work()
    cores = available_cores(task.config.threads)
    device, generations = find_gpu(task, device) or "cpu", task.config.generations
    searches = nulls + planted
    seconds = estimate_null_seconds(work, individuals, generations, cores, device, searches)
    return (
        f"{format_count(nulls, 'search')} without an edge and at most {planted} with a planted "
        f"one, about {format_duration(max(seconds, 1.0))}"
    )
