"""Differences between a record and the values that follow from the rest of it."""

import json
import math
from collections.abc import Mapping

from optimizer.run.identity import different_lines
from optimizer.store.payload import encode

WORDS = ("recorded", "it follows")


def find_differences(what: str, recorded: object, expected: object) -> tuple[str, ...]:
    """A line for each value that is recorded otherwise than it follows."""
    return different_lines(recorded, expected, WORDS, (what,))


def as_far_as_recorded(recorded: object, expected: object, *, apart: float = 0.0) -> object:
    """Expected values of the names that a record has: its version may not have known all.

    Numbers that lie no further `apart` than a share of themselves are taken as recorded.
    """
    recorded, expected = (
        json.loads(encode(value, what="the record")) for value in (recorded, expected)
    )
    return _keep_recorded_names(recorded, expected, apart)


def _keep_recorded_names(recorded: object, expected: object, apart: float) -> object:
    """Expected values of the names that a record has."""
    if isinstance(recorded, float) and isinstance(expected, float):
        return recorded if math.isclose(recorded, expected, rel_tol=apart) else expected
    if isinstance(recorded, Mapping) and isinstance(expected, Mapping):
        names = recorded.keys() & expected.keys()
        return {name: _keep_recorded_names(recorded[name], expected[name], apart) for name in names}
    if not (isinstance(recorded, list) and isinstance(expected, list)):
        return expected
    if len(recorded) != len(expected):
        return expected
    return [_keep_recorded_names(*pair, apart) for pair in zip(recorded, expected, strict=True)]
