"""Flags and commands that are not ours are answered from the table that the page has."""

import inspect
import re

import pytest
import typer

from data.errors import near_match
from optimizer.cli.app import app
from optimizer.cli.unknown import list_commands, list_flags
from optimizer.other_programs import OURS
from optimizer.store.result import FIGURES
from strategy import words
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "howto" / "coming_from.md").read_text(encoding="utf-8")
SECTIONS = {
    text.splitlines()[0].split(" (")[0].lower(): [
        row for row in text.splitlines() if row[:3] == "| `"
    ]
    for text in PAGE.split("\n## ")[1:]
}
PROGRAM = typer.main.get_command(app)
COMMANDS = {path: list_flags(command) for path, command in list_commands(PROGRAM)}
FLAGS = {flag for flags in COMMANDS.values() for flag in flags}

OTHER_WORDS = {"crowding", "soft", "runs", "lattice", "genetic", "margin", "leverage", "_trades"}
"""Choices, folders and frames in our column, each named with its flag or its program."""


def read_ours(row):
    """Pieces of our column that stand in ticks."""
    return re.findall(r"`([^`]+)`", row.split("|")[-2])


@pytest.mark.parametrize("program", OURS)
def test_the_page_has_the_table(program):
    """A program's rows, in their order, and no flag of another in any row beside them."""
    rows = [
        f"| `{theirs.replace(', ', '`, `')}` | {ours} |" for theirs, ours in OURS[program].items()
    ]
    section = SECTIONS[program.lower()]
    assert section[-len(rows) :] == rows
    others = [row.split("|")[1] for row in section[: -len(rows)]]
    assert not re.findall(r"(?<![\w-])--?\w[\w-]+", "".join(others))


def test_words_of_our_column_are_in_the_program():
    """Each flag, command, word, part and metric in our column."""
    for piece in [piece for rows in SECTIONS.values() for row in rows for piece in read_ours(row)]:
        path = next((path for path in COMMANDS if f"{piece} ".startswith(f"{path} ")), None)
        flags = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", piece))
        assert flags <= (FLAGS | {"--help", "--debug"} if path is None else {*COMMANDS[path]}), (
            piece
        )
        assert all(hasattr(words, name) for name in re.findall(r"^@?([a-z_]+)\(", piece)), piece
        parts = set(re.findall(r"^([a-z_]+)=", piece))
        assert parts <= {*inspect.signature(words.strategy).parameters}, piece
        if path is None and re.fullmatch(r"[a-z_ ]+", piece):
            assert piece in FIGURES or hasattr(words, piece) or piece in OTHER_WORDS, piece


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("sacn", "scan", True),
        ("seler_exhausion", "seller_exhaustion", True),
        ("reward", "reward_r", True),
        ("--pairs", "--parts", False),
        ("max_open_trades", "min_trades", False),
        ("--fee", "--seed", False),
        ("r", "run", False),
    ],
)
def test_only_a_slip_is_near(name, known, near):
    """A letter or two, or a missing end; no other word of some of the same letters."""
    assert bool(near_match(name, [known])) is near
