"""Lines of a person's own file at which mistakes were made."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import ParamSpec, TypeVar

from strategy.errors import StrategyError

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


def locate_errors(function: Callable[P, Result]) -> Callable[P, Result]:
    """Have a function's `StrategyError` begin with the place of its call."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except PlacedError:
            raise
        except StrategyError as error:
            # What a message quotes may have several lines, such as a table.
            raise PlacedError(f"{here()}: {' '.join(str(error).split())}") from None

    return call


def _is_between(frame: FrameType) -> bool:
    is_ours = frame.f_globals.get("__name__", "").split(".")[0] == "strategy"
    return is_ours or not INSTALLED.isdisjoint(Path(frame.f_code.co_filename).parts)
