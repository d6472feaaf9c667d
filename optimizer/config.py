"""Every knob once: its name, type, range, default and meaning; TOML in and out.

Flags of the command line are made from these fields, so that a knob is described in one place.
What is given on the command line wins over a file, and a file over the defaults here. No
environment variable changes a result.
"""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic.fields import FieldInfo

from optimizer.errors import ConfigError

LARGEST_FILE_BYTES = 1_000_000
"""A configuration is a page of text; anything larger is something else."""

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

ETAS = (1, 3, 7, 15, 31, 63)
"""Legal distribution indices; the operators know why."""

MOST_SHOWN_CHARACTERS = 60


def parse_bytes(text: str) -> int:
    """Read an amount of memory.

    Args:
        text: A number with an optional unit: KB, MB, GB (powers of 1000), KiB, MiB, GiB.

    Returns:
        Bytes.

    Raises:
        ValueError: When it is anything else.

    >>> parse_bytes("1.5GiB")
    1610612736
    """
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]{0,3})\s*", text)
    if found is None or found[2].upper() not in UNITS:
        raise ValueError("not an amount of memory")
    return int(float(found[1]) * UNITS[found[2].upper()])


def format_bytes(count: int) -> str:
    """Write an amount of memory in the largest unit that divides it.

    Args:
        count: Bytes.

    Returns:
        Text that `parse_bytes` reads back.

    >>> format_bytes(2**30), format_bytes(200_000_000), format_bytes(7)
    ('1GiB', '200MB', '7')
    """
    names = ("GiB", "GB", "MiB", "MB", "KiB", "KB")
    name = next((unit for unit in names if count and count % UNITS[unit.upper()] == 0), "")
    return f"{count // UNITS[name.upper()]}{name}"


@dataclass(frozen=True)
class Words:
    """What a field may hold, in words, where its type and range do not say it."""

    text: str


def _listed(value: int) -> int:
    if value not in ETAS:
        raise ValueError("not one of the choices")
    return value


def _nameable(value: str) -> str:
    if not value or "\0" in value:
        raise ValueError("no name of a folder")
    return value


def _as_bytes(value: object) -> object:
    return parse_bytes(value) if isinstance(value, str) else value


def _as_specs(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Specs = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_specs),
    Field(min_length=1),
    Words("a source of bars, or a list of sources"),
]
Bound = Annotated[list[float], Field(min_length=2, max_length=2)]
Eta = Annotated[int, AfterValidator(_listed), Words("one of " + ", ".join(map(str, ETAS)))]
Bytes = Annotated[int, BeforeValidator(_as_bytes), Words("an amount of memory such as 512MiB")]
Folder = Annotated[str, AfterValidator(_nameable), Words("the name of a folder")]


class RunConfig(BaseModel):
    """What a person may choose. Field descriptions are the help texts of the flags."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    data: Specs = Field(
        ("sample",),
        description="Bars: sample, csv:PATH or parquet:PATH; a folder or a pattern is all its "
        "files; as flag repeatable.",
    )
    timeframe: str | None = Field(
        None, description="Duration of a bar, such as 15m; longer than the file's resamples."
    )
    tz: str | None = Field(None, description="IANA zone of timestamps that name none.")
    dedupe: bool = Field(False, description="Drop rows that repeat the row before them.")
    drop_bad_bars: bool = Field(False, description="Drop rows that are no legal bar.")
    max_bytes: Bytes = Field(
        200_000_000, ge=1, description="Refuse data that takes more memory than this, decoded."
    )
    start: str | None = Field(None, description="First bar to trade, ISO time; history is kept.")
    end: str | None = Field(None, description="Trade bars that open before this ISO time.")
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
        description="Bounds of a gene, each a pair [low, high]; as flag repeatable.",
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
        "sharpe,total_return,max_drawdown",
        description="Objectives, comma separated, such as sharpe, trades:min or sharpe@worst.",
    )
    constraints: list[str] = Field(
        default_factory=list,
        description="What must hold, such as 'max_drawdown <= 0.3'; with soft, should. Repeatable.",
    )
    over_windows: str = Field(
        "mean", description="How windows make one number: mean, worst, or a quantile such as q25."
    )
    min_trades: int = Field(30, ge=0, description="Fewer trades make an individual infeasible.")
    population: int = Field(128, ge=1, le=10_000_000, description="Individuals in a generation.")
    generations: int = Field(
        50, ge=0, le=10_000_000, description="Generations after the initial one."
    )
    seed: int = Field(1, ge=0, le=2**63 - 1, description="Decides every random number.")
    crossover_probability: float = Field(
        0.9, ge=0, le=1, description="Chance that two parents are crossed."
    )
    crossover_eta: Eta = Field(15, description="Distribution index of the crossover.")
    mutation_probability: float | None = Field(
        None, ge=0, le=1, description="Chance of a gene to mutate; one gene of a genome if unset."
    )
    mutation_eta: Eta = Field(15, description="Distribution index of the mutation.")

    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="Where to evaluate.")
    threads: int | None = Field(None, ge=1, description="Cores to use; all of them if unset.")
    memory: Bytes = Field(
        2**30, ge=1, description="Room for indicator rows in bytes, or as 512MiB or 4GB."
    )
    runs: Folder = Field("runs", description="Folder in which runs are recorded.")
    keep: Literal["all", "front", "last"] = Field(
        "all", description="What to keep of older generations."
    )


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
    given = {} if path is None else _read_toml(path)
    return make_config(overlaid(given, flags), where=str(path), flags=flags)


def overlaid(values: Mapping[str, object], flags: Mapping[str, object]) -> dict[str, object]:
    """Values with those of flags in their place; bounds are replaced gene by gene.

    Args:
        values: Field name to value, of a file or a recorded run.
        flags: Field name to the value given on the command line.

    Returns:
        Field name to value.
    """
    found = {**values, **flags}
    below, above = values.get("bounds"), flags.get("bounds")
    if isinstance(below, Mapping) and isinstance(above, Mapping):
        found["bounds"] = {**below, **above}
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


def read_page(path: Path, otherwise: str) -> str:
    """Read a small text file.

    Args:
        path: File of at most `LARGEST_FILE_BYTES`; never read further, whatever size it claims.
        otherwise: What the error says that a larger one is.

    Returns:
        Its text.

    Raises:
        ConfigError: When it is larger.
        OSError, UnicodeDecodeError: When it cannot be read, or is not UTF-8.
    """
    with open(path, "rb") as file:
        content = file.read(LARGEST_FILE_BYTES + 1)
    if len(content) > LARGEST_FILE_BYTES:
        raise ConfigError(f"{path}: larger than {LARGEST_FILE_BYTES:,} bytes; {otherwise}")
    return content.decode("utf-8")


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
        if name == "bounds":
            continue
        lines.append(f"# {field.description}")
        lines.append(f"# {name} = (unset)" if value is None else f"{name} = {_toml_value(value)}")
        lines.append("")
    lines.append(f"# {RunConfig.model_fields['bounds'].description}")
    lines.append("[bounds]")
    lines += [f"{_toml_value(gene)} = {list(pair)!r}" for gene, pair in config.bounds.items()]
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


def _read_toml(path: Path) -> dict[str, object]:
    try:
        if path.is_dir():
            raise ConfigError(f"{path}: is a folder; name a TOML file")
        return tomllib.loads(read_page(path, "no configuration"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not text; name a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deep for a configuration") from None
    except ValueError as error:
        # Whole numbers of thousands of digits are refused by Python itself.
        raise ConfigError(f"{path}: {error}") from None


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
        path = f"--bound {place[1]}" if name == "bounds" else f"--{name.replace('_', '-')}"
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
