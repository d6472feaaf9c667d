"""A run, or one individual, with everything that can be asked of it; runs compared."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from data.plain import make_plain, methods_take_plain, quote_value, takes_plain
from engine.accounts.metrics import METRICS
from engine.batch import Engine
from engine.replay.certificate import certify
from optimizer.config.run_config import RunConfig, make_config
from optimizer.errors import ConfigError
from optimizer.evidence.concurrent_folds import share_cores
from optimizer.evidence.judge import build_plan, judge_run, measure_power
from optimizer.evidence.judgement import read_judgement
from optimizer.evidence.power import PowerRecord
from optimizer.evidence.verdict import SIMULATED, Verdict
from optimizer.export.programs import build_judged_schedule_program
from optimizer.keywords import RunKeywords, Specs
from optimizer.report.apart import Apart
from optimizer.report.evidence import ALONE
from optimizer.report.grids import find_candidates
from optimizer.report.notebook import render_html
from optimizer.report.page import renew_report
from optimizer.report.pick import compare
from optimizer.report.plots import Plots
from optimizer.report.regimes import Regimes, find_regimes
from optimizer.report.tables import Tables, build_data_flags
from optimizer.run.causal import prove_one, prove_shown
from optimizer.run.genes_file import encode_genome
from optimizer.run.individuals import describe_individuals
from optimizer.run.points import find_points, measure_points, wants_more
from optimizer.run.record import build_identity, build_run_header
from optimizer.run.runner import Observer, start_run
from optimizer.run.task import Task, check_genome_fits, prepare
from optimizer.run.trust import trust_run
from optimizer.search.generation import Floats
from optimizer.showing import choose_show
from optimizer.store import RunStore, find_run
from optimizer.store.labels import Labels, change_labels, read_labels
from optimizer.store.result import RunHeader, refuse_red
from strategy import STRATEGIES, StrategyError, load_strategy, register
from strategy.model import Strategy


@methods_take_plain(ConfigError)
class Run(Tables):
    """A run as tables and charts, and its members taken apart."""

    def _repr_html_(self) -> str:
        return render_html(self, self.labels)

    @property
    def labels(self) -> Labels:
        """Tags and note that a person gave the run."""
        return read_labels(self.path) if self.is_search else Labels()

    @property
    def tags(self) -> tuple[str, ...]:
        """Words that a person gave the run, as `runs tag` does.

        >>> from optimizer import load_run
        >>> load_run(example).tags
        ()
        """
        return self.labels.tags

    @property
    def note(self) -> str:
        """The line that a person wrote on the run, as `runs note` does; empty without."""
        return self.labels.note

    def label(self, *tags: str, remove: Sequence[str] = (), note: str | None = None) -> None:
        """Give the run tags, take some away, and set its note where one is named.

        Raises:
            ConfigError: When a text is more than a word, too long, or could command a terminal.
        """
        change_labels(self.path, add=tags, remove=remove, note=note)

    @cached_property
    def plot(self) -> Plots:
        """Every chart of the report as a figure of plotly."""
        return Plots(self)

    @cached_property
    def points(self) -> pd.DataFrame:
        """Every point of a lattice, or every candidate still on record: genes, metrics, failure.

        They are evaluated anew on the bars that were searched. An undefined metric is NaN;
        ``infeasible`` is why a candidate is none, empty where it is one.

        >>> from optimizer import load_run
        >>> run = load_run(example)
        >>> len(run.points) >= len(run.front)
        True
        """
        with RunStore.open(self.path) as store:
            genomes = find_points(store, self.task)
        points = measure_points(self.task, genomes)
        genes = self.header.show_genomes(points.genomes)
        metrics = dict(zip(METRICS, points.values.T, strict=True))
        return pd.DataFrame({**genes, **metrics, "infeasible": points.failures})

    def grid(self, x: str, y: str, metric: str = "strength") -> pd.DataFrame:
        """A metric over two genes, of all feasible candidates in a cell the best.

        The data of `plot.heatmap`. What the search strove for is read from the record; any other
        metric, and those of a lattice, are evaluated anew.

        Args:
            x: Gene from left to right.
            y: Gene from top to bottom.
            metric: An objective, or one of `engine.accounts.metrics.METRICS`.

        Returns:
            Columns are values of x, rows those of y; of a gene with many values they are middles of
            ranges. NaN where no feasible candidate has the metric.

        Raises:
            ConfigError: When there is no such gene or metric.

        >>> from optimizer import load_run
        >>> load_run(example).grid("ema_fast", "reward_r").shape[0] > 1
        True
        """
        numbers = self.number_of_gene(x), self.number_of_gene(y)
        cells = find_candidates(self, metric).grid(numbers, maximise=wants_more(metric))
        rows, columns = pd.Index(cells.y, name=y), pd.Index(cells.x, name=x)
        return pd.DataFrame(cells.values, index=rows, columns=columns)

    def power(self) -> PowerRecord:
        """Edges that this search would find on these bars, by searches with planted ones.

        Searches that were made are not made again.

        Raises:
            StoreError: When the run is not finished, or cannot be judged by this version.
            ConfigError: When no edge can be planted into its bars.
        """
        with choose_show() as show:
            return measure_power(self.path, self._flags, show)

    @cached_property
    def market_regimes(self) -> Regimes:
        """Trend and volatility at every bar."""
        markets = self.task.markets
        return find_regimes(tuple(markets.series), markets.ranges)

    def regimes(self, member: int) -> pd.DataFrame:
        """Trades of a member by trend and volatility of the market at their signal.

        A row a regime: trades, mean_r (NaN without trades) and sum_r. It describes the bars that
        were searched, and selects nothing; `optimizer.report.regimes` has how they are cut.

        >>> from optimizer import load_run
        >>> bool(load_run(example).regimes(0)["trades"].sum() > 0)
        True
        """
        return self.market_regimes.tabulate(self.trade_columns(member))

    def schedule_program(self, platform: str = "backtesting.py") -> str:
        """The schedule that the run was judged by as a program of another platform.

        Args:
            platform: as `program` takes it.

        Raises:
            ConfigError: When there is none, or the platform cannot say what it does.
        """
        made = None if self.judgement is None else self.judgement.schedule
        return build_judged_schedule_program(self.task, made, self.id, platform)

    def apart(self, member: int, window: int = 0) -> Apart:
        """A member taken apart in one of its windows: rows, signals, trades twice."""
        return Apart(self.task, self.genomes[self.check_member(member)], window)


def evolve(settings: Mapping[str, object]) -> Run:
    """Search with settings, and judge what was found; see `optimizer.evolve`.

    >>> import tempfile
    >>> evolve({"population": 8, "generations": 1, "runs": tempfile.mkdtemp()}).status
    'finished'
    """
    with _as_configured(settings, "evolve") as config:
        with share_cores(config) as beside, choose_show() as show:
            observer = Observer(show, beside)
            result = start_run(config, observer)
            refuse_red(result.certificate)
            path = Path(result.path)
            if beside is not None:
                judge_run(path, build_plan(config), {}, show, observer.just, beside)
        return Run(path)


def judge(
    name: str,
    runs: Path,
    data: Specs | None,
    *,
    pick: int | None,
    is_open: bool,
    trust: bool,
    settings: Mapping[str, object],
) -> Run:
    """Judge a recorded run; see `optimizer.judge`."""
    path, config = find_run(runs, name), make_config(settings, where="judge")
    if trust:
        trust_run(path)
    with RunStore.open(path) as store:
        earlier = read_judgement(store)
    plan = build_plan(config, settings, earlier, pick=pick, is_open=is_open)
    with choose_show() as show:
        judge_run(path, plan, build_data_flags(data), show)
    run = Run(path, data)
    renew_report(run)
    return run


def backtest(settings: Mapping[str, object], genes: Mapping[str, float]) -> "Single":
    """Backtest one individual; see `optimizer.backtest`."""
    with _as_configured(settings, "backtest") as config:
        task = prepare(config, genes=genes)
        genome = encode_genome(task.spec.layout, genes)
        check_genome_fits(task, genome)
        prove_one(task, genome)
        single = Single(task, genome)
        prove_shown(task.spec, task.markets, genome[None], single.engine.ledgers(genome[None]))
        return single


class Single(Run):
    """An individual with its task; everything that a `Run` of one member offers.

    Args:
        source: Whose genes they are, such as ``member 3 of run 2026``; may be empty.
    """

    is_search = False

    def __init__(self, task: Task, genome: Floats, source: str = "") -> None:
        self.source = source
        self.path = Path(task.spec.name)
        self.task = task
        self.engine: Engine = task.full_engine(device="cpu")
        (individual,) = describe_individuals(task, self.engine, genome[None])
        reached = task.problem(task.engine(device="cpu")).measure_objectives(genome[None])[0]
        objectives = dict(zip(task.goals.names, reached.tolist(), strict=False))
        header = build_run_header(task, "cpu", build_identity(task, None))
        self.header = RunHeader.read({**header, "objectives": list(objectives)})
        self.result, self.status, self.summaries = None, "finished", ()
        sentence = (SIMULATED if self.header.is_simulated else "") + ALONE
        self.judgement, self.verdict = None, Verdict("not_judged", sentence)
        self.members = (replace(individual, objectives=objectives),)

    def __repr__(self) -> str:
        return f"{self.verdict.sentence}\nBacktest({self.id!r})"

    @property
    def title(self) -> str:
        """Title of its page."""
        return f"Backtest of {self.task.spec.name}" + (f", {self.source}" if self.source else "")

    def name_member(self, member: int) -> str:
        """Name in charts: a backtest is no member of a front, unless it is one of a run."""
        return self.source or "this backtest"


def _as_configured(settings: Mapping[str, object], where: str) -> AbstractContextManager[RunConfig]:
    """Configuration in which a strategy has a name, and bars in memory are a source."""
    # Only now: few runs are of bars in memory.
    from optimizer.run.frames import holding_frames

    named = dict(settings)
    if "strategy" in named:
        named["strategy"] = _strategy_named(named["strategy"])
    return holding_frames(named, where)


def _strategy_named(spec: object) -> str:
    """The name or file of a strategy; one in memory gets a name that no other one has."""
    if isinstance(address := make_plain(spec), str):
        return address
    if not isinstance(spec, Strategy):
        raise ConfigError(
            "strategy is the name or the file of a strategy, or what strategy(...) made, got "
            f"{quote_value(spec)}"
        )
    if (place := _find_strategy_address(spec)) is not None:
        return place
    # An earlier one of that name, such as before an edit, stays what its runs were made with.
    unlike = f"{spec.name or 'strategy'}_{spec.digest[:8]}"
    for name in filter(None, (spec.name, unlike)):
        named = replace(spec, name=name)
        if STRATEGIES.get(name, named).digest == named.digest:
            break
    return register(named).name


def _find_strategy_address(spec: Strategy) -> str | None:
    """Address of a strategy as it is, so that a run of it goes on in any process; else None."""
    if spec.source is None:
        return None
    address = f"{spec.source.path}:{spec.name}"
    try:
        return address if load_strategy(address).digest == spec.digest else None
    except StrategyError:
        return None


@takes_plain(ConfigError)
def compare_runs(**runs: Run) -> pd.DataFrame:
    """A row a run with the same objectives: its members, those undominated, its hypervolume.

    Undominated are members that no member of another run dominates; the hypervolume is a share
    of what all dominate together.

    Raises:
        ConfigError: When objectives, bars or costs differ.
    """
    objectives = {run.objectives for run in runs.values()}
    formulas = [run.header.formulas for run in runs.values()]
    if len(objectives) != 1 or any(each != formulas[0] for each in formulas):
        raise ConfigError(f"fronts of different objectives cannot be compared: {objectives}")
    headers = [run.header for run in runs.values()]
    measured = [(header.data, header.windows, header.costs) for header in headers]
    if any(measurement != measured[0] for measurement in measured):
        raise ConfigError(
            "fronts measured on other bars or at other costs cannot be compared: hold verdicts and "
            "held-out results against each other"
        )
    return compare({name: run.minimised for name, run in runs.items()})


@takes_plain(ConfigError, RunKeywords)
def check_strategy(spec: Strategy, individuals: int = 20, **settings: object) -> pd.Series:
    """Try a strategy before a search: random individuals, in reference and engine.

    The strategy is known by its name afterwards; `settings` are fields of `RunConfig`. Returns
    individuals, their trades, mismatches (there must be none), and the first of them in words.
    """
    with _as_configured({**settings, "strategy": spec}, "check_strategy") as config:
        task = prepare(config, for_search=True)
        certificate = certify(
            task.engine(device="cpu"), task.random_individuals(individuals), threads=1
        )
    return pd.Series(
        {
            "individuals": certificate.individuals,
            "trades": certificate.trades,
            "mismatches": certificate.mismatches,
            "first mismatch": certificate.first_mismatch or "none",
        },
        name=spec.name,
    )
