"""A knob is one field of the configuration; it says itself what it decides."""

from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

Value = TypeVar("Value")

Decides = Literal["search", "costs", "goals", "strategy", "data", "warm start", "end", "nothing"]
"""What a knob decides of a run; `optimizer.session.identity` compares it.

- ``search`` and ``costs`` decide results by their value.
- ``goals``, ``strategy``, ``data`` and ``warm start`` decide results by what is made of them: two
  values that lead to the same strategy, or to the same bars, are the same run.
- ``end`` decides which generation is the last one, and changes none of them.
- ``nothing`` may be given anew at any time: where and how fast it is computed, what is kept.
"""


class Settings(BaseModel):
    """A group of knobs; the configuration is all groups together."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False)


def knob(
    default: Value,
    *,
    decides: Decides,
    description: str,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    also: str = "",
) -> Value:
    """One field of a group.

    Args:
        default: Used nowhere else.
        decides: What it decides of a run.
        description: Help of its flag, and the comment above its key in a file.
        ge: Smallest legal value.
        gt: Legal values are above this.
        le: Largest legal value.
        also: Second name of its flag.
    """
    limits = {"ge": ge, "gt": gt, "le": le}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    extra = {"decides": decides, "also": also}
    value: Value = Field(default, description=description, json_schema_extra=extra, **given)  # type: ignore[call-overload]
    return value


def said_of(field: FieldInfo, what: Literal["decides", "also"]) -> str:
    """What a field says of itself beside its type and description; empty where it says nothing."""
    extra = field.json_schema_extra
    return str(extra.get(what, "")) if isinstance(extra, dict) else ""
