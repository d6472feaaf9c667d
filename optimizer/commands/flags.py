"""Flags made from the fields of `RunConfig`, so that a knob is described in one place."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from typing import Any, get_args

import typer

from optimizer.config.run_config import SINGULARS, RunConfig, kind_of
from optimizer.config.values import format_bytes
from optimizer.errors import ConfigError

DATA = (
    "data",
    "timeframe",
    "tz",
    "dedupe",
    "drop_bad_bars",
    "sort",
    "columns",
    "time_format",
    "decimal",
    "tick",
    "price_offset",
    "max_bytes",
    "adjusted",
    "accept_missing",
    "cache",
)
FETCH = ("timeframe", "start", "end", "adjusted", "accept_missing", "cache", "max_bytes")
WINDOW = ("start", "end", "max_gap", "holdout")
STRATEGY = ("strategy", "scale_lengths", "bounds")
COSTS = ("fee_bp", "slippage_bp", "min_risk", "risk_fraction")
COMPUTE = ("threads", "memory")
ALL = tuple(RunConfig.model_fields)
AMOUNTS = ("max_bytes", "memory", "budget")
REPEATED = {
    "data": "SPEC",
    "columns": "MEANING=NAME",
    "bounds": "GENE=LOW:HIGH",
    "steps": "GENE=STEP",
    "constraints": "COMPARISON",
}
"""Flags that are given again for each entry, with the form of one."""
ALSO = {"start": "--from", "end": "--to"}
"""Second names of flags."""

Command = Callable[..., None]


def config_flags(
    *names: str, told: Mapping[str, str] | None = None
) -> Callable[[Command], Command]:
    """Give a command the flags of some fields.

    Args:
        names: Fields of `RunConfig`, in the order in which help shows them.
        told: What help says of a field where this command means something narrower by it.

    Returns:
        A decorator; the command receives ``flags``, a dict of the fields that were given.
    """

    def decorate(function: Command) -> Command:
        @wraps(function)
        def command(**given: object) -> None:
            flags = {name: given.pop(name) for name in names}
            function(flags=given_fields(flags), **given)

        own = [p for p in inspect.signature(function).parameters.values() if p.name != "flags"]
        parameters = own + [_parameter(name, (told or {}).get(name, "")) for name in names]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def given_fields(flags: Mapping[str, object]) -> dict[str, object]:
    """Field name to value of the flags that a person gave.

    Args:
        flags: Field name to text, None or empty where the flag was not given.

    Returns:
        Values as `RunConfig` takes them. Text that is no number stays text, for the configuration
        to refuse together with everything else that is wrong.

    Raises:
        ConfigError: When a bound cannot be read.
    """
    return {name: _value(name, given) for name, given in flags.items() if given not in (None, [])}


def parse_bounds(texts: Sequence[str]) -> dict[str, list[float]]:
    """Read bounds such as ``ema_fast=10:50``.

    Args:
        texts: One a gene.

    Returns:
        Gene name to [low, high].

    Raises:
        ConfigError: When a text has another form, or a gene is named twice.
    """
    bounds: dict[str, list[float]] = {}
    for text in texts:
        name, span = _named("--bound", text, bounds)
        low, _, high = span.partition(":")
        try:
            bounds[name] = [float(low), float(high)]
        except ValueError:
            raise ConfigError(f"--bound '{text}' must look like ema_fast=10:50") from None
    return bounds


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Read what columns hold, such as ``volume=Volume BTC``.

    Args:
        texts: One a column.

    Returns:
        Meaning to the column's name.

    Raises:
        ConfigError: When a text has another form, or a meaning is named twice.
    """
    columns: dict[str, str] = {}
    for text in texts:
        meaning, name = _named("--column", text, columns)
        if not name:
            raise ConfigError(f"--column '{text}' must look like volume=NAME")
        columns[meaning] = name
    return columns


def parse_steps(texts: Sequence[str]) -> dict[str, float]:
    """Read steps of genes such as ``reward_r=0.5``; as `parse_settings`."""
    return parse_settings(texts, flag="--step")


def parse_settings(texts: Sequence[str], flag: str = "--set") -> dict[str, float]:
    """Read genes such as ``reward_r=2.5``.

    Args:
        texts: One a gene.
        flag: What errors call it.

    Returns:
        Gene name to value.

    Raises:
        ConfigError: When a text has another form, or a gene is named twice.
    """
    genes: dict[str, float] = {}
    for text in texts:
        name, value = _named(flag, text, genes)
        try:
            genes[name] = float(value)
        except ValueError:
            raise ConfigError(f"{flag} '{text}' must look like reward_r=2.5") from None
    return genes


def _named(flag: str, text: str, known: Collection[str]) -> tuple[str, str]:
    """The gene that a text names, and what it says about it; a second one would be ambiguous."""
    name, _, value = text.partition("=")
    if name.strip() in known:
        raise ConfigError(f"{flag} '{text}': '{name.strip()}' is given twice")
    return name.strip(), value


def _value(name: str, given: object) -> object:
    if isinstance(given, list):
        tables = {"bounds": parse_bounds, "columns": parse_columns, "steps": parse_steps}
        return tables[name](given) if name in tables else list(given)
    kind = None if name in AMOUNTS else kind_of(RunConfig.model_fields[name])
    if not isinstance(given, str) or kind not in (int, float):
        return given
    try:
        return float(given) if kind is float else int(given)
    except ValueError:
        return given


def _parameter(name: str, told: str = "") -> inspect.Parameter:
    field = RunConfig.model_fields[name]
    flag = f"--{name.replace('_', '-')}"
    shown = _shown_default(name, field.get_default(call_default_factory=True))
    text = f"{told or field.description} {shown}"
    annotation: Any
    if name in REPEATED:
        singular = SINGULARS.get(name, name)
        text = text if name == "data" else f"{field.description}"
        option = typer.Option([], f"--{singular}", help=text, metavar=REPEATED[name])
        annotation = list[str]
    elif field.annotation is bool:
        no_flag = f"--no-{name.replace('_', '-')}"
        annotation, option = bool | None, typer.Option(None, f"{flag}/{no_flag}", help=text)
    else:
        kind = kind_of(field)
        choices = "|".join(map(str, get_args(kind)))
        numbers = {int: "INTEGER", float: "NUMBER"}
        metavar = choices or ("AMOUNT" if name in AMOUNTS else numbers.get(kind, "TEXT"))
        names = (ALSO[name], flag) if name in ALSO else (flag,)
        annotation, option = str | None, typer.Option(None, *names, help=text, metavar=metavar)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation
    )


def _shown_default(name: str, default: object) -> str:
    if default is None or isinstance(default, dict | list):
        return ""
    if isinstance(default, bool):
        default = "yes" if default else "no"
    if isinstance(default, tuple):
        default = ", ".join(default)
    if name in AMOUNTS and isinstance(default, int):
        default = format_bytes(default)
    if isinstance(default, float):
        default = f"{default:g}"
    return f"[default: {default}]"
