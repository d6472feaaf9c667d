"""Files of several markets: what parts their rows is named, and one of them is read."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl

from data.errors import DataError, SourceError, TableError
from tests.corpus.row import reads, refuses, saved, text
from tests.support.series import make_columns

COUNT = 6
ONE = {"count": COUNT}
MARKETS = {
    "text": ["AAA", "BBB"],
    "numbers": [7, 9],
    "dates": [dt.date(2024, 3, 1), dt.date(2024, 6, 1)],
    "categories": pd.Categorical(["AAA", "BBB"], categories=["none", "AAA", "BBB"]),
}
"""Names of two markets, of each type."""
SHOWN = {"text": "AAA", "numbers": "7", "floats": "7", "dates": "2024-03-01", "categories": "AAA"}


def stack(markets=("AAA", "BBB"), name="Name", **more):
    """A frame of two markets, one behind the other, with columns that part nothing."""
    columns = make_columns(COUNT)
    time = columns.pop("timestamp").astype("datetime64[ns]")
    one = pd.DataFrame({"time": time, **columns})
    rows = pd.concat([one, one], ignore_index=True)
    rows[name] = pd.Series(markets).repeat(COUNT).reset_index(drop=True)
    return rows.assign(score=np.arange(2.0 * COUNT), **more)


def kept(kind, make, **options):
    """The frame of a function, saved by pandas."""
    options = {"index": False} if kind == "csv" else options
    return saved(f"bars.{kind}", lambda path: getattr(make(), f"to_{kind}")(path, **options))


def write_wide(kind, name, to=pl.Int128):
    """Bars with a column of a wide type, written by polars."""

    def write(path):
        frame = pl.DataFrame(make_columns(COUNT)).with_columns(pl.lit(7).cast(to).alias(name))
        getattr(frame, f"write_{kind}")(path)

    return saved(f"bars.{kind.replace('ipc', 'arrow')}", write)


def joined():
    """The text of two markets with the header again between them."""
    header, *rows = stack().to_csv(index=False).splitlines()
    return text("\n".join([header, *rows[:COUNT], header, *rows[COUNT:], ""]))


def days(*rows, head="date,symbol,open,high,low,close,volume"):
    """A file of rows."""
    return text("\n".join([head, *rows, ""]))


CONTRACTS = days(*(f"2024-01-{i + 1:02d},ES{'HM'[i // 5]}4,10,12,9,11,5" for i in range(10)))
TWO = days(*(f"2024-01-{i // 2 + 1:02d},{'AB'[i % 2]},10,12,9,11,{i}" for i in range(10)))
LEGS = [[1, 2]] * (2 * COUNT)

ROWS = (
    *(refuses(f"{form} of {name}, {kind}",
              kept(kind, lambda form=form, name=name: stack(MARKETS[form], name, legs=LEGS)), None,
              TableError, f"column '{name}' parts the rows into 2 mark", f"bars.{kind}#",
              never="--sort", then={"symbol": SHOWN[form], **ONE})
      for kind, form, name in zip(("parquet", "feather") * 3, MARKETS, (
          "Name", "Asset_ID", "product", "Name", "Name"), strict=False)),
    *(refuses(f"an exchange beside a symbol, {kind}", kept(kind, lambda: stack(
        name="exchange", symbol="X")), None, TableError, "column 'exchange' parts the rows into 2",
        then={"symbol": "AAA", **ONE}) for kind in ("csv", "parquet")),
    refuses("joined files", joined(), {"drop_bad_bars": True, "sort": True}, TableError,
            "column 'Name' parts the rows into 2 markets"),
    *(refuses(f"{name} of 128 bits, {kind}", write_wide(kind, name), None, SourceError,
              "columns of 128 bits anew with 64", "cast(pl.Int64)")
      for kind, name in (("parquet", "volume"), ("ipc", "trades"))),
    refuses("assets by minute", days(*(
        f"{1_704_067_200 + 60 * i},{asset},1,2,1,2,{asset}" for i in range(4) for asset in (7, 9)),
        head="time,Asset_ID,open,high,low,close,volume"), None, TableError, "'Asset_ID'",
        then={"symbol": "7", "count": 4, "values": {"volume": [7] * 4}}),
    refuses("months in another order", days(*(
        f"2024-{m:02d}-{d:02d},{m},10,12,9,11,5" for m in (2, 1) for d in range(1, 5)),
        head="time,month,open,high,low,close,volume"), None, DataError, "let --sort do it",
        then={"count": 8}),
    refuses("contracts that follow one another", CONTRACTS, None, TableError, "series.csv#ESH4",
            "or read all rows as one market",
            then=[({}, {"symbol": "series", "count": 10})]),
    reads("one contract", CONTRACTS, market="ESM4", symbol="ESM4", count=5),
)  # fmt: skip
