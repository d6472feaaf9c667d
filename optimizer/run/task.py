"""Task of a configuration, loaded and checked before any work begins, and its evaluator."""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain

from data import Bars, Window
from engine.accounts.costs import Costs, has_orders
from engine.accounts.ledger import REASONS, Ledger
from engine.accounts.metrics import MetricTable, compute_metrics
from engine.batch import Engine
from engine.certificate import Certificate
from engine.devices import Device, choose_device
from engine.indicators.individuals import count_rows
from engine.out_of_core import create_engine
from engine.reference import Reference
from engine.replay.certificate import certify
from engine.replay.threads import Replaying, replaying
from engine.runtime.compiling.forms import CompiledForm
from engine.runtime.machine import available_cores
from engine.workload import Workload
from optimizer.config.run_config import RunConfig, format_flag
from optimizer.config.settings import CostSettings, check_schedule
from optimizer.errors import ConfigError
from optimizer.goals.constraints import check_constraints, parse_constraints
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.run.indicator_cache import keeping_rows, row_cache
from optimizer.run.markets import Markets, load_markets, require_columns
from optimizer.run.problem import EngineProblem, Evaluator
from optimizer.run.remarks import check_money, late_remarks, limit_remarks, question_remarks
from optimizer.run.tables import encode_genome
from optimizer.schedule import Schedule, list_dates
from optimizer.search.breeding import sample_genomes
from optimizer.search.compiling import compile_in_background
from optimizer.search.evolution import Evolution, Exploration, Lattice, make_lattice
from optimizer.search.generation import Floats, Generation, Search
from optimizer.search.randomness import stream
from optimizer.store.result import DataDescription
from strategy import Gene, GenomeLayout, find_strategy
from strategy.errors import GeneError, StrategyError
from strategy.lookahead_check import prove_bounds
from strategy.model import Strategy
from strategy.rows import check_spans

GENE = re.compile(r"\bgene\.(\w+)")
"""A gene in a formula."""

WARM_START_NOTE = (
    "candidates to begin with may have been found on bars that are held out now: held-out figures "
    "prove something only if they were not"
)
"""A note where a search with held-out bars begins with individuals of another."""


@dataclass(frozen=True)
class Task:
    """Markets, strategy, costs and goals that belong together."""

    config: RunConfig
    markets: Markets  # series, windows to search on, and windows that are held out
    spec: Strategy  # the strategy, scaled to the bars and with the configured bounds
    costs: Costs
    goals: Goals
    remarks: tuple[str, ...] = ()  # further notes, a line each

    def device(self, name: str | None = None, done: int = -1) -> Device:
        """The device that a search after generation `done` runs on; the configuration's if None."""
        chosen = name or self.config.device
        return choose_device(self.spec, chosen, self.workload(done), self.costs)

    def engine(self, device: str | Device | None = None) -> Engine:
        """A batch engine to search with; bars that are held out are not in it.

        `device` is a chosen device, or its name; the configuration's when None.
        """
        return self.make_engine(self.markets.searched, self.markets.windows, device)

    def full_engine(self, device: str | Device | None = None) -> Engine:
        """A batch engine for all windows, those to search on first, then those held out."""
        return self.make_engine(self.markets.series, self.markets.all_windows, device)

    @property
    def closed(self) -> "Task":
        """The same task on the bars that its search may read."""
        return replace(self, markets=self.markets.closed)

    def build_reference(self, windows: Sequence[Window], costs: Costs | None = None) -> Reference:
        """The reference for other windows of the bars that a search may read, or other costs.

        For one individual it is ready at once: its loops were compiled for the certificate.
        """
        series, form = self.markets.searched, CompiledForm()
        return Reference(self.spec, series, windows, costs or self.costs, form=form)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for people on the bars and on those held out from the search."""
        notes = (*self.markets.notes, *risky_pairs(self.config), *self.remarks)
        if self.config.warm_start is None or not self.markets.held_out:
            return notes
        return (*notes, WARM_START_NOTE)

    def polish_at_most(self, evaluated: int) -> int:
        """Neighbours that may be tried after a search of so many individuals."""
        if self.lattice is not None:
            return 0
        limit, polish = self.config.max_evaluations, self.config.polish
        return polish if limit is None else max(min(polish, limit - evaluated), 0)

    def metrics(self, accumulators: Floats, account: Floats) -> MetricTable:
        """Metrics as goals need them, over the windows to search on.

        Of accumulators [P, W, A] of each, and [P, A] of all as one account.
        """
        spans = self.markets.spans(self.markets.windows)
        return compute_metrics(accumulators, spans, self.goals.metrics, account)

    def random_individuals(self, count: int) -> Floats:
        """Legal genomes [count, G], uniform within the bounds, from the seed."""
        rng = stream(self.config.seed, 0, "initial")
        genomes, _ = self.spec.layout.repair(sample_genomes(rng, self.spec.layout, count))
        return genomes

    def problem(self, engine: Engine) -> EngineProblem:
        """The search's view of an engine on the windows to search on."""
        return EngineProblem(self.goals, self.markets.spans(self.markets.windows), engine)

    def workload(self, done: int = -1) -> Workload:
        """Workload of a search on its device after generation `done`, -1 before the first."""
        config, spec = self.config, self.spec
        if self.lattice is not None:
            individuals = len(self.lattice)
        else:
            individuals = config.population * max(config.generations - done, 0)
            individuals = min(individuals, config.max_evaluations or individuals) + config.polish
        n_rows = count_rows(spec, len(spec.expressions) * individuals)
        n_bars = sum(len(bars) for bars in self.markets.searched)
        return Workload(
            individuals * self.markets.n_bars,
            n_rows * n_bars,
            config.threads,
            calls=max(config.generations - done, 0),
            new_bars=n_bars,
            order_bars=max(map(len, self.markets.windows)) if has_orders(spec, self.costs) else 0,
        )

    @cached_property
    def lattice(self) -> Lattice | None:
        """The grid to search to its end, None for a genetic search."""
        if self.config.search == "genetic":
            return None
        return make_lattice(self.spec.layout, self.config.steps)

    def search(
        self, problem: EngineProblem, last: Generation | None, warm_start: Floats | None
    ) -> Search:
        """Search of the task, from its beginning or after a generation."""
        if self.lattice is not None:
            return Exploration(problem, self.lattice, last)
        compile_in_background()
        return Evolution(problem, self.config, last, warm_start)

    def make_engine(
        self,
        series: Sequence[Bars],
        windows: Sequence[Window],
        device: str | Device | None = None,
        apart: int = 0,
    ) -> Engine:
        """A batch engine of the task for series and windows; `apart` as of `create_engine`."""
        return create_engine(
            self.spec,
            series,
            windows,
            self.costs,
            device=device if isinstance(device, Device) else self.device(device),
            threads=self.config.threads,
            memory_bytes=self.config.memory,
            apart=apart,
        )


def prepare(
    config: RunConfig,
    *,
    for_search: bool = False,
    known: Strategy | None = None,
    published: Strategy | None = None,
    genes: Sequence[Mapping[str, object]] | None = None,
    may_fetch: bool = True,
) -> Task:
    """Load and check all parts of a configuration.

    `for_search` asks that every genome within the bounds fits the data, and that no indicator of a
    person's own looks ahead. Where a run has recorded the strategy, `known` is it with its bounds,
    or `published` what its name stands for; the name in the configuration is not looked at then.
    Parts between long gaps are skipped on which `genes` cannot trade; without them those on which
    some genome within the bounds cannot. With `may_fetch` a vendor may send bars. Nothing has been
    written and no genome evaluated then. Any error says that something does not fit.
    """
    _check_search_fits(config)
    _check_threads(config.threads)
    template = known or published or find_strategy(config.strategy)
    config = name_genes(config, template.layout)
    goals = parse_goals(config, template.layout)
    costs = Costs(**{name: getattr(config, name) for name in CostSettings.model_fields})
    bounds = {gene: (pair[0], pair[1]) for gene, pair in config.bounds.items()}

    def adapt_spec(bars: Bars) -> Strategy:
        if known is not None:
            return known
        spec = template.for_timeframe(bars.timeframe_ns / 1e9) if config.scale_lengths else template
        return apply_bounds(spec, bounds)

    def count_bars(bars: Bars) -> int:
        spec = adapt_spec(bars)
        if genes is None:
            return bars_needed(spec)
        return spec.warm_up(spec.layout.decode(encode_genome(spec.layout, *genes))) + 2

    paid = template.paid_columns
    markets = load_markets(config, count_bars, paid=paid, may_fetch=may_fetch)
    spec = keeping_rows(adapt_spec(markets.series[0]), row_cache())
    check_money(spec, config)
    require_columns(spec, markets.series, config)
    check_spans(spec, markets.series[0].timeframe_ns)
    task = Task(config, markets, spec, costs, goals)
    if task.lattice is not None:
        _require_legal_point(task.lattice)
        last_chunk = {"generations": task.lattice.chunks - 1}
        task = replace(task, config=task.config.model_copy(update=last_chunk))
    remarks = question_remarks(
        spec,
        task.lattice,
        markets.series[0].timeframe_ns,
        is_scaled=config.scale_lengths and known is None,
    )
    of_bars = limit_remarks(spec, markets.searched[0]), late_remarks(spec, markets.searched[0])
    task = replace(task, remarks=(*remarks, *chain(*of_bars)))
    if for_search:
        if known is None:
            check_constraints(goals.constraints)
        check_bounds_fit(spec, task.markets)
        _check_dates_fit(config, markets)
        prove_bounds(spec, markets.searched)
    return task


def name_genes(config: RunConfig, layout: GenomeLayout) -> RunConfig:
    """The configuration with genes by their names in records, in formulas too.

    GeneError when two names mean one gene, or one in a formula means none alone.
    """

    def write_gene(match: re.Match[str]) -> str:
        return f"gene.{layout.gene(match[1]).name}"

    tables = {name: layout.name_genes(getattr(config, name)) for name in ("bounds", "steps")}
    objectives = GENE.sub(write_gene, config.objectives)
    constraints = [GENE.sub(write_gene, text) for text in config.constraints]
    goals = {"objectives": objectives, "constraints": constraints}
    return config.model_copy(update=tables | goals)


def parse_goals(config: RunConfig, layout: GenomeLayout) -> Goals:
    """Goals of a configuration, with formulas that may read the genes of a strategy.

    ConfigError when something in them is wrong, GeneError when there is no such gene.
    """
    goals = Goals(
        parse_objectives(config.objectives),
        config.min_trades,
        parse_constraints(config.constraints),
        config.over_windows,
        layout.names,
    )
    for name in goals.genes:
        if layout.gene(name).options:
            raise ConfigError(f"gene.{name} is no number in a formula: it has options")
    if taken := [name for name in goals.formulas if name.partition(":")[0] in layout.names]:
        raise ConfigError(f"objective '{taken[0]}' has the name of a gene: name it otherwise")
    return goals


def check_genome_fits(task: Task, genome: Floats) -> None:
    """Refuse a genome that needs more history than there is."""
    task.spec.check_genomes(genome[None])
    warm_up = task.spec.warm_up(task.spec.layout.decode(genome))
    n_bars, shown = fewest_bars(task.markets)
    if warm_up + 2 > n_bars:
        raise ConfigError(too_few_bars(task.spec, shown, warm_up + 2))


def describe_data(task: Task) -> DataDescription:
    """Description of the bars that a result was found on."""
    markets = task.markets
    return DataDescription(
        spec=task.config.data,
        symbol=markets.symbol,
        timeframe=markets.timeframe,
        bars=markets.n_bars,
        held_out_bars=sum(len(window) for window in markets.held_out),
        is_simulated=markets.is_simulated,
        notes=task.notes,
        windows=markets.describe(),
    )


def ledger_rows(ledger: Ledger) -> list[tuple[object, ...]]:
    """A ledger's trades as plain tuples, the reason as a word, in the order of time."""
    rows: list[tuple[object, ...]] = []
    for k in range(len(ledger)):
        trade = ledger.trade(k)
        rows.append((*trade[:3], REASONS[trade.reason], *trade[4:]))
    return rows


def _check_search_fits(config: RunConfig) -> None:
    """Refuse settings that the search would ignore."""
    check_schedule(config)
    if config.search == "genetic" and config.steps:
        gene = next(iter(config.steps))
        raise ConfigError(f"the step of '{gene}' is for a lattice only: add --search lattice")
    if config.member is not None and config.warm_start is None:
        raise ConfigError("--member chooses whom to begin with: add --run RUN or --warm-start FILE")
    unheard = ("max_evaluations", "plateau", "warm_start") if config.search == "lattice" else ()
    for name in unheard:
        if getattr(config, name) is not None:
            raise ConfigError(
                f"{format_flag(name)} means nothing for --search lattice, which tries every point"
            )


def check_limit_fits(config: RunConfig) -> None:
    """Refuse a limit that the first generation of a search would break already."""
    limit = config.max_evaluations
    if limit is not None and config.population > limit:
        raise ConfigError(
            f"--max-evaluations {limit:,} is fewer than the first generation of --population "
            f"{config.population:,}: use --population {limit} or fewer, or a higher limit"
        )


def risky_pairs(config: RunConfig) -> tuple[str, ...]:
    """A line for each combination of flags that makes results look better or surer than they are.

    >>> risky_pairs(RunConfig(fee_bp=0.0)), len(risky_pairs(RunConfig(fee_bp=0.0, slippage_bp=0.0)))
    ((), 1)
    """
    is_uncut = config.max_gap is None
    risky = {
        "--fee-bp 0 with --slippage-bp 0: trades cost nothing, which no market offers": not (
            config.fee_bp or config.slippage_bp
        ),
        "--drop-bad-bars without --max-gap: indicators and trades reach over what was dropped": (
            config.drop_bad_bars and is_uncut
        ),
        "--accept-missing without --max-gap: indicators and trades reach over what is missing": (
            config.accept_missing and is_uncut
        ),
        "--sort with --dedupe: files that were joined by mistake may pass as one series": (
            config.sort and config.dedupe
        ),
        "--price-offset with costs: they are shares of the raised price, not of the real one": (
            config.price_offset != 0 and bool(config.fee_bp or config.slippage_bp)
        ),
    }
    return tuple(text for text, is_given in risky.items() if is_given)


def _check_dates_fit(config: RunConfig, markets: Markets) -> None:
    """Refuse a schedule without a date on the bars to search on."""
    if config.every is not None:
        schedule = Schedule(config.every, str(config.train), 0, anchored=False)
        list_dates(markets.series, markets.uncut, schedule)


def _check_threads(threads: int | None) -> None:
    most = available_cores()
    if threads is not None and threads > most:
        raise ConfigError(f"--threads {threads:,}: this machine has {most}, use 1 to {most}")


def _require_legal_point(lattice: Lattice) -> None:
    """Refuse a grid without a legal point."""
    layout, least = lattice.layout, [values[0] for values in lattice.values]
    for _ in layout.constraints:
        # The least that each gene may be rises along a chain of constraints.
        for pair in layout.constraints:
            left, right = layout.index(pair.left), layout.index(pair.right)
            legal = lattice.values[right][lattice.values[right] > least[left]]
            if not len(legal):
                raise ConfigError(
                    f"no point of the lattice is legal: '{pair.left}' must be below "
                    f"'{pair.right}', and is {least[left]:g} at least where that is "
                    f"{lattice.values[right][-1]:g} at most: change --bound or --step"
                )
            least[right] = max(least[right], legal[0])


@dataclass(frozen=True)
class TaskEvaluator:
    """Evaluates the individuals of a task, and replays them where the bars are."""

    problem: EngineProblem  # the search's view of an engine of the windows to search on
    # Replays individuals [N, G]; as `engine.replay.certificate.certify`.
    certify: Callable[[Floats], Certificate]


def local_evaluator(task: Task, device: Device, replaying: Replaying = replaying) -> TaskEvaluator:
    """Evaluate in this process; `replaying` is where the reference runs."""
    engine = task.engine(device)
    return TaskEvaluator(task.problem(engine), partial(certify, engine, replaying=replaying))


class Place:
    """Place of a run's evaluations, which decides no result: this process."""

    def begin(self, task: Task, warm_start: Floats | None) -> None:
        """A new run is about to prepare its engine; `warm_start` are genomes to begin with."""

    def make_evaluator(self, task: Task, device: Device) -> TaskEvaluator:
        """Evaluator of a task; the device was chosen on this machine."""
        return local_evaluator(task, device)

    def give_room(self, engine: Evaluator) -> None:
        """Give other searches room beside the engine of the run."""


def apply_bounds(spec: Strategy, bounds: Mapping[str, tuple[float | str, float | str]]) -> Strategy:
    """The strategy with other bounds; an error names every gene with wrong bounds."""
    problems: list[str] = []
    for name, pair in bounds.items():
        try:
            GenomeLayout((spec.layout.gene(name),)).with_bounds({name: pair})
        except GeneError as error:
            problems.append(f"{error}{spec.place_of(name)}")
    if problems:
        raise GeneError("; ".join(problems))
    try:
        return spec.with_bounds(bounds)
    except StrategyError as error:
        # The node that reads a gene knows its least.
        raise GeneError(f"{error}{spec.place_of(*bounds)}") from None


def bars_needed(spec: Strategy) -> int:
    """Bars that every genome within the bounds can trade on."""
    highs = {gene.name: gene.high for gene in spec.layout.genes}
    return max(spec.warm_up({**highs, **options}) for options in _list_options(spec)) + 2


def check_bounds_fit(spec: Strategy, markets: Markets) -> None:
    """Refuse bounds that need more history than the bars have."""
    n_bars, shown = fewest_bars(markets)
    layout = spec.layout

    def missing(**genes: float) -> int:
        """Bars too few, with the other genes as low as may be."""
        lows = {gene.name: gene.low for gene in layout.genes}
        least = min(spec.warm_up({**lows, **options, **genes}) for options in _list_options(spec))
        return least + 2 - n_bars

    if missing() > 0:
        least = n_bars + missing()
        raise ConfigError(too_few_bars(spec, shown, least))
    reading = spec.row_genes
    most = {
        gene: _largest_that_fits(gene, missing)
        for gene in layout.genes
        if gene.name in reading and not gene.options and missing(**{gene.name: gene.high}) > 0
    }
    if most:
        named = ", ".join(f"'{gene.name}' may be {gene.high:g}" for gene in most)
        bounds = [f"--bound {gene.name}={gene.low:g}:{value}" for gene, value in most.items()]
        raise ConfigError(
            f"{shown} are too few for windows that long: {named}; the largest legal value "
            f"is {', '.join(map(str, sorted(set(most.values()))))}: {' '.join(bounds)}"
            + spec.place_of(*(gene.name for gene in most))
        )


def _list_options(spec: Strategy) -> list[dict[str, float]]:
    """Every combination of options within the bounds, by gene; one of none without such genes."""
    names = [gene.name for gene in spec.layout.genes if gene.options]
    return list(spec.layout.corners(names))


def _largest_that_fits(gene: Gene, missing: Callable[..., int]) -> int:
    """The largest whole value of a gene for which no bar is missing."""
    values = range(math.ceil(gene.low), math.floor(gene.high) + 1)
    fitting = bisect_right(values, 0, key=lambda value: missing(**{gene.name: value}))
    return values.start + fitting - 1


def too_few_bars(spec: Strategy, shown: str, least: int) -> str:
    """Message for a strategy that needs more bars than there are, whatever is searched."""
    return f"{shown}, need at least {least} (longest window {least - 1}){spec.place_of()}"


def fewest_bars(markets: Markets) -> tuple[int, str]:
    """Bars up to the end of the window that has fewest, and the words for them."""
    index = min(markets.places("search"), key=lambda index: markets.all_windows[index].end)
    end = markets.all_windows[index].end
    shown = "1 bar" if end == 1 else f"{end:,} bars"
    if len(markets.windows) > 1:
        shown = f"{markets.labels[index]}: {shown}"
    return end, shown
