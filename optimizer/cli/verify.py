"""Outcome of the check of a recorded run, in words."""

from optimizer.cli.console import stdout
from optimizer.store.result import describe_certificate
from optimizer.verifying.check import Checked

MOST_LINES = 5
"""Of an error; the JSON has them all."""


def print_check(run: str, checked: Checked, *, is_empty: bool) -> None:
    """Print what was checked of a run in which nothing is wrong."""
    console = stdout()
    if checked.problems:
        return
    if checked.is_whole:
        console.say(f"run {run}: the record is whole, every digest is right")
    else:
        console.say(f"run {run}: every digest is right, and the record does not contradict itself")
    if is_empty:
        console.say("there is no generation to replay yet")
    console.say_all(checked.unchecked)
    if checked.certificate is not None:
        console.say(describe_certificate(checked.certificate))
        console.say("all that follows from the bars and from other rows was computed anew")
    console.say(f"not computed anew: {'; '.join(checked.not_recomputed)}")


def join_lines(lines: tuple[str, ...]) -> str:
    """The first lines as one, and how many more there are."""
    left = len(lines) - MOST_LINES
    return "; ".join(lines[:MOST_LINES]) + (f"; and {left} more" if left > 0 else "")
