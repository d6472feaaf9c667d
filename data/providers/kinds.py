"""Kinds of files by their first bytes, whatever their names, and remedies where one is not read."""

import json
import re
import zipfile
from io import BytesIO

HEAD_BYTES = 1 << 12
"""Bytes that tell text from others."""

ENDINGS = (".gz", ".zip", ".csv", ".parquet", ".pq", ".feather", ".arrow", ".arrows", ".ipc",
           ".txt", ".tsv")  # fmt: skip
"""Endings that are no part of a market's name."""

PARQUET, ARROW, ARROW_STREAM, OLD_FEATHER = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"
GZIP, ZIP, SQLITE = b"\x1f\x8b", b"PK\x03\x04", b"SQLite format 3\0"

OF_SOURCE = {
    PARQUET: "parquet",
    ARROW: "feather",
    ARROW_STREAM: "feather",
    OLD_FEATHER: "feather",
}
"""First bytes of files that have a source of their own."""

KINDS = {"parquet": "a Parquet file", "feather": "an Arrow file"}

CONTROL = re.compile(rb"[\x00-\x08]")
"""Bytes that no text holds."""

JSON_TO_CSV = (
    "a JSON file; write it as CSV, in Python: "
    "pandas.read_json('x.json'{}).to_csv('x.csv', index=False{})"
)

AS_CSV = "save it as CSV"
UNPACK = "unpack it first"
OTHERS = (
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file", "write it anew as Parquet or CSV"),
    (0, b"\xd0\xcf\x11\xe0", "an old Excel file", AS_CSV),
    (0, SQLITE, "an SQLite database", "write its table as CSV"),
    (8, b"DUCK", "a DuckDB database", "write its table with COPY ... TO 'bars.parquet'"),
    (0, b"DBN", "a DBN file of Databento", "write it with DBNStore.to_parquet or to_csv"),
    (0, b"ORC", "an ORC file", "write it anew as Parquet or CSV"),
    (0, b"Obj\x01", "an Avro file", "write it anew as Parquet or CSV"),
    (0, b"\x93NUMPY", "an array of numpy", "write it as CSV with a header line"),
    (0, b"RDX", "a file of R", "write it with write.csv or arrow::write_parquet"),
    (0, b"X\n\0\0\0", "a file of R", "write it with write.csv or arrow::write_parquet"),
    (0, b"%PDF", "a PDF", AS_CSV),
    (0, b"7z\xbc\xaf", "a 7z archive", UNPACK),
    (0, b"Rar!", "a rar archive", UNPACK),
    (0, b"BZh", "a bzip2 file", UNPACK),
    (0, b"\xfd7zXZ", "an xz file", UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "a zstd file", UNPACK),
    (257, b"ustar", "a tar archive", UNPACK),
)
"""Files that are not read: offset of their first bytes, these bytes, kind, and remedy."""

PICKLE = re.compile(rb"\x80[\x02-\x05](?:\x95|c|\}|\])", re.DOTALL)
WEB_PAGE = re.compile(rb"\s*<(?:!doctype html|html|\?xml)", re.IGNORECASE)
JSON = re.compile(rb"\s*(?:\[\s*[\[{]|\{\s*(?:\"|\}))")
SHEETS = ("[Content_Types].xml", "mimetype")
"""Members of an archive that is a spreadsheet, of Excel and of others."""


def find_source(head: bytes) -> str:
    """The source of a file that begins so, by its name: that of text unless another is known."""
    return next((name for magic, name in OF_SOURCE.items() if head.startswith(magic)), "csv")


def describe_kind(content: bytes) -> str:
    """The kind of a file that is no text, and what helps; empty where it is text or packed."""
    source = find_source(content)
    if source != "csv":
        return f"{KINDS[source]}; write {source}:PATH"
    is_binary = CONTROL.search(content[:HEAD_BYTES]) is not None
    for at, magic, kind, remedy in OTHERS:
        # Three letters may also begin the name of a column.
        if content[at : at + len(magic)] == magic and (is_binary or not magic.isalnum()):
            return f"{kind}; {remedy}"
    if PICKLE.match(content):
        return "a pickle of Python; write it with to_parquet or to_csv"
    if WEB_PAGE.match(content[:HEAD_BYTES]):
        return "a web page or XML and no table; download the bars themselves as CSV"
    return _describe_json(content) if JSON.match(content[:HEAD_BYTES]) else ""


def describe_other(content: bytes) -> str:
    """The end of an error about a file of another kind than stated: its real kind, if known."""
    if not content:
        return "it is empty"
    if kind := describe_kind(content):
        return f"it is {kind}"
    is_text = CONTROL.search(content[:HEAD_BYTES]) is None or content.startswith((GZIP, ZIP))
    return "it may be text; write csv:PATH" if is_text else ""


def _describe_json(content: bytes) -> str:
    text = content.decode(errors="replace").strip()
    if text.startswith("["):
        without = ", header=False" if re.match(r"\[\s*\[", text) else ""
        return JSON_TO_CSV.format("", without)
    first, *rest = text.split("\n", 1)
    if rest and _parse_json(first) is not None:
        return JSON_TO_CSV.format(", lines=True", "")
    fields = _parse_json(text) or {}
    messages = [" ".join(value.split()) for value in fields.values() if isinstance(value, str)]
    if messages and len(messages) == len(fields):
        shown = ascii(messages[0])
        return f"a JSON message and no bars: {shown[:120]}; download the bars again, as CSV"
    return "a JSON object and no table; download the bars as CSV"


def _parse_json(text: str) -> dict[str, object] | None:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def is_spreadsheet(content: bytes) -> bool:
    """Whether a zip archive is a file of Excel, or of another spreadsheet."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        return False
    return any(name in names for name in SHEETS)
