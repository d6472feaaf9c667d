"""Bars in memory go the whole way, as those of files do."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import optimizer
from data.errors import DataError
from optimizer.errors import ConfigError
from optimizer.report import write_report

pytestmark = pytest.mark.slow

SMALL = {"population": 8, "generations": 2, "min_trades": 3, "judge": False}


@pytest.fixture
def frame(market, tmp_path, monkeypatch):
    """Bars as a frame whose times are a column, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return pd.read_csv(market.removeprefix("csv:"))


def test_frames_of_several_tickers_are_searched_resumed_and_verified(command, frame):
    """The run needs neither the frames nor the process; its trades name the tickers."""
    timed = frame.assign(timestamp=pd.to_datetime(frame["timestamp"])).set_index("timestamp")
    wide = pd.concat({"AAA": timed, "BBB": timed * 2}, axis=1)
    wide[("meta", "")] = [{"a": 1}] * len(timed)
    run = optimizer.evolve(bars=wide, **SMALL)
    assert len(list(Path("runs").glob("bars-*.parquet"))) == 2
    assert set(run.trades(0)["symbol"]) == {"AAA", "BBB"}
    assert "0 mismatches" in command("runs", "verify", "latest").out
    assert (
        command(
            "evolve", "--resume", run.id, "--generations", "3", "--no-judge", "--no-report"
        ).code
        == 0
    )


def test_errors_of_every_entry_name_the_frame(frame):
    """As it was passed, also where its file is read."""
    bars = {"AAA": frame.assign(high=np.where(frame.index == 7, 1e-3, frame["high"]))}
    calls = (
        lambda: optimizer.evolve(bars=bars, **SMALL),
        lambda: optimizer.backtest(bars=bars),
        lambda: optimizer.scan(bars=bars, is_kept=False),
        lambda: optimizer.forecast("a.parquet", bars=bars, model="ridge"),
    )
    for call in calls:
        with pytest.raises((ConfigError, DataError), match=r"^bars\['AAA'\]: .*--drop-bad-bars"):
            call()
    assert len(optimizer.backtest(bars=bars, drop_bad_bars=True).trades(0))
    with pytest.raises(ConfigError, match="polars"):
        optimizer.backtest(bars=frame.to_numpy())


def test_one_individual_is_backtested_in_memory(command, market, frame):
    """A frame of any library that can give one of pandas; the trades are those of the command."""
    genes = {"close_location_min": 0.3, "vol_z_min": 0.5}
    run = optimizer.backtest(genes, bars=pa.Table.from_pandas(frame))
    given = [part for name, value in genes.items() for part in ("--set", f"{name}={value}")]
    result = command("backtest", "--data", market, *given, "--json").json
    assert run.front["trades"][0] == result["metrics"]["trades"] > 0
    assert run.trades(0)["r"].sum() == pytest.approx(result["metrics"]["sum_r"], rel=1e-12)
    with pytest.raises(ConfigError, match="folder"):
        write_report(run)
    assert not Path("runs").exists()
    both = optimizer.backtest(genes, bars={"ONE": frame, "OTHER/USDT": frame})
    assert both.trades(0)["symbol"].value_counts().to_dict() == dict.fromkeys(
        ("ONE", "OTHER/USDT"), result["metrics"]["trades"]
    )
