"""A run, or one candidate, with its tables, charts and trades; runs compared."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from data.plain import methods_take_plain, takes_plain
from engine.accounts.ledger import Ledger
from engine.accounts.metrics import METRICS
from engine.replay.certificate import certify
from optimizer.config.run_config import RUN
from optimizer.errors import ConfigError
from optimizer.evidence.power import PowerRecord
from optimizer.evidence.verdict import SIMULATED, Verdict
from optimizer.goals.objectives import MISSED
from optimizer.report.pick import compare
from optimizer.report.tables import Tables
from optimizer.run.backtest import Accounts, Backtest, describe_backtest, run_engine
from optimizer.run.individuals import describe_individuals
from optimizer.run.points import find_points, measure_points, wants_more
from optimizer.run.record import build_identity, build_run_header
from optimizer.run.settings import hold_settings
from optimizer.run.task import Task, prepare
from optimizer.search.generation import Floats
from optimizer.showing import choose_show
from optimizer.store import RunStore
from optimizer.store.labels import Labels, change_labels, read_labels
from optimizer.store.result import Member, RunHeader
from strategy.model import Strategy

if TYPE_CHECKING:
    import pandas as pd

    from optimizer.report.apart import Apart
    from optimizer.report.gallery import Plots
    from optimizer.report.regimes import Regimes

ALONE = "Not judged: one candidate, without the search that found it."


@methods_take_plain(ConfigError)
class Run(Tables):
    """A run as tables and charts, and its members taken apart.

    Attributes:
        judgement_s: Seconds that its judgement took just now.
    """

    judgement_s = 0.0

    def _repr_html_(self) -> str:
        from optimizer.report.facts import render_html

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
        """Give the run tags of a word each, take some away, and set its note where one is named."""
        change_labels(self.path, add=tags, remove=remove, note=note)

    @cached_property
    def plot(self) -> "Plots":
        """Every chart of the report as a figure of plotly."""
        from optimizer.report.gallery import Plots

        return Plots(self)

    @cached_property
    def points(self) -> "pd.DataFrame":
        """Every point of a lattice, or every candidate still on record: genes, metrics, failure.

        They are evaluated anew on the bars that were searched. An undefined metric is NaN;
        ``infeasible`` is the reason of an infeasible candidate, else empty.

        >>> from optimizer import load_run
        >>> run = load_run(example)
        >>> len(run.points) >= len(run.front)
        True
        """
        import pandas as pd

        with RunStore.open(self.path) as store:
            genomes = find_points(store, self.task)
        points = measure_points(self.task, genomes)
        genes = self.header.show_genomes(points.genomes)
        metrics = dict(zip(METRICS, points.values.T, strict=True))
        return pd.DataFrame({**genes, **metrics, "infeasible": points.failures})

    def grid(self, x: str, y: str, metric: str = "strength") -> "pd.DataFrame":
        """A metric over two genes, of all feasible candidates in a cell the best.

        The data of `plot.heatmap`. Objectives are read from the record; any other
        metric of `engine.accounts.metrics.METRICS`, and those of a lattice, are evaluated anew.
        Columns are values of the gene x, rows those of y; of a gene with many values they are
        middles of ranges. NaN where no feasible candidate has the metric.

        >>> from optimizer import load_run
        >>> load_run(example).grid("ema_fast", "reward_r").shape[0] > 1
        True
        """
        import pandas as pd

        from optimizer.report.charts.progress import find_candidates

        numbers = self.number_of_gene(x), self.number_of_gene(y)
        cells = find_candidates(self, metric).grid(numbers, maximise=wants_more(metric))
        rows, columns = pd.Index(cells.y, name=y), pd.Index(cells.x, name=x)
        return pd.DataFrame(cells.values, index=rows, columns=columns)

    def power(self) -> PowerRecord:
        """Edges that this search would find on these bars, by searches with planted ones.

        Searches that were made are not made again. `StoreError` where the run is not finished, or
        cannot be judged by this version; `ConfigError` where its bars take no edge.
        """
        from optimizer.evidence.judge import measure_power

        with choose_show() as show:
            return measure_power(self.path, self._flags, show)

    @cached_property
    def market_regimes(self) -> "Regimes":
        """Trend and volatility at every bar."""
        from optimizer.report.regimes import find_regimes

        markets = self.task.markets
        return find_regimes(tuple(markets.series), markets.ranges)

    def regimes(self, member: int) -> "pd.DataFrame":
        """Trades of a member by trend and volatility of the market at their signal.

        A row a regime: trades, mean_r (NaN without trades) and sum_r. It describes the bars that
        were searched, and selects nothing; `optimizer.report.regimes` has how they are cut.

        >>> from optimizer import load_run
        >>> bool(load_run(example).regimes(0)["trades"].sum() > 0)
        True
        """
        import pandas as pd

        from optimizer.report.regimes import CELLS

        index = pd.MultiIndex.from_tuples(CELLS, names=["trend", "volatility"])
        return pd.DataFrame(self.market_regimes.summarize(self.trade_columns(member)), index=index)

    def schedule_program(self, platform: str = "backtesting.py") -> str:
        """The schedule by which the run was judged as a program, for a platform as in `program`."""
        from optimizer.export.programs import build_judged_schedule_program

        made = None if self.judgement is None else self.judgement.schedule
        return build_judged_schedule_program(self.task, made, self.id, platform)

    def apart(self, member: int, window: int = 0) -> "Apart":
        """A member taken apart in one of its windows: rows, signals, trades twice."""
        from optimizer.report.apart import Apart

        return Apart(self.task, self.genomes[self.check_member(member)], window)


class Single(Run):
    """A candidate with its task; everything that a `Run` of one member offers.

    Args:
        source: Whose genes they are, such as ``member 3 of run 2026``; may be empty.
        computed_by: ``reference``, ``cpu`` or ``cuda``.
    """

    is_search = False

    def __init__(
        self, task: Task, genome: Floats, source: str = "", computed_by: str = "cpu"
    ) -> None:
        self.source, self._genome, self._computed_by = source, genome, computed_by
        self.path = Path(task.spec.name)
        self.task = task
        # A soft constraint is reached, not measured.
        names = [name for name in task.goals.names if name != MISSED]
        header = build_run_header(task, "cpu", build_identity(task, None))
        self.header = RunHeader.read({**header, "objectives": names})
        self.result, self.status, self.summaries = None, "finished", ()
        sentence = (SIMULATED if self.header.is_simulated else "") + ALONE
        self.judgement, self.verdict = None, Verdict("not_judged", sentence)

    def __repr__(self) -> str:
        return f"{self.verdict.sentence}\nBacktest({self.id!r})"

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """The candidate alone."""
        (candidate,) = describe_individuals(self.task, self.engine, self._genome[None])
        problem = self.task.problem(self.task.engine(device="cpu"))
        reached = problem.measure_objectives(self._genome[None])[0].tolist()
        objectives = dict(zip(self.header.objectives, reached, strict=True))
        return (replace(candidate, objectives=objectives),)

    @cached_property
    def _computed(self) -> tuple[tuple[Ledger, ...], Floats, Accounts]:
        return run_engine(self.task, self._genome, self._computed_by, self.engine)

    @property
    def ledgers(self) -> tuple[Ledger, ...]:
        """Its trades in each window, [W]."""
        return self._computed[0]

    @cached_property
    def record(self) -> Backtest:
        """Its figures over all windows and in each, and how they hang on the order within a bar."""
        return describe_backtest(self.task, self._genome, *self._computed, self._computed_by)

    @property
    def title(self) -> str:
        """Title of its page."""
        return f"Backtest of {self.task.spec.name}" + (f", {self.source}" if self.source else "")

    def name_member(self, member: int) -> str:
        """Name in charts: a backtest is no member of a front, unless it is one of a run."""
        return self.source or "this backtest"


@takes_plain(ConfigError)
def compare_runs(**runs: Run) -> "pd.DataFrame":
    """A row a run with the same objectives: its members, those undominated, its hypervolume.

    Undominated are members that no member of another run dominates; the hypervolume is a share
    of what all dominate together. `ConfigError` where objectives, bars or costs differ.
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


@takes_plain(ConfigError, RUN)
def check_strategy(spec: Strategy, individuals: int = 20, **settings: object) -> "pd.Series":
    """Try a strategy before a search: random individuals, in reference and engine.

    The strategy is known by its name afterwards; `settings` are fields of `RunConfig`. Returns
    individuals, their trades, mismatches (there must be none), and the first of them in words.
    """
    with hold_settings({**settings, "strategy": spec}, "check_strategy") as config:
        task = prepare(config, for_search=True)
        certificate = certify(
            task.engine(device="cpu"), task.random_individuals(individuals), threads=1
        )
    import pandas as pd

    return pd.Series(
        {
            "individuals": certificate.individuals,
            "trades": certificate.trades,
            "mismatches": certificate.mismatches,
            "first mismatch": certificate.first_mismatch or "none",
        },
        name=spec.name,
    )
