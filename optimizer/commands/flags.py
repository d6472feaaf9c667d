"""Flags made from the fields of `RunConfig`, so that a knob is described in one place."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Literal, get_args, get_origin

import typer

from optimizer.config import RunConfig
from optimizer.errors import ConfigError

DATA = ("data", "timeframe", "tz", "dedupe", "drop_bad_bars", "max_bytes")
WINDOW = ("start", "end")
STRATEGY = ("strategy", "scale_lengths", "bounds")
COSTS = ("fee_bp", "slippage_bp", "min_risk", "risk_fraction")
COMPUTE = ("threads", "memory")
ALL = tuple(RunConfig.model_fields)

Command = Callable[..., None]


def config_flags(*names: str) -> Callable[[Command], Command]:
    """Give a command the flags of some fields.

    Args:
        names: Fields of `RunConfig`, in the order in which help shows them.

    Returns:
        A decorator; the command receives ``flags``, a dict of the fields that were given.
    """

    def decorate(function: Command) -> Command:
        @wraps(function)
        def command(**given: object) -> None:
            flags = {name: given.pop(name) for name in names}
            function(flags=given_fields(flags), **given)

        own = [p for p in inspect.signature(function).parameters.values() if p.name != "flags"]
        parameters = own + [_parameter(name) for name in names]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def given_fields(flags: Mapping[str, object]) -> dict[str, object]:
    """Field name to value of the flags that a person gave.

    Args:
        flags: Field name to value, None or empty where the flag was not given.

    Returns:
        Values as `RunConfig` takes them.

    Raises:
        ConfigError: When a bound cannot be read.
    """
    given = {name: value for name, value in flags.items() if value not in (None, [])}
    if "bounds" in given:
        given["bounds"] = parse_bounds(given["bounds"])  # type: ignore[arg-type]
    return given


def parse_bounds(texts: Sequence[str]) -> dict[str, list[float]]:
    """Read bounds such as ``ema_fast=10:50``.

    Args:
        texts: One a gene.

    Returns:
        Gene name to [low, high].

    Raises:
        ConfigError: When a text has another form.
    """
    bounds: dict[str, list[float]] = {}
    for text in texts:
        name, _, span = text.partition("=")
        low, _, high = span.partition(":")
        try:
            bounds[name.strip()] = [float(low), float(high)]
        except ValueError:
            raise ConfigError(f"--bound '{text}' must look like ema_fast=10:50") from None
    return bounds


def parse_settings(texts: Sequence[str]) -> dict[str, float]:
    """Read genes such as ``reward_r=2.5``.

    Args:
        texts: One a gene.

    Returns:
        Gene name to value.

    Raises:
        ConfigError: When a text has another form.
    """
    genes: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            genes[name.strip()] = float(value)
        except ValueError:
            raise ConfigError(f"--set '{text}' must look like reward_r=2.5") from None
    return genes


def _parameter(name: str) -> inspect.Parameter:
    field = RunConfig.model_fields[name]
    flag = f"--{name.replace('_', '-')}"
    shown = _shown_default(name, field.get_default(call_default_factory=True))
    text = f"{field.description} {shown}"
    annotation: Any
    if name == "bounds":
        annotation, option = list[str], typer.Option([], "--bound", help=field.description)
    elif field.annotation is bool:
        no_flag = f"--no-{name.replace('_', '-')}"
        annotation, option = bool | None, typer.Option(None, f"{flag}/{no_flag}", help=text)
    else:
        annotation = _plain(field.annotation) | None
        option = typer.Option(None, flag, help=text)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation
    )


def _plain(annotation: Any) -> Any:  # noqa: ANN401 - types of fields are values here
    """The type of a field's values on the command line; ranges are the configuration's to check."""
    if get_origin(annotation) is Literal:
        return type(get_args(annotation)[0])
    plain = [kind for kind in get_args(annotation) if kind is not type(None)]
    return plain[0] if plain else annotation


def _shown_default(name: str, default: object) -> str:
    if default is None or name == "bounds":
        return ""
    if isinstance(default, bool):
        default = "yes" if default else "no"
    return f"[default: {default}]"
