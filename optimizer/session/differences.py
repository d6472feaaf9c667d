"""Where two records differ, value by value, in lines for people."""

from collections.abc import Iterator

from optimizer.runs.texts import decode, encode

ABSENT = object()
"""Stands for a value that only the other record has."""

MOST_CHARACTERS = 80
"""Of a value in a line."""

Place = tuple[str, ...]


def different_lines(
    old: object,
    new: object,
    words: tuple[str, str] = ("recorded", "now"),
    place: Place = (),
) -> tuple[str, ...]:
    """Compare two values that JSON can hold.

    Args:
        old: One of them.
        new: The other.
        words: What stands before the value of either.
        place: Names of what both are a part of.

    Returns:
        A line for each value that differs, such as ``seed: recorded 1, now 2``.

    >>> different_lines({"costs": {"fee_bp": 5.0}}, {"costs": {"fee_bp": 1.0}})
    ('costs.fee_bp: recorded 5.0, now 1.0',)
    """
    # As they read back from a record: tuples are lists, NumPy numbers are plain.
    old, new = (decode(encode(one, what="the record")) for one in (old, new))
    return tuple(
        f"{'.'.join(path)}: {words[0]} {_shown(was)}, {words[1]} {_shown(now)}"
        for path, was, now in _different(old, new, place)
    )


def _different(old: object, new: object, place: Place) -> Iterator[tuple[Place, object, object]]:
    """Where two JSON values differ, and what stands there in either."""
    if isinstance(old, dict) and isinstance(new, dict):
        if place and old.get("name") != new.get("name"):
            # Another strategy differs in nearly everything.
            yield place, old.get("name", ABSENT), new.get("name", ABSENT)
            return
        for key in sorted(old.keys() | new.keys()):
            yield from _different(old.get(key, ABSENT), new.get(key, ABSENT), (*place, str(key)))
    elif isinstance(old, list) and isinstance(new, list):
        yield from _different_lists(old, new, place)
    elif repr(old) != repr(new):
        # 1 is neither 1.0 nor true, and 0.0 is not -0.0.
        yield place, old, new


def _different_lists(
    old: list[object], new: list[object], place: Place
) -> Iterator[tuple[Place, object, object]]:
    if all(isinstance(one, str) for one in (*old, *new)):
        yield from _different_texts([*map(str, old)], [*map(str, new)], place)
    elif len(old) != len(new):
        yield place, _names(old), _names(new)
    else:
        for number, (left, right) in enumerate(zip(old, new, strict=True)):
            name = left.get("name") if isinstance(left, dict) else None
            yield from _different(left, right, (*place, str(name or number)))


def _different_texts(
    old: list[str], new: list[str], place: Place
) -> Iterator[tuple[Place, object, object]]:
    """What only one list has; the whole lists where they differ in their order."""
    if old == new:
        return
    gone, come = ([one for one in a if one not in b] for a, b in ((old, new), (new, old)))
    if not gone and not come:
        gone, come = old, new
    yield place, ", ".join(gone) or ABSENT, ", ".join(come) or ABSENT


def _names(values: list[object]) -> object:
    """Names of the members of a list, where they have any."""
    return [one.get("name", one) if isinstance(one, dict) else one for one in values]


def _shown(value: object) -> str:
    text = "(absent)" if value is ABSENT else repr(value)
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."
