"""Runs of a folder: their list, the run behind a name, and removal of a run's own files alone."""

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from unicodedata import normalize

from data.errors import list_some
from data.files import name_draft, open_ordinary, remove_drafts, strip_draft, sync_folder
from optimizer.errors import StoreError
from optimizer.formatting import GRADE_WORDS
from optimizer.printable import clean_text
from optimizer.store.caveats import DRIFT, JUDGEMENT, RunAnswer, mapping_or_empty
from optimizer.store.files import (
    COLUMN_FOLDER,
    DATABASE,
    LABELS,
    NAMES,
    OWNER,
    REPORT,
    OwnerLock,
    is_owned,
    list_folders,
    read_owner,
)
from optimizer.store.labels import find_label_problem, read_labels
from optimizer.store.log import Reader
from optimizer.store.log_file import APPLICATION_ID
from optimizer.store.searches import hash_goals, hash_question, note_question

LATEST = "latest"
"""Stands for the run that was created last, wherever a run can be named."""

LEFT_OUT = "left out"
"""Status of a run that is named in lists, with the reason, and found by its path alone."""

JUDGED_NOW = "being judged"
"""Status of a finished run that is owned and has no verdict yet."""

_NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)

_RUN_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")

FOREIGN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Errors of values of a record that no version ever wrote."""

REPORT_MARKS = (b'http-equiv="Content-Security-Policy"', b'rel="icon" href="data:,"')
"""In the first `HEAD_BYTES` of a page that this program wrote."""

HEAD_BYTES = 1024

MARK = slice(68, 72)
"""Bytes of a SQLite file that hold its application id. Source: SQLite, "Database File Format"."""

OWN = (*NAMES, REPORT, LABELS)
"""Names of a run's files in its own folder."""


@dataclass(frozen=True, kw_only=True)
class RunSummary(RunAnswer):
    """One line about a run, with its answer; None where the run does not say."""

    id: str
    path: Path
    # ``finished``, ``running``, ``interrupted``, ``damaged`` if unreadable, `LEFT_OUT`.
    status: str
    created_at: str | None = None
    strategy: str | None = None
    data: str | None = None
    generations: int = 0  # how many are recorded and can be trusted, the initial one included
    planned: int | None = None  # how many it was to have, the initial one not included
    front_size: int | None = None  # members of the final front, once it is finished
    verdict: str | None = None  # grade of its newest judgement; None without one
    symbols: tuple[str, ...] = ()  # that it searches on
    question: str | None = None  # digest of its whole question but the seed
    goals: tuple[str, str] | None = None  # digests of its bars, and of its goals on them
    tags: tuple[str, ...] = ()  # that a person gave it, as the `note`
    note: str = ""
    is_schedule: bool = False  # whether its newest judgement is about a schedule
    drift: str = ""  # of trades since, in a line; empty if it was never watched
    damaged: str = ""  # why it is left out, or cannot be trusted whole; empty for a sound run
    # Rank in the order of creation, 0 for older versions; None if unreadable.
    number: int | None = None

    @property
    def grade(self) -> str:
        """Grade of a finished run, an empty text of another."""
        is_over = self.front_size is not None and self.status != JUDGED_NOW
        return (self.verdict or "not_judged") if is_over else ""

    @property
    def state(self) -> str:
        """Grade in words, or how far a run without one has come."""
        if self.grade or self.planned is None or self.status == JUDGED_NOW:
            return GRADE_WORDS.get(self.grade, self.grade) or self.status
        return f"{self.status} {max(self.generations - 1, 0):,}/{self.planned:,}"


def list_runs(runs_dir: Path, read: Callable[[Path], RunSummary] | None = None) -> list[RunSummary]:
    """All runs in a directory, oldest first; those left out or not readable say why.

    `read` gives the summary of a folder, in place of `summarise`. StoreError when the directory
    itself cannot be read.
    """
    return _sort_runs(
        [
            RunSummary(id=show_name(folder), path=folder, status=LEFT_OUT, damaged=why)
            if why
            else (read or summarise)(folder)
            for folder, why in scan_runs(runs_dir)
        ]
    )


def find_next_number(runs_dir: Path) -> int:
    """Number of a run that is created now: runs are counted, because a clock may be set back."""
    try:
        folders = list_run_folders(runs_dir)
    except StoreError:
        # Creating a run there names the fault.
        return 1
    return 1 + max((_read_run_number(folder) or 0 for folder in folders), default=0)


Look = Callable[[Mapping[str, object]], None]
"""Reader of the results of a folder's runs, while each is open."""


def summarise(path: Path, look: Look | None = None) -> RunSummary:
    """Summary of a run's directory in any state; never raises for a damaged run.

    `look` gets its result, if there is one.
    """
    summary = _read_summary(path, look)
    try:
        return replace(summary, **vars(read_labels(path)))
    except StoreError as error:
        return replace(summary, damaged="; ".join(filter(None, (summary.damaged, str(error)))))


def _read_summary(path: Path, look: Look | None) -> RunSummary:
    try:
        with closing(Reader(path)) as reader, reader.snapshot():
            return _build_summary(path, reader, look)
    except (StoreError, *FOREIGN) as error:
        status = "running" if find_status(path) == "running" else "damaged"
        is_ours = isinstance(error, StoreError)
        words = str(error) if is_ours else f"it holds what no run holds ({error!r})"
        return RunSummary(id=path.name, path=path, status=status, damaged=_first_line(words))


def split_member(text: str) -> tuple[str, int | None]:
    """Run and number of a member that a text such as ``latest:3`` names; None without a number.

    >>> split_member("latest:3"), split_member("runs/2026")
    (('latest', 3), ('runs/2026', None))
    """
    name, _, member = text.rpartition(":")
    if name and member.isdecimal():
        return name, int(member)
    return text, None


def find_run(runs_dir: Path, name: str) -> Path:
    """Directory of the run that a person means.

    `name` is ``latest``, the name of a run, the beginning of exactly one, or the path of a run.
    StoreError when there is none, or more than one, naming the runs.
    """
    if "/" in name or os.path.isfile(Path(name) / DATABASE):
        return _resolve_path(Path(name))
    for folder in list_run_folders(runs_dir):
        if folder.name == name:
            return folder
    runs = list_runs(runs_dir)
    paths = {run.id: run.path for run in runs if run.status != LEFT_OUT}
    if name.lower() == LATEST and paths:
        return [*paths.values()][-1]
    matching = _match_names(paths, name)
    if len(matching) == 1:
        return paths[matching[0]]
    if matching:
        newest = list_some(matching[-5:], len(matching))
        raise StoreError(f"{_quote_text(name)} begins more than one run: {newest}")
    for run in runs:
        if run.status == LEFT_OUT and name in (run.id, run.path.name):
            raise StoreError(f"run '{run.id}' in {runs_dir} is left out: {run.damaged}")
    known = (
        f"there are {list_some([*paths][-5:], len(paths))}" if paths else "there are no runs at all"
    )
    raise StoreError(f"there is no run {_quote_text(name)} in {runs_dir}: {known}")


def new_run_id() -> str:
    """Name a run after the moment at which it starts.

    Such as ``20261121-093015-3fa9c1``: UTC, then six random digits of the operating system, so
    that no search's random stream is touched. Sorting ids sorts them by time.
    """
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.urandom(3).hex()}"


def validate_run_id(text: str) -> str:
    """Return `text` when a new run may have it as its id; a recorded one may be renamed freely.

    It has 1 to 64 letters, digits, dots, underscores and hyphens, starts with a letter or a digit,
    does not end with a dot, and is not ``latest``. StoreError for anything else, such as a path.
    """
    if not _RUN_ID.fullmatch(text) or ".." in text or text.lower() == LATEST:
        raise StoreError(
            f"run id {_quote_text(text)} is not legal: use 1 to 64 letters, digits, '.', '_' and "
            "'-', starting with a letter or a digit"
        )
    return text


def run_path(runs_dir: Path, run_id: str) -> Path:
    """Directory of a run, whether it exists or not.

    StoreError when the id is not legal, or a symbolic link leads out of `runs_dir`.
    """
    path = runs_dir / validate_run_id(run_id)
    if not path.resolve().is_relative_to(runs_dir.resolve()):
        raise StoreError(f"run '{run_id}' is a link that leads out of {runs_dir}: not followed")
    return path


def _build_summary(path: Path, reader: Reader, look: Look | None) -> RunSummary:
    header = reader.header
    problems: list[str] = []
    generations, planned, result, verdict = 0, None, None, None
    answer, drift, is_schedule = RunAnswer(), "", False
    try:
        problems += reader.find_losses()
        planned = reader.planned
        result = reader.result
        if look is not None and result is not None:
            look(result)
        generations = len(reader.follow().generations)
        problems += reader.recover().warnings
        judgement = reader.find_evidence(JUDGEMENT)
        drift = _read_text(reader.find_evidence(DRIFT), "sentence") or ""
        is_schedule = judgement.get("schedule") is not None
        verdict = _read_text(mapping_or_empty(judgement.get("verdict")), "grade")
        answer = RunAnswer.read(judgement.get("answer", (result or {}).get("answer", {})))
    except StoreError as error:
        problem = _first_line(str(error))
        # The file's path may stand before a loss that is known.
        problems += [] if problem.endswith(tuple(problems)) else [problem]
    return RunSummary(
        id=path.name,
        path=path,
        status=find_status(path) if result is None else "finished",
        created_at=_read_text(header, "created_at"),
        strategy=_read_text(header, "strategy"),
        data=_read_text(header, "data"),
        generations=generations,
        planned=planned,
        front_size=_count_front(result),
        verdict=verdict,
        symbols=_list_symbols(header),
        **vars(answer),
        is_schedule=is_schedule,
        drift=drift,
        damaged="; ".join(dict.fromkeys(problems)),
        number=reader.number,
        question=hash_question(header),
        goals=hash_goals(header),
    )


def _sort_runs(runs: list[RunSummary]) -> list[RunSummary]:
    """Runs in the order of their creation.

    A run with an unreadable number stands behind all that were created before its time.
    """
    times = {run.id: run.created_at or _parse_id_time(run.id) for run in runs}

    def place(run: RunSummary) -> tuple[int, bool, str, str]:
        time, number = times[run.id], run.number
        if number is None:
            known = [
                earlier
                for earlier in runs
                if earlier.number is not None and times[earlier.id] <= time
            ]
            number = max((earlier.number or 0 for earlier in known), default=0)
        return number, run.number is None, time, run.id

    return sorted(runs, key=place)


def list_run_folders(runs_dir: Path) -> list[Path]:
    """Directories of runs that are listed; StoreError as of `scan_runs`."""
    return [folder for folder, why in scan_runs(runs_dir) if not why]


def scan_runs(runs_dir: Path) -> list[tuple[Path, str]]:
    """Folders with a run in them, by name, and why one is left out; empty for a listed one.

    StoreError when the directory cannot be read.
    """
    try:
        entries = sorted(runs_dir.iterdir()) if runs_dir.exists() else []
    except OSError as error:
        raise StoreError(f"{runs_dir} cannot be read: {error.strerror}") from None
    reasons = ((entry, _find_reason(entry)) for entry in entries)
    return [(entry, why) for entry, why in reasons if why is not None]


def show_name(folder: Path) -> str:
    """Name of a run as it is listed: escaped where a sign of it cannot be printed."""
    return folder.name if _is_printable(folder.name) else repr(folder.name)[1:-1]


def _read_run_number(path: Path) -> int | None:
    try:
        with closing(Reader(path)) as reader:
            return reader.number
    except (StoreError, *FOREIGN):
        return None


def _find_reason(entry: Path) -> str | None:
    """Reason for leaving a run out, empty for a listed one; None for an entry without a run."""
    if strip_draft(entry.name) != entry.name:
        return None
    try:
        os.lstat(entry / DATABASE)
    except OSError as error:
        why = f"it cannot be opened ({error.strerror}): it may hold a run"
        return None if error.errno in _NO_FOLDER else why
    if entry.is_symlink():
        return "it is a link, and links are not followed: name the run by its path"
    if not _is_printable(entry.name):
        return "its name has signs that cannot be printed: rename the folder"
    if entry.name.lower() == LATEST:
        return f"'{LATEST}' stands for the newest run: rename the folder"
    return ""


def _is_printable(name: str) -> bool:
    return clean_text(name, "") == name


def _match_names(names: Iterable[str], text: str) -> list[str]:
    """Names that are a text, or else begin so, however their accents are encoded."""
    wanted, known = normalize("NFC", text), {name: normalize("NFC", name) for name in names}
    equal = [name for name, form in known.items() if form == wanted]
    return equal or [name for name, form in known.items() if text and form.startswith(wanted)]


def find_status(path: Path) -> str:
    """Status of a run without a result: ``running`` while it is owned, else ``interrupted``."""
    try:
        return "running" if is_owned(path) else "interrupted"
    except StoreError:
        return "interrupted"


def _resolve_path(path: Path) -> Path:
    folder = path.parent if path.name == DATABASE else path
    if not os.path.isfile(folder / DATABASE):
        raise StoreError(f"{folder} is not a run: there is no file {DATABASE} in it")
    return folder


def _read_text(header: Mapping[str, object], name: str) -> str | None:
    value = header.get(name)
    return value if isinstance(value, str) else None


def _list_symbols(header: Mapping[str, object]) -> tuple[str, ...]:
    symbols = header.get("symbols")
    return tuple(map(str, symbols)) if isinstance(symbols, list) else ()


def _count_front(result: Mapping[str, object] | None) -> int | None:
    front = None if result is None else result.get("front")
    return len(front) if isinstance(front, list) else None


def _parse_id_time(run_id: str) -> str:
    """The moment that an id of `new_run_id` names, in the form of a header's ISO time."""
    try:
        return datetime.strptime(run_id[:15], "%Y%m%d-%H%M%S").isoformat()
    except ValueError:
        return ""


def _first_line(words: str) -> str:
    return words.splitlines()[0]


def _quote_text(text: str) -> str:
    return repr(text if len(text) <= 64 else text[:61] + "...")


def begin_draft(runs_dir: Path, run_id: str) -> tuple[Path, OwnerLock]:
    """A folder for preparing a run, so that it exists whole or not at all, and its lock."""
    while True:
        draft = runs_dir / name_draft(run_id)
        draft.mkdir()
        try:
            return draft, OwnerLock.acquire(draft)
        except StoreError:
            # Another process may have taken it for an abandoned one.
            if draft.exists():
                shutil.rmtree(draft, ignore_errors=True)
                raise


def sweep_drafts(runs_dir: Path) -> int:
    """Remove drafts of dead writers in the folder of runs; the number of drafts of runs.

    In that of a run, files of a run alone are removed.
    """
    swept: list[Path] = []

    def remove(draft: Path) -> None:
        if not draft.is_dir():
            draft.unlink()
        elif not list_foreign_files(draft):
            _remove_files(draft)
            swept.append(draft)

    remove_drafts(runs_dir, remove)
    return len(swept)


def remove_leftovers(directory: Path) -> None:
    """Remove drafts of writers that were killed; only the owner of a run may."""
    for folder in list_folders(directory):
        remove_drafts(folder)


def list_run_files(directory: Path) -> list[Path]:
    """Files of the run in a directory, those by which it is known as a run last."""
    if not _is_run(directory):
        return []
    names, columns = _list_column_names(directory), _list_entries(directory / COLUMN_FOLDER)
    paths = [path for path in columns if Path(strip_draft(path.name)).stem in names]
    entries = [*_list_entries(directory)]
    paths += [path for path in entries if strip_draft(path.name) in OWN and path.name not in OWN]
    paths += filter(_is_page, entries)
    if not find_label_problem(directory):
        paths += [path for path in entries if path.name == LABELS]
    last = sorted(NAMES, key=(DATABASE, OWNER).count)
    paths += [directory / name for name in last if os.path.lexists(directory / name)]
    return [path for path in paths if path.is_symlink() or not path.is_dir()]


def list_foreign_files(directory: Path) -> list[Path]:
    """Entries of a run's directory that are no files of the run."""
    files, folders = set(list_run_files(directory)), list_folders(directory)
    lying = [path for folder in folders for path in _list_entries(folder)]
    return sorted(path for path in lying if path not in files and path not in folders)


def delete_run(path: Path) -> None:
    """Remove a run from the disk: its own files, and its folder unless others lie there.

    Killed in between, the rest is swept like a run never begun, or removed by a second call.
    StoreError when it is no run, is owned, or cannot be removed.
    """
    if path.is_symlink():
        raise StoreError(f"{path} is a link, and is not followed: name the run's own folder")
    path = path.resolve()
    if not _is_run(path):
        raise StoreError(
            f"{path} is not known as a run ({DATABASE} and {OWNER} are no files of this program): "
            "nothing was removed; remove the folder yourself if that is meant"
        )
    lock = OwnerLock.acquire(path)
    try:
        # A run that was begun elsewhere is no question that this folder noted.
        with suppress(StoreError), closing(Reader(path)) as reader:
            note_question(path.parent, reader.header)
        gone = path
        if not list_foreign_files(path):
            # Its own name may be as long as a name may be.
            gone = path.with_name(name_draft("deleted"))
            os.rename(path, gone)
            sync_folder(path.parent)
        _remove_files(gone)
    except OSError as error:
        raise StoreError(f"{path} cannot be removed: {error.strerror or error}") from None
    finally:
        lock.release()


def _remove_files(directory: Path) -> None:
    """Remove the files of a run, then its folders where nothing else lies in them."""
    for path in list_run_files(directory):
        path.unlink(missing_ok=True)
    for folder in list_folders(directory):
        if not any(folder.iterdir()):
            folder.rmdir()


def has_mark(path: Path) -> bool:
    """True if a file is marked as the database of a run, in spite of any damage."""
    try:
        with open_ordinary(path) as file:
            return file.read(MARK.stop)[MARK] == APPLICATION_ID.to_bytes(4, "big")
    except OSError:
        return False


def _is_run(directory: Path) -> bool:
    """True if this program made the database or the note on its owner."""
    return has_mark(directory / DATABASE) or read_owner(directory) is not None


def _list_column_names(directory: Path) -> set[str]:
    """Names of the columns that a run has copies of; none if its header cannot be read."""
    with suppress(StoreError):
        reader = Reader(directory)
        reader.close()
        command = reader.header.get("command")
        files = command.get("column_file") if isinstance(command, Mapping) else None
        return {str(text).partition("=")[0] for text in files} if isinstance(files, list) else set()
    return set()


def _is_page(path: Path) -> bool:
    """True if a file is a report that this program wrote."""
    if path.name != REPORT or not path.is_file():
        return False
    with open(path, "rb") as file:
        head = file.read(HEAD_BYTES)
    return all(mark in head for mark in REPORT_MARKS)


def _list_entries(folder: Path) -> Iterator[Path]:
    """Entries of a folder, if there is one and it is no link."""
    if folder.is_dir() and not folder.is_symlink():
        yield from sorted(folder.iterdir())
