"""Every knob once: its name, type, range, default and meaning; TOML in and out.

Flags of the command line are made from these fields, so that a knob is described in one place.
What is given on the command line wins over a file, and a file over the defaults here. No
environment variable changes a result.
"""

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from optimizer.errors import ConfigError

LARGEST_FILE_BYTES = 1_000_000
"""A configuration is a page of text; anything larger is something else."""

Bound = Annotated[list[float], Field(min_length=2, max_length=2)]
Eta = Literal[1, 3, 7, 15, 31, 63]

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


class RunConfig(BaseModel):
    """What a person may choose. Field descriptions are the help texts of the flags."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)

    data: str = Field("sample", description="Bars: sample, csv:PATH or parquet:PATH.")
    timeframe: str | None = Field(
        None, description="Duration of a bar, such as 15m; longer than the file's resamples."
    )
    tz: str | None = Field(None, description="IANA zone of timestamps that name none.")
    dedupe: bool = Field(False, description="Drop rows that repeat the row before them.")
    drop_bad_bars: bool = Field(False, description="Drop rows that are no legal bar.")
    max_bytes: int = Field(
        200_000_000, ge=1, description="Refuse data that takes more memory than this, decoded."
    )
    start: str | None = Field(None, description="First bar to trade, ISO time; history is kept.")
    end: str | None = Field(None, description="Trade bars that open before this ISO time.")

    strategy: str = Field("seller_exhaustion", description="Name of the strategy.")
    scale_lengths: bool = Field(
        True, description="Scale lengths in bars from the strategy's timeframe to the data's."
    )
    bounds: dict[str, Bound] = Field(
        default_factory=dict, description="Bounds of a gene, as NAME=LOW:HIGH; repeatable."
    )
    fee_bp: float = Field(5.0, ge=0, description="Fee per side, basis points of notional.")
    slippage_bp: float = Field(5.0, ge=0, description="Slippage per side, basis points.")
    min_risk: float = Field(
        0.0001, ge=0, description="Trades that risk no more than this share of price are rejected."
    )
    risk_fraction: float = Field(
        0.01, gt=0, le=1, description="Share of equity that one R is worth."
    )

    objectives: str = Field(
        "sharpe,total_return,max_drawdown", description="Objectives, comma separated."
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

    device: str = Field("auto", description="Where to evaluate: auto, cpu or cuda.")
    threads: int | None = Field(None, ge=1, description="Cores to use; all of them if unset.")
    memory: str = Field("1GiB", description="Room for indicator rows, such as 512MiB or 4GB.")
    runs: str = Field("runs", description="Folder in which runs are recorded.")
    keep: Literal["all", "front", "last"] = Field(
        "all", description="What to keep of older generations."
    )

    @property
    def memory_bytes(self) -> int:
        """Room for indicator rows in bytes.

        Raises:
            ConfigError: When the text is no amount of memory.
        """
        return parse_bytes(self.memory)


def parse_bytes(text: str) -> int:
    """Read an amount of memory.

    Args:
        text: A number with an optional unit: KB, MB, GB (powers of 1000), KiB, MiB, GiB.

    Returns:
        Bytes, at least 1.

    Raises:
        ConfigError: When it is anything else.

    >>> parse_bytes("1.5GiB")
    1610612736
    """
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([A-Za-z]{0,3})\s*", text)
    if found is None or found[2].upper() not in UNITS:
        raise ConfigError(f"memory '{text[:40]}' is no amount; write it as 512MiB or 4GB")
    amount = int(float(found[1]) * UNITS[found[2].upper()])
    if amount < 1:
        raise ConfigError(f"memory '{text}' leaves no room; write it as 512MiB or 4GB")
    return amount


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
    where = "command line" if path is None else str(path)
    return make_config({**given, **flags}, where)


def make_config(values: Mapping[str, object], where: str = "configuration") -> RunConfig:
    """Check values and make a configuration of them.

    Args:
        values: Field name to value.
        where: What errors start with.

    Returns:
        The configuration.

    Raises:
        ConfigError: Naming every wrong key at once.
    """
    try:
        config = RunConfig(**values)  # type: ignore[arg-type]
    except ValidationError as error:
        problems = "; ".join(_problem(dict(line)) for line in error.errors(include_url=False))
        raise ConfigError(f"{where}: {problems}") from None
    # A text that only looks right would fail late, after work has begun.
    parse_bytes(config.memory)
    return config


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
    if not isinstance(value, str):
        return repr(value)
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    plain = "".join(c if c.isprintable() else f"\\U{ord(c):08X}" for c in escaped)
    return f'"{plain}"'


def _read_toml(path: Path) -> dict[str, object]:
    try:
        if path.is_dir():
            raise ConfigError(f"{path}: is a folder; name a TOML file")
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise ConfigError(f"{path}: larger than {LARGEST_FILE_BYTES:,} bytes; no configuration")
        return tomllib.loads(path.read_bytes().decode("utf-8"))
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


def _problem(error: Mapping[str, object]) -> str:
    place = error["loc"]
    path = ".".join(str(part) for part in place) if isinstance(place, tuple) else str(place)
    if error["type"] == "extra_forbidden":
        near = get_close_matches(path, list(RunConfig.model_fields), n=1)
        return f"{path} is unknown" + (f"; did you mean '{near[0]}'?" if near else "")
    message = str(error["msg"])
    shown = repr(error["input"])
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return f"{path}: {message[:1].lower()}{message[1:]}, got {shown}"
