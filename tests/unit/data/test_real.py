"""The shared real series, where they are at hand."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from data import LoadOptions, load_bars
from data.errors import BarsError

SERIES = {
    "spy_1m": (102_236, 642, "1m"),
    "bifiusdt_5m": (71_769, 0, "5m"),
    "uniusdt_15m": (87_539, 4_262, "15m"),
    "btcusdt_1h": (58_419, 28, "1h"),
    "gbpjpy_1h": (57_600, 501, "1h"),
    "aapl_1h": (40_831, 5_849, "1h"),
}
"""Bars after exact duplicates, gaps, and duration."""


@pytest.mark.parametrize("name", SERIES)
def test_series_has_the_bars_and_gaps_that_its_description_states(real_folder, name):
    """Counts agree with the description of the set."""
    bars = load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))
    assert SERIES[name] == (len(bars), bars.gaps().count, bars.timeframe)
    assert bars.symbol == name
    assert not bars.is_simulated


def test_series_with_duplicates_asks_for_dedupe(real_folder):
    """57 exact copies are refused unless they may be dropped."""
    spec = f"parquet:{real_folder}/uniusdt_15m.parquet"
    with pytest.raises(BarsError, match=r"57 rows equal to the row before: .*--dedupe"):
        load_bars(spec)
    assert "dropped 57 repeated rows" in load_bars(spec, LoadOptions(dedupe=True)).notes


FORMS = ("csv", "csv.gz", "parquet", "feather")
REPAIRED = LoadOptions(dedupe=True, drop_bad_bars=True, sort=True, tick=0.01)


@pytest.fixture(scope="module")
def forms(real_folder, tmp_path_factory):
    """Every series in every form: name to the specs of its files."""
    folder = tmp_path_factory.mktemp("forms")
    by_name = {}
    for name in SERIES:
        table = pq.read_table(real_folder / f"{name}.parquet")
        pa_csv.write_csv(table, folder / f"{name}.csv")
        with gzip.open(folder / f"{name}.csv.gz", "wb", compresslevel=1) as packed:
            packed.write((folder / f"{name}.csv").read_bytes())
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
        feather.write_feather(table, str(folder / f"{name}.feather"))
        specs = [f"{form.partition('.')[0]}:{folder}/{name}.{form}" for form in FORMS]
        by_name[name] = dict(zip(FORMS, specs, strict=True))
    return by_name


@pytest.mark.slow
@pytest.mark.parametrize("name", SERIES)
def test_series_is_the_same_in_every_form(real_folder, forms, name):
    """Every form gives the bits of the original, with repairs that were asked for and without."""
    original = load_bars(f"parquet:{real_folder / name}.parquet", LoadOptions(dedupe=True))
    for options in (LoadOptions(dedupe=True), REPAIRED):
        for spec in forms[name].values():
            bars = load_bars(spec, options)
            assert bars.content_hash == original.content_hash, spec
            assert bars.symbol == name
            assert bars.notes == original.notes


@pytest.mark.slow
@pytest.mark.parametrize("name", SERIES)
def test_series_without_repairs_is_the_same_or_refused_alike(real_folder, forms, name):
    """Five need none; the one with duplicates is refused in every form with the same rows."""
    names = set()
    for spec in forms[name].values():
        try:
            names.add(load_bars(spec).content_hash)
        except BarsError as error:
            names.add(str(error).split(": ", 1)[1])
    (only,) = names
    assert ("57 rows equal to the row before" in only) == (name == "uniusdt_15m")


def test_repairs_change_what_they_repair_and_nothing_else(real_folder, tmp_path):
    """Damage in four rows: refused in every form, and repaired to the same bars in every form."""
    table = pq.read_table(real_folder / "btcusdt_1h.parquet").slice(0, 2000)
    columns = {name: table.column(name).to_numpy().copy() for name in table.column_names}
    columns["volume"][5] = np.nan
    columns["high"][50] = max(columns["open"][50], columns["close"][50]) - 0.005
    order = np.arange(2000)
    order[[100, 101]] = order[[101, 100]]
    damaged = pa.table({name: column[np.append(order, 1999)] for name, column in columns.items()})
    pa_csv.write_csv(damaged, tmp_path / "d.csv")
    pq.write_table(damaged, tmp_path / "d.parquet")
    feather.write_feather(damaged, str(tmp_path / "d.feather"))
    hashes = set()
    for form in ("csv", "parquet", "feather"):
        spec = f"{form}:{tmp_path}/d.{form}"
        with pytest.raises(BarsError, match="row 5"):
            load_bars(spec)
        bars = load_bars(spec, REPAIRED)
        assert len(bars) == 1999
        assert [note.split(" ")[0] for note in bars.notes[1:-1]] == ["1", "dropped", "1", "dropped"]
        assert bars.notes[-1].startswith("2 gaps, ")
        hashes.add(bars.content_hash)
    assert len(hashes) == 1
