"""Bars in memory, of pandas, polars or pyarrow, as files that everything else reads."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from data.errors import DataError, SourceError
from optimizer.atomic_write import write_whole
from optimizer.config.run_config import make_config
from optimizer.errors import ConfigError, OptimizerError
from optimizer.run.frame_markets import list_markets
from optimizer.run.frame_table import tabulate_bars
from optimizer.run.sources import FRAME, load_options

READING = ("columns", "aligned_columns", "tz", "ambiguous", "time_format")
"""Settings that say how columns of a frame are read."""

DIGEST = b"exhaustion-optimizer digest"
"""Name of the hash of a frame in the metadata of its file."""


@contextmanager
def frames_as_files(settings: Mapping[str, object], folder: Path) -> Iterator[dict[str, object]]:
    """Settings in which frames are files; errors within name the frames as they were passed.

    Args:
        settings: Where ``bars`` is a frame, symbols with a frame each, or groups of rows, in place
            of ``data``.
        folder: Where frames are kept: once, by the columns that are read of them.

    Raises:
        ConfigError: When ``bars`` is something else, or ``data`` is given too.
        DataError: When columns of a frame cannot be recognised.
    """
    readable = {name: value for name, value in settings.items() if name != "bars"}
    if "bars" not in settings:
        yield readable
        return
    if "data" in readable:
        raise ConfigError("bars is given in place of data: leave one of them out")
    reading = {name: readable[name] for name in READING if name in readable}
    options = load_options(make_config(reading, where="bars"))
    markets = list_markets(settings["bars"], options)
    paths = [_keep(tabulate_bars(market, options), folder) for market in markets]
    names = {path.stem: market.name for path, market in zip(paths, markets, strict=True)}
    readable["data"] = [f"parquet:{path}" for path in paths]
    try:
        yield readable
    except SourceError:
        # It is the file that cannot be read.
        raise
    except (DataError, OptimizerError) as error:
        error.args = (*(_name_frames(part, names) for part in error.args),)
        raise


@contextmanager
def for_a_while(settings: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Settings in which frames are files, as long as these are read."""
    with TemporaryDirectory() as folder, frames_as_files(settings, Path(folder)) as readable:
        yield readable


def _keep(table: pa.Table, folder: Path) -> Path:
    """Write a table into a folder, under a name that is of its content, unless it is there."""
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, table.schema) as batches:
        batches.write_table(table)
    digest = hashlib.sha256(stream.getvalue()).hexdigest()
    path = folder / f"bars-{digest[:16]}.parquet"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptimizerError(f"{path} cannot be written: {error.strerror or error}") from None
    if not _states(path, digest.encode()):
        stated = {**table.schema.metadata, DIGEST: digest.encode()}
        file = pa.BufferOutputStream()
        # The reader finds damage by the sums of pages.
        pq.write_table(table.replace_schema_metadata(stated), file, write_page_checksum=True)
        write_whole(path, file.getvalue().to_pybytes())
    return path


def _states(path: Path, digest: bytes) -> bool:
    """Whether a file is whole, and of no other program, which would leave the digest out."""
    try:
        return path.is_file() and (pq.read_metadata(path).metadata or {}).get(DIGEST) == digest
    except (OSError, pa.ArrowException):
        return False


def _name_frames(text: object, names: Mapping[str, str]) -> object:
    if not isinstance(text, str):
        return text
    return FRAME.sub(lambda file: names.get(file[1], file[0]), text)
