"""Writers of whole files, each repeated under few names until it is killed."""

import dataclasses
import sys
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

from data import load_bars
from data.cache import PartBars, SeriesCache, SeriesKey
from data.checks import VALUES
from data.mmap_store import map_bars, pack_bars, write_packed
from data.save_parquet import keep_bars
from optimizer.atomic_write import write_whole
from optimizer.run import indicator_cache
from optimizer.run.columns import keep_columns
from optimizer.run.indicator_cache import RowCache
from strategy.series import Series
from tests.support.kill import ENDLESS, say
from tests.support.own_words import efficiency
from tests.support.worlds import make_bars

NAMES = 4
"""How many names each writer uses in turn."""

KEY = SeriesKey("polygon", "X:ADAUSD", "1m", adjusted=True)
SIZE = 300_000


@cache
def market(number):
    """Bars, other ones for each number."""
    bars = make_bars(number, 3000)
    later = bars.timestamp + 10**18
    return dataclasses.replace(bars, symbol=f"S{number % NAMES}", timestamp=later)


def write_page(folder, number):
    """A report or an export: the content has its length."""
    path = folder / f"page{number % NAMES}.html"
    write_whole(path, bytes([number % 256]) * SIZE)
    content = path.read_bytes()
    assert content == content[:1] * SIZE


def import_bars(folder, number):
    """A market that is imported, in place of other bars of it."""
    path, _ = keep_bars(market(number % (2 * NAMES)), folder, may_replace=True)
    assert len(load_bars(f"parquet:{path}")) == 3000


def cache_part(folder, number):
    """A part of a series that was fetched; all earlier ones are whole."""
    store = SeriesCache(folder, KEY)
    with store.lock(lambda line: None):
        kept = store.parts()
        assert store.read(kept[-1]) if kept else True
        start_s = 60_000 * len(kept)
        times = (start_s + 60 * np.arange(1000, dtype=np.int64)) * 10**9
        values = {name: np.random.default_rng(number).random(1000) for name in VALUES}
        store.write(start_s * 10**9, (start_s + 60_000) * 10**9, PartBars(times, values, "", ()))


def keep_row(folder, number):
    """A row of an own indicator, kept for the next run."""
    definition = dataclasses.replace(efficiency.own, kept=RowCache(folder))
    values, series = (2 + number % NAMES,), Series.of(market(0))
    with mock.patch.object(indicator_cache, "WORTH_S", -1e9):
        row = definition.row(series, values)
    assert row.tobytes() == efficiency.own.row(series, values).tobytes()
    # The next time it is written again.
    next(folder.rglob(f"{values[0]}.row")).unlink()


def copy_columns(folder, number):
    """A column file, copied into a run."""
    source, run = folder / "rates.csv", folder / f"run{number % NAMES}"
    if not source.exists():
        source.write_bytes(bytes(SIZE))
    run.mkdir(exist_ok=True)
    keep_columns([f"rate={source}"], run)
    (run / "columns" / "rate.csv").read_bytes().index(bytes(SIZE))
    (run / "columns" / "rate.csv").unlink()


def map_market(folder, number):
    """Bars in the form in which other processes map them."""
    path = write_packed(pack_bars(market(number % NAMES)), folder)
    assert len(map_bars(path)) == 3000
    path.unlink()


WRITERS = {
    writer.__name__: writer
    for writer in (write_page, import_bars, cache_part, keep_row, copy_columns, map_market)
}


def child_write(name, folder):
    """Write again and again; a line once every name was written."""
    for number in range(ENDLESS):
        WRITERS[name](Path(folder), number)
        if number == NAMES:
            say("written")
    sys.exit()
