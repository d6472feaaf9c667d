"""Several markets in the rows of a typed file, under a column whose name is no symbol's."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from data import load_bars
from data.errors import DataError, SourceError
from data.table import LoadOptions
from tests.support.flags import parse_options
from tests.support.series import make_columns

COUNT = 6

MARKETS = {
    "text": ["AAA", "BBB"],
    "numbers": [7, 9],
    "floats": [7.0, 9.5],
    "dates": [dt.date(2024, 3, 1), dt.date(2024, 6, 1)],
    "categories": pd.CategoricalIndex(["AAA", "BBB"], categories=["none", "AAA", "BBB"]),
}


def stack(markets, name="Name"):
    """Rows of two markets, one behind the other, with columns that part nothing."""
    columns = make_columns(COUNT)
    time = columns.pop("timestamp").astype("datetime64[ns]")
    bars = pd.DataFrame({"time": time, **columns})
    rows = pd.concat([bars, bars], ignore_index=True)
    rows[name] = pd.Series(markets).repeat(COUNT).to_numpy() if isinstance(markets, list) else (
        pd.Categorical(np.repeat(np.asarray(markets), COUNT), categories=markets.categories)
    )  # fmt: skip
    return rows.assign(legs=[[1, 2]] * (2 * COUNT), score=np.arange(2.0 * COUNT))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
@pytest.mark.parametrize("form", MARKETS)
@pytest.mark.parametrize("name", ["Name", "Asset_ID", "product"])
def test_the_column_that_parts_the_rows_is_named(tmp_path, kind, form, name):
    """With the market and the option that read one of them; nobody is told to sort."""
    path = tmp_path / f"bars.{kind}"
    getattr(stack(MARKETS[form], name), f"to_{kind}")(path)
    with pytest.raises(DataError, match=f"column '{name}' parts the rows into 2 mark") as caught:
        load_bars(str(path))
    message = str(caught.value)
    (market,) = re.findall(rf"such as bars\.{kind}(#\S+) --column", message)
    bars = load_bars(f"{path}{market}", parse_options(message))
    assert (len(bars), f"#{bars.symbol}") == (COUNT, market)


def test_categories_of_several_parts_of_a_file_are_compared_by_what_they_mean(tmp_path):
    """Each part may count its own from 0."""
    bars = pl.DataFrame(make_columns(COUNT))
    tables = [
        bars.with_columns(pl.lit(market).cast(pl.Categorical).alias("Name")).to_arrow()
        for market in ("AAA", "BBB")
    ]
    with pa.ipc.new_stream(tmp_path / "bars.arrow", tables[0].schema) as file:
        for table in tables:
            file.write_table(table)
    with pytest.raises(DataError, match=r"2 markets \('AAA', 'BBB'\)"):
        load_bars(str(tmp_path / "bars.arrow"))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_column_beside_the_symbol_parts_rows_too(tmp_path, kind):
    """As exchanges do, which trade one symbol."""
    rows = stack(["AAA", "BBB"], "exchange").drop(columns="legs").assign(symbol="X")
    if kind == "csv":
        rows.to_csv(tmp_path / "bars.csv", index=False)
    else:
        rows.to_parquet(tmp_path / "bars.parquet")
    with pytest.raises(DataError, match="column 'exchange' parts the rows into 2") as caught:
        load_bars(str(tmp_path / f"bars.{kind}"))
    bars = load_bars(str(tmp_path / f"bars.{kind}#BBB"), parse_options(str(caught.value)))
    assert (len(bars), bars.symbol) == (COUNT, "BBB")


def test_markets_of_joined_files_are_named_where_header_lines_are_dropped(tmp_path):
    """Columns that are not read lose the same rows."""
    text = stack(["AAA", "BBB"]).drop(columns="legs").to_csv(index=False)
    header, *rows = text.splitlines()
    text = "\n".join([header, *rows[:COUNT], header, *rows[COUNT:], ""])
    (tmp_path / "bars.csv").write_text(text)
    with pytest.raises(DataError, match="column 'Name' parts the rows into 2 markets"):
        load_bars(str(tmp_path / "bars.csv"), LoadOptions(drop_bad_bars=True, sort=True))


def test_bytes_that_are_no_text_name_no_market(tmp_path):
    """A refusal, where such a column is said to be the symbol's."""
    rows = stack(["AAA", "BBB"]).drop(columns="legs")
    rows["Name"] = [b"\xff"] * COUNT + [b"\xfe"] * COUNT
    rows.to_parquet(tmp_path / "bars.parquet")
    with pytest.raises(DataError, match="'Name' holds binary, which names no market"):
        load_bars(str(tmp_path / "bars.parquet"), LoadOptions(columns={"symbol": "Name"}))


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_rows_of_one_market_are_still_sorted(tmp_path, kind):
    """Beside a column that parts nothing."""
    rows = stack(["AAA", "BBB"]).head(COUNT)[::-1].reset_index(drop=True)
    getattr(rows, f"to_{kind}")(tmp_path / f"bars.{kind}")
    assert len(load_bars(str(tmp_path / f"bars.{kind}"), LoadOptions(sort=True))) == COUNT


def test_a_damaged_column_that_may_part_the_rows_is_a_refusal(tmp_path):
    """It is read only where the times are not of one market."""
    table = pa.Table.from_pandas(stack(["AAA", "BBB"]).drop(columns="legs"))
    pq.write_table(
        table, tmp_path / "bars.parquet", compression="none", write_page_checksum=True,
        use_dictionary=["Name"],
    )  # fmt: skip
    raw = (tmp_path / "bars.parquet").read_bytes()
    (tmp_path / "bars.parquet").write_bytes(raw.replace(b"AAA", b"A\xffA", 1))
    with pytest.raises(SourceError, match="is no readable Parquet file"):
        load_bars(str(tmp_path / "bars.parquet"))


@pytest.mark.parametrize("kind", ["parquet", "ipc"])
@pytest.mark.parametrize("name", ["volume", "trades"])
def test_numbers_of_128_bits_are_refused_with_a_way_on(tmp_path, kind, name):
    """Nothing of such a file is read, whichever column holds them."""
    bars = pl.DataFrame(make_columns(COUNT)).with_columns(pl.lit(7).cast(pl.Int128).alias(name))
    path = tmp_path / f"bars.{kind.replace('ipc', 'arrow')}"
    getattr(bars, f"write_{kind}")(path)
    with pytest.raises(SourceError, match=r"columns of 128 bits anew with 64.*cast\(pl.Int64\)"):
        load_bars(str(path))
    getattr(bars.cast({name: pl.Int64}), f"write_{kind}")(path)
    assert len(load_bars(str(path))) == COUNT
