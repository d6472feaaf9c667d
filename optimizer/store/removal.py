"""Removal of a run, of drafts in it and of runs never begun: its own files alone."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from data.files import name_draft, open_ordinary, remove_drafts, strip_draft, sync_folder
from optimizer.errors import StoreError
from optimizer.store.files import (
    COLUMN_FOLDER,
    DATABASE,
    LABELS,
    NAMES,
    OWNER,
    REPORT,
    list_folders,
)
from optimizer.store.labels import has_labels
from optimizer.store.lock import OwnerLock, read_owner
from optimizer.store.log_file import APPLICATION_ID
from optimizer.store.reader import Reader

REPORT_MARKS = (b'http-equiv="Content-Security-Policy"', b'rel="icon" href="data:,"')
"""In the first `HEAD_BYTES` of a page that this program wrote."""

HEAD_BYTES = 1024

MARK = slice(68, 72)
"""Bytes of a SQLite file that hold its application id. Source: SQLite, "Database File Format"."""

OWN = (*NAMES, REPORT, LABELS)
"""Names of a run's files in its own folder."""


def begin_draft(runs_dir: Path, run_id: str) -> tuple[Path, OwnerLock]:
    """A folder for preparing a run, so that it exists whole or not at all, and its lock.

    Raises:
        StoreError, OSError: When it cannot be made.
    """
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
    paths += [path for path in entries if _is_page(path) or _is_label(path)]
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

    Raises:
        StoreError: When it is no run, is owned, or cannot be removed.
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


def _is_label(path: Path) -> bool:
    """True if a file holds the tags and note of a run."""
    return path.name == LABELS and has_labels(path.parent)


def _list_entries(folder: Path) -> Iterator[Path]:
    """Entries of a folder, if there is one and it is no link."""
    if folder.is_dir() and not folder.is_symlink():
        yield from sorted(folder.iterdir())
