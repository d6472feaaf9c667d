"""Faults that tests have to see: tables of them, a wrong line each."""

from typing import NamedTuple


class Edit(NamedTuple):
    """Text of a file, which stands in it once, and what is put in its place."""

    file: str
    before: str
    after: str


class Fault(NamedTuple):
    """A slip that a person would notice, and the behaviour that it breaks."""

    name: str
    breaks: str
    edits: tuple[Edit, ...]
    is_blind: bool = False  # whether it was drawn from the product's text, before its tests

    @property
    def room(self) -> str:
        """Folder of the first file, such as ``optimizer/store``."""
        return self.edits[0].file.rpartition("/")[0]


def list_faults(rows: tuple[tuple[str, ...], ...], *, is_blind: bool) -> tuple[Fault, ...]:
    """Faults of rows: a name, a file, the text before and after, the behaviour that it breaks."""
    return tuple(
        Fault(name, breaks, (Edit(file, before, after),), is_blind)
        for name, file, before, after, breaks in rows
    )
