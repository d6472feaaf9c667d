"""Outcome of the check of a recorded run, in words."""

from optimizer.cli.console import stdout
from optimizer.store.result import describe_certificate
from optimizer.verify import Checked

MOST_LINES = 5
"""Of an error; the JSON has them all."""


def print_check(run: str, checked: Checked, *, is_empty: bool) -> None:
    """Print what was checked of a run in which nothing is wrong."""
    console = stdout()
    if checked.problems:
        return
    whole = "the record is whole, " if checked.is_whole else ""
    console.say(f"run {run}: {whole}every digest is right")
    if is_empty:
        console.say("there is no generation to replay yet")
    console.say_all(checked.unchecked)
    if checked.certificate is not None:
        console.say(describe_certificate(checked.certificate))
    if checked.is_whole:
        console.say("its members and recorded candidates reach their figures again")


def join_lines(lines: tuple[str, ...]) -> str:
    """The first lines as one, and how many more there are."""
    left = len(lines) - MOST_LINES
    return "; ".join(lines[:MOST_LINES]) + (f"; and {left} more" if left > 0 else "")
