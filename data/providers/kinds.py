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

OF_SOURCE = {PARQUET: "parquet"} | dict.fromkeys((ARROW, ARROW_STREAM, OLD_FEATHER), "feather")
"""First bytes of files that have a source of their own."""

KINDS = {"parquet": "a Parquet file", "feather": "an Arrow file"}

CONTROL, BINARY = re.compile(rb"[\x00-\x08]"), re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
"""Bytes that no text holds, and those of them that are no zeros."""

JSON_TO_CSV = (
    "a JSON file; write it as CSV, in Python: "
    "pandas.read_json('x.json'{}).to_csv('x.csv', index=False{})"
)

AS_CSV, ANEW = "save it as CSV", "write it anew as Parquet or CSV"
OTHERS = (
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", ANEW),
    (rb"\xd0\xcf\x11\xe0", "an old Excel file", AS_CSV),
    (SQLITE, "an SQLite database", "write its table as CSV"),
    (rb".{8}DUCK", "a DuckDB database", "write its table with COPY ... TO 'bars.parquet'"),
    (rb"DBN[\0-\x08]", "a DBN file of Databento", "write it with DBNStore.to_parquet or to_csv"),
    (rb"ORC(?=.*[\0-\x08])", "an ORC file", ANEW),
    (rb"Obj\x01", "an Avro file", ANEW),
    (rb"\x93NUMPY", "an array of numpy", "write it as CSV with a header line"),
    (rb"MATLAB [57]\.|<stata_dta>|\$FL[23]@|.{12}\xc2\xea\x81`",
     "a file of Stata, SPSS, SAS or MATLAB", ANEW),
    (rb"RD[AX][23]\n|[XA]\n\0\0\0", "a file of R",
     "write it with write.csv or arrow::write_parquet"),
    (rb"[\x90\x91]\x01\0\0", "a history file of MetaTrader (.hst)",
     "export it as CSV from its History Center"),
    (rb"[\x95\xf4-\xf7]\x01\0\0", "a file of MetaTrader (.fxt, .hcc, .hc, .tkc)",
     "export its bars as CSV from the window of symbols"),
    (rb"SC(?:ID|DD)[\x20-\xff]\0\0\0", "a file of Sierra Chart (.scid, .depth)",
     "Edit > Export Bar and Study Data of its chart writes text"),
    (rb"\]\0\0..(?:\xff{8}|.{4}\0{4})", "an LZMA file, as Dukascopy packs ticks (.bi5)",
     "download its bars as CSV"),
    (rb"%PDF", "a PDF", AS_CSV),
    *((magic, kind, "unpack it first") for magic, kind in (
        (rb"7z\xbc\xaf", "a 7z archive"), (rb"Rar!", "a rar archive"),
        (rb"BZh(?=.*[\0-\x08])", "a bzip2 file"), (rb"\xfd7zXZ", "an xz file"),
        (rb"\x28\xb5\x2f\xfd", "a zstd file"), (rb".{257}ustar", "a tar archive"),
        (rb"LZIP[\0\1]|[\2\4]\x22M\x18|\xff\x06\0\0sNaPpY", "a packed file"))),
    (rb"\x80[\2-\5][\x95c}\]]|c(?:pandas|numpy|copy_reg|collections)\S*\n", "a pickle of Python",
     "write it with to_parquet or to_csv"),
    (rb"\s*<(?i:!doctype html|html|\?xml|table)", "a web page or XML and no table",
     "download the bars themselves as CSV"),
)  # fmt: skip
"""Files that are not read: form of their first bytes, kind, and remedy."""

JSON = re.compile(rb"\s*(?:\[\s*[\[{]|\{\s*(?:\"|\}))")
SHEETS = {"[Content_Types].xml", "mimetype"}
"""Members of an archive that is a spreadsheet, of Excel and of others."""


def find_source(head: bytes) -> str:
    """The source of a file that begins so, by its name: that of text unless another is known."""
    return next((name for magic, name in OF_SOURCE.items() if head.startswith(magic)), "csv")


def describe_kind(content: bytes) -> str:
    """The kind of a file other than text, with a remedy; empty for text or packed text."""
    source = find_source(content)
    if source != "csv":
        return f"{KINDS[source]}; write {source}:PATH"
    head = content[:HEAD_BYTES]
    for form, kind, remedy in OTHERS:
        if re.match(form, head, re.DOTALL):
            return f"{kind}; {remedy}"
    return _describe_json(content) if JSON.match(head) else ""


def describe_binary(content: bytes, name: str) -> str:
    """The fault of a file of that name with bytes that no text has.

    Zeros among text are the trace of a disk on which nothing was written.
    """
    zero = content.find(b"\0")
    if BINARY.search(content) is None and (zero > 3 or content.startswith(b"\0\0")):
        return (
            f"holds {content.count(0)} zero bytes, the first in line "
            f"{content.count(bytes((10,)), 0, zero) + 1}: it was not written whole; copy it again"
        )
    if name.lower().endswith((".ncd", ".nrd", ".ntd")):
        return "is a file of NinjaTrader; export its data as text"
    return "is no text in UTF-8; save it anew as CSV"


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
    """True if a zip archive is a file of Excel, or of another spreadsheet."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            return not SHEETS.isdisjoint(archive.namelist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        return False
