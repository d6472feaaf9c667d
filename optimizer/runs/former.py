"""Runs of older engines named some metrics otherwise: they are read under the present names."""

import re
from collections.abc import Mapping

FIRST_WITH_PRESENT_NAMES = 3
"""Engine version from which on `sharpe` is that of a year and `sharpe_trade` that of trades."""

PRESENT_NAMES = {"sharpe": "sharpe_trade", "sharpe_annual": "sharpe"}

FIELDS = frozenset(
    [
        "by_window",
        "constraints",
        "failure_names",
        "infeasible",
        "metrics",
        "objectives",
        "rejected",
        "undefined",
    ]
)
"""Fields of headers, results and summaries that hold names of metrics, or texts with such in them.

Others keep what they say: a gene, a folder or a symbol may bear the same name."""

_FORMER_NAME = re.compile(rf"\b({'|'.join(PRESENT_NAMES)})\b")


def has_former_names(header: Mapping[str, object]) -> bool:
    """Whether a run's header says that an older engine made it."""
    versions = header.get("versions")
    engine = versions.get("engine") if isinstance(versions, Mapping) else None
    return isinstance(engine, int) and engine < FIRST_WITH_PRESENT_NAMES


def with_present_names(recorded: Mapping[str, object]) -> dict[str, object]:
    """What an older run recorded, as plain JSON, with the present names of metrics."""
    return {
        key: _renamed(value) if key in FIELDS else _searched(value)
        for key, value in recorded.items()
    }


def _searched(value: object) -> object:
    if isinstance(value, Mapping):
        return with_present_names(value)
    return [_searched(inner) for inner in value] if isinstance(value, list) else value


def _renamed(value: object) -> object:
    """The same with present names in every key and text."""
    if isinstance(value, str):
        return _FORMER_NAME.sub(lambda found: PRESENT_NAMES[found[1]], value)
    if isinstance(value, Mapping):
        return {_renamed(key): _renamed(inner) for key, inner in value.items()}
    return [_renamed(inner) for inner in value] if isinstance(value, list) else value
