"""Forecasts from the command line, and runs that read them."""

import json
import shutil
import signal
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
from engine.forecasts import training
from optimizer.forecasts.column import column_hash, read_forecast, write_forecast
from optimizer.run import forecasting
from optimizer.run.columns import list_fits, recorded_fits
from optimizer.store import RunStore
from optimizer.store.payload import encode, sha256
from strategy.files import build_strategies
from tests.support.commands import SMALL, market_columns
from tests.support.forging import forge
from tests.support.judged import judgement, record_judgement
from tests.support.series import csv_text, write_csv

QUICK = ("--train", "400", "--refit", "300", "--window", "8", "--features", "returns, range")

FOLLOWS = """from strategy.words import *

FOLLOWS = strategy("Follows a forecast.", long=column("forecast") > gene("least", 0.0, -0.2, 0.2),
    stop=from_entry(gene("stop", 2, 1, 4) * rma(true_range, 14)), max_hold=8)
"""


@pytest.fixture
def market(tmp_path):
    """A small market in a file."""
    return write_csv(tmp_path, csv_text(market_columns(3, 1200)))


def fit_ridge(command, market, name="a.parquet", *more):
    """A ridge's forecast of it, by the command."""
    return command(
        "forecast", "fit", "--model", "ridge", "--data", market, *QUICK, "--out", name, *more
    )


def test_a_forecast_is_fitted_shown_and_listed(command, market):
    """What to believe comes first; every line of the table fits 80 columns; JSON is the record."""
    forecast = fit_ridge(command, market)
    assert (forecast.code, forecast.err) == (0, "")
    lines = forecast.out.splitlines()
    assert lines[0].startswith(("No skill", "Skill"))
    table = lines[2 : lines.index("", 2)]
    assert max(len(line.rstrip()) for line in table) <= 80
    assert table[-1].split()[0] == "all"
    shown = command("forecast", "show", "a.parquet")
    assert shown.out == forecast.out
    record = command("forecast", "show", "a.parquet", "--json").json
    assert record["settings"]["model"] == "ridge"
    assert len(record["skill"]["folds"]) == 3
    assert command("forecast", "list", ".").out.splitlines()[1].split()[:3] == [
        "a.parquet",
        "ridge",
        "4",
    ]


def test_a_number_is_read_at_its_own_bar_alone(command, market):
    """Known at the bar's close; nothing is known after the last bar; another symbol has none."""
    fit_ridge(command, market)
    numbers, forecast = read_dated("a.parquet"), read_forecast(Path("a.parquet"))
    symbol = forecast.record.data[0].symbol
    own = numbers.of(symbol)
    assert np.isfinite(own.values[0])
    assert np.isnan(own.values[-1])
    assert own.known_at[-1] == own.known_at[-2] + 1
    assert not len(numbers.of("OTHER").values)


def test_python_fits_the_same(command, market):
    """The same settings by name: the same column."""
    fit_ridge(command, market)
    fit = optimizer.forecast(
        "b.parquet",
        data=market,
        model="ridge",
        train=400,
        refit=300,
        window=8,
        features="returns, range",
    )
    assert fit.record.column == read_forecast(Path("a.parquet")).record.column
    assert fit.record.fits == 1


def test_python_fits_bars_in_memory(command, market):
    """Symbols with a frame each: the forecasts of the file, and no other file stays."""
    frame = pd.read_csv(market.removeprefix("csv:"))
    small = {"model": "ridge", "train": 400, "refit": 300, "window": 8, "features": "returns"}
    read = optimizer.forecast("a.parquet", data=market, **small)
    fit = optimizer.forecast("b.parquet", bars={"ABC": frame}, **small)
    assert fit.values.tobytes() == read.values.tobytes()
    assert set(fit.symbols) == {"ABC"}
    assert {path.name for path in Path().glob("*.parquet")} == {"a.parquet", "b.parquet"}


def test_each_different_forecast_on_these_bars_is_a_trial(command, market):
    """Those in the folder count, also one that was replaced; the same one again does not."""
    fit_ridge(command, market)
    fit_ridge(command, market, "b.parquet", "--horizon", "2")
    fit_ridge(command, market, "b.parquet", "--horizon", "3")
    result = fit_ridge(command, market, "c.parquet", "--json").json
    assert len(result["fitted"]) == 3
    assert read_forecast(Path("b.parquet")).record.fits == 3


def test_one_chosen_of_several_counts_all(command, market, tmp_path):
    """What was fitted after a forecast counts too: when it is shown, and when a run reads it."""
    fit_ridge(command, market)
    assert read_forecast(Path("a.parquet")).record.fits == 1
    fit_ridge(command, market, "b.parquet", "--horizon", "2")
    fit_ridge(command, market, "c.parquet", "--horizon", "3")
    shown = command("forecast", "show", "a.parquet")
    assert "3 different forecasts were fitted on these bars" in shown.out
    listed = command("forecast", "list", ".", "--json").json
    assert [len(entry["fitted"]) for entry in listed] == [3, 3, 3]
    (tmp_path / "alone").mkdir()
    shutil.copy("c.parquet", "alone/renamed.pq")
    spec = build_strategies(FOLLOWS, "follows.py")["FOLLOWS"]
    for column, fits in (("a.parquet", 3), ("b.parquet", 3), ("alone/renamed.pq", 3)):
        assert len(list_fits(spec, [f"forecast={column}"])) == fits
    both = list_fits(spec, ["forecast=a.parquet", "other=b.parquet"])
    assert len(both) == 3


def test_two_fits_of_one_file_at_once_count_each_other(command, market, monkeypatch):
    """A forecast that was written while another was fitted is a trial, also where it is gone."""
    whole, begun = forecasting.make_forecast, []

    def while_another_is_fitted(*given):
        if not begun:
            begun.append(True)
            fit_ridge(command, market, "a.parquet", "--horizon", "2")
        return whole(*given)

    monkeypatch.setattr(forecasting, "make_forecast", while_another_is_fitted)
    forecast = fit_ridge(command, market, "a.parquet", "--json")
    assert len(forecast.json["fitted"]) == 2
    assert read_forecast(Path("a.parquet")).record.settings["horizon"] == 4


@pytest.mark.slow
def test_a_fit_that_is_stopped_leaves_nothing(command, market, tmp_path, monkeypatch):
    """Neither half a forecast nor a changed one."""
    fit_ridge(command, market)
    before = Path("a.parquet").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(training.Trainer, "train", lambda *_: signal.raise_signal(signal.SIGINT))
        stopped = fit_ridge(command, market, "a.parquet", "--model", "tcn")
    assert (stopped.code, stopped.out, stopped.err) == (130, "", "stopped\n")
    assert [file.name for file in tmp_path.iterdir() if "parquet" in file.name] == ["a.parquet"]
    assert Path("a.parquet").read_bytes() == before


def test_a_file_stands_where_the_folder_should(command, market, tmp_path):
    """One line of error, as of a name."""
    (tmp_path / "file").write_text("")
    forecast = fit_ridge(command, market, "file/a.parquet")
    assert (forecast.code, forecast.error) == (2, "file/a.parquet cannot be written: File exists")


@pytest.mark.slow
def test_a_run_takes_its_forecast_with_it(command, market, tmp_path, monkeypatch):
    """Fitted anew or gone, the run resumes, verifies and reports from its own copy.

    Elsewhere, without a network; resumed it finds what it would have found where it began.
    """
    fit_ridge(command, market)
    (tmp_path / "follows.py").write_text(FOLLOWS)
    flags = ("--strategy", "follows.py", "--data", market, "--column-file", "forecast=a.parquet")
    begun = command("evolve", *flags, *SMALL, "--quiet", "--json")
    assert begun.code == 0
    longer = (*SMALL, "--generations", "3", "--runs", "longer", "--quiet", "--json")
    expected = command("evolve", *flags, *longer).json["certificate"]
    fit_ridge(command, market, "b.parquet", "--horizon", "3")
    assert command("runs", "verify", "latest").code == 0
    fit_ridge(command, market, "a.parquet", "--horizon", "2")
    assert command("runs", "verify", "latest").code == 0
    (tmp_path / "a.parquet").unlink()
    (tmp_path / "follows.py").unlink()
    (tmp_path / "there").mkdir()
    shutil.move("runs", "there/elsewhere")
    monkeypatch.chdir("there")
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it asked the network"))
    there = ("latest", "--runs", "elsewhere")
    assert command("runs", "verify", *there).code == 0
    assert command("report", *there).code == 0
    went_on = ("--generations", "3", "--no-report", "--no-judge", "--quiet", "--json")
    more = command("evolve", "--resume", *there, *went_on)
    assert more.code == 0
    assert more.json["certificate"] == expected
    assert command("judge", *there, "--null", "1", "--folds", "0", "--quiet").code == 0


def run_after_two_fits(command, market, folder):
    """Folder of a run that reads one of two forecasts that were fitted on its bars."""
    fit_ridge(command, market, "b.parquet", "--horizon", "2")
    fit_ridge(command, market)
    (folder / "follows.py").write_text(FOLLOWS)
    flags = ("--data", market, "--column-file", "forecast=a.parquet")
    command("evolve", "--strategy", "follows.py", *flags, *SMALL, "--quiet")
    return next((folder / "runs").glob("*/run.sqlite")).parent


def test_fits_count_in_the_verdict(command, market, tmp_path):
    """A run's header counts the forecasts that were fitted; each counts as a search does."""
    path = run_after_two_fits(command, market, tmp_path)
    with RunStore.open(path) as store:
        assert recorded_fits(store) == 2
    recorded = record_judgement(path, replace(judgement("holds"), held_out=None, fits=2))
    assert recorded.tries == recorded.searches + 2
    assert recorded.verdict.grade == "weak"
    assert "forecasts were not fitted again" in recorded.verdict.sentence


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--model", "gtu"), "did you mean 'gru'?"),
        (("--features", "closer"), "'closer' is unknown"),
        (("--train", "5000"), "too few"),
        (("--out", "a.csv"), "a forecast is a .parquet file"),
        (("--device", "cuda:99", "--bf16", "--model", "gru"), "device 'cuda:99'"),
    ],
    ids=["model", "features", "train", "out", "device"],
)
def test_what_does_not_fit_is_one_line(command, market, flags, message):
    """What is wrong, and nothing is written."""
    outcome = command("forecast", "fit", "--data", market, *flags)
    assert outcome.code in (2, 5)
    assert message in outcome.err
    assert outcome.err.count("\n") == 1


def test_other_numbers_than_the_record_says_are_refused(command, market):
    """A column has a hash of its own."""
    fit_ridge(command, market)
    forecast = read_forecast(Path("a.parquet"))
    values = forecast.values.copy()
    values[5] += 1e-9
    assert column_hash(forecast.known_at, values, forecast.symbols) != forecast.record.column
    write_forecast(replace(forecast, values=values), Path("a.parquet"))
    assert command("forecast", "show", "a.parquet").code == 4
    assert command("forecast", "show", market).code == 2


def rewrite(path, change, *, is_sealed=False, times=lambda known_at: known_at):
    """Change the record of a forecast and its times; with the digests of both anew where asked."""
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


def test_a_run_that_leaves_fits_out_is_not_whole(command, market, tmp_path):
    """The record of its own forecast names more."""
    path = run_after_two_fits(command, market, tmp_path)
    forge(path, "header", lambda payload: payload["run"].update(forecast_fits=[]))
    outcome = command("runs", "verify", "latest", "--trust")
    assert (outcome.code, "2 that the forecast's record names are missing" in outcome.err) == (
        4,
        True,
    )


def better(record):
    """A forged skill."""
    record["skill"]["whole"]["against"]["the mean"] = {"gain": 0.5, "p": 1e-9}


def boasting(record):
    """Words that do not follow from the figures."""
    record["skill"] |= {"has_skill": True, "sentence": "Skill: much of it."}


def an_hour_early(known_at):
    """Each number an hour before it was known."""
    return known_at - np.timedelta64(1, "h")


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        (better, {}, "its record was changed after it was written"),
        (boasting, {"is_sealed": True}, "does not follow from its figures"),
        (lambda record: None, {"times": an_hour_early}, "other numbers than its record says"),
        (lambda record: None, {"times": an_hour_early, "is_sealed": True}, "those of its bars"),
    ],
    ids=["edited skill", "forged sentence", "shifted", "shifted, digests anew"],
)
def test_a_changed_forecast_is_refused_wherever_it_is_read(command, market, change, given, message):
    """By whatever shows it, and by whatever reads it as a column."""
    fit_ridge(command, market)
    Path("follows.py").write_text(FOLLOWS)
    reads = ("--data", market, "--column-file", "forecast=a.parquet")
    strategy = ("--strategy", "follows.py", *reads)
    recorded = command("evolve", *strategy, *SMALL, "--quiet")
    assert recorded.code == 0, recorded
    rewrite("a.parquet", change, **given)
    for use in (
        ("forecast", "show", "a.parquet"),
        ("evolve", *strategy, *SMALL, "--quiet"),
        ("backtest", *strategy),
        ("parity", *strategy, "--individuals", "2"),
    ):
        outcome = command(*use)
        assert (outcome.code, message in outcome.err) == (4, True), (use, outcome)
    # The run keeps the forecast as it was.
    assert command("runs", "verify", "latest").code == 0


def test_a_forecast_of_an_earlier_version_is_read(command, market):
    """Its record is under no digest, with a note."""
    fit_ridge(command, market)
    rewrite("a.parquet", lambda record: record.pop("digest"))
    shown = command("forecast", "show", "a.parquet")
    assert (shown.code, "its record is under no digest" in shown.err) == (0, True)
    assert "record none" in shown.out


def test_a_file_that_says_forecast_in_another_way_is_none(command):
    """Its writer meant something else by that word."""
    table = pa.table({"known_at": [0], "value": [1.0]})
    pq.write_table(table.replace_schema_metadata({"forecast": "of tomorrow"}), "theirs.parquet")
    shown = command("forecast", "show", "theirs.parquet")
    assert (shown.code, "is no forecast" in shown.error) == (2, True)
    assert "no forecast in ." in command("forecast", "list", ".").out
