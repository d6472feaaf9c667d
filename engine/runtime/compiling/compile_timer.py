"""How long this process has compiled loops and kernels; light enough for a search's clock."""

from time import perf_counter
from typing import Any

_SPENT = {"seconds": 0.0, "until": 0.0}


def compile_seconds() -> float:
    """Seconds in which this process compiled so far; threads that did so at once count once."""
    return _SPENT["seconds"]


def add_compiling(seconds: float) -> None:
    """Note that the last so many seconds were spent on compiling."""
    now = perf_counter()
    _SPENT["seconds"] += min(seconds, now - _SPENT["until"])
    _SPENT["until"] = now


def kernel_compiled(*, times: Any, **_: object) -> None:  # noqa: ANN401 - of triton
    """Hear from Triton, as its `CompilationListener`, that a kernel was compiled or found."""
    add_compiling(times.total / 1e6)
