"""What was found out about a run's pick, as it is recorded, printed and read back.

A number that is undefined is None, and ``why`` says by its name why.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from optimizer.evidence.figures import Figure
from optimizer.grades import GRADES
from optimizer.runs.payload import OPTIONAL, Payload
from optimizer.runs.result import Figures, RunResult, recorded_result
from optimizer.runs.store import RunStore

JUDGEMENT = "judgement"
"""Name of the rows of evidence that hold judgements; the last one counts."""

Number = float | None
Why = Annotated[Mapping[str, str], OPTIONAL]


def encode_figure(figure: Figure) -> Number:
    """A figure as JSON holds it."""
    return figure.value if figure.is_defined else None


def numbers(**figures: Figure) -> dict[str, Any]:
    """Figures as fields of a record: their values, and the reasons of those without one."""
    values = {name: encode_figure(one) for name, one in figures.items()}
    return {**values, "why": {name: one.why for name, one in figures.items() if one.why}}


@dataclass(frozen=True)
class VerdictRecord(Payload):
    """The grade, the sentence that comes first wherever the front is shown, and the reasons."""

    grade: str
    sentence: str
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.grade not in GRADES:
            raise ValueError("there is no such grade")


@dataclass(frozen=True)
class PickRecord(Payload):
    """The member that is judged.

    Args:
        is_named: Whether a person named it; else it is that of greatest strength.
        mean_r: Of its trades on the searched bars.
        trades_by_symbol: Number of trades there, of symbols with any.
    """

    member: int
    genes: Mapping[str, int | float]
    strength: Number
    trades: int
    why: Why = field(default_factory=dict)
    is_named: Annotated[bool, OPTIONAL] = False
    mean_r: Number = None
    trades_by_symbol: Annotated[Mapping[str, int], OPTIONAL] = field(default_factory=dict)


@dataclass(frozen=True)
class Compared(Payload):
    """A number of the run, how many null searches did at least as well, and p."""

    value: Number
    at_least: int
    p: float


@dataclass(frozen=True)
class NullKind(Payload):
    """Null searches on one kind of market.

    Args:
        run: How many count.
        stopped: Whether so many did as well that the rest was left.
        strength: Of the pick; it alone decides.
        objectives: The best of each over the front.
        hypervolume: Of the front; None where it is undefined.
        strengths: Of each search that counts, None of an empty front.
    """

    run: int
    stopped: bool
    strength: Compared
    objectives: Mapping[str, Compared]
    hypervolume: Compared | None
    strengths: tuple[Number, ...]


@dataclass(frozen=True)
class NullRecord(Payload):
    """The same search on markets without an edge; ``mirrored`` where shuffled ones say no luck.

    Args:
        stop_after: As in `EvidenceSettings`; 0 where a version did not record it.
    """

    planned: int
    keep: str
    shuffled: NullKind
    mirrored: NullKind | None = None
    stop_after: Annotated[int, OPTIONAL] = 0


@dataclass(frozen=True)
class Range(Payload):
    """Bars of a symbol, by the times of the first and the last."""

    symbol: str
    first: str
    last: str


@dataclass(frozen=True)
class FoldRow(Payload):
    """One fold: searched on `train`, its pick judged on `test`; no genes of an empty front.

    Args:
        untested: Symbols of the run without a bar in `test`.
    """

    what: ClassVar[str] = "a fold"

    train: tuple[Range, ...]
    test: tuple[Range, ...]
    genes: Mapping[str, int | float]
    trades: int
    mean_r: Number
    efficiency: Number
    why: Why = field(default_factory=dict)
    untested: Annotated[tuple[str, ...], OPTIONAL] = ()


@dataclass(frozen=True)
class FoldsRecord(Payload):
    """Folds that were searched again, one after another in time; not the pick is judged by them.

    Args:
        kind: ``rolling`` or ``anchored``.
        train: Groups that each is trained on.
        purge: Bars cut from the end of training.
    """

    kind: str
    train: int
    purge: int
    rows: tuple[FoldRow, ...]
    trades: int
    closing_days: int
    mean_r: Number
    strength: Number
    psr: Number
    drift: Number
    embargo: int = 0
    why: Why = field(default_factory=dict)


@dataclass(frozen=True)
class PathsRecord(Payload):
    """Combinatorial splits, each searched again, and the strengths of their paths."""

    splits: int
    paths: tuple[Number, ...]
    least: Number
    low: Number
    median: Number


@dataclass(frozen=True)
class StabilityRecord(Payload):
    """Combinatorial splits of which each picks anew among the trials of the one search.

    In-sample, for that search saw all bars.
    """

    splits: int
    least: Number
    low: Number
    median: Number
    why: Why = field(default_factory=dict)


@dataclass(frozen=True)
class TrialsRecord(Payload):
    """How many individuals the search evaluated, could be judged, and were used in a matrix."""

    evaluated: int
    judged: int
    used: int
    effective: Number
    why: Why = field(default_factory=dict)


@dataclass(frozen=True)
class SharpeRecord(Payload):
    """The pick's Sharpe ratio per day, and how sure it is after so many tries."""

    daily: Number
    skew: Number
    kurtosis: Number
    days: int
    psr: Number
    min_trl: Number
    dsr_effective: Number
    dsr_all: Number
    why: Why = field(default_factory=dict)


@dataclass(frozen=True)
class CscvRecord(Payload):
    """What became of the best of one half of the blocks in the other half."""

    blocks: int
    pbo: Number
    loss: Number
    slope: Number
    intercept: Number
    median_logit: Number
    why: Why = field(default_factory=dict)


@dataclass(frozen=True)
class BootstrapRecord(Payload):
    """Tests of all trials against an account that does nothing, had they been chosen blindly."""

    resamples: int
    block: Number
    rc_p: Number
    spa_lower: Number
    spa_p: Number
    spa_upper: Number
    better: int
    why: Why = field(default_factory=dict)


@dataclass(frozen=True)
class CostRecord(Payload):
    """The pick's trades at a multiple of what was charged."""

    times: float
    strength: Number
    sum_r: float


@dataclass(frozen=True)
class RobustRecord(Payload):
    """What little changes do to the pick, on searched bars.

    Args:
        plateau: Share of near neighbours that keep half of its strength.
        neighbours: How many there are.
        costs: Its trades at other costs.
        break_even_bp: Costs a side at which nothing is left.
        charged_bp: Those that were charged.
        delay: Strength when each entry comes a bar later.
        undecided: Share of trades that touched stop and target in one bar.
        target_first: Strength had the target come first in them.
        left_out: Mean R without each symbol or group of bars, by name.
        drawdowns: Deepest falls of the middle account, and of the worst 5 and 1 % of orders.
        checks: Of C1 to C5, whether it passed.
    """

    plateau: Number
    neighbours: int
    costs: tuple[CostRecord, ...]
    break_even_bp: Number
    charged_bp: float
    delay: Number
    undecided: Number
    target_first: Number
    left_out: Mapping[str, Number]
    drawdowns: tuple[Number, ...]
    checks: Mapping[str, bool]
    why: Why = field(default_factory=dict)


@dataclass(frozen=True)
class CausalRecord(Payload):
    """Whether any trade of any member uses a later bar."""

    cuts: int
    members: int
    trades: int
    mismatches: int
    first: Annotated[str, OPTIONAL] = ""


@dataclass(frozen=True)
class HeldOutRecord(Payload):
    """The pick on bars that the search had not seen, and how often such bars were looked at.

    Args:
        members: Figures there of every member, by number.
        by_window: Some metrics of each member in all windows, searched on and held out.
    """

    looks: int
    trades: int
    closing_days: int
    mean_r: Number
    psr: Number
    members: tuple[Figures, ...] = ()
    by_window: tuple[Mapping[str, tuple[Number, ...]], ...] = ()
    why: Why = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Judgement(Payload):
    """All evidence on a run; a part that was not asked for is None.

    Args:
        searches: Distinct fronts that were searched on bars overlapping these, this included.
        fits: Forecasts fitted on these bars before one was chosen for the strategy to read.
        notes: What was left out, and why.
        rules: Version of those that gave the verdict; 0 where it was not recorded.
    """

    what: ClassVar[str] = "the judgement"

    verdict: VerdictRecord
    pick: PickRecord | None = None
    null: NullRecord | None = None
    folds: FoldsRecord | None = None
    cpcv: PathsRecord | None = None
    trials: TrialsRecord | None = None
    sharpe: SharpeRecord | None = None
    cscv: CscvRecord | None = None
    stability: StabilityRecord | None = None
    bootstrap: BootstrapRecord | None = None
    robust: RobustRecord | None = None
    causal: CausalRecord | None = None
    held_out: HeldOutRecord | None = None
    searches: int = 1
    fits: Annotated[int, OPTIONAL] = 0
    notes: tuple[str, ...] = ()
    rules: Annotated[int, OPTIONAL] = 0

    @property
    def tries(self) -> int:
        """How often something was tried on these bars: each forecast counts as a search does."""
        return self.searches + self.fits


def opened_result(store: RunStore) -> tuple[RunResult | None, Judgement | None]:
    """The result of a run with what was opened of it, and its newest judgement; None without."""
    result = recorded_result(store)
    found = None if result is None else recorded_judgement(store)
    return result and with_held_out(result, found), found


def recorded_judgement(store: RunStore) -> Judgement | None:
    """The newest judgement of a run; None where it was never judged.

    Raises:
        StoreError: When the evidence is damaged.
    """
    rows = [row for name, row in store.evidence if name == JUDGEMENT]
    return Judgement.read(rows[-1]) if rows else None


def recorded_judgements(store: RunStore) -> list[Judgement]:
    """All judgements of a run, oldest first.

    Raises:
        StoreError: When the evidence is damaged.
    """
    return [Judgement.read(row) for name, row in store.evidence if name == JUDGEMENT]


def with_held_out(result: RunResult, found: Judgement | None) -> RunResult:
    """A result whose members have their figures on held-out bars, where those were opened."""
    if found is None or found.held_out is None:
        return result
    held_out = found.held_out
    parts = zip(result.front, held_out.members, held_out.by_window, strict=True)
    front = tuple(replace(one, held_out=kept, by_window=each) for one, kept, each in parts)
    return replace(result, front=front)
