"""What values of knobs look like: amounts of memory, choices, pairs, and what each is in words."""

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

UNITS = {"": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

ETAS = (1, 3, 7, 15, 31, 63)
"""Legal distribution indices of crossover and mutation; a larger one keeps children nearer."""


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
    """What a field may hold, where its type and range do not say it.

    Args:
        text: In words, for errors.
        form: What stands behind its flag in help; of a flag that repeats, one entry.
        entry: What one value of a table may hold, in words.
    """

    text: str
    form: str = ""
    entry: str = ""


AMOUNT = Words("an amount of memory such as 512MiB", "AMOUNT")


def _listed(value: int) -> int:
    if value not in ETAS:
        raise ValueError("not one of the choices")
    return value


def _named(value: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:[0-9]{1,3}(,[0-9]{1,3})*)?", value):
        raise ValueError("no device")
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
    Words("a source of bars, or a list of sources", "SPEC"),
]
Comparisons = Annotated[list[str], Words("a list of texts", "COMPARISON")]
Columns = Annotated[dict[str, str], Words("a table of meaning = name", "MEANING=NAME", "text")]
Bounds = Annotated[
    dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]],
    Words("a table of gene = [low, high]", "GENE=LOW:HIGH", "[low, high], two finite numbers"),
]
Steps = Annotated[dict[str, float], Words("a table of gene = step", "GENE=STEP", "a finite number")]
Eta = Annotated[int, AfterValidator(_listed), Words("one of " + ", ".join(map(str, ETAS)))]
Bytes = Annotated[int, BeforeValidator(_as_bytes), AMOUNT]
MaybeBytes = Annotated[int | None, BeforeValidator(_as_bytes), AMOUNT]
Device = Annotated[
    str, AfterValidator(_named), Words("auto, cpu, cuda, or GPUs by number as in cuda:0,1")
]
Folder = Annotated[str, AfterValidator(_nameable), Words("the name of a folder")]
