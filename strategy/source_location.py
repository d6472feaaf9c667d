"""Lines of a person's own file at which mistakes were made."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec, TypeVar, cast

from strategy.errors import ArgumentError, StrategyError

P = ParamSpec("P")
Result = TypeVar("Result")


@dataclass(frozen=True)
class StrategySource:
    """The file that a strategy was read from."""

    path: str  # the given one
    text: str  # all of it
    sha256: str  # of the text, hexadecimal
    # True if the strategy reads functions of the file, so that all of its text matters.
    has_functions: bool = False


class PlacedError(StrategyError):
    """A mistake in a person's own file; the message begins with file and line."""

    def __init__(self, message: str, mistakes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes)


class Missing:
    """Stands where a mistake was made; all that is made of it is missing too.

    It is neither true nor false, and has no items: a loop over it would never end.
    """

    __slots__ = ()
    __array_ufunc__ = __bool__ = __iter__ = None

    def _stay(self, *_: object, **__: object) -> "Missing":
        return self

    __call__ = __getattr__ = __getitem__ = _stay
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _stay
    __truediv__ = __rtruediv__ = __and__ = __rand__ = __or__ = __ror__ = _stay
    __gt__ = __lt__ = __ge__ = __le__ = __neg__ = __pos__ = __invert__ = __abs__ = _stay


MISSING: Any = Missing()

_MISTAKES: ContextVar[list[str] | None] = ContextVar("mistakes", default=None)

INSTALLED = {"site-packages", "dist-packages"}
"""Folders of libraries."""


def here() -> str:
    """File and line of the call into this package, be it through a library.

    Empty for what ships, which Python's import calls.
    """
    frame = sys._getframe()
    while _is_between(frame) and frame.f_back:
        frame = frame.f_back
    if frame.f_code.co_filename.startswith("<frozen "):
        return ""
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


@contextmanager
def collect_mistakes() -> Iterator[list[str]]:
    """Gather mistakes, a line each, in place of ending at the first."""
    mistakes: list[str] = []
    token = _MISTAKES.set(mistakes)
    try:
        yield mistakes
    finally:
        _MISTAKES.reset(token)


def locate_errors(function: Callable[P, Result]) -> Callable[P, Result]:
    """Have a function's `StrategyError` begin with the place of its call."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        mistakes = _MISTAKES.get()
        known = len(mistakes or ())
        try:
            return function(*args, **kwargs)
        except PlacedError:
            raise
        except StrategyError as error:
            # What a message quotes may have several lines, such as a table.
            text = f"{here()}: {' '.join(str(error).split())}"
            if mistakes is None:
                raise PlacedError(text) from None
            is_new = len(mistakes) == known and not _is_missing((*args, *kwargs.values()))
            strange = error.strange if isinstance(error, ArgumentError) else ()
            if is_new or strange:
                mistakes.append(text)
            if strange:
                # Its other arguments may be wrong as well.
                known_ones: Any = {key: kwargs[key] for key in kwargs if key not in strange}
                return call(*args, **known_ones)
            return cast(Result, MISSING)

    return call


def _is_missing(value: object) -> bool:
    """True if a mistake was made in a value, or in a part of it."""
    return value is MISSING or (isinstance(value, list | tuple) and any(map(_is_missing, value)))


def _is_between(frame: FrameType) -> bool:
    is_ours = frame.f_globals.get("__name__", "").split(".")[0] == "strategy"
    return is_ours or not INSTALLED.isdisjoint(Path(frame.f_code.co_filename).parts)
