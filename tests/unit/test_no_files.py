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
from optimizer.run.columns import keep_columns
from optimizer.run.genes_file import read_individuals
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


def make_pipe(path):
    """A pipe without a writer."""
    os.mkfifo(path)


def make_device(path):
    """A link to a device that never ends."""
    path.symlink_to("/dev/zero")


def make_sparse(path):
    """A file that is far larger than what it takes on the disk."""
    with path.open("wb") as file:
        file.truncate(50_000_000_000)


@pytest.mark.parametrize("make", [make_pipe, make_device, make_sparse, os.mkdir])
@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_refused_at_once(tmp_path, name, make):
    """In one line, without waiting for it and without reading it whole."""
    make(tmp_path / name)
    with bounded_time(60), pytest.raises(REFUSED) as caught:
        READERS[name](tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [make_pipe, make_device, make_sparse, os.mkdir])
def test_what_lies_beside_a_forecast_is_skipped(tmp_path, make):
    """A folder of forecasts is looked through file by file, and nothing else in it is opened."""
    make(tmp_path / "beside.parquet")
    (tmp_path / "other.parquet").write_bytes(b"PAR1")
    with bounded_time(60):
        assert read_record(tmp_path / "beside.parquet") is None
        assert counted_record(tmp_path / "other.parquet") is None


def test_a_column_file_that_became_a_pipe_is_not_copied(tmp_path):
    """A run that is to keep a copy of it is refused."""
    make_pipe(tmp_path / "rates.csv")
    with bounded_time(60), pytest.raises(REFUSED):
        keep_columns([f"rate={tmp_path / 'rates.csv'}"], tmp_path)


def test_a_strategy_as_long_as_it_may_be_is_read(tmp_path):
    """One byte more is too many, and is named."""
    path = tmp_path / "long.py"
    path.write_bytes(b"#" * LARGEST_TEXT)
    with pytest.raises(StrategyError, match="makes no strategy"):
        load_strategy(str(path))
    path.write_bytes(b"#" * (LARGEST_TEXT + 1))
    with pytest.raises(StrategyError, match="cannot be read: it is larger than 10,000,000 bytes"):
        load_strategy(str(path))


def test_what_is_read_is_the_file_whole(tmp_path):
    """Also through a link of the person's own, up to the last byte that is allowed."""
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_ordinary(tmp_path / "link", 5) == b"12345"
    with pytest.raises(TooLargeError, match="larger than 4 bytes"):
        read_ordinary(tmp_path / "link", 4)
    with pytest.raises(FileNotFoundError):
        read_ordinary(tmp_path / "none", 4)
