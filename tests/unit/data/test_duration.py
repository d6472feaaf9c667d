"""Durations that kept bars state, beside the rows of the corpus that find them."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data import LoadOptions, keep_bars, load_bars
from data.errors import TimeframeError
from tests.corpus.durations import TRADED, at
from tests.corpus.row import bars as file_of_bars


@pytest.fixture
def thin(tmp_path):
    """The path of a file of a market in which three in ten minutes trade."""
    at(TRADED).write(tmp_path / "series.csv")
    return str(tmp_path / "series.csv")


def test_kept_bars_state_their_duration_and_zone(tmp_path, thin):
    """Whatever the steps of a thin market show; no option is needed a second time."""
    options = LoadOptions(source_timeframe="1m", tz="Europe/Helsinki")
    bars = load_bars(thin, options)
    path, _ = keep_bars(bars, tmp_path / "kept")
    kept = load_bars(str(path))
    assert (kept.content_hash, kept.timeframe, kept.zone) == (
        bars.content_hash, "1m", "Europe/Helsinki",
    )  # fmt: skip
    for wanted in ("15m", "1h", "4h", "1d"):
        merged = load_bars(thin, replace(options, timeframe=wanted))
        assert load_bars(str(path), LoadOptions(timeframe=wanted)).content_hash == (
            merged.content_hash
        )
    with pytest.raises(TimeframeError, match="states that its bars last 1m; leave it out"):
        load_bars(str(path), LoadOptions(source_timeframe="5m"))
    assert load_bars(str(path), LoadOptions(source_timeframe="1m")).notes == kept.notes
    with pytest.raises(TimeframeError, match="stamped at their open; leave --stamped out"):
        load_bars(str(path), LoadOptions(stamped="close"))


def test_a_statement_about_other_bars_is_not_used(tmp_path):
    """Pyarrow hands metadata on when rows are dropped, with a note."""
    file_of_bars(60).write(tmp_path / "series.csv")
    path, _ = keep_bars(load_bars(str(tmp_path / "series.csv")), tmp_path)
    table = pq.read_table(path)
    pq.write_table(table.take(pa.array(range(0, 60, 4))), path)
    bars = load_bars(str(path))
    assert bars.timeframe == "1h"
    assert "the duration that this file states was stated of other bars, and is not used" in (
        bars.notes
    )
