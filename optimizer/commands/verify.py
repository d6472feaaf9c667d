"""runs verify: the record read in full, and what follows from the rest of it found anew."""

from collections.abc import Mapping
from pathlib import Path

from optimizer.commands.console import print_json, stdout
from optimizer.commands.notes import COMPILES, note, telling
from optimizer.errors import StoreError
from optimizer.runs import RunStore, find_run
from optimizer.runs.result import describe_certificate
from optimizer.verifying.check import Checked, check_run

MOST_LINES = 5
"""Of an error; the JSON has them all."""


@telling((COMPILES,), note)
def verify_command(
    name: str, runs: Path, flags: Mapping[str, object], individuals: int, *, as_json: bool
) -> None:
    """Check a run, and say what was checked; what is wrong or cannot be told is an error.

    `flags` say where the data is now, if it has moved.
    """
    with RunStore.open(find_run(runs, name)) as store:
        run, found = store.run_id, check_run(store, flags, individuals)
        is_empty = not store.generations()
    if as_json:
        print_json(
            {
                "run": run,
                "is_whole": found.is_whole,
                "problems": found.problems,
                "unchecked": found.unchecked,
                "unfinished": found.unfinished,
                "certificate": found.certificate and found.certificate.as_dict(),
                "not_recomputed": found.not_recomputed,
            }
        )
    else:
        _say(run, found, is_empty=is_empty)
    if found.problems:
        raise StoreError(f"run '{run}' is damaged: {_join_lines(found.problems)}")
    if found.unchecked:
        raise StoreError(
            f"run '{run}' is not whole here: {_join_lines(found.unchecked)}; --individuals 0 "
            "checks the record alone"
        )
    if found.unfinished:
        raise StoreError(f"run '{run}' is not judged to the end: {_join_lines(found.unfinished)}")


def _say(run: str, found: Checked, *, is_empty: bool) -> None:
    console = stdout()
    if found.problems:
        return
    if found.is_whole:
        console.say(f"run {run}: the record is whole, every digest is right")
    else:
        console.say(f"run {run}: every digest is right, and the record does not contradict itself")
    if is_empty:
        console.say("there is no generation to replay yet")
    for line in found.unchecked:
        console.say(line)
    if found.certificate is not None:
        console.say(describe_certificate(found.certificate))
        console.say("all that follows from the bars and from other rows was computed anew")
    console.say(f"not computed anew: {'; '.join(found.not_recomputed)}")


def _join_lines(lines: tuple[str, ...]) -> str:
    left = len(lines) - MOST_LINES
    return "; ".join(lines[:MOST_LINES]) + (f"; and {left} more" if left > 0 else "")
