"""Questions of a folder of runs, which it knows also after their runs are removed."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from data.files import read_ordinary, taking_turns
from optimizer.atomic_write import write_whole
from optimizer.errors import StoreError
from optimizer.store.payload import decode

SEARCHES = "searches.json"
"""Name of a folder's list of questions."""

LARGEST_BYTES = 50_000_000


def hash_question(header: Mapping[str, object]) -> str | None:
    """SHA-256 of all that a run was asked but its seed; None where its header does not say."""
    identity = header.get("identity")
    if not isinstance(identity, Mapping) or not isinstance(identity.get("settings"), Mapping):
        return None
    settings = {name: value for name, value in identity["settings"].items() if name != "seed"}
    parts = {name: part for name, part in identity.items() if name != "digest"}
    text = json.dumps(parts | {"settings": settings}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def note_question(runs_dir: Path, header: Mapping[str, object]) -> None:
    """Note that a run is begun. Processes that begin at once take turns.

    Raises:
        StoreError: When the list cannot be read.
        WriteError: When it cannot be written.
    """
    if (question := hash_question(header)) is None:
        return
    with taking_turns(runs_dir):
        noted = list_noted(runs_dir)
        if question not in noted:
            write_whole(runs_dir / SEARCHES, json.dumps([*noted, question], indent=1) + "\n")


def list_noted(runs_dir: Path) -> list[str]:
    """Questions that were ever begun in a folder, in their order.

    Raises:
        StoreError: When the list cannot be read.
    """
    path = runs_dir / SEARCHES
    try:
        noted = decode(read_ordinary(path, LARGEST_BYTES))
        if not isinstance(noted, list) or not all(isinstance(one, str) for one in noted):
            raise ValueError("it is no list of questions")
    except FileNotFoundError:
        return []
    except (OSError, ValueError, StoreError) as error:
        raise StoreError(
            f"{path} cannot be read ({error}): it counts searches, restore it"
        ) from None
    return noted
