"""Is this the same run? What must be equal for resumed bits to be those of an unbroken run."""

from collections.abc import Iterator, Mapping, Sequence

from optimizer.errors import StoreError
from optimizer.runs.texts import decode, encode

MAY_DIFFER = frozenset(
    [
        "chunk",
        "command",
        "config_file",
        "created_at",
        "debug",
        "device",
        "devices",
        "generations",
        "host",
        "journal",
        "json",
        "keep",
        "memory_bytes",
        "notes",
        "platform",
        "program",
        "quiet",
        "resume",
        "run",
        "run_id",
        "runs",
        "runs_dir",
        "threads",
        "verbose",
        "versions",
    ]
)
"""Names of fields that never change a result; a field within one of them never does either.

Everything else does, a field that is unknown here included: it is safer to refuse a resume than to
go on with other bits. `generations` says only when to stop."""

DECIDING_VERSIONS = frozenset({"engine", "spec", "strategy", "law", "search"})
"""Versions that decide results although they stand among `versions`."""

ABSENT = "(absent)"

_SHOWN_CHARACTERS = 80


def compare_headers(
    recorded: Mapping[str, object],
    present: Mapping[str, object],
    words: tuple[str, str] = ("recorded", "now"),
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Compare what a run was started with and what it would go on with.

    Args:
        recorded: Header of the run.
        present: Header that a new run would get now, or of another run.
        words: What stands before the value of either.

    Returns:
        One line for each field that differs, with both values: those that decide results, and
        those that do not.
    """
    deciding: list[str] = []
    harmless: list[str] = []
    for path, old, new in _differences(_as_json(recorded), _as_json(present), ()):
        line = f"{'.'.join(path) or 'header'}: {words[0]} {_shown(old)}, {words[1]} {_shown(new)}"
        (deciding if _decides(path) else harmless).append(line)
    return tuple(deciding), tuple(harmless)


def require_same(recorded: Mapping[str, object], present: Mapping[str, object]) -> tuple[str, ...]:
    """Refuse to go on with a run whose results would not be those of an unbroken one.

    Args:
        recorded: Header of the run.
        present: Header that a new run would get now.

    Returns:
        One line for each field that differs and may, such as the device; to be recorded.

    Raises:
        StoreError: Naming each field that decides results and differs, with both values.
    """
    deciding, harmless = compare_headers(recorded, present)
    if deciding:
        raise StoreError(
            "the run cannot be resumed, what decides its results has changed:\n  "
            + "\n  ".join(deciding)
            + "\n  go back to what was recorded, or start a new run"
        )
    return harmless


def _as_json(header: Mapping[str, object]) -> object:
    """As it reads back from the store: tuples are lists, NumPy numbers are plain."""
    return decode(encode(header, what="the header"))


def _differences(
    old: object, new: object, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], object, object]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _differences(old.get(key, ABSENT), new.get(key, ABSENT), (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from _differences(left, right, (*path, _name_of(left, right) or str(index)))
    elif type(old) is not type(new) or old != new:
        yield path, old, new


def _name_of(old: object, new: object) -> str:
    """The name that both members of a list bear, as genes do, or nothing."""
    names = [one.get("name") if isinstance(one, dict) else None for one in (old, new)]
    return names[0] if isinstance(names[0], str) and names[0] == names[1] else ""


def _decides(path: Sequence[str]) -> bool:
    if "versions" in path and path[-1] in DECIDING_VERSIONS:
        return True
    return not any(name in MAY_DIFFER for name in path)


def _shown(value: object) -> str:
    text = value if value == ABSENT else repr(value)
    return str(text) if len(str(text)) <= _SHOWN_CHARACTERS else f"{str(text)[:77]}..."
