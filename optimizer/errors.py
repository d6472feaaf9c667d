"""Errors of a run, and the exit code that the command line gives each."""

from collections.abc import Sequence
from typing import Any, ClassVar


class OptimizerError(Exception):
    """A run cannot go on; the message has what, where and what to do next."""

    exit_code = 2


class ConfigError(OptimizerError):
    """A flag, a config key or a combination of them is not legal.

    Args:
        message: All of it.
        mistakes: A line each, where there are several.
    """

    def __init__(self, message: str = "", mistakes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.mistakes = tuple(mistakes)


class StoreError(OptimizerError):
    """The run store cannot be read, written or resumed."""

    exit_code = 4


class WriteError(StoreError):
    """The disk does not take a record; earlier records are kept."""


class DisturbedError(StoreError):
    """Another program moved, removed, replaced or cut a run while it was written."""


class LostError(OptimizerError):
    """A device, process or file of a search is gone; records until then are kept."""


class SchedulerLostError(LostError):
    """The scheduler of a cluster does not answer any more."""

    exit_code = 4


class WorkersLostError(LostError):
    """A cluster has no worker left, or a piece of work ends every worker that begins it."""

    exit_code = 5


class ParityError(OptimizerError):
    """The reference and the engine disagree, which is always a defect of ours."""

    exit_code = 1
    run: Any = None  # of an `evolve` that ended so; it is recorded all the same


class StoppedError(OptimizerError):
    """A person stopped it; everything found so far is recorded.

    Args:
        message: All of it.
    """

    exit_code = 130
    answer: ClassVar[str] = ""
    """Newest message: another signal may come before it is printed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        StoppedError.answer = message
