"""Tags and a note that a person gives a run: a small file of its folder, which decides nothing."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from unicodedata import normalize

from data.errors import describe_unwritten
from data.files import taking_turns
from optimizer.atomic_write import write_whole
from optimizer.config.values import MOST_TAGS, TAG_RULE, is_tag
from optimizer.errors import ConfigError, StoreError
from optimizer.store.files import LABELS, open_plain

MARK = {"what": "labels of a run"}
"""First entry of the file: a file without it is not of this program."""

LONGEST_NOTE = 1000
"""Characters."""

LARGEST_BYTES = 65_536
"""Of the file; labels within the limits take a third of it at most."""


@dataclass(frozen=True)
class Labels:
    """Tags and note that a person gave a run."""

    tags: tuple[str, ...] = ()  # words, each once, in their order
    note: str = ""  # one line; empty without

    def add(self, words: Iterable[str]) -> "Labels":
        """These labels and tags that are new; two that differ in case alone are one.

        ConfigError when a word is no tag, or there are too many.
        """
        tags = {tag.casefold(): tag for tag in self.tags}
        for word in map(parse_tag, words):
            tags.setdefault(word.casefold(), word)
        if len(tags) > MOST_TAGS:
            raise ConfigError(f"{len(tags)} tags: a run has up to {MOST_TAGS}, remove some")
        return replace(self, tags=tuple(tags.values()))

    def remove(self, words: Iterable[str]) -> "Labels":
        """These labels without some tags; ConfigError when the run has no such tag."""
        gone = {parse_tag(word).casefold(): word for word in words}
        for key, word in gone.items():
            if not self.has(key):
                tags = ", ".join(self.tags) or "none"
                raise ConfigError(f"the run has no tag '{word}'; it has {tags}")
        return replace(self, tags=tuple(tag for tag in self.tags if tag.casefold() not in gone))

    def has(self, tag: str) -> bool:
        """True if a tag is among them, in any case."""
        return tag.casefold() in {known.casefold() for known in self.tags}


def parse_tag(text: str) -> str:
    """A tag as it is kept; ConfigError for more than a word, or what commands a terminal."""
    tag = normalize("NFC", text)
    if not is_tag(tag):
        raise ConfigError(f"tag {shorten(text)}: a tag is {TAG_RULE}")
    return tag


def parse_note(text: str) -> str:
    """A note as it is kept: in one line, each blank and end of a line one space.

    ConfigError when it is too long, or could command a terminal.
    """
    note = " ".join(normalize("NFC", text).split())
    if not note.isprintable() or len(note) > LONGEST_NOTE:
        raise ConfigError(
            f"note {shorten(text)}: a note has up to {LONGEST_NOTE:,} characters, none of which "
            "commands a terminal"
        )
    return note


def shorten(text: str) -> str:
    """A text as Python writes it, cut if it is long, with its length."""
    return repr(text) if len(text) <= 60 else f"{text[:57]!r}... ({len(text):,} characters)"


def read_labels(directory: Path) -> Labels:
    """Labels of a run; none without such a file.

    StoreError when the file is a link, not of this program, or was damaged.
    """
    try:
        descriptor = open_plain(directory, LABELS, os.O_RDONLY)
    except FileNotFoundError:
        return Labels()
    except OSError as error:
        raise StoreError(f"{directory / LABELS} cannot be read: {error.strerror}") from None
    with open(descriptor, "rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    try:
        return _parse(content)
    except (ConfigError, RecursionError, TypeError, ValueError):
        raise StoreError(
            f"{directory / LABELS} holds no tags and note as this program writes them: it decides "
            "nothing else, move it away and give them anew"
        ) from None


def find_label_problem(directory: Path) -> tuple[str, ...]:
    """Problem with the labels of a run, in a line; none where they can be read."""
    try:
        read_labels(directory)
    except StoreError as error:
        return (str(error),)
    return ()


def write_labels(directory: Path, labels: Labels) -> None:
    """Put labels in place of those of a run; without any there is no such file."""
    if labels == Labels():
        (directory / LABELS).unlink(missing_ok=True)
        return
    text = json.dumps({**MARK, **asdict(labels)}, indent=1, ensure_ascii=False)
    write_whole(directory / LABELS, f"{text}\n", may_follow=False)


def change_labels(
    directory: Path,
    *,
    add: Iterable[str] = (),
    remove: Iterable[str] = (),
    note: str | None = None,
) -> Labels:
    """Give a run tags, take some away, set its note if there is one; its labels then.

    Concurrent processes take turns; a run that is being recorded may be labelled too. ConfigError
    when a text is not allowed, OptimizerError when labels cannot be read or written.
    """
    try:
        with taking_turns(directory.resolve().parent):
            before = read_labels(directory)
            after = before.remove(remove).add(add)
            if note is not None:
                after = replace(after, note=parse_note(note))
            if after != before:
                write_labels(directory, after)
            return after
    except OSError as error:
        path = directory / LABELS
        raise StoreError(describe_unwritten(path, error)) from None


def _parse(content: bytes) -> Labels:
    """Labels of a file's content, by the same limits as a person's."""
    values = json.loads(content.decode("utf-8"))
    if len(content) > LARGEST_BYTES or not isinstance(values, dict):
        raise ValueError("no labels")
    what, tags, note = (values.get(name) for name in ("what", "tags", "note"))
    if what != MARK["what"] or not isinstance(tags, list) or not isinstance(note, str):
        raise ValueError("no labels")
    return Labels(note=parse_note(note)).add(tags)
