"""Trust of this user, by digest, in one file of the user's own: runs begun here, and code.

A record is data that anybody may have written. Of one that was not begun here no file is read that
it names and no code is run that it holds, until a person has allowed it for just these digests.
"""

import hashlib
import logging
from pathlib import Path

from platformdirs import user_data_path

from data.files import open_ordinary, taking_turns
from optimizer.atomic_write import write_whole
from optimizer.errors import OptimizerError
from optimizer.store import RunStore

log = logging.getLogger(__name__)

APP, FILE = "exhaustion-optimizer", "trusted.txt"

BEGUN, TRUSTED, CODE = "begun", "run", "code"
"""First words of a line: a run that was begun here, one that is trusted, and the text of a file."""

MOST_RUNS = 20_000
"""Runs that are remembered, the newest; one that was forgotten is trusted anew by `--trust`."""

LARGEST_BYTES = 100_000_000

HEAD = "# Runs that were begun here, and runs and code that are trusted: remove a line to revoke it"

_SESSION: dict[str, None] = {}
"""Lines of this process itself, wherever they can be written."""


def trust_file() -> Path:
    """File that remembers."""
    return Path(user_data_path(APP)) / FILE


def is_begun_here(store: RunStore) -> bool:
    """Whether this user began a run on this machine: its header is what was asked for here."""
    return _is_known(_line_of_run(BEGUN, store.payload))


def may_read_files(store: RunStore) -> bool:
    """Whether files that a run names may be read: it was begun here, or is trusted."""
    return is_begun_here(store) or _is_known(_line_of_run(TRUSTED, store.payload))


def may_run_code(text: str) -> bool:
    """Whether the text of a strategy's file may be run."""
    return _is_known(_line_of_code(text))


def remember_begun(header: bytes, code: str | None) -> None:
    """Remember a run that is begun here, and the text of the strategy's file that it has run.

    `header` is as it will be recorded: a run that is killed as soon as it can be seen is known.
    """
    _remember(_line_of_run(BEGUN, header), code)


def remember_trusted(store: RunStore, code: str | None) -> None:
    """Remember that a person trusts a run, and the text of the strategy's file that it holds."""
    _remember(_line_of_run(TRUSTED, store.payload), code)


def _line_of_run(word: str, header: bytes) -> str:
    """Line about the header of a run, which never changes."""
    return f"{word} {hashlib.sha256(header).hexdigest()}"


def _line_of_code(text: str) -> str:
    return f"{CODE} {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _is_known(line: str) -> bool:
    return line in _SESSION or line in _read_lines()


def _remember(line: str, code: str | None) -> None:
    """Add new digests; where the file cannot be written, this process alone remembers it."""
    lines = [line] if code is None else [line, _line_of_code(code)]
    _SESSION.update(dict.fromkeys(lines))
    file = trust_file()
    try:
        with taking_turns(file.parent):
            known = _read_lines()
            if not all(digest in known for digest in lines):
                kept = _newest_lines([*known, *(digest for digest in lines if digest not in known)])
                write_whole(file, "\n".join((HEAD, *kept, "")), may_follow=False)
    except (OSError, OptimizerError) as error:
        log.info("what is trusted could not be written down for later commands (%s)", error)


def _newest_lines(lines: list[str]) -> list[str]:
    """Lines about all code, and about the newest runs."""
    runs = [line for line in lines if not line.startswith(CODE)]
    forgotten = set(runs[: max(len(runs) - MOST_RUNS, 0)])
    return [line for line in lines if line not in forgotten]


def _read_lines() -> dict[str, None]:
    """Lines that were written down, oldest first; none where the file is none."""
    try:
        with open_ordinary(trust_file()) as file:
            text = file.read(LARGEST_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    return dict.fromkeys(line for line in text.splitlines() if not line.startswith("#"))
