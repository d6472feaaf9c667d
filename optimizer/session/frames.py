"""Bars in memory, of pandas, polars or pyarrow, as files that everything else reads."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from optimizer.errors import ConfigError
from optimizer.written import write_whole

EARLIEST = 10**7
"""Smaller whole numbers in an index count rows; those of days are such as 20240131."""


def with_frames(settings: Mapping[str, object], folder: Path) -> dict[str, object]:
    """Settings in which frames are files.

    Args:
        settings: Where ``bars`` is a frame, or symbols with a frame each, in place of ``data``.
        folder: Where frames are kept: once, by what they hold.

    Raises:
        ConfigError: When ``bars`` is something else, or ``data`` is given too.
    """
    found = dict(settings)
    if "bars" not in found:
        return found
    bars = found.pop("bars")
    named = bars if isinstance(bars, Mapping) else {"": bars}
    # Frames of polars and of pyarrow can give one of pandas.
    given = {
        symbol: one.to_pandas() if hasattr(one, "to_pandas") else one
        for symbol, one in named.items()
    }
    frames = {symbol: one for symbol, one in given.items() if isinstance(one, pd.DataFrame)}
    if "data" in found or not frames or len(frames) < len(given):
        raise ConfigError(
            "bars is a frame of pandas or polars, or symbols with a frame each, and given in "
            "place of data"
        )
    found["data"] = [_file_of(one, str(symbol), folder) for symbol, one in frames.items()]
    return found


@contextmanager
def for_a_while(settings: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Settings in which frames are files, as long as these are read."""
    with TemporaryDirectory() as folder:
        yield with_frames(settings, Path(folder))


def _file_of(bars: pd.DataFrame, symbol: str, folder: Path) -> str:
    """Where a frame of bars is kept, as a source."""
    frame = _with_times(bars)
    frame = frame.assign(symbol=symbol) if symbol else frame
    # The hash of pandas is of values alone: not of their names, nor of the zone of a time.
    named = repr(list(frame.dtypes.items())).encode()
    try:
        content = named + pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes()
        path = folder / f"bars-{hashlib.sha256(content).hexdigest()[:16]}.parquet"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            # Half a file would be taken for the whole one by the next process.
            write_whole(path, frame.to_parquet(index=False))
    except (TypeError, ValueError) as error:
        told = " ".join(str(error).split())
        raise ConfigError(f"bars holds what is no number, text or time: {told}") from None
    return f"parquet:{path}"


def _with_times(bars: pd.DataFrame) -> pd.DataFrame:
    """Bars with the times of their index as a column, unless they have such a column."""
    if (again := bars.columns[bars.columns.duplicated()]).size:
        raise ConfigError(f"bars has two columns '{again[0]}': leave one")
    if bars.index.nlevels > 1:
        raise ConfigError(
            "bars has an index of several levels; give a frame a symbol, as in "
            "bars={'AAA': frame.loc['AAA']}"
        )
    index = bars.index
    counts_rows = pd.api.types.is_integer_dtype(index.dtype) and bool((index < EARLIEST).all())
    is_said = "timestamp" in bars.columns or counts_rows
    return bars if is_said else bars.reset_index(names="timestamp")
