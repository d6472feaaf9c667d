"""Header of a run with its genes, and its result with the front and the certificate."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

import numpy as np

from engine.accounts.account import ACCOUNT_METRICS
from engine.accounts.metrics import METRICS
from engine.certificate import Certificate
from optimizer.config.values import Specs
from optimizer.errors import ParityError, StoreError
from optimizer.formatting import format_count, fraction
from optimizer.goals.constraints import MEAN, POOLED
from optimizer.goals.objectives import is_maximised
from optimizer.search.generation import Floats, Population, final_front
from optimizer.store.caveats import Caveats, RunAnswer
from optimizer.store.payload import OPTIONAL, Payload
from optimizer.store.rows import count_rejected
from optimizer.store.store import RunStore
from strategy.gene import GeneText

BESIDE = {"total_return": "hold_at_equal_volatility", "max_drawdown": "max_drawdown_marked"}
"""A metric's figure of the account stands right behind it."""

FIGURES = tuple(
    name
    for metric in (*METRICS, *ACCOUNT_METRICS)
    for name in (metric, BESIDE.get(metric, ""))
    if name and metric not in BESIDE.values()
)
"""Names of all metrics that are shown, in order."""

Figure = float | None
"""A metric or an objective; None where it is undefined."""


@dataclass(frozen=True)
class GeneRecord(Payload):
    """A gene, ``int`` or ``float``, with its bounds."""

    name: str
    kind: str
    low: float
    high: float
    step: float | None = None
    options: tuple[str, ...] = ()  # names of its values, from 0 on; empty where they are numbers


def number_genes(
    genes: Mapping[str, GeneText], options: Mapping[str, Sequence[str]]
) -> Iterator[float]:
    """Numbers of genes in their order; StoreError when a text names none of the options."""
    for name, value in genes.items():
        if not isinstance(value, str):
            yield value
        elif value in (known := options.get(name, ())):
            yield float(list(known).index(value))
        else:
            raise StoreError(f"gene '{name}' is '{value}', which the header does not know")


@dataclass(frozen=True, kw_only=True)
class WindowDescription(Payload):
    """A window of bars [start, end)."""

    symbol: str
    sample: str  # its purpose, one of `formatting.SAMPLES`
    start: int
    end: int  # the bar after the last
    first: str
    last: str
    bars: int
    label: str = ""  # its name; the symbol where that is enough
    silent: int = 0  # bars without volume
    gaps: int = 0  # steps longer than a bar that end in it
    missing: int = 0  # bars that miss in them

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.symbol)

    @property
    def is_held_out(self) -> bool:
        """True if no search has seen it."""
        return self.sample == "held out"


@dataclass(frozen=True)
class DataDescription(Payload):
    """The bars that a result was found on: `bars` to search on, over all windows."""

    spec: Specs
    symbol: str
    timeframe: str
    bars: int
    held_out_bars: int = 0
    is_simulated: bool = False
    notes: tuple[str, ...] = ()
    windows: tuple[WindowDescription, ...] = ()

    @property
    def searched(self) -> tuple[WindowDescription, ...]:
        """Windows that are not held out."""
        return tuple(window for window in self.windows if not window.is_held_out)

    @property
    def held_out(self) -> tuple[WindowDescription, ...]:
        """Windows that no search has seen."""
        return tuple(window for window in self.windows if window.is_held_out)


@dataclass(frozen=True, kw_only=True)
class Figures(Caveats):
    """Figures of an individual over some windows."""

    metrics: Mapping[str, Figure]
    undefined: Mapping[str, str] = field(default_factory=dict)  # why metrics are None, by name
    # Name to value in natural sign, windows taken together as in the search.
    objectives: Annotated[Mapping[str, Figure], OPTIONAL] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Member(Figures):
    """An individual of a front, and its figures over the windows to search on."""

    genes: Mapping[str, GeneText]
    objectives: Annotated[Mapping[str, float], OPTIONAL] = field(default_factory=dict)
    # Its figures over the windows that are held out; None without any.
    held_out: Annotated[Figures | None, OPTIONAL] = None
    # Some metrics of each window, [W]; empty where there is only one.
    by_window: Annotated[Mapping[str, tuple[Figure, ...]], OPTIONAL] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing(Payload):
    """Seconds of a search and of replaying its front, in the process that ended the run."""

    search_s: float
    certificate_s: float
    evaluated: int  # individuals that this process evaluated
    individual_bars_per_s: float  # its rate, without compiling
    # Seconds of the search spent on compiling loops and kernels.
    compile_s: Annotated[float, OPTIONAL] = 0.0

    @property
    def warm_s(self) -> float:
        """Seconds of the search without compiling."""
        return self.search_s - self.compile_s


@dataclass(frozen=True)
class DeviceUsed(Payload):
    """Device that evaluated a run, its cores, and the reason for it."""

    name: str
    threads: int
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class RunResult(Payload):
    """Result of a finished run."""

    what: ClassVar[str] = "the result"

    run: str
    path: str
    strategy: str
    search: str = "genetic"
    data: DataDescription
    generation: int
    individuals: int  # survivors of the last generation
    population: int = 0
    # Reasons of all that the whole search evaluated, and how often each.
    infeasible: Mapping[str, int] = field(default_factory=dict)
    objectives: tuple[str, ...]
    # Formulas of objectives that have a name of their own, by it.
    formulas: Annotated[Mapping[str, str], OPTIONAL] = field(default_factory=dict)
    # How objectives take windows together where they do not say it themselves.
    over_windows: str = MEAN
    front: tuple[Member, ...]  # its members; as recorded in the order in which they were certified
    # The candidate nearest to being feasible, where the front is empty.
    nearest: Annotated[Member | None, OPTIONAL] = None
    # Share of the account that one R is; None where trades are sized otherwise.
    risk_fraction: Annotated[float | None, OPTIONAL] = None
    front_hash: str  # SHA-256 of genes and objectives of the front, in whatever order
    data_hash: str
    certificate: Certificate
    device: DeviceUsed
    hypervolume: float = 0.0  # of the front, as in `Generation`
    stopped_by: str = "generations"
    # Individuals that the whole search evaluated, by whatever processes, repeats and those of
    # the polish among them.
    evaluated: int
    polished: int = 0  # individuals that were tried to polish the front
    # Low and high bound of each gene.
    bounds: Annotated[Mapping[str, tuple[float, float]], OPTIONAL] = field(default_factory=dict)
    # Names of the options of each gene without order.
    options: Annotated[Mapping[str, tuple[str, ...]], OPTIONAL] = field(default_factory=dict)
    timing: Timing
    # The strongest member, until a judgement has one; None if none can be picked.
    answer: Annotated[RunAnswer | None, OPTIONAL] = None
    # Set where a run was to be resumed and was finished already.
    resumed: Annotated[str, OPTIONAL] = ""

    def __post_init__(self) -> None:
        for number, member in enumerate(self.front):
            for name, value in member.genes.items():
                if isinstance(value, str) and value not in self.options.get(name, ()):
                    raise StoreError(
                        f"{self.what} cannot be read: front.{number}.genes.{name}: '{value}' is "
                        "neither a number nor an option"
                    )

    @property
    def genomes(self) -> Floats:
        """Genomes of the members, [F, G]."""
        rows = [list(number_genes(member.genes, self.options)) for member in self.front]
        return np.array(rows, np.float64).reshape(len(rows), len(rows[0]) if rows else 0)

    @property
    def gone(self) -> dict[int, str]:
        """When the accounts of members stood at nothing, as of `Caveats`, by number."""
        return {number: member.gone for number, member in enumerate(self.front) if member.gone}

    @property
    def strongest(self) -> int | None:
        """Number of the strongest member; None where none can be picked."""
        strengths = [member.metrics.get("strength") for member in self.front]
        known = np.array([np.nan if value is None else value for value in strengths], np.float64)
        return find_strongest(known, self.genomes, self.gone.__contains__)

    def count_trades(self, number: int) -> int:
        """Trades of a member in all searched windows: as a metric they may be a mean over them."""
        member = self.front[number]
        counts = member.by_window.get("trades") or (member.metrics["trades"],)
        return int(sum(count or 0 for count in counts))

    def build_answer(self, number: int, strength: Figure, trades: int) -> RunAnswer:
        """Answer of a run with a member as its pick."""
        metrics = self.front[number].metrics
        names = ("total_return", "cagr", "max_drawdown")
        total_return, cagr, max_drawdown = (metrics.get(name) for name in names)
        return RunAnswer(strength, total_return, trades, cagr, max_drawdown)

    def add_answer(self) -> "RunResult":
        """Result with the answer of a run that is not judged."""
        number = self.strongest
        if number is None:
            return self
        strength = self.front[number].metrics.get("strength")
        return replace(self, answer=self.build_answer(number, strength, self.count_trades(number)))

    def restore_order(self, genes: Sequence[str]) -> "RunResult":
        """Result with members by their numbers, and names in order: JSON has them sorted."""
        orders = {
            "genes": genes,
            "objectives": self.objectives,
            "metrics": FIGURES,
        }
        front = [
            replace(
                _restore_order(member, orders),
                held_out=member.held_out and _restore_order(member.held_out, orders),
            )
            for member in self.front
        ]
        return replace(self, front=sort_best_first(front, self.objectives))


def find_strongest(
    strengths: Floats,
    genomes: Floats,
    is_gone: Callable[[int], bool] = lambda _: False,
) -> int | None:
    """The member that every verdict is about: of greatest strength, the first by genome if equal.

    NaN of strengths [F] never wins, nor does a member that is gone: its account stood at nothing at
    a close. None of an empty front, and where no member that stands has a strength.
    """
    known = np.flatnonzero(~np.isnan(strengths))
    while len(known):
        best = known[strengths[known] == strengths[known].max()]
        strongest = int(min(best, key=lambda member: tuple(genomes[member].tolist())))
        if not is_gone(strongest):
            return strongest
        known = known[known != strongest]
    return None


def load_result(store: RunStore) -> RunResult | None:
    """The result of a run, members by their numbers; None before it is finished.

    StoreError when it is damaged, or contradicts the recorded generations.
    """
    recorded = store.result
    if recorded is None:
        return None
    # A run may have been moved or copied since.
    result = RunResult.read({**recorded, "run": store.run_id, "path": ""})
    result = replace(result, path=str(store.path))
    header, last = RunHeader.read(store.header), store.last_generation()
    front = None if last is None else final_front(last)
    if front is None or not _is_agreeing(result, header, front):
        raise StoreError(
            f"run '{store.run_id}': members of the result are not those of generation "
            f"{result.generation}: it was changed afterwards, use a copy that was not"
        )
    # JSON has names sorted.
    bounds = {gene.name: (gene.low, gene.high) for gene in header.genes}
    counts = count_rejected(store.generations())
    ordered = replace(result, infeasible=counts, bounds=bounds, options=header.options)
    return ordered.restore_order(header.gene_names)


def _is_agreeing(result: RunResult, header: "RunHeader", front: Population) -> bool:
    """True if members have the objectives of the recorded front; polishing found others."""
    names = {*header.objectives}
    if result.objectives != header.objectives or any(
        member.objectives.keys() != names or member.genes.keys() != {*header.gene_names}
        for member in result.front
    ):
        return False
    if not result.polished and len(result.front) != len(front):
        return False
    rows = zip(front.genomes.tolist(), header.natural(front.objectives).tolist(), strict=True)
    known = {tuple(genome): objectives for genome, objectives in rows}
    for member in result.front:
        genes = {name: member.genes[name] for name in header.gene_names}
        expected = known.get(tuple(number_genes(genes, header.options)))
        reached = [member.objectives.get(name) for name in header.objectives]
        if (expected is None and not result.polished) or expected not in (None, reached):
            return False
    return True


def refuse_red(certificate: Certificate) -> None:
    """Refuse what reference and engine disagree about."""
    if certificate.mismatches:
        raise ParityError(f"reference and engine disagree\n{certificate.first_mismatch}")


def describe_certificate(certificate: Certificate) -> str:
    """Extent of the comparison, and whether reference and engine agree."""
    mismatches, slow = certificate.mismatches, ", ".join(certificate.uncompiled)
    return (
        f"{format_count(certificate.individuals, 'candidate')} replayed by the reference, "
        f"{format_count(certificate.trades, 'trade')}, "
        + (f"{mismatches} MISMATCHES" if mismatches else "0 mismatches")
        + (f", {slow} in plain Python" if slow else "")
    )


def describe_quality(windows: Iterable[WindowDescription]) -> tuple[str, ...]:
    """Gaps and silent bars, a line for those searched on and one for those held out.

    Windows that overlap are counted as often as a bar is in one.
    """
    lines = []
    for name, is_held_out in (("searched on", False), ("held out", True)):
        part = [window for window in windows if window.is_held_out == is_held_out]
        if part:
            lines.append(f"bars {name}: {_describe_gaps(part)}")
    return tuple(lines)


def _describe_gaps(windows: Sequence[WindowDescription]) -> str:
    bars, silent, gaps, missing = (
        sum(getattr(window, name) for window in windows)
        for name in ("bars", "silent", "gaps", "missing")
    )
    missed = f"{format_count(gaps, 'gap')}, {format_count(missing, 'bar')} missing"
    missed += f" ({fraction(missing / (missing + bars))})"
    unheard = f"{format_count(silent, 'bar')} without volume ({fraction(silent / bars)})"
    return f"{missed if gaps else 'no gap'}, {unheard if silent else 'each with volume'}"


def sort_best_first(front: Sequence[Member], objectives: Sequence[str]) -> tuple[Member, ...]:
    """Members in the order of their numbers: the best in the first objective first.

    Equal members stay in their order.
    """
    sign = -1.0 if is_maximised(objectives[0]) else 1.0
    return tuple(sorted(front, key=lambda member: sign * member.objectives[objectives[0]]))


def choose_noun(windows: Iterable[WindowDescription]) -> str:
    """Noun for things with a label of their own: a ``symbol`` each, or a ``window`` of one."""
    return "symbol" if all(window.label == window.symbol for window in windows) else "window"


Described = TypeVar("Described", Member, Figures)


@dataclass(frozen=True)
class RunHeader(Payload):
    """The circumstances of a recorded run."""

    what: ClassVar[str] = "the header"

    created_at: str = ""
    strategy: str = ""
    data: str = ""  # symbol and duration of a bar
    is_simulated: bool = False
    # First bar of each window to search on, and the one after its last.
    windows: tuple[tuple[int, int], ...] = ()
    held_out: tuple[tuple[int, int], ...] = ()
    genes: tuple[GeneRecord, ...] = ()
    objectives: tuple[str, ...] = ()
    formulas: Mapping[str, str] = field(default_factory=dict)  # of objectives with a name, by it
    costs: Mapping[str, float | str | None] = field(default_factory=dict)
    seed: int | None = None
    failure_names: tuple[str, ...] = ("",)  # by the code of a failure
    notes: tuple[str, ...] = ()  # a line for each thing that a person must know of the bars
    versions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def gene_names(self) -> tuple[str, ...]:
        """Names of the genes, in the order of a genome."""
        return tuple(gene.name for gene in self.genes)

    @property
    def options(self) -> dict[str, tuple[str, ...]]:
        """Names of the options of each gene without order."""
        return {gene.name: gene.options for gene in self.genes if gene.options}

    @property
    def is_category(self) -> list[bool]:
        """True for each gene without an order, [G]."""
        return [bool(gene.options) for gene in self.genes]

    def list_genomes(self, members: Sequence[Member]) -> Floats:
        """Genomes [F, G] of members with these genes; StoreError when an option is unknown."""
        names = self.gene_names
        named = ({name: member.genes[name] for name in names} for member in members)
        rows = [list(number_genes(genes, self.options)) for genes in named]
        return np.array(rows, np.float64).reshape(len(rows), len(names))

    def show_genomes(self, genomes: Floats) -> dict[str, list[GeneText]]:
        """Values [N] of each gene of checked genomes [N, G] as people read them, by name."""
        columns: dict[str, list[GeneText]] = {}
        for gene, values in zip(self.genes, genomes.T.tolist(), strict=True):
            options = gene.options
            columns[gene.name] = [options[int(value)] for value in values] if options else values
        return columns

    def check_genes(self, genomes: Floats) -> None:
        """Refuse genomes [N, G] of other genes than there are, or beyond their bounds."""
        if genomes.shape[-1] != len(self.genes):
            raise StoreError(
                f"the header names {format_count(len(self.genes), 'gene')}, and candidates have "
                f"{genomes.shape[-1]}"
            )
        for gene, values in zip(self.genes, genomes.T, strict=True):
            outside = values[~np.isfinite(values) | (values < gene.low) | (values > gene.high)]
            if len(outside):
                raise StoreError(
                    f"the header bounds {gene.name} by {gene.low:g} and {gene.high:g}, and a "
                    f"candidate has {outside[0]:g}"
                )
            count = len(gene.options)
            if count and not np.isin(values, np.arange(count)).all():
                raise StoreError(
                    f"the header names {count} options of {gene.name}, not all there are"
                )

    def natural(self, objectives: Floats) -> Floats:
        """Minimised objectives [..., O] in the sign that people know, and back again.

        StoreError when they are others than the header names.
        """
        if objectives.shape[-1] != len(self.objectives):
            raise StoreError(
                f"the header names {format_count(len(self.objectives), 'objective')}, and "
                f"candidates have {objectives.shape[-1]}"
            )
        signs = np.array([-1.0 if is_maximised(name) else 1.0 for name in self.objectives])
        natural: Floats = signs * objectives + 0.0
        return natural


def _restore_order(described: Described, orders: Mapping[str, Sequence[str]]) -> Described:
    mappings = {part: getattr(described, part) for part in orders if hasattr(described, part)}
    changes = {
        part: {name: values[name] for name in orders[part] if name in values} | values
        for part, values in mappings.items()
    }
    return replace(described, **changes)


class _SymbolSpan(Protocol):
    """Bars of a symbol, by the times of the first and the last."""

    @property
    def symbol(self) -> str: ...
    @property
    def first(self) -> str: ...
    @property
    def last(self) -> str: ...


def overlap(some: Sequence[_SymbolSpan], others: Sequence[_SymbolSpan]) -> bool:
    """True if spans of one symbol share a time; ISO times are in order as texts."""
    return any(
        bars.symbol == other_bars.symbol
        and bars.first <= other_bars.last
        and other_bars.first <= bars.last
        for bars in some
        for other_bars in others
    )


def describe_windows(windows: Iterable[WindowDescription], over: str) -> str:
    """Meaning of numbers over several searched windows, in words; empty where there is one.

    `over` is the rule by which they are taken together.
    """
    windows = [window for window in windows if not window.is_held_out]
    if len(windows) < 2:
        return ""
    noun = choose_noun(windows)
    count = format_count(len(windows), noun)
    if over == MEAN:
        return f"each number is the mean of {format_count(len(windows), 'account')}, one a {noun}"
    if over == POOLED:
        return f"all trades of {count} are one account"
    return f"objectives are the {over} of {count}, other numbers means"
