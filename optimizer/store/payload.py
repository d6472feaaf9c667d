"""Canonical JSON, and frozen dataclasses that write themselves and read what any version wrote."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache
from operator import not_
from pathlib import PurePath
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from optimizer.errors import StoreError
from optimizer.printable import clean_values

OPTIONAL = Field(exclude_if=not_)
"""Of a field that is not written where it is empty."""

DEEPEST = 100
"""How far what is recorded may be nested; a strategy's own terms come closest."""

TOO_DEEP = "nested too deeply"

LARGEST_WHOLE, LONGEST_WHOLE = 2**63 - 1, 20

EXTREME = re.compile(rb"(?<![\d.])\d{19}|[eE]\+?\d{3}")
"""Pattern of a number that may be too large."""

HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""Pattern of a character of which a half may be missing."""


class Payload:
    """A frozen dataclass that JSON can carry.

    What older versions did not record needs a default; what newer ones added is not read.
    """

    what: ClassVar[str] = "the record"
    """Name of the record in an error."""

    is_exact: ClassVar[bool] = False
    """Whether texts are read sign by sign; else those that command a terminal are cleaned."""

    def payload(self) -> dict[str, object]:
        """Mappings, sequences, texts, numbers, booleans and None, ready for JSON."""
        plain: dict[str, object] = self._adapter().dump_python(self)
        return plain

    @classmethod
    def read(cls, payload: object) -> Self:
        """Read what `payload` wrote and JSON has carried.

        StoreError names the first part that is missing or of another kind.
        """
        try:
            values = payload if cls.is_exact else clean_values(payload)
            record: Self = cls._adapter().validate_python(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise StoreError(f"{cls.what} cannot be read: {where}: {first['msg']}") from None
        return record

    @classmethod
    @cache
    def _adapter(cls) -> TypeAdapter[Any]:
        return TypeAdapter(cls)


def encode(value: object, *, what: str) -> bytes:
    """Canonical JSON: sorted keys, no blanks, UTF-8, floats that read back exactly.

    NumPy numbers and arrays, tuples and paths are written as their plain forms. StoreError when it
    holds NaN or an infinity, naming where, something unknown to JSON, or a number that `decode`
    refuses.
    """
    try:
        text = json.dumps(
            value, allow_nan=False, default=_plain, sort_keys=True, separators=(",", ":")
        )
    except ValueError:
        where = next(_not_finite(value, ""), "a nested value")
        raise StoreError(
            f"{what} cannot be recorded: {where or 'it'} is not a finite number; use null"
        ) from None
    except TypeError as error:
        raise StoreError(f"{what} cannot be recorded: {error}") from None
    payload = text.encode()
    if EXTREME.search(payload):
        try:
            decode(payload)
        except ValueError as error:
            raise StoreError(f"{what} cannot be recorded: {error}") from None
    return payload


def decode(payload: bytes) -> object:
    """Read what `encode` wrote.

    ValueError when it is not JSON in UTF-8, or holds what `encode` never writes: a number that is
    not finite or no machine has, a key twice, half a character, or more nesting than the walks over
    it can follow.
    """
    is_extreme = EXTREME.search(payload) is not None
    try:
        value: object = json.loads(
            payload,
            parse_int=_whole if is_extreme else None,
            parse_float=_finite if is_extreme else None,
            parse_constant=_refuse,
            object_pairs_hook=_object,
        )
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    _check_depth(value)
    if HALF.search(payload):
        # Half of a pair of surrogates is no character, and nothing could show it.
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return made


def _whole(text: str) -> int:
    if len(text) > LONGEST_WHOLE or abs(int(text)) > LARGEST_WHOLE:
        raise ValueError(f"the whole number {text[:LONGEST_WHOLE]}... is too large")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"the number {text[:LONGEST_WHOLE]} is too large")
    return number


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")


def _check_depth(value: object) -> None:
    boxes = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST):
        inner = (box.values() if isinstance(box, dict) else box for box in boxes)
        boxes = [
            value_inside
            for held in inner
            for value_inside in held
            if isinstance(value_inside, dict | list)
        ]
        if not boxes:
            return
    raise ValueError(TOO_DEEP)


def sha256(*parts: bytes) -> bytes:
    """Digest [32] of the parts, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


def _plain(value: object) -> object:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, PurePath):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a kind of value that JSON has")


def _not_finite(value: object, where: str) -> Iterator[str]:
    """Places of the numbers that JSON does not have, such as ``front[2].sharpe``."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        yield where
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _not_finite(inner, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _not_finite(inner, f"{where}[{index}]")


def read_mapping(payload: bytes) -> Mapping[str, object]:
    """JSON of an object; ValueError for anything else."""
    return require_mapping(decode(payload))


def require_mapping(value: object) -> Mapping[str, object]:
    """A part of JSON that is an object; ValueError for anything else."""
    if not isinstance(value, dict):
        raise ValueError("not a JSON object where there must be one")
    return value
