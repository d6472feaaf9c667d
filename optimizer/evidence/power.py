"""The power: how large an edge on bars like these the same search would find.

Into shuffled copies of the searched bars an edge is planted at the signals of a random candidate,
and each is searched as the run was. One counts as found where the bet of its strength against null
searches of the bars without a planted edge is won. The same markets and candidates have each edge.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from data.bars import Bars
from data.checks import Floats
from data.progress import Progress, format_duration
from optimizer.errors import ConfigError
from optimizer.evidence.betting import DEFAULT_SEARCHES, tally
from optimizer.evidence.checkpoint import Checkpoint
from optimizer.evidence.null import (
    Kind,
    NullJob,
    NullSearch,
    NullSettings,
    NullSetup,
    estimate_null_seconds,
)
from optimizer.evidence.null_markets import Keep
from optimizer.evidence.out_of_sample import FEWEST_TRADES
from optimizer.evidence.statistic import Around, RowSettings, Statistic, Weighed
from optimizer.formatting import format_count
from optimizer.search.randomness import stream
from optimizer.store.payload import Payload

if TYPE_CHECKING:
    from engine.accounts.ledger import Ledger
    from optimizer.evidence.judged_run import JudgedRun
    from optimizer.run.task import Task

EDGES = (0.05, 0.1, 0.2, 0.4)
"""Mean R a trade that is planted, from the smallest on until `SURE` of the markets are found."""

MARKETS = 20

SURE, WANTED, BLIND = 0.9, 0.8, 0.1
"""Shares of markets found: no larger edge is tried; the edge that is named; nothing is seen."""

FIRST_MARKET = 1_000_000_000
"""Number of the shuffled market before the first planted one; null searches never come so far."""

MOST_CANDIDATES, MOST_HALVINGS = 100, 30

CLOSE = 0.02
"""Share of an edge by which the mean may miss it; a candidate that misses more is left."""

LARGEST_SHIFT = 2.0
"""R that the bars of a trade are moved at most."""

MOST_CHANGED = 0.25
"""Share by which trades may become more or fewer, so that it stays the candidate that it was."""


@dataclass(frozen=True)
class PowerRow(Payload):
    """Markets with a planted edge, and how many were found."""

    edge: float  # mean R a trade of the candidate whose signals have it
    markets: int
    found: int


@dataclass(frozen=True)
class PowerRecord(Statistic):
    """Edges that the search of a run would find on its bars."""

    search: str  # its size in words, such as ``512 x 100``
    nulls: int  # null searches that planted markets were held against
    keep: str  # rhythm that shuffled bars kept
    rows: tuple[PowerRow, ...]  # by edge

    def list_rows(self, around: Around) -> Iterator[Weighed]:
        """The sentence, which speaks for neither side."""
        yield Weighed("power", self.describe())

    def describe(self) -> str:
        """Sentence on the edge that would be found, and below which nothing would."""
        begin = f"With these bars, this strategy and {self.search}"
        wanted, blind = self.find_edge(WANTED), self.find_edge(BLIND)
        last, rate = self._curve[-1]
        if blind is None:
            return f"{begin} no edge up to {last:.2f} R a trade would be found: it is blind."
        edge, share = (last, rate) if wanted is None else (wanted, WANTED)
        return (
            f"{begin} an edge of {edge:.2f} R a trade would be found in {10 * share:.0f} of 10 "
            f"cases; below {blind:.2f} R this search is blind."
        )

    def find_edge(self, share: float) -> float | None:
        """Smallest edge of which a share of markets is found, between those measured by lines."""
        for (edge, rate), (further, reached) in zip(self._curve, self._curve[1:], strict=False):
            if reached >= share:
                return edge + (further - edge) * (share - rate) / (reached - rate)
        return None

    def find_rate(self, edge: float) -> float:
        """Share of markets with an edge that are found; of larger ones that of the largest."""
        edges, rates = zip(*self._curve, strict=True)
        return float(np.interp(edge, edges, rates))

    @property
    def _curve(self) -> list[tuple[float, float]]:
        """Edges and shares found, which never fall: neighbours that do are taken together."""
        pools: list[list[PowerRow]] = []
        for row in self.rows:
            pools.append([row])
            while len(pools) > 1 and _rate(pools[-2]) >= _rate(pools[-1]):
                last = pools.pop()
                pools[-1] += last
        return [(0.0, 0.0), *((row.edge, _rate(pool)) for pool in pools for row in pool)]


def _rate(rows: Sequence[PowerRow]) -> float:
    return sum(row.found for row in rows) / sum(row.markets for row in rows)


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

    kind: Kind
    number: int
    edge: float


@dataclass(frozen=True)
class PowerSetup(NullSetup):
    """Setup of null searches whose bars have a planted edge."""

    def build_task(self, job: Any) -> "Task":  # noqa: ANN401 - a `PlantedJob`
        """The task on the bars of one market."""
        number = FIRST_MARKET + job.number
        task = super().build_task(NullJob(job.kind, number))
        return plant_edge(task, job.edge, number)


def plant_edge(task: "Task", edge: float, number: int) -> "Task":
    """The task on its bars with an edge at the signals of a random candidate.

    Returns:
        The same task where the edge is 0.

    Raises:
        ConfigError: When no candidate trades often enough, or none can have the edge.
    """
    from optimizer.search.operators import sample_genomes

    if not edge:
        return task
    layout = task.spec.layout
    draw = stream(task.config.seed, number, "planted")
    drawn = sample_genomes(draw, layout, MOST_CANDIDATES)
    for genome in layout.repair(drawn)[0]:
        planted = _plant(task, genome, edge)
        if planted is not None:
            return planted
    least = _count_least(task)
    raise ConfigError(
        f"of {MOST_CANDIDATES} random candidates none has {least} trades on bars like these with "
        f"a mean of {edge:g} R: take more bars, or wider bounds (--bound)"
    )


def _list_r(task: "Task", genome: Floats) -> Floats:
    """R of all trades of an individual [G]."""
    return np.concatenate([ledger.r for ledger in _trade(task, genome)])


def _plant(task: "Task", genome: Floats, edge: float) -> "Task | None":
    """The task on bars on which an individual earns an edge; None where there are none."""
    ledgers = _trade(task, genome)
    count = sum(map(len, ledgers))
    if count < _count_least(task):
        return None
    pushes = _list_pushes(task, ledgers)

    def shift(size: float) -> "Task":
        bars = zip(task.markets.series, pushes, strict=True)
        moved = tuple(_move(series, size * push) for series, push in bars)
        return replace(task, markets=replace(task.markets, series=moved))

    low, high = -LARGEST_SHIFT, LARGEST_SHIFT
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2
        made = shift(middle)
        r = _list_r(made, genome)
        mean = float(r.mean()) if len(r) else 0.0
        if abs(mean - edge) <= CLOSE * edge:
            return made if abs(len(r) - count) <= MOST_CHANGED * count else None
        low, high = (low, middle) if mean > edge else (middle, high)
    return None


def _trade(task: "Task", genome: Floats) -> "tuple[Ledger, ...]":
    return task.build_reference(task.markets.windows).trades(genome)


def _count_least(task: "Task") -> int:
    return max(task.config.min_trades, FEWEST_TRADES)


def _list_pushes(task: "Task", ledgers: "Sequence[Ledger]") -> list[Floats]:
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
    """Bars whose log returns are moved by [T], each evenly from its open on; ranges are kept."""
    after = np.cumsum(push)
    before = after - push
    opened, close = bars.open * np.exp(before), bars.close * np.exp(after)
    middle = np.exp((before + after) / 2)
    high = np.maximum(np.maximum(opened, close), bars.high * middle)
    low = np.minimum(np.minimum(opened, close), bars.low * middle)
    return replace(bars, open=opened, high=high, low=low, close=close)


def build_power_record(
    run: "JudgedRun", keep: Keep | Literal["auto"], tell: Callable[[str], None]
) -> PowerRecord:
    """Null searches that are not known yet, then planted markets of one edge after the other.

    Args:
        run: With an executor; each search becomes a row of its evidence.
        keep: Rhythm that shuffled bars keep.
        tell: Callback of a line on how long it takes, before it begins.

    Raises:
        ConfigError: When no edge can be planted into its bars.
    """
    _refuse_finer(run.task)
    setup = NullSetup(run.again, keep, run.warm_start)
    setup = replace(setup, keep=setup.markets.keep)
    keep = setup.markets.keep
    nulls = Checkpoint(run.store, NullSettings(keep, "shuffled"), NullSearch)
    planted = {edge: Checkpoint(run.store, PowerSettings(keep, edge), NullSearch) for edge in EDGES}
    begin = partial(run.executor.submit, used=run.device)
    null_numbers, numbers = range(1, DEFAULT_SEARCHES + 1), range(1, MARKETS + 1)
    left = sum(MARKETS - len(kept.known) for kept in planted.values())
    tell(_estimate(run, sum(number not in nulls.known for number in null_numbers), left))

    def search(
        kept: Checkpoint[NullSearch], setup: NullSetup, what: str, jobs: Sequence[Any]
    ) -> None:
        """Make the rows that are not known yet, each on record as it ends."""
        missing, planned = [job for job in jobs if job.number not in kept.known], len(jobs)
        if not missing:
            return
        run.watch(Progress(f"power: {what}", min(len(kept.known), planned), planned))
        with closing(begin(setup, missing)) as ended:
            for _, row in ended:
                kept.add(row)
                run.watch(Progress(f"power: {what}", len(kept.known), planned))

    without_edge = [NullJob("shuffled", number) for number in null_numbers]
    search(nulls, setup, "searches without an edge", without_edge)
    strengths = [nulls.known[number].value for number in null_numbers]
    with_edge = PowerSetup(setup.task, setup.keep, setup.warm_start)
    rows: list[PowerRow] = []
    for edge, kept in planted.items():
        jobs = [PlantedJob("shuffled", number, edge) for number in numbers]
        search(kept, with_edge, f"edges of {edge:g} R", jobs)
        won = (is_found(kept.known[number], strengths) for number in numbers)
        rows.append(PowerRow(edge, MARKETS, sum(won)))
        if rows[-1].found >= SURE * MARKETS:
            break
    return PowerRecord(_name_search(run.task), DEFAULT_SEARCHES, keep, tuple(rows))


def is_found(row: NullSearch, nulls: Sequence[float]) -> bool:
    """Whether a search is more than luck beside strengths of null searches, in their order."""
    is_enough = row.trades >= FEWEST_TRADES
    return is_enough and tally(row.value, nulls, DEFAULT_SEARCHES).is_more


def _name_search(task: "Task") -> str:
    config = task.config
    if task.lattice is not None:
        return format_count(len(task.lattice), "point")
    return f"{config.population:,} x {config.generations:,}"


def _estimate(run: "JudgedRun", nulls: int, planted: int) -> str:
    """Line on how long it takes, about."""
    from engine.runtime.machine import available_cores
    from optimizer.evidence.jobs.machine import find_gpu

    task = run.task
    cores, device = available_cores(task.config.threads), find_gpu(task, run.device) or "cpu"
    seconds = estimate_null_seconds(
        task.workload(), run.result.evaluated, run.result.generation, cores, device, nulls + planted
    )
    return (
        f"{format_count(nulls, 'search')} without an edge and at most {planted} with a planted "
        f"one, about {format_duration(max(seconds, 1.0))}"
    )


def _refuse_finer(task: "Task") -> None:
    """Refuse finer bars, into which nothing is planted."""
    for bars in task.markets.series:
        if bars.finer is not None:
            raise ConfigError(
                f"{bars.symbol} has finer bars, into which no edge is planted: search without "
                "--finer to measure power"
            )
