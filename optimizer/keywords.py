"""Settings of `optimizer.evolve` and its siblings as keywords that an editor completes.

Types alone: what each means, its default and its limits stand in `optimizer.config`. A test holds
the names against those models.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypedDict

Specs = str | Path | Sequence[str | Path]
"""Sources of bars."""


class BarsKeywords(TypedDict, total=False):
    """Which bars, and bars in memory."""

    bars: object
    data: Specs
    timeframe: str | None
    source_timeframe: str | None
    stamped: Literal["open", "close"]
    tz: str | None
    ambiguous: Literal["earlier", "later"] | None
    dedupe: bool
    drop_bad_bars: bool
    sort: bool
    columns: Mapping[str, str]
    time_format: str | None
    decimal: Literal[".", ","] | None
    tick: float
    price_offset: float
    calendar: str | None
    max_bytes: int | str
    adjusted: bool
    accept_missing: bool
    cache: str | Path | None


class DataKeywords(BarsKeywords, total=False):
    """All fields of `optimizer.config.data.DataSettings`, and bars in memory."""

    aligned_columns: Sequence[str]
    column_file: Specs
    finer: Specs


class JudgeKeywords(TypedDict, total=False):
    """Settings of a judgement, fields of `optimizer.config.evidence.EvidenceSettings`."""

    judge: bool | None
    null: int
    null_keep: Literal["auto", "none", "day", "week"]
    folds: int
    every: str | None
    train: int | str
    pick_by: Literal["strength", "near", "keep"]
    anchored: bool
    cpcv: str | None
    purge: int | None
    embargo: int | None
    blocks: int
    resamples: int
    trials: int


class RunKeywords(DataKeywords, JudgeKeywords, total=False):
    """Settings of a run, fields of `optimizer.config.run_config.RunConfig`, and bars in memory."""

    start: str | None
    end: str | None
    max_gap: str | None
    holdout: str | None
    parts: int
    strategy: object
    scale_lengths: bool
    bounds: Mapping[str, Sequence[float | str] | str]
    trust_rates: bool
    trust_leverage: bool
    fee_bp: float
    slippage_bp: float
    fee_unit: float
    fee_min: float
    min_risk: float
    risk_fraction: float
    max_positions: int | None
    max_leverage: float | None
    rank: str | None
    objectives: str | Sequence[str]
    constraints: Sequence[str]
    over_windows: str
    min_trades: int
    search: Literal["genetic", "lattice"]
    steps: Mapping[str, float]
    population: int
    generations: int
    max_evaluations: int | None
    max_seconds: float | None
    plateau: int | None
    seed: int
    warm_start: str | Path | None
    member: int | None
    repair: bool
    polish: int
    crossover_probability: float
    crossover_eta: int
    mutation_probability: float | None
    mutation_eta: int
    adapt: bool
    survival: Literal["auto", "crowding", "hypervolume", "reference"]
    archive: int
    elite: float
    immigrants: float
    patience: int | None
    on_stagnation: Literal["immigrants", "restart"]
    device: str
    threads: int | None
    memory: int | str | None
    runs: str | Path
    keep: Literal["all", "front", "last"]
    report: bool
    tags: str | Sequence[str]


class ScanKeywords(BarsKeywords, total=False):
    """Settings of a scan, `optimizer.trend_scan.knobs.SCANNED`, and bars in memory."""

    start: str | None
    end: str | None
    threads: int | None


class NullKeywords(BarsKeywords, total=False):
    """Settings of null markets that are written, and bars in memory."""

    aligned_columns: Sequence[str]
    start: str | None
    end: str | None
    seed: int
    null_keep: Literal["auto", "none", "day", "week"]


class ForecastKeywords(DataKeywords, total=False):
    """Settings of `optimizer.forecasts.settings.ForecastSettings`, and which bars."""

    model: Literal["naive", "ridge", "gru", "tcn", "lstm", "attention"]
    horizon: int
    window: int
    train: int
    refit: int
    features: str
    target: Literal["scaled", "return"]
    seeds: int
    seed: int
    hidden: int
    steps: int
    batch: int
    stack: int
    is_bf16: bool
    device: str
    threads: int
