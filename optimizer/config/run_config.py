"""Every knob once: its name, type, range, default and meaning; TOML in and out.

Flags of the command line are made from these fields, so that a knob is described in one place.
What is given on the command line wins over a file, and a file over the defaults here. No
environment variable changes a result.
"""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from optimizer.config.small_files import read_toml
from optimizer.config.values import Bound, Bytes, Device, Eta, Folder, Room, Specs, Words
from optimizer.errors import ConfigError

MOST_SHOWN_CHARACTERS = 60

TABLES = ("columns", "bounds", "steps")
"""Fields that are tables; they stand last in a file."""

SINGULARS = {
    "bounds": "bound",
    "columns": "column",
    "constraints": "constraint",
    "steps": "step",
}
"""Flags that name one entry of a field, and are repeated."""


class RunConfig(BaseModel):
    """What a person may choose. Field descriptions are the help texts of the flags."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    data: Specs = Field(
        ("sample",),
        description="Bars: sample, csv:PATH or parquet:PATH; a folder or a pattern is all its "
        "files; the flag repeats.",
    )
    timeframe: str | None = Field(
        None, description="Duration of a bar, such as 15m; longer than the file's resamples."
    )
    tz: str | None = Field(None, description="IANA zone of timestamps that name none.")
    dedupe: bool = Field(False, description="Drop rows that repeat the row before them.")
    drop_bad_bars: bool = Field(False, description="Drop rows that are no legal bar.")
    sort: bool = Field(False, description="Put rows in the order of time.")
    columns: Annotated[dict[str, str], Words("a table of meaning = name")] = Field(
        default_factory=dict,
        description="What a column holds, for names that are not recognised: timestamp, date, "
        "time, open, high, low, close, volume or symbol, and its name; the flag repeats.",
    )
    time_format: str | None = Field(
        None, description="How times are written, such as %d/%m/%Y %H:%M, if several ways fit."
    )
    decimal: Literal[".", ","] | None = Field(
        None, description="The mark that begins decimals, if commas could be either."
    )
    tick: float = Field(
        0.0, ge=0, description="Widen bars whose high or low misses open or close by this or less."
    )
    price_offset: float = Field(
        0.0,
        description="Add this to every price, for markets that fell below zero; costs are "
        "then shares of the raised price.",
    )
    max_bytes: Bytes = Field(
        200_000_000, ge=1, description="Refuse data that takes more memory than this, decoded."
    )
    adjusted: bool = Field(True, description="Fetch prices that are adjusted for splits.")
    accept_missing: bool = Field(
        False, description="Take fetched bars although whole sessions are missing."
    )
    cache: str | None = Field(
        None, description="Folder of fetched bars; the user's own cache if unset."
    )
    start: str | None = Field(
        None,
        description="First bar to trade, ISO time; those before it only warm indicators up.",
    )
    end: str | None = Field(None, description="Trade bars that open before this ISO time.")
    max_gap: str | None = Field(
        None,
        description="Cut series where bars are further apart than this, such as 4d; nothing "
        "reaches from one part into the next.",
    )
    holdout: str | None = Field(
        None,
        description="Keep the last bars of each series from the search and judge the result on "
        "them: a share such as 20%, or an ISO time.",
    )

    strategy: str = Field("seller_exhaustion", description="Name of the strategy.")
    scale_lengths: bool = Field(
        True, description="Scale lengths in bars from the strategy's timeframe to the data's."
    )
    bounds: dict[str, Bound] = Field(
        default_factory=dict,
        description="Bounds of a gene, each a pair [low, high]; the flag repeats.",
    )
    fee_bp: float = Field(
        5.0, ge=0, le=10_000, description="Fee per side, basis points of notional."
    )
    slippage_bp: float = Field(5.0, ge=0, le=10_000, description="Slippage per side, basis points.")
    min_risk: float = Field(
        0.0001, ge=0, description="Trades that risk no more than this share of price are rejected."
    )
    risk_fraction: float = Field(
        0.01, gt=0, le=1, description="Share of equity that one R is worth."
    )

    objectives: str = Field(
        "sharpe_trade,total_return,max_drawdown",
        description="Objectives, comma separated, such as sharpe, trades:min or sharpe@worst.",
    )
    constraints: list[str] = Field(
        default_factory=list,
        description="What must hold, such as 'max_drawdown <= 0.3'; with soft, should; the flag "
        "repeats.",
    )
    over_windows: str = Field(
        "mean", description="How windows make one number: mean, worst, or a quantile such as q25."
    )
    min_trades: int = Field(30, ge=0, description="Fewer trades make an individual infeasible.")
    search: Literal["genetic", "lattice"] = Field(
        "genetic", description="How to search: by a genetic search, or every point of a lattice."
    )
    steps: dict[str, float] = Field(
        default_factory=dict,
        description="Step of a gene on the lattice, from its low bound to its high one; genes "
        "without a step keep their published value; the flag repeats.",
    )
    regret: int = Field(
        20_000,
        ge=0,
        description="After a lattice, evaluations of a genetic search on it, which tell how much "
        "of the true front such a search finds; 0 for none.",
    )
    population: int = Field(128, ge=1, le=10_000_000, description="Individuals in a generation.")
    generations: int = Field(
        50, ge=0, le=10_000_000, description="Generations after the initial one."
    )
    max_evaluations: int | None = Field(
        None, ge=1, description="Stop before more individuals than this are evaluated."
    )
    max_seconds: float | None = Field(
        None,
        gt=0,
        description="Stop after so many seconds of search; where that is depends on the machine.",
    )
    plateau: int | None = Field(
        None, ge=1, description="Stop after so many generations without growth of hypervolume."
    )
    seed: int = Field(1, ge=0, le=2**63 - 1, description="Decides every random number.")
    warm_start: str | None = Field(
        None, description="Individuals to begin with: a .json or .csv file, or a run."
    )
    polish: int = Field(
        4096,
        ge=0,
        description="Neighbours of the final front that are tried at most, all in one batch.",
    )
    crossover_probability: float = Field(
        0.9, ge=0, le=1, description="Chance that two parents are crossed."
    )
    crossover_eta: Eta = Field(15, description="Distribution index of the crossover.")
    mutation_probability: float | None = Field(
        None, ge=0, le=1, description="Chance of a gene to mutate; one gene of a genome if unset."
    )
    mutation_eta: Eta = Field(7, description="Distribution index of the mutation.")
    adapt: bool = Field(True, description="Use operators more often that do well.")
    survival: Literal["auto", "crowding", "hypervolume", "reference"] = Field(
        "auto",
        description="Who survives: NSGA-II's crowding, hypervolume, or NSGA-III's reference "
        "directions; auto is hypervolume up to three objectives, reference beyond.",
    )
    archive: int = Field(
        1000,
        ge=1,
        le=1_000_000,
        description="Compromises that are kept at most, of all ever seen; when there are more, "
        "those leave that cost the least hypervolume.",
    )
    elite: float = Field(0.0, ge=0, le=1, description="Chance of a parent to be of the archive.")
    immigrants: float = Field(
        0.0, ge=0, le=1, description="Share of newcomers that are drawn from anywhere."
    )
    patience: int | None = Field(
        10, ge=1, description="Generations without growth of hypervolume that are stagnation."
    )
    on_stagnation: Literal["immigrants", "restart"] = Field(
        "immigrants",
        description="Answer to stagnation: half of the newcomers from anywhere, or a new "
        "population beside the archive.",
    )
    islands: int = Field(
        1,
        ge=1,
        le=1024,
        description="Parts of the population that breed apart; fewer where they would hold less "
        "than 8 individuals.",
    )
    migration: int = Field(
        10, ge=1, description="Generations between visits of the best to the next island."
    )

    device: Device = Field(
        "auto", description="Where to evaluate: auto, cpu, cuda for all GPUs, or cuda:0,1."
    )
    on_gpu_loss: Literal["stop", "cpu"] = Field(
        "stop",
        description="When a GPU fails after three restarts: stop, or go on with the CPU.",
    )
    threads: int | None = Field(None, ge=1, description="Cores to use; all of them if unset.")
    memory: Room = Field(
        None,
        ge=1,
        description="Room for indicator rows, such as 512MiB or 4GB; 1GiB on the CPU and half of "
        "a GPU's free memory if unset.",
    )
    runs: Folder = Field("runs", description="Folder in which runs are recorded.")
    keep: Literal["all", "front", "last"] = Field(
        "all", description="What to keep of older generations."
    )
    budget: Bytes = Field(
        1_000_000_000, ge=0, description="Room for populations; the oldest give way to newer ones."
    )
    report: bool = Field(True, description="Write the report of a finished run.")


def resolve_config(path: Path | None, flags: Mapping[str, object]) -> RunConfig:
    """Combine defaults, a file and flags.

    Args:
        path: TOML file, None for none.
        flags: Field name to the value given on the command line.

    Returns:
        The configuration.

    Raises:
        ConfigError: Naming every wrong key at once.
    """
    given = {} if path is None else read_toml(path)
    return make_config(overlaid(given, flags), where=str(path), flags=flags)


def overlaid(values: Mapping[str, object], flags: Mapping[str, object]) -> dict[str, object]:
    """Values with those of flags in their place; tables are replaced key by key.

    Args:
        values: Field name to value, of a file or a recorded run.
        flags: Field name to the value given on the command line.

    Returns:
        Field name to value.
    """
    found = {**values, **flags}
    for table in TABLES:
        below, above = values.get(table), flags.get(table)
        if isinstance(below, Mapping) and isinstance(above, Mapping):
            found[table] = {**below, **above}
    return found


def make_config(
    values: Mapping[str, object], *, where: str, flags: Collection[str] = ()
) -> RunConfig:
    """Check values and make a configuration of them.

    Args:
        values: Field name to value.
        where: What errors about a value start with, unless it came from a flag.
        flags: Names of the fields whose value came from a flag.

    Returns:
        The configuration.

    Raises:
        ConfigError: Naming every wrong key at once, with what it may be.
    """
    try:
        return RunConfig(**values)  # type: ignore[arg-type]
    except ValidationError as error:
        problems = {_problem(line["loc"], line["input"], flags) for line in error.errors()}
    from_flags = sorted(text for text in problems if text.startswith("--"))
    others = sorted(problems - set(from_flags))
    told = [f"{where}: " + "; ".join(others)] if others else []
    raise ConfigError("; ".join(told + from_flags))


def expected_of(name: str) -> str:
    """What a field may hold, in words.

    Args:
        name: Of the field.

    Returns:
        Such as ``"a whole number from 1 to 10,000,000"``.

    >>> expected_of("risk_fraction")
    'a number above 0, at most 1'
    """
    field = RunConfig.model_fields[name]
    kind = kind_of(field)
    for known in field.metadata:
        if isinstance(known, Words):
            return known.text
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    if kind in (int, float):
        return ("a whole number" if kind is int else "a number") + _range_of(field)
    if get_origin(kind) is list:
        return "a list of texts"
    return {bool: "true or false", str: "text"}.get(kind, "a table of gene = [low, high]")


def kind_of(field: FieldInfo) -> type:
    """The type of a field's values, None left out."""
    annotation = field.annotation
    if get_origin(annotation) in (Literal, dict, list, tuple):
        return annotation  # type: ignore[return-value]
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return kinds[0] if kinds else annotation  # type: ignore[return-value]


def to_toml(config: RunConfig) -> str:
    """Write a configuration as TOML, each key under its description.

    Args:
        config: Any configuration.

    Returns:
        Text that `resolve_config` reads back to an equal configuration.
    """
    lines: list[str] = []
    for name, field in RunConfig.model_fields.items():
        value = getattr(config, name)
        if name in TABLES:
            continue
        lines.append(f"# {field.description}")
        lines.append(f"# {name} = (unset)" if value is None else f"{name} = {_toml_value(value)}")
        lines.append("")
    for name in TABLES:
        lines += [f"# {RunConfig.model_fields[name].description}", f"[{name}]"]
        table = getattr(config, name)
        lines += [f"{_toml_value(key)} = {_toml_value(value)}" for key, value in table.items()]
        lines.append("")
    lines.pop()
    return "\n".join(lines) + "\n"


def _toml_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, tuple):
        return _toml_value(value[0] if len(value) == 1 else list(value))
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped)
    return f'"{plain}"'


def _problem(place: tuple[int | str, ...], value: object, flags: Collection[str]) -> str:
    """One wrong value: where it stands, what may stand there, and what does."""
    name, path = str(place[0]), ".".join(str(part) for part in place if part != "[key]")
    shown = repr(value)
    if len(shown) > MOST_SHOWN_CHARACTERS:
        shown = f"{shown[: MOST_SHOWN_CHARACTERS - 3]}..."
    if name not in RunConfig.model_fields:
        near = get_close_matches(name.lower(), list(RunConfig.model_fields), n=1)
        return f"{name} is unknown" + (f"; did you mean '{near[0]}'?" if near else "")
    expected = expected_of(name)
    if name == "bounds" and len(place) > 1:
        expected = "[low, high], two finite numbers"
    if name in flags:
        path = f"--{SINGULARS.get(name, name).replace('_', '-')}"
        path += f" {place[1]}" if name in TABLES and len(place) > 1 else ""
    return f"{path} must be {expected}, got {shown}"


def _range_of(field: FieldInfo) -> str:
    low, above, high = (_limit(field, name) for name in ("ge", "gt", "le"))
    if low is not None:
        return f" of at least {low}" if high is None else f" from {low} to {high}"
    return f" above {above}" + ("" if high is None else f", at most {high}")


def _limit(field: FieldInfo, name: str) -> str | None:
    """A limit of a field's numbers, as pydantic keeps it."""
    found = [getattr(known, name) for known in field.metadata if hasattr(known, name)]
    return f"{found[0]:,}" if found else None
