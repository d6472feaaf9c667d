"""Bars from a text file with a header line, plain or gzip; what it unpacks to is counted first."""

import csv
import gzip
import io
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from data.errors import SourceError
from data.providers.arrow_table import first_line, label, open_path, refuse_size, to_raw
from data.providers.columns import recognise
from data.table import LoadOptions, RawTable

PIECE_BYTES = 1 << 20
LONGEST_HEADER_BYTES = 1 << 16
SEPARATORS = ",;\t|"
GZIP = b"\x1f\x8b"
NOT_TEXT = {
    b"PK\x03\x04": "a zip archive; unpack it first",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"BZh": "a bzip2 file; unpack it first",
    b"\xfd7zXZ": "an xz file; unpack it first",
    b"\x28\xb5\x2f\xfd": "a zstd file; unpack it first",
    b"PAR1": "a Parquet file; write parquet:PATH",
    b"ARROW1": "an Arrow file; convert it to Parquet first",
}
TAR_MAGIC_AT = 257


def read(address: str, options: LoadOptions) -> RawTable:
    """Read the rows of a CSV file.

    Args:
        address: Path of the file, plain or gzip.
        options: How to read; `max_bytes` caps the unpacked text.

    Returns:
        Raw rows.

    Raises:
        DataError: When the file is damaged, too large, or cannot be read without guessing.
    """
    path = open_path(address, "csv:PATH")
    where = label(path)
    try:
        text = _unpack(path, options.max_bytes)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{where}: cannot be unpacked ({first_line(error)})") from None
    _check_kind(text, where)
    separator, names = _header(text, where)
    layout = recognise(names, where)
    try:
        columns = _parse(text, separator, layout.used)
    except pa.ArrowException as error:
        raise SourceError(f"{where}: is no readable CSV file ({first_line(error)})") from None
    return to_raw(columns, layout, path, options)


def _unpack(path: Path, max_bytes: int) -> bytes:
    with path.open("rb") as file:
        is_gzip = file.read(2) == GZIP
    if not is_gzip:
        if path.stat().st_size > max_bytes:
            raise refuse_size(label(path), f"it has {path.stat().st_size} bytes", max_bytes)
        with path.open("rb") as plain:
            return plain.read(max_bytes + 1)
    _count_unpacked(path, max_bytes)
    with gzip.open(path) as packed:
        return packed.read(max_bytes + 1)


def _count_unpacked(path: Path, max_bytes: int) -> None:
    size = 0
    with gzip.open(path) as packed:
        while piece := packed.read(PIECE_BYTES):
            size += len(piece)
            if size > max_bytes:
                raise refuse_size(
                    path.name, f"it unpacks to more than {max_bytes} bytes", max_bytes
                )


def _check_kind(text: bytes, where: str) -> None:
    for magic, kind in NOT_TEXT.items():
        if text.startswith(magic):
            raise SourceError(f"{where}: is {kind}")
    if text[TAR_MAGIC_AT : TAR_MAGIC_AT + 5] == b"ustar":
        raise SourceError(f"{where}: is a tar archive; unpack it first")
    if b"\0" in text[:LONGEST_HEADER_BYTES]:
        raise SourceError(f"{where}: is no text; save it as CSV in UTF-8")


def _header(text: bytes, where: str) -> tuple[str, list[str]]:
    line = text[:LONGEST_HEADER_BYTES].removeprefix(b"\xef\xbb\xbf").splitlines()[:1]
    if text and line and not line[0].strip():
        raise SourceError(f"{where}: the first line is blank; it must name the columns")
    if not line:
        raise SourceError(f"{where}: the file is empty; it needs a header line and bars")
    if len(text) < LONGEST_HEADER_BYTES and len(text.splitlines()) == 1:
        raise SourceError(f"{where}: there are no bars after the header line")
    try:
        first = line[0].decode()
    except UnicodeDecodeError:
        raise SourceError(f"{where}: is no text in UTF-8") from None
    separator = max(SEPARATORS, key=first.count)
    return separator, next(csv.reader(io.StringIO(first), delimiter=separator))


def _parse(text: bytes, separator: str, used: tuple[str, ...]) -> pa.Table:
    return pa_csv.read_csv(
        pa.BufferReader(text),
        read_options=pa_csv.ReadOptions(use_threads=False),
        parse_options=pa_csv.ParseOptions(delimiter=separator),
        convert_options=pa_csv.ConvertOptions(
            column_types={name: pa.string() for name in used},
            include_columns=list(used),
            strings_can_be_null=False,
        ),
    )
