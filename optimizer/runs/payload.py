"""Canonical JSON, and frozen dataclasses that write themselves and read what any version wrote."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from operator import not_
from pathlib import PurePath
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from optimizer.errors import StoreError

OPTIONAL = Field(exclude_if=not_)
"""Of a field that is not written where it is empty."""


class Payload:
    """A frozen dataclass that JSON can carry.

    What older versions did not record needs a default; what newer ones added is not read.
    """

    what: ClassVar[str] = "the record"
    """What to call it in an error."""

    def payload(self) -> dict[str, object]:
        """Mappings, sequences, texts, numbers, booleans and None, ready for JSON."""
        found: dict[str, object] = self._adapter().dump_python(self)
        return found

    @classmethod
    def read(cls, payload: object) -> Self:
        """Read what `payload` wrote and JSON has carried.

        Raises:
            StoreError: When something is missing or is of another kind, naming the first such.
        """
        try:
            found: Self = cls._adapter().validate_python(payload)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise StoreError(f"{cls.what} cannot be read: {where}: {first['msg']}") from None
        return found

    @classmethod
    @cache
    def _adapter(cls) -> TypeAdapter[Any]:
        return TypeAdapter(cls)


def encode(value: object, *, what: str) -> bytes:
    """Canonical JSON: sorted keys, no blanks, UTF-8, floats that read back exactly.

    NumPy numbers and arrays, tuples and paths are written as their plain forms.

    Raises:
        StoreError: When it holds NaN or an infinity, naming where, or something unknown to JSON.
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
    return text.encode()


def decode(payload: bytes) -> object:
    """Read what `encode` wrote.

    Raises:
        ValueError: When it is not JSON in UTF-8, or is nested beyond all reason.
    """
    try:
        value: object = json.loads(payload)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


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
