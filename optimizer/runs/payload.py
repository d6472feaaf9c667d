"""Frozen dataclasses that write themselves for JSON, and read what any version wrote."""

from functools import cache
from operator import not_
from typing import Any, ClassVar, Self

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
