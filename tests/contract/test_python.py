"""The Python interface takes values and bars of any library, and refuses the rest in one line."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import optimizer
from data import DataError, load_bars
from engine.errors import EngineError
from optimizer.config.run_config import RunConfig
from optimizer.errors import ConfigError, OptimizerError
from optimizer.report import page_html, write_report
from strategy import StrategyError, words
from tests.support.runs import record_run

OURS = (OptimizerError, DataError, StrategyError, EngineError)


class Somewhere:
    """A path of no library that we know."""

    def __init__(self, text):
        self.text = text

    def __fspath__(self):
        return self.text


def whole(number):
    """A whole number, and the same of other libraries."""
    return number, (
        np.int64(number),
        np.uint8(number),
        np.array(number),
        Decimal(f"{number}.0"),
        Fraction(number),
        float(number),
    )


def real(number):
    """A number of few binary digits, and the same of other libraries."""
    forms = (np.float64, np.float32, np.array, Decimal, Fraction)
    return number, tuple(form(number) for form in forms)


def text(word):
    """A text, and the same of other libraries."""
    return word, (np.str_(word), np.array(word))


def path(word):
    """A path as text, and as other libraries have it."""
    return word, (Path(word), Somewhere(word), np.str_(word))


def flag(is_so):
    """A flag, and the same of NumPy."""
    return is_so, (np.bool_(is_so), np.array(is_so))


def several(*entries):
    """A list, and the same of other libraries."""
    held = list(entries)
    return held, (tuple(held), np.array(held), pd.Series(held), pl.Series(held), pd.Index(held))


def moment(day):
    """A day as text, and as other libraries have it."""
    return day, (
        pd.Timestamp(day),
        np.datetime64(day),
        datetime.fromisoformat(day),
        date.fromisoformat(day),
    )


def span(hours):
    """So many hours as text, and as other libraries have them."""
    return f"{hours}h", (
        pd.Timedelta(hours=hours),
        timedelta(hours=hours),
        np.timedelta64(hours, "h"),
    )


def table(name, number):
    """A table of one number, and the same of other libraries."""
    return {name: number}, ({np.str_(name): np.float64(number)}, pd.Series({name: number}))


def backtested(**settings):
    """Trades of one individual."""
    return optimizer.backtest(**settings).trades(0).to_csv()


PLACES = {
    "trades": (lambda run, v: run.trades(v).to_csv(), whole(0)),
    "program": (lambda run, v: run.program(0, v), text("pine")),
    "grid": (lambda run, v: run.grid(v, "reward_r").to_csv(), text("ema_fast")),
    "by_weight": (lambda run, v: run.by_weight(strength=v), real(0.5)),
    "page": (lambda run, v: len(page_html(run, v)), whole(0)),
    "report": (lambda run, v: write_report(run, v).name, path("page.html")),
    "plot_front": (lambda run, v: run.plot.front(v).to_json(), text("trades")),
    "load_run": (lambda run, v: repr(optimizer.load_run(v)), path("runs/one")),
    "load_run_data": (
        lambda run, v: optimizer.load_run(data=v).trades(0).to_csv(),
        several("sample"),
    ),
    "judge_pick": (
        lambda run, v: repr(optimizer.judge(pick=v, null=0, folds=0, blocks=0)),
        whole(0),
    ),
    "portfolio": (lambda run, v: repr(optimizer.portfolio(v)), several("latest:0")),
    "scan": (lambda run, v: optimizer.scan(v).frame().to_csv(), table("ema_len", 21)),
    "forecast": (lambda run, v: optimizer.forecast(v, model="naive"), (None, ())),
    "genes": (
        lambda run, v: optimizer.backtest(v).trades(0).to_csv(),
        table("reward_r", 2.5),
    ),
    "gene": (lambda run, v: optimizer.backtest({"reward_r": v}).trades(0).to_csv(), real(2.5)),
    "data": (lambda run, v: backtested(data=v), several("sample")),
    "strategy": (lambda run, v: backtested(strategy=v), text("seller_exhaustion")),
    "start": (lambda run, v: backtested(start=v), moment("2024-02-01")),
    "timeframe": (lambda run, v: backtested(timeframe=v), span(1)),
    "fee_bp": (lambda run, v: backtested(fee_bp=v), real(2.5)),
    "scale_lengths": (lambda run, v: backtested(scale_lengths=v), flag(False)),
    "bounds": (lambda run, v: backtested(bounds={"reward_r": v}), several(1.0, 5.0)),
    "load_bars": (lambda run, v: repr(load_bars(v)), path("sample")),
    "word_number": (lambda run, v: repr(words.close > v), real(2.5)),
}
"""Each argument: a call with its value, and a plain value with its twins."""


DEAR = {"page", "report", "judge_pick", "portfolio", "load_run_data", "scan", "plot_front"}
"""Arguments of calls that take long, which are tried with one twin: all go through one reader."""

NEVER = (
    float("nan"), np.float64("inf"), b"latest", {1}, object(), 1j, 10**5000, len, int,
    pd.DataFrame({"a": [1, 2]}), pd.NA, pd.NaT, [[1], [2, 3]], {1: object()},
)  # fmt: skip
"""Values that no argument takes."""


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with a recorded run."""
    folder = tmp_path_factory.mktemp("work")
    record_run(folder / "runs").rename(folder / "runs" / "one")
    return folder


@pytest.fixture
def run(work, monkeypatch):
    """The run, in whose folder a test works."""
    monkeypatch.chdir(work)
    return optimizer.load_run()


@pytest.fixture
def frame():
    """Bars in memory, as the keyword that passes them."""
    bars = load_bars("sample")
    columns = ("timestamp", "open", "high", "low", "close", "volume")
    return {"bars": pd.DataFrame({name: getattr(bars, name)[:3000] for name in columns})}


def list_files():
    """All that lies in the working folder."""
    return sorted(map(str, Path().rglob("*")))


def require_refusal(call, run, value):
    """The one line with which it is refused, while nothing is written."""
    before = list_files()
    with pytest.raises(OURS) as caught:
        call(run, value)
    message = str(caught.value)
    assert message
    assert message.isprintable()
    assert list_files() == before
    return message


def generate():
    """A generator, which can be read but once."""
    yield "sample"


@pytest.mark.parametrize("name", PLACES)
def test_values_of_any_library_are_those_of_python(name, run):
    """With the same result; what is no value of that kind is refused."""
    call, (plain, twins) = PLACES[name]
    for value in (*NEVER, generate()):
        require_refusal(call, run, value)
    expected = None if plain is None else call(run, plain)
    for twin in twins[: 1 if name in DEAR else None]:
        assert call(run, twin) == expected
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        # A price may be compared with any number.
        negative = () if name == "word_number" else (-1e300,)
        for value in (True, np.True_, str(plain), [plain], *negative):
            require_refusal(call, run, value)
    if isinstance(plain, str):
        for value in (3, True, np.array([3]), ["no", 3], {"a": 1}):
            require_refusal(call, run, value)


def test_bars_of_a_recorded_run_stay(run, frame, monkeypatch):
    """Also where the search was stopped."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("optimizer.run.runner._begin", stop)
    with pytest.raises(OptimizerError, match="stopped at once"):
        optimizer.evolve(population=8, runs="stopped", **frame)
    assert list(Path("stopped").glob("bars-*.parquet"))


def test_settings_win_over_a_configuration():
    """As over a file of one, and its other values stay."""
    config = optimizer.backtest(config=RunConfig(fee_bp=1, min_trades=7), fee_bp=2).task.config
    assert (config.fee_bp, config.min_trades) == (2, 7)


def test_frames_go_to_bars(frame):
    """Where they are given as data, the message says so."""
    for data in (frame["bars"], {"A": frame["bars"]}):
        with pytest.raises(ConfigError, match=r"backtest: data names sources; frames .* bars="):
            optimizer.backtest(data=data)


@pytest.mark.parametrize("call", [optimizer.backtest, optimizer.power, optimizer.evolve])
def test_trust_is_about_a_recorded_run(call):
    """Without one nothing can be trusted."""
    with pytest.raises(ConfigError, match="--trust is about a recorded run"):
        call(trust=True)


@pytest.mark.parametrize(
    ("call", "setting"), [(optimizer.power, "bars"), (optimizer.backtest, "--population")]
)
def test_a_recorded_run_says_what_it_searched(run, frame, call, setting):
    """Settings of it are refused, and never ignored."""
    given = frame if setting == "bars" else {"run": run.path, "population": 8}
    with pytest.raises(ConfigError, match=f"{setting}: run 'one' says what it searched"):
        call(**{"run": run.path, **given})


SMALL = {"population": 8, "generations": 2, "min_trades": 3, "judge": False}
QUIET = ("--no-judge", "--no-report")


@pytest.fixture
def timed_frame(market, tmp_path, monkeypatch):
    """Bars as a frame whose times are a column, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return pd.read_csv(market.removeprefix("csv:"))


@pytest.mark.slow
def test_frames_of_several_tickers_are_searched_resumed_and_verified(command, timed_frame):
    """The run needs neither the frames nor the process; its trades name the tickers."""
    timed = timed_frame.assign(timestamp=pd.to_datetime(timed_frame["timestamp"])).set_index(
        "timestamp"
    )
    wide = pd.concat({"AAA": timed, "BBB": timed * 2}, axis=1)
    wide[("meta", "")] = [{"a": 1}] * len(timed)
    run = optimizer.evolve(bars=wide, **SMALL)
    assert len(list(Path("runs").glob("bars-*.parquet"))) == 2
    assert set(run.trades(0)["symbol"]) == {"AAA", "BBB"}
    assert "0 mismatches" in command("runs", "verify", "latest").out
    command.succeed("evolve", "--resume", run.id, "--generations", "3", *QUIET)


@pytest.mark.slow
def test_errors_of_every_entry_name_the_frame(timed_frame):
    """As it was passed, also where its file is read."""
    bars = {
        "AAA": timed_frame.assign(high=np.where(timed_frame.index == 7, 1e-3, timed_frame["high"]))
    }
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
        optimizer.backtest(bars=timed_frame.to_numpy())


@pytest.mark.slow
def test_one_individual_is_backtested_in_memory(command, market, timed_frame):
    """A frame of any library that can give one of pandas; the trades are those of the command."""
    genes = {"close_location_min": 0.3, "vol_z_min": 0.5}
    run = optimizer.backtest(genes, bars=pa.Table.from_pandas(timed_frame))
    given = [part for name, value in genes.items() for part in ("--set", f"{name}={value}")]
    result = command("backtest", "--data", market, *given, "--json").json
    assert run.front["trades"][0] == result["metrics"]["trades"] > 0
    assert run.trades(0)["r"].sum() == pytest.approx(result["metrics"]["sum_r"], rel=1e-12)
    with pytest.raises(ConfigError, match="folder"):
        write_report(run)
    assert not Path("runs").exists()
    both = optimizer.backtest(genes, bars={"ONE": timed_frame, "OTHER/USDT": timed_frame})
    assert both.trades(0)["symbol"].value_counts().to_dict() == dict.fromkeys(
        ("ONE", "OTHER/USDT"), result["metrics"]["trades"]
    )
