"""Flags made from the fields of `RunConfig`, so that a knob is described in one place.

Also what a shell may complete after a flag: runs, strategies, and the choices of a knob.
"""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, get_args, get_origin

import typer

from optimizer.config.run_config import RunConfig, find_value_type, find_words, format_flag
from optimizer.config.values import AMOUNT, format_bytes, read_schema_extra
from optimizer.errors import ConfigError

Command = Callable[..., None]
Flags = tuple[Sequence[inspect.Parameter], Callable[..., object]]


def run_names(context: typer.Context, incomplete: str) -> list[str]:
    """Runs that begin so, newest first, in the folder that was named."""
    from optimizer.store.listing import list_run_folders

    folder = Path(str(context.params.get("runs") or "runs"))
    names = ["latest", *sorted((path.name for path in list_run_folders(folder)), reverse=True)]
    return [name for name in names if name.startswith(incomplete)]


def option(
    flag: str, text: str, form: str | None = None, *, min: int | None = None, max: int | None = None
) -> Any:  # noqa: ANN401 - as the library has it
    """A flag of one command alone: its help, what stands behind it, and its limits."""
    completed = run_names if form == "RUN" else None
    return typer.Option(flag, help=text, metavar=form, min=min, max=max, autocompletion=completed)


def argument(text: str, form: str) -> Any:  # noqa: ANN401 - as the library has it
    """An argument of a command: its help, and what stands in its place; runs are completed."""
    completed = run_names if form.startswith("RUN") else None
    return typer.Argument(help=text, metavar=form, autocompletion=completed)


def taking(**arguments: Flags) -> Callable[[Command], Command]:
    """Give a command flags in place of some of its arguments, each made of the values of its own.

    Args:
        arguments: By name, the parameters of the flags, and what makes the argument of them.
    """

    def decorate(function: Command) -> Command:
        @wraps(function)
        def command(**given: object) -> None:
            made = {
                name: make(**{flag.name: given.pop(flag.name) for flag in flags})
                for name, (flags, make) in arguments.items()
            }
            function(**given, **made)

        known = inspect.signature(function).parameters.values()
        parameters = [parameter for parameter in known if parameter.name not in arguments]
        parameters += [flag for flags, _ in arguments.values() for flag in flags]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {p.name: p.annotation for p in parameters}
        return command

    return decorate


def config_flags(
    *names: str,
    descriptions: Mapping[str, str] | None = None,
    **others: Flags,
) -> Callable[[Command], Command]:
    """Give a command the flags of some fields.

    `names` are fields of `RunConfig`, in the order in which help shows them; `descriptions` are
    help texts of fields by which this command means something narrower. The command receives
    ``flags``, a dict of the fields that were given; and `others`, as of `taking`.
    """
    narrower = descriptions or {}
    parameters = [_parameter(name, narrower.get(name)) for name in names]
    return taking(flags=(parameters, lambda **given: read_given_fields(given)), **others)


def read_given_fields(flags: Mapping[str, object]) -> dict[str, object]:
    """Field name to value, as `RunConfig` takes it, of the flags that a person gave.

    Text that is no number stays text, for the configuration to refuse with everything else that
    is wrong.

    Raises:
        ConfigError: When a bound cannot be read.
    """
    return {
        name: _read_value(name, value) for name, value in flags.items() if value not in (None, [])
    }


def write_flags(given: Mapping[str, object]) -> tuple[str, ...]:
    """Words of a command line that say what `read_given_fields` made of them.

    >>> write_flags({"data": ["a.csv", "b.csv"], "fee_bp": 2.5, "columns": {"volume": "Vol"}})
    ('--data', 'a.csv', '--data', 'b.csv', '--fee-bp', '2.5', '--column', 'volume=Vol')
    """
    words: list[str] = []
    for name, value in given.items():
        flag = format_flag(name)
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag.removeprefix('--')}")
        elif isinstance(value, Mapping):
            words += [word for key, part in value.items() for word in (flag, f"{key}={part}")]
        else:
            parts = value if isinstance(value, list | tuple) else [value]
            words += [word for part in parts for word in (flag, str(part))]
    return tuple(words)


def parse_bounds(texts: Sequence[str]) -> dict[str, list[float | str]]:
    """Read bounds such as ``ema_fast=10:50``, or one value such as ``average=ema``."""
    bounds: dict[str, list[float | str]] = {}
    for text in texts:
        name, span = _parse_assignment("--bound", text, bounds)
        low, colon, high = span.partition(":")
        ends = [_parse_value(end) for end in ((low, high) if colon else (span, span))]
        if None in ends or isinstance(ends[0], str) != isinstance(ends[1], str):
            raise ConfigError(f"--bound '{text}' must look like ema_fast=10:50, or average=ema")
        bounds[name] = [end for end in ends if end is not None]
    return bounds


def parse_columns(texts: Sequence[str]) -> dict[str, str]:
    """Read what columns hold, such as ``volume=Volume BTC``."""
    columns: dict[str, str] = {}
    for text in texts:
        meaning, name = _parse_assignment("--column", text, columns)
        if not name:
            raise ConfigError(f"--column '{text}' must look like volume=NAME")
        columns[meaning] = name
    return columns


def parse_settings(texts: Sequence[str]) -> dict[str, float | str]:
    """Read genes such as ``reward_r=2.5`` or ``average=ema``."""
    genes: dict[str, float | str] = {}
    for text in texts:
        name, value = _parse_assignment("--set", text, genes)
        number = _parse_value(value)
        if number is None:
            raise ConfigError(f"--set '{text}' must look like reward_r=2.5, or average=ema")
        genes[name] = number
    return genes


def parse_numbers(texts: Sequence[str], flag: str = "--set") -> dict[str, float]:
    """Read numbers such as ``reward_r=2.5``; `flag` is what errors call them."""
    numbers: dict[str, float] = {}
    for text in texts:
        name, value = _parse_assignment(flag, text, numbers)
        try:
            numbers[name] = float(value)
        except ValueError:
            raise ConfigError(f"{flag} '{text}' must look like reward_r=2.5") from None
    return numbers


def _parse_value(text: str) -> float | str | None:
    """The number that a text is, else the text, which may name an option; None without a letter."""
    try:
        return float(text)
    except ValueError:
        return text.strip() if any(map(str.isalpha, text)) else None


def _parse_assignment(flag: str, text: str, known: Collection[str]) -> tuple[str, str]:
    """Gene that a text names, and its value there; a second one would be ambiguous."""
    name, _, value = text.partition("=")
    if name.strip() in known:
        raise ConfigError(f"{flag} '{text}': '{name.strip()}' is given twice")
    return name.strip(), value


def _read_value(name: str, value: object) -> object:
    field = RunConfig.model_fields[name]
    words, kind = find_words(field), find_value_type(field)
    if isinstance(value, list):
        read = PARSERS.get("" if words is None else words.form, list)
        return read(value)
    if not isinstance(value, str) or words is AMOUNT or kind not in (int, float):
        return value
    try:
        return float(value) if kind is float else int(value)
    except ValueError:
        return value


PARSERS: Mapping[str, Callable[[Sequence[str]], object]] = {
    "GENE=LOW:HIGH": parse_bounds,
    "GENE=STEP": partial(parse_numbers, flag="--step"),
    "MEANING=NAME": parse_columns,
    "FORMULA": ",".join,
}
"""How the entries of a flag that repeats are read, by their form; others are taken as they are."""


def _strategy_names(incomplete: str) -> list[str]:
    """Strategies that begin so; a shell adds files by itself where none does."""
    from strategy import STRATEGIES

    return [name for name in STRATEGIES if name.startswith(incomplete)]


def _complete_among(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """Those of some words that begin so."""
    return lambda incomplete: [word for word in choices if word.startswith(incomplete)]


COMPLETED: Mapping[str, Callable[..., list[str]]] = {
    "strategy": _strategy_names,
    "warm_start": run_names,
    "device": _complete_among(("auto", "cpu", "cuda")),
}
"""Completions of a shell where the type of a field has none."""


def _parameter(name: str, narrower: str | None) -> inspect.Parameter:
    field = RunConfig.model_fields[name]
    words, kind, flag = find_words(field), find_value_type(field), format_flag(name)
    shown = _shown_default(field.get_default(call_default_factory=True), is_amount=words is AMOUNT)
    text = f"{narrower or field.description} {shown}".rstrip()
    names = [also] if (also := read_schema_extra(field, "also")) else []
    form = words.form if words is not None else ""
    annotation: Any
    if get_origin(kind) in (dict, list, tuple) or form in PARSERS:
        annotation, option = list[str], typer.Option([], *names, flag, help=text, metavar=form)
    elif kind is bool:
        either = f"{flag}/--no-{flag.removeprefix('--')}"
        annotation, option = bool | None, typer.Option(None, either, help=text)
    else:
        choices = "|".join(map(str, get_args(kind)))
        metavar = form or choices or {int: "INTEGER", float: "NUMBER"}.get(kind, "TEXT")
        completed = COMPLETED.get(name) or (
            _complete_among(choices.split("|")) if choices else None
        )
        option = typer.Option(
            None, *names, flag, help=text, metavar=metavar, autocompletion=completed
        )
        annotation = str | None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation
    )


def _shown_default(default: object, *, is_amount: bool) -> str:
    if default is None or isinstance(default, dict | list):
        return ""
    if isinstance(default, bool):
        default = "yes" if default else "no"
    if isinstance(default, tuple):
        default = ", ".join(default)
    if is_amount and isinstance(default, int):
        default = format_bytes(default)
    if isinstance(default, float):
        default = f"{default:g}"
    return f"[default: {default}]"
