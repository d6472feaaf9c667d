"""A path may lead to what never answers, or never ends: wherever one is read it is refused."""

import os

import pytest

from data.errors import DataError
from data.files import NoFileError, TooLargeError, read_ordinary
from data.load import load_bars
from data.point_in_time import read_dated
from optimizer.config.run_config import read_toml
from optimizer.errors import OptimizerError
from optimizer.forecasts.column import counted_record, read_forecast, read_record
from optimizer.run.tables import read_individuals
from optimizer.run.trust import keep_columns
from strategy.errors import StrategyError
from strategy.files import LARGEST_TEXT, load_strategy
from tests.support.hostile import bounded_time

REFUSED = (DataError, NoFileError, OptimizerError, StrategyError)

READERS = {
    "strategy.py": lambda path: load_strategy(str(path)),
    "config.toml": read_toml,
    "genes.json": read_individuals,
    "genes.csv": read_individuals,
    "dated.csv": lambda path: read_dated(str(path)),
    "dated.parquet": lambda path: read_dated(str(path)),
    "forecast.parquet": read_forecast,
    "bars.csv": lambda path: load_bars(f"csv:{path}"),
    "bars.parquet": lambda path: load_bars(f"parquet:{path}"),
    "bars.feather": lambda path: load_bars(f"feather:{path}"),
}
"""What reads a file that a person names."""


def make_device(path):
    """A link to a device that never ends."""
    path.symlink_to("/dev/zero")


def make_sparse(path):
    """A file that is far larger than its blocks on the disk."""
    with path.open("wb") as file:
        file.truncate(50_000_000_000)


@pytest.mark.parametrize("make", [os.mkfifo, make_device, make_sparse, os.mkdir])
def test_a_path_that_is_no_file_is_refused_at_once(tmp_path, make):
    """In one line, without waiting for it and without reading it whole.

    Beside forecasts it is skipped: a folder of them is looked through file by file.
    """
    with bounded_time(60):
        for name, read in READERS.items():
            make(tmp_path / name)
            with pytest.raises(REFUSED) as caught:
                read(tmp_path / name)
            assert "\n" not in str(caught.value), name
        assert read_record(tmp_path / "forecast.parquet") is None
        (tmp_path / "other.parquet").write_bytes(b"PAR1")
        assert counted_record(tmp_path / "other.parquet") is None
        make(tmp_path / "rates.csv")
        with pytest.raises(REFUSED):
            keep_columns([f"rate={tmp_path / 'rates.csv'}"], tmp_path)


def test_a_file_is_read_whole_up_to_the_last_byte_that_is_allowed(tmp_path):
    """Also through a link of the person's own; one byte more is too many, and is named."""
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_ordinary(tmp_path / "link", 5) == b"12345"
    with pytest.raises(TooLargeError, match="4 bytes"):
        read_ordinary(tmp_path / "link", 4)
    with pytest.raises(FileNotFoundError):
        read_ordinary(tmp_path / "none", 4)
    path = tmp_path / "long.py"
    path.write_bytes(b"#" * LARGEST_TEXT)
    with pytest.raises(StrategyError, match="makes no strategy"):
        load_strategy(str(path))
    path.write_bytes(b"#" * (LARGEST_TEXT + 1))
    with pytest.raises(StrategyError, match="10,000,000 bytes"):
        load_strategy(str(path))
