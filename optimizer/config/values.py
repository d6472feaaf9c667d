"""A knob is one field of the configuration: its effect and its values."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue
from pydantic.fields import FieldInfo

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

ETAS = (1, 3, 7, 15, 31, 63)
"""Legal distribution indices of crossover and mutation; a larger one keeps children nearer."""

MOST_TAGS, LONGEST_TAG = 32, 32

TAG_RULE = (
    f"a word of up to {LONGEST_TAG} letters, digits and any of . _ + : / -, beginning with a "
    "letter or a digit"
)

Value = TypeVar("Value")

Keep = Literal["all", "front", "last"]
"""Part that stays of generations before the newest two: all, their front, or their summary."""

Decides = Literal["search", "costs", "goals", "strategy", "data", "warm start", "end", "nothing"]
"""What a knob decides of a run; `optimizer.run.record` compares it.

- ``search`` and ``costs`` decide results by their value.
- ``goals``, ``strategy``, ``data`` and ``warm start`` decide results by what is made of them: two
  values that lead to the same strategy, or to the same bars, are the same run.
- ``end`` decides which generation is the last one, and changes none of them.
- ``nothing`` may be given anew at any time: where and how fast it is computed, what is kept.
"""


def parse_bytes(text: str) -> int:
    """Bytes of a number with an optional unit: KB, MB, GB (powers of 1000), KiB, MiB, GiB.

    >>> parse_bytes("1.5GiB")
    1610612736
    """
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,9})?)\s*([A-Za-z]{0,3})\s*", text)
    if match is None or match[2].upper() not in UNITS:
        raise ValueError("not an amount of memory")
    return int(float(match[1]) * UNITS[match[2].upper()])


def format_bytes(count: int) -> str:
    """Write bytes in the largest unit that divides them, as `parse_bytes` reads it.

    >>> format_bytes(2**30), format_bytes(200_000_000), format_bytes(7)
    ('1GiB', '200MB', '7')
    """
    names = ("GiB", "GB", "MiB", "MB", "KiB", "KB")
    name = next((unit for unit in names if count and count % UNITS[unit.upper()] == 0), "")
    return f"{count // UNITS[name.upper()]}{name}"


@dataclass(frozen=True)
class Words:
    """Words for a field's values, where its type and range are not enough, for errors.

    `form` is the text behind its flag in help, of a flag that repeats one entry; `entry` the values
    that one entry of a table may hold, in words.
    """

    text: str
    form: str = ""
    entry: str = ""


AMOUNT = Words("an amount of memory such as 512MiB", "AMOUNT")


class Settings(BaseModel):
    """A group of knobs; the configuration is all groups together.

    A group names what its knobs decide; a knob may name something else itself.
    """

    # Groups alone are never made, and help makes none.
    model_config = ConfigDict(
        strict=True, frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True
    )

    def __init_subclass__(cls, decides: Decides | None = None, **others: Any) -> None:  # noqa: ANN401
        super().__init_subclass__(**others)

    @classmethod
    def __pydantic_init_subclass__(cls, decides: Decides | None = None, **others: object) -> None:
        for field in cls.model_fields.values() if decides is not None else ():
            assert isinstance(field.json_schema_extra, dict), "every field is a knob"
            field.json_schema_extra.setdefault("decides", decides)


def knob(
    default: Value,
    description: str,
    *,
    decides: Decides | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    also: str = "",
    flag: str = "",
) -> Value:
    """One field of a group.

    `description` is the help of its flag and the comment above its key in a file, `also` a
    second name of its flag, `flag` the first where it is not the field's; `ge`, `gt` and `le` are
    limits. `decides` is that of its group if None.
    """
    extra: dict[str, JsonValue] = {"also": also, "flag": flag}
    if decides is not None:
        extra["decides"] = decides
    value: Value = Field(
        default, description=description, json_schema_extra=extra, ge=ge, gt=gt, le=le
    )
    return value


def read_schema_extra(field: FieldInfo, what: Literal["decides", "also", "flag"]) -> str:
    """Extra of a field beside its type and description; empty where there is none."""
    extra = field.json_schema_extra
    return str(extra.get(what, "")) if isinstance(extra, dict) else ""


def _where(holds: Callable[[Any], object]) -> AfterValidator:
    """Refuse values without some property; `Words` name the legal ones."""

    def check(value: object) -> object:
        if not holds(value):
            raise ValueError("not one of these values")
        return value

    return AfterValidator(check)


def _is_split(value: str | None) -> bool:
    """True if it is a number of groups and a smaller one of them, or nothing."""
    if value is None:
        return True
    match = re.fullmatch(r"([0-9]{1,3}),([0-9]{1,3})", value)
    return match is not None and 1 <= int(match[2]) < int(match[1])


def is_duration(text: str) -> bool:
    """True if a text is a duration, as `data.parse_timeframe` reads it.

    >>> is_duration("30d"), is_duration("0d"), is_duration("30"), is_duration("999999w")
    (True, False, False, False)
    """
    # Only here: what reads no duration imports no numbers.
    from data.errors import TimeframeError
    from data.timeframe import parse_timeframe

    try:
        parse_timeframe(text)
    except TimeframeError:
        return False
    return True


def is_tag(text: str) -> bool:
    """True if a text is one word that no terminal obeys, by `TAG_RULE`.

    >>> is_tag("btc-2024"), is_tag("two words"), is_tag("-x")
    (True, False, False)
    """
    return re.fullmatch(rf"[^\W_][\w.+:/-]{{0,{LONGEST_TAG - 1}}}", text) is not None


def _as_bytes(value: object) -> object:
    return parse_bytes(value) if isinstance(value, str) else value


def _as_bounds(value: object) -> object:
    bounds = [value, value] if isinstance(value, str | int | float) else value
    for bound in bounds if isinstance(bounds, list) else ():
        if isinstance(bound, bool) or not isinstance(bound, float | int | str):
            raise ValueError(f"{bound!r} is no bound")
    return bounds


def _as_tags(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _as_list_text(value: object) -> object:
    if isinstance(value, list | tuple) and all(isinstance(text, str) for text in value):
        return ",".join(value)
    return value


def _as_specs(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Specs = Annotated[
    tuple[str, ...],
    BeforeValidator(_as_specs),
    Field(min_length=1),
    Words("a source of bars, or a list of sources", "SPEC"),
]
Goals = Annotated[
    str,
    BeforeValidator(_as_list_text),
    Words("a text, or a list of texts", "FORMULA"),
]
Comparisons = Annotated[list[str], Words("a list of texts", "COMPARISON")]
AlignedColumns = Annotated[list[str], Words("a list of NAME or NAME=COLUMN", "NAME[=COLUMN]")]
FinerSpecs = Annotated[list[str], Words("a source of bars, or a list of sources", "SPEC")]
ColumnFiles = Annotated[list[str], Words("a list of NAME=FILE", "NAME=FILE")]
Columns = Annotated[dict[str, str], Words("a table of meaning = name", "MEANING=NAME", "text")]
Bounds = Annotated[
    dict[
        str,
        Annotated[
            list[float | str], BeforeValidator(_as_bounds), Field(min_length=2, max_length=2)
        ],
    ],
    Words(
        "a table of gene = [low, high]",
        "GENE=LOW:HIGH",
        "[low, high], two finite numbers or names of options, or one of them",
    ),
]
Steps = Annotated[dict[str, float], Words("a table of gene = step", "GENE=STEP", "a finite number")]
Eta = Annotated[int, _where(ETAS.__contains__), Words("one of " + ", ".join(map(str, ETAS)))]
Bytes = Annotated[int, BeforeValidator(_as_bytes), AMOUNT]
MaybeBytes = Annotated[int | None, BeforeValidator(_as_bytes), AMOUNT]
Device = Annotated[
    str,
    _where(lambda value: re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,3}(,[0-9]{1,3})*)?", value)),
    Words("auto, cpu, cuda, or GPUs by number as in cuda:0,1"),
]
Groups = Annotated[
    str | None,
    _where(_is_split),
    Words("a number of groups and a smaller one that are tested, such as 8,2", "N,K"),
]
Blocks = Annotated[
    int, _where(range(0, 17, 2).__contains__), Words("0, or an even number up to 16", "COUNT")
]
Duration = Annotated[
    str | None,
    _where(lambda value: value is None or is_duration(value)),
    Words("a duration such as 30d, of at most 7625w", "DURATION"),
]
Training = Annotated[
    int | str,
    _where(lambda value: is_duration(value) if isinstance(value, str) else 1 <= value <= 1000),
    Words(
        "a whole number from 1 to 1,000, or a duration such as 180d, of at most 7625w",
        "COUNT|DURATION",
    ),
]
Tags = Annotated[
    list[Annotated[str, _where(is_tag)]],
    BeforeValidator(_as_tags),
    Field(max_length=MOST_TAGS),
    Words(f"a list of up to {MOST_TAGS} tags", "WORD", TAG_RULE),
]
Folder = Annotated[
    str, _where(lambda value: value and "\0" not in value), Words("the name of a folder")
]
