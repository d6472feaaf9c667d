"""What a record says beside what follows from the rest of it."""

from collections.abc import Mapping

from optimizer.runs.payload import decode, encode
from optimizer.session.identity import different_lines

WORDS = ("recorded", "it follows")


def find_differences(what: str, recorded: object, expected: object) -> tuple[str, ...]:
    """A line for each value that is recorded otherwise than it follows."""
    return different_lines(recorded, expected, WORDS, (what,))


def as_far_as_recorded(recorded: object, expected: object) -> object:
    """Of what is expected that which a record names: its version may not have known all of it."""
    recorded, expected = (decode(encode(one, what="the record")) for one in (recorded, expected))
    return _known(recorded, expected)


def _known(recorded: object, expected: object) -> object:
    """Of what is expected that which a record has a name for."""
    if isinstance(recorded, Mapping) and isinstance(expected, Mapping):
        names = recorded.keys() & expected.keys()
        return {name: _known(recorded[name], expected[name]) for name in names}
    if not (isinstance(recorded, list) and isinstance(expected, list)):
        return expected
    if len(recorded) != len(expected):
        return expected
    return [_known(*pair) for pair in zip(recorded, expected, strict=True)]
