"""The configuration: all groups of knobs together; TOML in and out.

Flags of the command line are made from these fields, so that a knob is described in one place.
A flag wins over a file, and a file over the defaults. No environment
variable changes a result.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal, TypeVar, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from optimizer.config.settings import (
    ComputeSettings,
    CostSettings,
    DataSettings,
    DeviceSettings,
    EvidenceSettings,
    GoalSettings,
    RecordSettings,
    SearchSettings,
    StrategySettings,
    WindowSettings,
)
from optimizer.config.values import Decides, Settings, Words, read_schema_extra
from optimizer.errors import ConfigError

Made = TypeVar("Made", bound=Settings)

LARGEST_FILE_BYTES = 1_000_000
"""A configuration is a page of text; anything larger is something else."""

TABLE = re.compile(r"\s*\[\s*([\w-]+)\s*\]")

KEY = re.compile(r"""\s*([\w-]+|"[^"]*"|'[^']*')\s*=""")
"""Key of a line of TOML."""

NO_TABLES = "keys stand without a line in [brackets] above them, such as population = 64"

OF_MACHINE = (*DeviceSettings.model_fields, *ComputeSettings.model_fields)
"""Knobs that say where it is computed."""

TRADES = (
    *DataSettings.model_fields,
    *StrategySettings.model_fields,
    *ComputeSettings.model_fields,
    *WindowSettings.model_fields,
    *CostSettings.model_fields,
)
"""Knobs that decide trades, and where they are computed."""

SCANNED = (
    *(name for name in DataSettings.model_fields if name not in
      ("column_file", "aligned_columns", "finer")),
    *("start", "end", "threads"),
)  # fmt: skip
"""Knobs of a scan, which has no strategy that could read a column of a file."""

EXPORTED = (
    *(name for name in DataSettings.model_fields if name not in ("data", "finer", "column_file")),
    *("start", "end", "seed", "null_keep"),
)
"""Knobs of null markets that are written, beside where the bars are."""

JUDGED = (*(name for name in EvidenceSettings.model_fields if name != "judge"), *OF_MACHINE)
"""Knobs of a judgement, beside where the bars are."""


# Fields stand in the order of the groups, which pydantic reads from the last one.
class RunConfig(
    EvidenceSettings,
    RecordSettings,
    ComputeSettings,
    DeviceSettings,
    SearchSettings,
    GoalSettings,
    CostSettings,
    StrategySettings,
    WindowSettings,
    DataSettings,
):
    """All that a person may choose. Field descriptions are the help texts of the flags."""

    def deciding(self, *what: Decides) -> dict[str, object]:
        """Values of the knobs that decide these things, by name, ready for JSON."""
        return self.model_dump(mode="json", include=set(names_deciding(*what)))


def names_deciding(*what: Decides) -> tuple[str, ...]:
    """Names of the knobs that decide these things, in the order of the configuration."""
    fields = RunConfig.model_fields.items()
    return tuple(name for name, field in fields if read_schema_extra(field, "decides") in what)


def resolve_config(path: Path | None, flags: Mapping[str, object]) -> RunConfig:
    """Combine defaults, a TOML file and flags, which are field name to value."""
    text = "" if path is None else _read_text(path)
    values = {} if path is None else _parse_toml(text, path)
    return make_config(overlaid(values, flags), where=str(path), flags=flags, text=text)


def overlaid(values: Mapping[str, object], flags: Mapping[str, object]) -> dict[str, object]:
    """Values with those of flags in their place; tables are replaced key by key."""
    combined = {**values, **flags}
    for name, above in flags.items():
        below = values.get(name)
        if isinstance(below, Mapping) and isinstance(above, Mapping):
            combined[name] = {**below, **above}
    return combined


def make_config(
    values: Mapping[str, object], *, where: str, flags: Collection[str] = (), text: str = ""
) -> RunConfig:
    """Check values and make a configuration of them, as `make_settings`."""
    return make_settings(RunConfig, values, where=where, flags=flags, text=text)


def make_settings(
    kind: type[Made],
    values: Mapping[str, object],
    *,
    where: str,
    flags: Collection[str] = (),
    text: str = "",
) -> Made:
    """Check values and make settings of a kind of them.

    Errors about a value start with `where`, unless it came from one of the flags; `text` is the
    file of the others, for the lines in errors. ConfigError names every wrong key at once, with its
    legal values.
    """
    try:
        return kind(**values)
    except ValidationError as error:
        wrong = [(line["loc"], line["input"]) for line in error.errors()]
    of_lines: dict[str, int] = {}
    for key_path, value in wrong:
        of_lines[_problem(kind, key_path, value, flags)] = _find_line(text, key_path)
    from_flags = sorted(problem for problem in of_lines if problem.startswith("--"))
    others = sorted(of_lines.keys() - from_flags, key=lambda one: (of_lines[one], one))
    unplaced = "; ".join(one for one in others if not of_lines[one])
    placed = [f"{where}:{of_lines[one]}: {one}" for one in others if of_lines[one]]
    mistakes = [*([f"{where}: {unplaced}"] if unplaced else []), *placed, *from_flags]
    raise ConfigError("\n".join(mistakes), mistakes)


def describe_allowed_values(name: str, kind: type[Settings] = RunConfig) -> str:
    """Values that a field may hold, such as ``"a whole number from 1 to 10,000,000"``.

    >>> describe_allowed_values("risk_fraction")
    'a number above 0, at most 1'
    """
    field = kind.model_fields[name]
    values, words = find_value_type(field), find_words(field)
    if words is not None:
        return words.text
    if get_origin(values) is Literal:
        return "one of " + ", ".join(get_args(values))
    if values in (int, float):
        return ("a whole number" if values is int else "a number") + _describe_range(field)
    return "true or false" if values is bool else "text"


def find_value_type(field: FieldInfo) -> type:
    """The type of a field's values, None left out."""
    annotation = field.annotation
    if get_origin(annotation) in (Literal, dict, list, tuple):
        return annotation  # type: ignore[return-value]
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return kinds[0] if kinds else annotation  # type: ignore[return-value]


def find_words(field: FieldInfo) -> Words | None:
    """Words for a field's values, where its type and range are not enough."""
    return next((known for known in field.metadata if isinstance(known, Words)), None)


def format_flag(name: str, kind: type[Settings] = RunConfig) -> str:
    """The flag of a field; a flag that repeats names a single entry.

    >>> format_flag("min_trades"), format_flag("bounds")
    ('--min-trades', '--bound')
    """
    field = kind.model_fields[name]
    if own := read_schema_extra(field, "flag"):
        return own
    is_many = get_origin(find_value_type(field)) in (dict, list)
    return f"--{name.removesuffix('s') if is_many else name}".replace("_", "-")


def to_toml(config: RunConfig) -> str:
    """Write a configuration as TOML, each key under its description; `resolve_config` reads it."""
    keys: list[str] = []
    tables: list[str] = []
    for name, field in RunConfig.model_fields.items():
        value, comment = getattr(config, name), f"# {field.description}\n"
        if isinstance(value, dict):
            rows = [f"{_toml_value(key)} = {_toml_value(entry)}\n" for key, entry in value.items()]
            tables.append(f"{comment}[{name}]\n{''.join(rows)}")
        elif value is None:
            keys.append(f"{comment}# {name} = (unset)\n")
        else:
            keys.append(f"{comment}{name} = {_toml_value(value)}\n")
    # In TOML all that follows a table belongs to it.
    return "\n".join(keys + tables)


def read_page(path: Path, otherwise: str, most: int = LARGEST_FILE_BYTES) -> str:
    """Read a text file of at most so many bytes; `otherwise` says why a larger one is refused.

    ConfigError when it is larger, or a folder, a pipe or a device.
    """
    # Only here: a command that only names flags shall not wait for numpy.
    from data.files import NoFileError, TooLargeError, read_ordinary

    try:
        return read_ordinary(path, most).decode("utf-8")
    except TooLargeError:
        raise ConfigError(f"{path}: larger than {most:,} bytes; {otherwise}") from None
    except NoFileError:
        raise ConfigError(f"{path}: is no plain file; name one") from None


def read_toml(path: Path) -> dict[str, object]:
    """Read a TOML file."""
    return _parse_toml(_read_text(path), path)


def _read_text(path: Path) -> str:
    try:
        if path.is_dir():
            raise ConfigError(f"{path}: is a folder; name a TOML file")
        return read_page(path, "no configuration")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not text; name a TOML file") from None


def _parse_toml(text: str, path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{path}: nested too deep for a configuration") from None
    except ValueError as error:
        # No TOML; whole numbers of thousands of digits are refused by Python itself.
        raise ConfigError(f"{path}: {error}") from None


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


def _problem(
    kind: type[Settings], key_path: tuple[int | str, ...], value: object, flags: Collection[str]
) -> str:
    """One wrong value: its place, the legal values, and the value."""
    # Only here: a command that only names flags shall not wait for numpy.
    from data.errors import near_match
    from data.plain import quote_value
    from optimizer.other_programs import describe_other

    name, path = str(key_path[0]), ".".join(str(part) for part in key_path if part != "[key]")
    if name not in kind.model_fields:
        if isinstance(value, Mapping):
            return f"{name} is unknown; {NO_TABLES}"
        near = near_match(name, kind.model_fields)
        return ("" if near else describe_other(name)) or f"{name} is unknown{near}"
    values = find_value_type(kind.model_fields[name])
    if isinstance(value, Mapping) and len(key_path) == 1 and get_origin(values) is not dict:
        return f"{name} is a table; {NO_TABLES}"
    words = find_words(kind.model_fields[name])
    entry = words.entry if words is not None and len(key_path) > 1 else ""
    if name in flags:
        path = format_flag(name, kind) + (f" {key_path[1]}" if entry else "")
    return (
        f"{path} must be {entry or describe_allowed_values(name, kind)}, got {quote_value(value)}"
    )


def _find_line(text: str, key_path: tuple[int | str, ...]) -> int:
    """Line of a TOML text that gives a value; 0 if it is not found."""
    name, *rest = (str(part) for part in key_path if part != "[key]")
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := TABLE.match(line):
            table = header[1]
            if table == name and not rest:
                return number
        elif key := KEY.match(line):
            words = [table, key[1].strip("\"'")] if table else [key[1].strip("\"'")]
            if words in ([name], [name, *rest[:1]]):
                return number
    return 0


def _describe_range(field: FieldInfo) -> str:
    low, above, high = (_limit(field, name) for name in ("ge", "gt", "le"))
    if low is not None:
        return f" of at least {low}" if high is None else f" from {low} to {high}"
    if above is None:
        return "" if high is None else f" of at most {high}"
    return f" above {above}" + ("" if high is None else f", at most {high}")


def _limit(field: FieldInfo, name: str) -> str | None:
    """A limit of a field's numbers, as pydantic keeps it."""
    limits = [getattr(known, name) for known in field.metadata if hasattr(known, name)]
    return f"{limits[0]:,}" if limits else None


def list_types(names: Iterable[str], kind: type[Settings] = RunConfig) -> dict[str, object]:
    """Types of knobs by their names."""
    return {name: find_value_type(kind.model_fields[name]) for name in names}


SIGNAL: Mapping[str, object] = list_types(DataSettings.model_fields)

JUDGE: Mapping[str, object] = list_types(JUDGED)

RUN: Mapping[str, object] = {
    **list_types(RunConfig.model_fields),
    "bars": object,
    "strategy": object,
}
"""All of a run."""
