"""Groups of knobs: bars, strategy, costs, search, machine, record, and evidence on a front."""

from typing import Literal

from optimizer.config.values import (
    AlignedColumns,
    Blocks,
    Bounds,
    Bytes,
    ColumnFiles,
    Columns,
    Comparisons,
    Device,
    Duration,
    Eta,
    FinerSpecs,
    Folder,
    Goals,
    Groups,
    Keep,
    MaybeBytes,
    Settings,
    Specs,
    Steps,
    Tags,
    Training,
    knob,
)
from optimizer.errors import ConfigError


class DataSettings(Settings, decides="data"):
    """Where bars come from, and how they are read."""

    data: Specs = knob(
        ("sample",),
        "Bars: sample, csv:PATH or parquet:PATH; a folder or a pattern is all its files; the flag "
        "repeats.",
    )
    timeframe: str | None = knob(
        None, "Duration of a bar, such as 15m; longer than the file's resamples."
    )
    source_timeframe: str | None = knob(
        None,
        "Duration of the source's own bars, such as 1m, where its steps do not show it: a market "
        "that trades seldom.",
    )
    stamped: Literal["open", "close"] = knob("open", "At which end of a bar its time lies.")
    tz: str | None = knob(
        None,
        "IANA zone of timestamps that name none, and of the days and weeks that bars are merged "
        "into; a shift may follow, as in America/New_York+7h.",
    )
    ambiguous: Literal["earlier", "later"] | None = knob(
        None,
        "Which moment a local time means that clocks show twice in autumn, where the order of rows "
        "does not show it.",
    )
    dedupe: bool = knob(False, "Drop rows that repeat the row before them.")
    drop_bad_bars: bool = knob(False, "Drop rows that are no legal bar.")
    sort: bool = knob(False, "Put rows in the order of time.")
    columns: Columns = knob(
        {},
        "What a column holds, for names that are not recognised: timestamp, date, time, open, "
        "high, low, close, volume or symbol, and its name; the flag repeats.",
    )
    aligned_columns: AlignedColumns = knob(
        [],
        'A further column of the bars\' own file, as column("NAME") of a strategy: you state that '
        "each number was known when its bar closed; NAME=COLUMN where the file calls it otherwise; "
        "the flag repeats.",
    )
    column_file: ColumnFiles = knob(
        [],
        'A file of numbers with the time from which each was known, as column("NAME") of a '
        "strategy; NAME=FILE@600 forgets them after 600 minutes; the flag repeats.",
    )
    finer: FinerSpecs = knob(
        [],
        "Finer bars of the same market, as --data names them: what touches an order, a stop or a "
        "target is read by these, in their order; one for each --data.",
    )
    time_format: str | None = knob(
        None, "How times are written, such as %d/%m/%Y %H:%M, if several ways fit."
    )
    decimal: Literal[".", ","] | None = knob(
        None, "The mark that begins decimals, if commas could be either."
    )
    tick: float = knob(
        0.0, "Widen bars whose high or low misses open or close by this or less.", ge=0
    )
    price_offset: float = knob(
        0.0,
        "Add this to every price, for markets that fell below zero; costs are then shares of the "
        "raised price.",
    )
    calendar: str | None = knob(
        None,
        "Exchange whose closed hours are no gaps, such as XNYS, XLON or CMES; the rhythm of the "
        "weeks shows them if unset.",
        decides="nothing",
    )
    max_bytes: Bytes = knob(
        200_000_000,
        "Refuse data that takes more memory than this, decoded.",
        decides="nothing",
        ge=1,
    )
    adjusted: bool = knob(True, "Fetch prices that are adjusted for splits.")
    accept_missing: bool = knob(False, "Take fetched bars although whole sessions are missing.")
    cache: str | None = knob(None, "Folder of fetched bars; the user's own cache if unset.")


class WindowSettings(Settings, decides="data"):
    """Settings of the bars to search on, and of those held out."""

    start: str | None = knob(
        None,
        "First bar to trade, ISO time; those before it only warm indicators up.",
        also="--from",
    )
    end: str | None = knob(None, "Trade bars that open before this ISO time.", also="--to")
    max_gap: str | None = knob(
        None,
        "Cut series where bars are further apart than this, such as 4d; nothing reaches from one "
        "part into the next; parts too short for the longest window are skipped.",
    )
    holdout: str | None = knob(
        None,
        "Keep the last bars of each series from the search and judge the result on them: a share "
        "such as 20%, or an ISO time.",
    )
    parts: int = knob(
        1,
        "Cut the searched bars of each series into this many windows of their own, of which "
        "objectives such as strength@worst speak; part of the search, it confirms nothing.",
        ge=1,
        le=1000,
    )


class StrategySettings(Settings, decides="strategy"):
    """The strategy and the bounds of its genes."""

    strategy: str = knob(
        "seller_exhaustion",
        "Name of the strategy, or the file that says it, FILE.py or FILE.py:NAME.",
    )
    scale_lengths: bool = knob(
        True, "Scale lengths in bars from the strategy's timeframe to the data's."
    )
    bounds: Bounds = knob({}, "Bounds of a gene, each a pair [low, high]; the flag repeats.")
    trust_rates: bool = knob(
        False, "Take funding and borrowing above 0.1 of the price a payment.", decides="nothing"
    )
    trust_leverage: bool = knob(
        False,
        "Take equity_share(...) above 10, risk(...) above 0.2, weights above 1 in sum.",
        decides="nothing",
    )


class CostSettings(Settings, decides="costs"):
    """Costs and risk; the fields of `engine.accounts.costs.Costs`."""

    fee_bp: float = knob(5.0, "Fee per side, basis points of notional.", ge=0, le=10_000)
    slippage_bp: float = knob(5.0, "Slippage per side, basis points.", ge=0, le=10_000)
    fee_unit: float = knob(0.0, "Fee per side for one unit, money, beside the other.", ge=0)
    fee_min: float = knob(0.0, "Least fee of a fill, money; for strategies with an account.", ge=0)
    min_risk: float = knob(
        0.0001, "Trades that risk no more than this share of price are rejected.", ge=0, le=1
    )
    risk_fraction: float = knob(0.01, "Share of equity that one R is worth.", gt=0, le=1)
    max_positions: int | None = knob(
        None, "Most positions that one account has open together.", ge=1, le=1_000_000
    )
    max_leverage: float | None = knob(
        None, "Most that they are worth together, times the account.", gt=0
    )
    rank: str | None = knob(
        None, "Row by which signals are taken where several ask, greatest first."
    )


class SearchSettings(Settings, decides="search"):
    """How to search."""

    search: Literal["genetic", "lattice"] = knob(
        "genetic", "How to search: by a genetic search, or every point of a lattice."
    )
    steps: Steps = knob(
        {},
        "Step of a gene on the lattice, from its low bound to its high one; genes without a step "
        "keep their published value; the flag repeats.",
    )
    population: int = knob(128, "Candidates in a generation.", ge=1, le=10_000_000)
    generations: int = knob(
        50, "Generations after the initial one.", decides="end", ge=0, le=10_000_000
    )
    max_evaluations: int | None = knob(
        None, "Stop before more candidates than this are evaluated.", decides="end", ge=1
    )
    max_seconds: float | None = knob(
        None,
        "Stop after so many seconds of search; where that is depends on the machine.",
        decides="end",
        gt=0,
    )
    plateau: int | None = knob(
        None, "Stop after so many generations without growth of hypervolume.", decides="end", ge=1
    )
    seed: int = knob(1, "Decides every random number.", ge=0, le=2**63 - 1)
    warm_start: str | None = knob(
        None,
        "Candidates to begin with: a .json or .csv file, or the front of a run.",
        decides="warm start",
        also="--run",
    )
    member: int | None = knob(
        None,
        "Of those candidates, begin with this one alone, by its number.",
        decides="warm start",
        ge=0,
    )
    repair: bool = knob(
        False,
        "Move candidates of --warm-start inside the bounds and constraints, and say how many; "
        "refuse them else.",
        decides="warm start",
    )
    polish: int = knob(
        4096, "Neighbours of the final front that are tried at most, all in one batch.", ge=0
    )
    crossover_probability: float = knob(0.9, "Chance that two parents are crossed.", ge=0, le=1)
    crossover_eta: Eta = knob(15, "Distribution index of the crossover.")
    mutation_probability: float | None = knob(
        None, "Chance of a gene to mutate; one gene of a genome if unset.", ge=0, le=1
    )
    mutation_eta: Eta = knob(7, "Distribution index of the mutation.")
    adapt: bool = knob(True, "Use operators more often that do well.")
    survival: Literal["auto", "crowding", "hypervolume", "reference"] = knob(
        "auto",
        "Who survives: NSGA-II's crowding, hypervolume, or NSGA-III's reference directions; auto "
        "is hypervolume up to three objectives, reference beyond.",
    )
    archive: int = knob(
        1000,
        "Compromises that are kept at most, of all ever seen; when there are more, those leave "
        "that cost the least hypervolume.",
        ge=1,
        le=1_000_000,
    )
    elite: float = knob(0.0, "Chance of a parent to be of the archive.", ge=0, le=1)
    immigrants: float = knob(0.0, "Share of newcomers that are drawn from anywhere.", ge=0, le=1)
    patience: int | None = knob(
        10, "Generations without growth of hypervolume that are stagnation.", ge=1
    )
    on_stagnation: Literal["immigrants", "restart"] = knob(
        "immigrants",
        "Answer to stagnation: half of the newcomers from anywhere, or a new population beside "
        "the archive.",
    )


class GoalSettings(Settings, decides="goals"):
    """Objectives and constraints."""

    objectives: Goals = knob(
        "strength,total_return,max_drawdown",
        "Objectives, comma separated, such as sharpe, trades:min, sharpe@worst, sharpe@near, or a "
        "formula, 'calm = cagr / max(max_drawdown, 0.05)'; the flag repeats.",
        also="--objective",
    )
    constraints: Comparisons = knob(
        [],
        "What must hold of a metric or a formula, such as 'max_drawdown <= 0.3'; with soft, "
        "should; the flag repeats.",
    )
    over_windows: str = knob(
        "pooled",
        "How windows make one number: pooled as one, mean, worst, or a quantile such as q25.",
    )
    min_trades: int = knob(30, "Fewer trades make a candidate infeasible.", ge=0)


class DeviceSettings(Settings, decides="nothing"):
    """Where to evaluate."""

    device: Device = knob("auto", "Where to evaluate: auto, cpu, cuda for all GPUs, or cuda:0,1.")


class ComputeSettings(Settings, decides="nothing"):
    """How much of a machine to use."""

    threads: int | None = knob(None, "Cores to use; all of them if unset.", ge=1)
    memory: MaybeBytes = knob(
        None,
        "Most that indicator rows may take, such as 512MiB or 4GB; half of what is free on a host, "
        "and 0.65 of it on a GPU, if unset.",
        ge=1,
    )


class RecordSettings(Settings, decides="nothing"):
    """The run store and the report."""

    runs: Folder = knob("runs", "Folder in which runs are recorded.")
    keep: Keep = knob("all", "What to keep of older generations.")
    report: bool = knob(True, "Write the report of a finished run.")
    tags: Tags = knob([], "A word to find the run by, as in runs list --tag; the flag repeats.")


class EvidenceSettings(Settings, decides="nothing"):
    """Null searches, folds and statistics, as `optimizer/evidence/README.md` explains them."""

    judge: bool | None = knob(
        None,
        "Judge the front: with 299 null searches, or not at all; unset does what takes about as "
        "long as the search.",
    )
    null: int = knob(
        0,
        "Searches on shuffled bars, and as many on mirrored ones where those do not say luck.",
        ge=0,
        le=1_000_000,
    )
    null_keep: Literal["auto", "none", "day", "week"] = knob(
        "auto",
        "Rhythm that shuffled bars keep; auto is the day where every minute of it has 20 bars.",
    )
    folds: int = knob(
        6, "Folds to search again, each judged on the bars after it; 0 for none.", ge=0, le=1000
    )
    every: Duration = knob(
        None,
        "Search again each time so much has passed, such as 30d, on --train before it; its trades "
        "and not folds judge it.",
    )
    train: Training = knob(
        3,
        "Groups of bars that a fold is searched on, or how long a search of --every looks back, "
        "such as 180d.",
    )
    pick_by: Literal["strength", "near", "keep"] = knob(
        "strength",
        "Who trades after each search of --every: the strongest, the one with the strongest "
        "neighbours, or the one before while it is half as strong.",
    )
    anchored: bool = knob(False, "Search each fold from the first bar on.")
    cpcv: Groups = knob(None, "Search combinatorial splits again: 8,2 tests every 2 of 8 groups.")
    purge: int | None = knob(
        None, "Bars cut from training before a test; the longest holding time if unset.", ge=0
    )
    embargo: int | None = knob(
        None, "Bars cut from training after a test; the longest warm-up if unset.", ge=0
    )
    blocks: Blocks = knob(
        12,
        "Blocks of bars whose halves are compared over all trials, an even number; 0 for no "
        "statistics over trials.",
    )
    resamples: int = knob(999, "Resamples of the bootstrap over all trials.", ge=1, le=1_000_000)
    trials: int = knob(4096, "Trials that statistics over days use at most.", ge=2, le=100_000)


def check_schedule(settings: EvidenceSettings) -> None:
    """Refuse half a schedule, with the flag that is missing."""
    is_duration = isinstance(settings.train, str)
    if settings.every is not None and not is_duration:
        raise ConfigError(
            f"--every {settings.every} needs how long each search looks back: --train 180d"
        )
    if settings.every is None and is_duration:
        raise ConfigError(
            f"--train {settings.train} is a duration, which --every asks for: add --every 30d, or "
            "name a number of groups"
        )
