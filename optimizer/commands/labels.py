"""runs tag, runs note: what a person calls a run."""

from collections.abc import Sequence
from pathlib import Path

from optimizer.commands.console import Lines, stdout
from optimizer.runs import find_run
from optimizer.runs.labels import Labels, change_labels, read_labels


def tag_command(name: str, runs: Path, words: Sequence[str], remove: Sequence[str]) -> None:
    """Add and remove tags of a run, and print those that it has then."""
    path = find_run(runs, name)
    labels = change_labels(path, add=words, remove=remove) if words or remove else None
    labels = labels or read_labels(path)
    tags = ", ".join(labels.tags) or f"none; add some with: runs tag {path.name} WORD"
    stdout().say(f"{path.name}: tags {tags}")


def note_command(name: str, runs: Path, text: str | None) -> None:
    """Set the note of a run where one is named, and print what it has then."""
    path = find_run(runs, name)
    labels = read_labels(path) if text is None else change_labels(path, note=text)
    stdout().say(f"{path.name}: {labels.note or 'no note'}")


def print_labels(console: Lines, labels: Labels) -> None:
    """Print tags and note of a run, a line each where it has them."""
    if labels.tags:
        console.say(f"tags {', '.join(labels.tags)}")
    if labels.note:
        console.say(f"note: {labels.note}")
