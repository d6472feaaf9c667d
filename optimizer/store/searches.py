"""Questions of a folder of runs, which it knows also after their runs are removed."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from data.files import read_ordinary, taking_turns
from optimizer.atomic_write import write_whole
from optimizer.errors import StoreError
from optimizer.store.payload import decode

Item = TypeVar("Item")

SEARCHES = "searches.json"
"""Name of a folder's list of questions."""

TRY = "try "
"""Beginning of a question that was no search, but a single candidate."""

LARGEST_BYTES = 50_000_000


def hash_question(header: Mapping[str, object]) -> str | None:
    """SHA-256 of a run's whole question but its seed; None if its header does not tell."""
    identity = header.get("identity")
    if not isinstance(identity, Mapping) or not isinstance(identity.get("settings"), Mapping):
        return None
    settings = {name: value for name, value in identity["settings"].items() if name != "seed"}
    parts = {name: part for name, part in identity.items() if name != "digest"}
    text = json.dumps(parts | {"settings": settings}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def hash_goals(header: Mapping[str, object]) -> tuple[str, str] | None:
    """Digests of the bars of a run and of its goals on them; None where its header has none."""
    identity = header.get("identity")
    if not isinstance(identity, Mapping) or "goals" not in identity:
        return None
    of_bars = [identity.get("data_hash"), identity.get("windows")]
    bars, goals = (
        hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()
        for part in (of_bars, identity["goals"])
    )
    return bars, goals


def note_question(runs_dir: Path, header: Mapping[str, object]) -> None:
    """Note that a run is begun. Processes that begin at once take turns.

    StoreError when the list cannot be read, WriteError when it cannot be written.
    """
    if (question := hash_question(header)) is None:
        return
    _note(runs_dir, question)


def note_try(runs_dir: Path, digest: str) -> None:
    """Note a single candidate that was tried, which counts as a question without a run."""
    _note(runs_dir, f"{TRY}{digest}")


def _note(runs_dir: Path, question: str) -> None:
    with taking_turns(runs_dir):
        noted = list_noted(runs_dir)
        if question not in noted:
            write_list(runs_dir / SEARCHES, [*noted, question])


def list_noted(runs_dir: Path) -> list[str]:
    """Questions that were ever begun in a folder, in their order."""
    return read_list(runs_dir / SEARCHES, LARGEST_BYTES, "searches", _require_text)


def read_list(path: Path, most_bytes: int, counted: str, read: Callable[[Any], Item]) -> list[Item]:
    """A list that a folder of runs keeps of what may not be forgotten; empty without a file.

    `counted` is its noun; `read` reads an item as it was written, and raises a ValueError or
    StoreError of another. StoreError when it cannot be read.
    """
    try:
        items = decode(read_ordinary(path, most_bytes))
        if not isinstance(items, list):
            raise ValueError(f"it is no list of {counted}")
        return [read(item) for item in items]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, StoreError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}): it counts {counted}, restore it"
        ) from None


def write_list(path: Path, items: Sequence[object]) -> None:
    """Write such a list."""
    write_whole(path, json.dumps(items, indent=1) + "\n")


def _require_text(item: object) -> str:
    if not isinstance(item, str):
        raise ValueError("it is no list of questions")
    return item
