"""Bytes of a file, plain, gzip or zip: counted piece by piece before they are kept."""

import gzip
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from data.errors import SourceError
from data.providers.arrow_table import label, refuse_size

PIECE_BYTES = 1 << 20
GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
ENCRYPTED = 0x1


def read_unpacked(path: Path, max_bytes: int) -> bytes:
    """Read a file whole.

    Args:
        path: The file; a zip archive must hold one file and nothing else.
        max_bytes: Most that it may be, unpacked.

    Returns:
        What it unpacks to.

    Raises:
        LimitError: When it is larger; nothing of it has been kept then.
        SourceError: When an archive holds several files, none, or a secret.
        OSError, EOFError, zlib.error, zipfile.BadZipFile: When it is damaged.
    """
    with path.open("rb") as file:
        magic = file.read(len(ZIP))
    if not magic.startswith((GZIP, ZIP)):
        if path.stat().st_size > max_bytes:
            raise refuse_size(label(path), f"it has {path.stat().st_size} bytes", max_bytes)
        with path.open("rb") as plain:
            return plain.read(max_bytes + 1)
    is_zip = magic == ZIP
    size = 0
    with _opened(path, is_zip=is_zip) as packed:
        while piece := packed.read(PIECE_BYTES):
            size += len(piece)
            if size > max_bytes:
                words = f"it unpacks to more than {max_bytes} bytes"
                raise refuse_size(label(path), words, max_bytes)
    with _opened(path, is_zip=is_zip) as packed:
        return packed.read(max_bytes + 1)


@contextmanager
def _opened(path: Path, *, is_zip: bool) -> Iterator[IO[bytes]]:
    if not is_zip:
        with gzip.open(path) as packed:
            yield packed  # type: ignore[misc]
        return
    with zipfile.ZipFile(path) as archive:
        (member,) = _only_member(archive, label(path))
        with archive.open(member) as packed:
            yield packed


def _only_member(archive: zipfile.ZipFile, where: str) -> list[zipfile.ZipInfo]:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        raise SourceError(
            f"{where}: is a zip archive of {len(members)} files; unpack it and name the one meant"
        )
    if members[0].flag_bits & ENCRYPTED:
        raise SourceError(f"{where}: is a zip archive with a password; unpack it first")
    return members
