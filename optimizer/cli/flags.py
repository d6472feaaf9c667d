"""Flags made from the fields of `RunConfig`, which describe a knob in one place; help by sections.

Also the completions of a shell after a flag: runs, strategies, and the choices of a knob.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import partial, wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_origin

import typer
from pydantic.fields import FieldInfo
from typer.core import TyperCommand

from optimizer.config import settings
from optimizer.config.run_config import RunConfig, find_value_type, find_words, format_flag
from optimizer.config.values import AMOUNT, Settings, format_bytes, read_schema_extra
from optimizer.errors import ConfigError

Command = Callable[..., None]
Flags = tuple[Sequence[inspect.Parameter], Callable[..., object]]
Value = TypeVar("Value")


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

    `arguments` are, by name, the parameters of the flags, and what makes the argument of them.
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
    ``flags``, a dict of the fields on the line; and `others`, as of `taking`.
    """
    return taking(flags=list_flags(RunConfig, names, descriptions or {}), **others)


def list_flags(
    kind: type[Settings],
    names: Sequence[str] = (),
    narrower: Mapping[str, str] = MappingProxyType({}),
) -> Flags:
    """Flags of some fields of settings, of all if none is named, and their values by field."""
    fields = kind.model_fields
    parameters = [_parameter(kind, name, narrower.get(name)) for name in names or fields]
    return parameters, lambda **given: read_given_fields(given, kind)


def read_given_fields(
    flags: Mapping[str, object], kind: type[Settings] = RunConfig
) -> dict[str, object]:
    """Field name to value, as settings take it, of the flags that a person gave.

    Text that is no number stays text, for the configuration to refuse with everything else that
    is wrong; a bound that cannot be read is refused here.
    """
    return {
        name: _read_value(kind.model_fields[name], value)
        for name, value in flags.items()
        if value not in (None, [])
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


def parse_pairs(
    texts: Sequence[str], flag: str, read: Callable[[str], Value | None], example: str
) -> dict[str, Value]:
    """Read words such as ``reward_r=2.5``; None is a value that cannot be read."""
    pairs: dict[str, Value] = {}
    for text in texts:
        name, _, written = text.partition("=")
        name, value = name.strip(), read(written)
        if name in pairs:
            # A second one would be ambiguous.
            raise ConfigError(f"{flag} '{text}': '{name}' is given twice")
        if value is None:
            raise ConfigError(f"{flag} '{text}' must look like {example}")
        pairs[name] = value
    return pairs


def parse_settings(texts: Sequence[str]) -> dict[str, float | str]:
    """Read genes such as ``reward_r=2.5`` or ``average=ema``."""
    return parse_pairs(texts, "--set", _parse_value, "reward_r=2.5, or average=ema")


def parse_numbers(texts: Sequence[str], flag: str = "--set") -> dict[str, float]:
    """Read numbers such as ``reward_r=2.5``; `flag` is what errors call them."""
    return parse_pairs(texts, flag, _parse_number, "reward_r=2.5")


def _parse_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _parse_value(text: str) -> float | str | None:
    """The number that a text is, else the text, which may name an option; None without a letter."""
    number = _parse_number(text)
    return text.strip() if number is None and any(map(str.isalpha, text)) else number


def _parse_span(text: str) -> list[float | str] | None:
    """Bounds such as ``10:50``, or one value such as ``ema``."""
    low, colon, high = text.partition(":")
    first, last = map(_parse_value, (low, high) if colon else (text, text))
    is_mixed = isinstance(first, str) != isinstance(last, str)
    return None if first is None or last is None or is_mixed else [first, last]


def _read_value(field: FieldInfo, value: object) -> object:
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
    "GENE=LOW:HIGH": partial(
        parse_pairs, flag="--bound", read=_parse_span, example="ema_fast=10:50, or average=ema"
    ),
    "GENE=STEP": partial(parse_numbers, flag="--step"),
    "MEANING=NAME": partial(
        parse_pairs, flag="--column", read=lambda name: name or None, example="volume=NAME"
    ),
    "FORMULA": ",".join,
}
"""How the entries of a flag that repeats are read, by their form; others are taken as they are."""


def _strategy_names(incomplete: str) -> list[str]:
    """Strategies that begin so; a shell adds files by itself where none does."""
    from strategy import STRATEGIES

    return [name for name in STRATEGIES if name.startswith(incomplete)]


def _complete_among(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """Completion: the words that begin so."""
    return lambda incomplete: [word for word in choices if word.startswith(incomplete)]


COMPLETED: Mapping[str, Callable[..., list[str]]] = {
    "strategy": _strategy_names,
    "warm_start": run_names,
    "device": _complete_among(("auto", "cpu", "cuda")),
}
"""Completions of a shell where the type of a field has none."""


def _parameter(kind: type[Settings], name: str, narrower: str | None) -> inspect.Parameter:
    field, panel = kind.model_fields[name], _SECTION_OF.get(name) if kind is RunConfig else OWN
    words, values, flag = find_words(field), find_value_type(field), format_flag(name, kind)
    shown = _shown_default(field.get_default(call_default_factory=True), is_amount=words is AMOUNT)
    text = f"{narrower or field.description} {shown}".rstrip()
    names = [also] if (also := read_schema_extra(field, "also")) else []
    form = words.form if words is not None else ""
    annotation: Any
    make = partial(typer.Option, help=text, rich_help_panel=panel)
    if get_origin(values) in (dict, list, tuple) or form in PARSERS:
        annotation, option = list[str], make([], *names, flag, metavar=form)
    elif values is bool:
        either = f"{flag}/--no-{flag.removeprefix('--')}"
        annotation, option = bool | None, make(None, either)
    else:
        choices = "|".join(map(str, get_args(values)))
        metavar = form or choices or {int: "INTEGER", float: "NUMBER"}.get(values, "TEXT")
        completed = _complete_among(choices.split("|")) if choices else None
        if kind is RunConfig:
            completed = COMPLETED.get(name, completed)
        option = make(None, *names, flag, metavar=metavar, autocompletion=completed)
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


SECTIONS: dict[str, tuple[type[Settings], ...]] = {
    "Data": (settings.DataSettings, settings.WindowSettings),
    "Strategy": (settings.StrategySettings, settings.CostSettings),
    "Goals": (settings.GoalSettings,),
    "Search": (settings.SearchSettings,),
    "Evidence": (settings.EvidenceSettings,),
    "Run": (settings.DeviceSettings, settings.ComputeSettings, settings.RecordSettings),
}
"""Groups of knobs by the word that help has for them."""

EVERYDAY = frozenset([
    "data", "timeframe", "tz", "dedupe", "finer", "start", "end", "holdout", "strategy", "bounds",
    "fee_bp", "slippage_bp", "max_positions", "rank", "objectives", "constraints", "min_trades",
    "population", "generations", "seed", "warm_start", "member", "judge", "null", "folds", "every",
    "device", "threads", "memory", "runs", "keep", "report",
])  # fmt: skip
"""Knobs that help shows without being asked for all."""

OWN = "Options"
"""Heading of the flags that are no knobs of a run."""

SELDOM = frozenset(["cluster_plaintext"])
"""A command's own flags that help shows among all."""

ASKED_FOR_ALL = ContextVar("asked_for_all", default=False)
"""True if --help-all was given."""

Records = list[tuple[str, str]]


class Sectioned(TyperCommand):
    """A command that shows its knobs by sections, seldom ones with --help-all."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - the library's own
        """Write arguments, the command's own flags, then knobs by section."""
        sections: dict[str, Records] = {name: [] for name in ("Arguments", OWN, *SECTIONS)}
        hidden = 0
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            name, panel = parameter.name or "", getattr(parameter, "rich_help_panel", None) or OWN
            if record is None:
                continue
            if parameter.param_type_name == "argument":
                panel = "Arguments"
            is_seldom = name in SELDOM or (panel in SECTIONS and name not in EVERYDAY)
            if is_seldom and not ASKED_FOR_ALL.get():
                hidden += 1
            else:
                sections[panel].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if hidden:
            formatter.write_paragraph()
            formatter.write_text(f"{hidden} more flags: --help-all shows them too.")


_SECTION_OF = {
    name: section
    for section, groups in SECTIONS.items()
    for group in groups
    for name in group.model_fields
}
