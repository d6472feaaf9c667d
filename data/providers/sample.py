"""The embedded sample: a simulated market, verified against its hashes each time it is read."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from data.bars import Bars
from data.errors import SourceError
from data.providers import parquet_file
from data.table import LoadOptions, RawTable
from data.timeframe import parse_timeframe

FOLDER = Path(__file__).parent.parent / "sample"
SYMBOL, TIMEFRAME_NS = "SIMULATED", parse_timeframe("15m")
NOTE = "simulated market: a program invented it, and results on it say nothing about a real one"


def read(address: str, options: LoadOptions, folder: Path = FOLDER) -> RawTable:
    """Read sample.parquet, checked by sample.sha256; marked as simulated."""
    if address:
        raise SourceError(f"sample takes no address, got {address[:40]!r}; write sample")
    path = folder / "sample.parquet"
    try:
        expected = (folder / "sample.sha256").read_text(encoding="ascii").split()
        actual = hashlib.sha256(path.read_bytes()).hexdigest()
    except (OSError, UnicodeDecodeError) as error:
        raise _report_damage(folder, f"it cannot be read, {error}") from None
    if len(expected) != 4 or actual != expected[0]:
        raise _report_damage(folder, f"its hash is {actual[:12]}...")
    table = parquet_file.read(str(path), options)
    columns: dict[str, Any] = {"timestamp": table.timestamp, **table.values}
    if Bars(**columns, symbol=SYMBOL, timeframe_ns=TIMEFRAME_NS).content_hash != expected[2]:
        raise _report_damage(folder, "its bars differ from the written ones")
    return replace(table, symbol=SYMBOL, is_simulated=True, notes=(NOTE, *table.notes))


def _report_damage(folder: Path, reason: str) -> SourceError:
    return SourceError(
        f"the embedded sample in {folder} is damaged ({reason}); install the project again"
    )
