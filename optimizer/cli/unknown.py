"""Answers to flags and commands that are not there: ours of another form or place, or another's."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import typer
from typer.core import TyperGroup

from data.errors import list_some, near_match
from optimizer.other_programs import describe_other, fold_name

MOST_OWNERS = 4
"""Commands that have a flag, in a message."""

RENAMED = {
    ("scan", "keep"): "--remember",
    ("scan", "nokeep"): "--no-remember",
    ("portfolio", "report"): "--page",
    ("null judge", "report"): "--page",
}
"""Former flags by command and folded name: each had another sense in another command."""

SENSES = {"schedule": "--every and --train judge the search again and again through time"}
"""Flags that another command has in another sense, and ours for what a person means."""

Command = Any
"""A command of the library, whose own class is private."""


def explain_flag(flag: str, context: typer.Context, given: Sequence[str]) -> str:
    """One line on a flag, as the library read it, that a command lacks; `given` is all words."""
    if not flag.startswith("--"):
        # The library reads a word behind a single dash as a row of letters.
        flag = next((word.partition("=")[0] for word in given if word.startswith(flag)), flag)
    here, key = find_path(context), fold_name(flag)
    own = list_flags(context.command)
    if now := RENAMED.get((here, key)):
        return f"{flag} is written {now} here"
    if written := next((name for name in own if fold_name(name) == key), ""):
        return f"{flag} is written {written} here"
    commands = list_commands(context.find_root().command)
    owners = [path for path, other in commands if key in map(fold_name, list_flags(other))]
    is_slip = not owners and near_match(flag, own, only_slips=True) != ""
    answer = describe_other(flag, only_flags=is_slip)
    lacks = f"{here or 'the program'} has no {flag}"
    if key in SENSES and "--every" in own:
        return f"{lacks}: {SENSES[key]}"
    if owners:
        lacks += f": it belongs to {list_some(owners[:MOST_OWNERS], len(owners))}"
        return "; ".join(filter(None, [lacks, answer]))
    everything = "--help-all" if here else "--help"
    longer = [name for name in own if name.startswith(flag)]
    near = f"; did you mean '{longer[0]}'?" if len(longer) == 1 else near_match(flag, own)
    return answer or lacks + (near or f": {everything} lists its flags")


def explain_command(name: str, context: typer.Context) -> str:
    """One line on a command that the program, or a word of it, lacks."""
    here, key = find_path(context), fold_name(name)
    known = list(cast("TyperGroup", context.command).commands)
    if written := next((word for word in known if fold_name(word) == key), ""):
        return f"{name} is written {written} here"
    lacks = f"there is no command '{here} {name}'".replace("' ", "'")
    paths = [path for path, _ in list_commands(context.find_root().command)]
    if ours := [path for path in paths if fold_name(path.split()[-1]) == key]:
        return f"{lacks}; there is {', '.join(ours)}"
    answer = describe_other(name, only_flags=near_match(name, known, only_slips=True) != "")
    return answer or lacks + (near_match(name, known) or f": here are {', '.join(known)}")


def find_path(context: typer.Context) -> str:
    """Words of a command, without the program's name."""
    return context.command_path.removeprefix(context.find_root().command_path).strip()


def list_flags(command: Command) -> list[str]:
    """Flags of a command itself."""
    names = (name for known in command.params for name in (*known.opts, *known.secondary_opts))
    return [name for name in names if name.startswith("-")]


def list_commands(group: Command) -> Iterator[tuple[str, Command]]:
    """Commands under a group that run, with their words."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from ((f"{name} {word}", below) for word, below in list_commands(command))
        else:
            yield name, command
