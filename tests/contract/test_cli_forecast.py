"""Forecasts from the command line, and runs that read them."""

import contextlib
import io
import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import optimizer
from data.point_in_time import read_dated
from optimizer.__main__ import main
from optimizer.forecasts.column import column_hash, read_forecast
from optimizer.run.record import list_fits, recorded_fits
from optimizer.store import RunStore
from optimizer.store.payload import encode, sha256
from strategy.files import build_strategies
from tests.support.commands import SMALL, market_columns
from tests.support.judged import judgement, record_judgement
from tests.support.series import csv_text

DATA = ("--data", "csv:bars.csv")
QUICK = ("--train-bars", "400", "--refit", "300", "--window", "8", "--features", "returns, range")
SETTINGS = {"model": "ridge", "train": 400, "refit": 300, "window": 8, "features": "returns, range"}
READS = ("--strategy", "follows.py", *DATA, "--column-file", "forecast=a.parquet")

FOLLOWS = """from strategy.words import *

FOLLOWS = strategy("Follows a forecast.", long=column("forecast") > gene("least", 0.0, -0.2, 0.2),
    stop=from_entry(gene("stop", 2, 1, 4) * rma(true_range, 14)), max_hold=8)
"""


def list_words(name="a.parquet", *more):
    """The command that fits a ridge's forecast."""
    return ("forecast", "fit", "--model", "ridge", *DATA, *QUICK, "--out", name, *more)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a market, a forecast of it, and one with a run that reads one of two."""
    place = tmp_path_factory.mktemp("fitted")
    silent = contextlib.redirect_stdout(io.StringIO())
    (place / "bars.csv").write_text(csv_text(market_columns(3, 1200)))
    (place / "follows.py").write_text(FOLLOWS)
    with contextlib.chdir(place), silent:
        assert main([*list_words(), "--quiet"]) == 0
    read = shutil.copytree(place, tmp_path_factory.mktemp("read"), dirs_exist_ok=True)
    with contextlib.chdir(read), silent:
        assert main(list_words("b.parquet", "--horizon", "2")) == 0
        # Fitted again it knows of the other.
        assert main(list_words()) == 0
        assert main(["evolve", *READS, *SMALL, "--quiet", "--json"]) == 0
    return place, read


@pytest.fixture
def fitted(command, made):
    """The forecast, in this folder; the command that fits one."""
    shutil.copytree(made[0], Path(), dirs_exist_ok=True)
    return lambda *words: command(*list_words(*words))


@pytest.fixture
def run_path(command, made):
    """Folder of the run that reads it, in this folder."""
    shutil.copytree(made[1], Path(), dirs_exist_ok=True)
    return next(Path("runs").glob("*/run.sqlite")).parent


def test_a_forecast_is_fitted_shown_and_listed(command, fitted):
    """Every line of the table fits 80 columns; JSON is the record."""
    forecast = fitted("a.parquet")
    assert (forecast.code, forecast.err) == (0, "")
    lines = forecast.out.splitlines()
    table = lines[2 : lines.index("", 2)]
    assert max(len(line.rstrip()) for line in table) <= 80
    assert table[-1].split()[0] == "all"
    assert command("forecast", "show", "a.parquet").out == forecast.out
    record = command("forecast", "show", "a.parquet", "--json").json
    assert record["settings"]["model"] == "ridge"
    assert len(record["skill"]["folds"]) == 3
    row = command("forecast", "list", ".").out.splitlines()[1].split()
    assert row[:3] == ["a.parquet", "ridge", "4"]


def test_python_fits_the_same_also_of_bars_in_memory(fitted):
    """The same settings by name: the same column, and no other file stays."""
    fit = optimizer.forecast("b.parquet", data="csv:bars.csv", **SETTINGS)
    assert fit.record.column == read_forecast(Path("a.parquet")).record.column
    assert fit.record.fits == 1
    framed = optimizer.forecast("c.parquet", bars={"ABC": pd.read_csv("bars.csv")}, **SETTINGS)
    assert framed.values.tobytes() == fit.values.tobytes()
    assert set(framed.symbols) == {"ABC"}
    assert {path.name for path in Path().glob("*.parquet")} == {f"{n}.parquet" for n in "abc"}


def test_each_different_forecast_on_these_bars_is_a_trial(command, fitted):
    """What was fitted before or after, replaced or not, counts; the same one again does not.

    When it is shown, and when a run reads it, also a copy in another folder.
    """
    assert read_forecast(Path("a.parquet")).record.fits == 1
    fitted("b.parquet", "--horizon", "2")
    fitted("b.parquet", "--horizon", "3")
    assert len(fitted("c.parquet", "--json").json["fitted"]) == 3
    shown = command("forecast", "show", "a.parquet", "--json").json
    listed = command("forecast", "list", ".", "--json").json
    assert [len(entry["fitted"]) for entry in (shown, *listed)] == [3, 3, 3, 3]
    Path("alone").mkdir()
    shutil.copy("c.parquet", "alone/renamed.pq")
    spec = build_strategies(FOLLOWS, "follows.py")["FOLLOWS"]
    for columns in (["forecast=a.parquet"], ["forecast=alone/renamed.pq"],
                    ["forecast=a.parquet", "other=b.parquet"]):  # fmt: skip
        assert len(list_fits(spec, columns)) == 3


@pytest.mark.slow
def test_a_run_takes_its_forecast_with_it(command, run_path, monkeypatch):
    """Fitted anew or gone, the run resumes, verifies and reports from its own copy.

    Elsewhere, without a network; resumed it finds what it would have found where it began.
    """
    longer = (*SMALL, "--generations", "3", "--runs", "longer", "--quiet", "--json")
    expected = command("evolve", *READS, *longer).json["certificate"]
    command(*list_words("a.parquet", "--horizon", "3"))
    assert command("runs", "verify", "latest").code == 0
    Path("a.parquet").unlink()
    Path("follows.py").unlink()
    Path("there").mkdir()
    shutil.move("runs", "there/elsewhere")
    monkeypatch.chdir("there")
    shutil.copy("../bars.csv", ".")
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it asked the network"))
    there = ("latest", "--runs", "elsewhere")
    assert command("runs", "verify", *there).code == 0
    assert command("report", *there).code == 0
    went_on = ("--generations", "3", "--no-report", "--no-judge", "--quiet", "--json")
    more = command.succeed("evolve", "--resume", *there, *went_on)
    assert more.json["certificate"] == expected
    assert command("judge", *there, "--null", "1", "--folds", "0", "--quiet").code == 0


def test_fits_count_in_the_verdict(run_path):
    """A run's header counts the forecasts that were fitted; each counts as a search does."""
    with RunStore.open(run_path) as store:
        assert recorded_fits(store) == 2
    recorded = record_judgement(run_path, replace(judgement("holds"), held_out=None, fits=2))
    assert recorded.tries == recorded.searches + 2
    assert recorded.verdict.grade == "weak"


def rewrite(path, change, *, is_sealed=False, times=lambda known_at: known_at):
    """Change the record of a forecast and its times; with the digests of both anew if wanted."""
    table = pq.read_table(path)
    record = json.loads(table.schema.metadata[b"forecast"])
    known_at = pa.array(times(table["known_at"].to_numpy()), pa.timestamp("ns", tz="UTC"))
    table = table.set_column(0, "known_at", known_at)
    change(record)
    if is_sealed:
        told = np.asarray(table["known_at"].cast("int64").to_numpy(), np.int64)
        symbols = table["symbol"].to_pylist()
        record["column"] = column_hash(told, table["value"].to_numpy(), symbols)
        record["digest"] = sha256(encode({**record, "digest": ""}, what="a record")).hex()
    metadata = {"forecast": encode(record, what="a record")}
    pq.write_table(table.replace_schema_metadata(metadata), path)


BETTER = {"the mean": {"gain": 0.5, "p": 1e-9}}
BOASTING = {"has_skill": True, "sentence": "Skill: much of it."}
EARLY = {"change": lambda record: None, "times": lambda known_at: known_at - np.timedelta64(1, "h")}
FORGED = {
    "edited skill": {"change": lambda record: record["skill"]["whole"]["against"].update(BETTER)},
    "forged sentence": {"change": lambda record: record["skill"].update(BOASTING),
                        "is_sealed": True},
    "shifted": EARLY,
    "shifted, digests anew": {**EARLY, "is_sealed": True},
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_a_changed_forecast_is_refused_wherever_it_is_read(command, run_path, name):
    """By whatever shows it, and by whatever reads it as a column; the run keeps it as it was."""
    rewrite("a.parquet", **FORGED[name])
    for use in (
        ("forecast", "show", "a.parquet"),
        ("evolve", *READS, *SMALL, "--quiet"),
        ("backtest", *READS),
        ("parity", *READS, "--individuals", "2"),
    ):
        outcome = command(*use)
        assert (outcome.code, outcome.out) == (4, ""), (use, outcome)
        assert ("bars" in outcome.error) == (name == "shifted, digests anew"), outcome.error
    assert command("runs", "verify", "latest").code == 0


def test_a_number_is_read_at_its_own_bar_alone(fitted):
    """Known at the bar's close; nothing is known after the last bar; another symbol has none."""
    numbers, forecast = read_dated("a.parquet"), read_forecast(Path("a.parquet"))
    own = numbers.of(forecast.record.data[0].symbol)
    assert np.isfinite(own.values[0])
    assert np.isnan(own.values[-1])
    assert own.known_at[-1] == own.known_at[-2] + 1
    assert not len(numbers.of("OTHER").values)
