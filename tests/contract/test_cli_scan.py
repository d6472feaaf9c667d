"""The command scan, as a person runs it."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

from optimizer import scan
from optimizer.cli.scan_tables import _format_runs, _format_symbols
from optimizer.errors import ConfigError
from optimizer.trend_scan import scan as scan_module
from tests.support.commands import Commands, write_market

LENGTHS = {"AAA": 900, "BBB": 400, "CCC": 700, "DDD": 39}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four markets, the last too short."""
    path = tmp_path_factory.mktemp("symbols")
    for seed, (name, length) in enumerate(LENGTHS.items()):
        write_market(path / f"{name}.csv", length, seed=seed)
    return path


@pytest.fixture
def command(capsys, tmp_path, monkeypatch, folder):
    """Run scan on them in an empty folder, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = Commands(capsys)
    return lambda *flags: run("scan", "--data", f"csv:{folder}", *flags)


def test_a_line_a_symbol_with_its_evidence(command):
    """Class, strength, since when, votes, close; then counts, the check, time and hash."""
    outcome = command("--verify", "all")
    assert outcome.code == 0, outcome.err
    lines = outcome.out.splitlines()
    result = command("--json").json
    headings = "symbol class trend bars since direction since ema hma wma dema lsma kama close last"
    assert lines[0].split() == [*headings.split(), "bar"]
    for line, symbol in zip(lines[1:], result["symbols"], strict=False):
        cells = line.split()
        assert cells[:4] == [
            symbol["symbol"],
            symbol["class"],
            f"{symbol['trend']:.6f}",
            str(symbol["bars"]),
        ]
        assert "T".join(cells[4:6]) == symbol["since"]
        assert list(map(int, cells[-9:-3])) == list(symbol["votes"].values())
    end = "\n".join(lines)
    assert "too short: DDD, 39 bars of 40 needed" in end
    assert "1 too short\n2,000 bars, the last at 1970-01-" in end
    assert "3 symbols replayed by the readable definition, no bit differs" in end
    assert re.search(r"^\d+\.\d\d s on cpu, \d+ threads?$", end, re.M)
    assert lines[-1] == f"rows {result['rows_hash']}"


def test_json_tells_everything(command):
    """What was asked, where each symbol stands, and what it was checked by."""
    result = command("--set", "ema_len=21", "--high", 0.2, "--low", -0.3, "--json").json
    assert result["parameters"]["ema_len"] == 21
    assert (result["parameters"]["hma_len"], result["high"], result["low"]) == (28, 0.2, -0.3)
    assert sum(result["counts"].values()) == len(result["symbols"]) == 3
    assert result["too_short"] == [{"symbol": "DDD", "bars": 39, "needed": 40}]
    assert (result["replayed"], result["bars"], result["compared"]) == (1, 2000, 0)
    assert all(symbol["history"] == [] for symbol in result["symbols"])


def test_genes_of_a_strategy_name_the_row(command, tmp_path):
    """Those that the row has; what is set by hand wins."""
    genes = {"ema_len": 21, "growth": 50, "long_threshold": 0.3}
    (tmp_path / "genes.json").write_text(json.dumps(genes))
    result = command("--genes", "genes.json", "--set", "growth=60", "--json").json
    assert (result["parameters"]["ema_len"], result["parameters"]["growth"]) == (21, 60)
    (tmp_path / "other.json").write_text('{"reward_r": 3}')
    assert "holds no parameter of a trend" in command("--genes", "other.json").error
    assert "add --genes" in command("--member", 0).error


def test_history_follows_the_table(command):
    """The last runs of each symbol, in the table and in JSON."""
    symbols = command("--history", 3, "--json").json["symbols"]
    assert [len(symbol["history"]) for symbol in symbols] == [3, 3, 3]
    assert symbols[0]["history"][-1]["class"] == symbols[0]["class"]
    out = command("--history", 3).out
    runs = out[out.index("Last runs") :].splitlines()[2:11]
    assert [line.split()[0] for line in runs[::3]] == [symbol["symbol"] for symbol in symbols]
    assert all(re.search(r" -?\d+\.\d\d%$", line) for line in runs)


def test_a_symbol_is_drawn(command):
    """One page, with its own script."""
    symbol = command("--json").json["symbols"][0]["symbol"]
    assert command("--plot", f"{symbol}=drawn.html").code == 0
    page = Path("drawn.html").read_text(encoding="utf-8")
    assert f"adaptive trend of {symbol}" in page
    assert "<script src=" not in page


def test_files_hold_whole_rows_in_every_bit(command, folder):
    """CSV and Parquet, read back, equal what Python is given."""
    assert command("--csv", "rows.csv", "--parquet", "rows.parquet", "--set", "cutout=7").code == 0
    expected = scan({"cutout": 7}, data=[f"csv:{folder}"], is_kept=False).columns()
    table = pq.read_table("rows.parquet")
    with open("rows.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(expected) == table.column_names == list(rows[0])
    assert len(rows) == len(expected["trend"]) == 2000
    assert {row["trend"] for row in rows[:7]} == {""}
    for name, column in expected.items():
        kept = table[name].to_numpy()
        written = [row[name] for row in rows]
        if name == "timestamp":
            assert column.tobytes() == kept.astype(np.int64).tobytes()
            stamps = [text.replace(" ", "T").removesuffix("Z") for text in written]
            assert column.tobytes() == np.array(stamps, "M8[ns]").astype(np.int64).tobytes()
        elif column.dtype == np.float64:
            assert column.tobytes() == kept.tobytes()
            assert (
                column.tobytes() == np.array([float(text or "nan") for text in written]).tobytes()
            )
        else:
            assert column.tolist() == kept.tolist()
            assert list(map(str, column.tolist())) == written


def test_a_second_scan_says_what_changed(command, folder, tmp_path):
    """After the first scan as it stood some runs ago."""
    symbols = command("--history", 2, "--json", "--no-keep").json["symbols"]
    assert not (tmp_path / "cache").exists()
    first = min(symbols, key=lambda one: one["history"][-1]["first"])
    was, now = first["history"]
    assert command("--end", now["first"]).code == 0
    outcome = command()
    line = next(line for line in outcome.out.splitlines() if line.startswith("changed: "))
    since = now["first"].replace("T", " ")
    assert line.startswith(f"changed: {first['symbol']} was {was['class']} at 19")
    assert line.endswith(f", {now['class']} since {since}")
    again = command("--json").json
    assert (again["changes"], again["compared"], again["went_on"]) == ([], 3, 0)
    assert again["symbols"] == command("--json", "--no-keep").json["symbols"]


def test_python_is_given_the_same(command, folder):
    """The function of the package, with its settings by name."""
    result = scan(data=f"csv:{folder}", is_kept=False, history=2, verify="all")
    payload = command("--history", 2, "--json", "--no-keep", "--verify", "all").json
    assert result.rows_hash == payload["rows_hash"]
    assert result.payload()["symbols"] == payload["symbols"]
    assert result.rows["BBB"].trend.shape == (400,)


def test_a_red_check_prints_no_class(command, monkeypatch):
    """Exit code 1, the symbol and the bar on stderr, nothing on stdout."""
    right = scan_module.trends

    def lying(*args, **kwargs):
        return [trend._replace(row=-trend.row) for trend in right(*args, **kwargs)]

    monkeypatch.setattr(scan_module, "trends", lying)
    outcome = command("--json", "--csv", "rows.csv")
    assert (outcome.code, outcome.out) == (1, "")
    assert (
        "error: 1 of 1 symbols differ from the readable definition, so no class is" in outcome.err
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--set", "emalen=21"), "parameter 'emalen' is unknown; known: cutout, "),
        (("--set", "ema_len=twenty"), "--set 'ema_len=twenty' must look like"),
        (("--set", "robustness=3"), "needs robustness whole and at least 0 and at most 2, got 3"),
        (("--set", "decay=1", "--set", "decay=2"), "'decay' is given twice"),
        (("--high", "-0.2"), "thresholds lie between -1 and 1"),
        (("--history", "-1"), "--history"),
        (("--verify", "none"), "--verify"),
        (("--threads", "0"), "--threads must be a whole number of at least 1, got 0"),
        (("--csv", "."), "is a folder, name a file"),
        (("--plot", "drawn.html"), "--plot drawn.html: write SYMBOL=FILE, the file named .html"),
        (("--plot", "other=drawn.html"), "symbol 'other' is unknown; known: "),
    ],
    ids=lambda value: "_".join(value).strip("-") if isinstance(value, tuple) else "",
)
def test_wrong_use_is_one_line(command, flags, message):
    """Exit code 2, with what is legal."""
    outcome = command(*flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.error


def test_tables_fit_a_terminal(folder):
    """Nothing is cut or folded at 80 columns, nor at 140 with the votes."""
    result = scan(data=f"csv:{folder}", is_kept=False, history=3)
    for width in (80, 140):
        stands = _format_symbols(result.symbols, width)
        assert len(stands.splitlines()) == 1 + len(result.symbols)
        text = f"{stands}\n{_format_runs(result.symbols, width)}"
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= width


def test_a_scan_is_a_frame(folder):
    """A row a symbol, as the line that the command prints."""
    result = scan(data=f"csv:{folder}", is_kept=False)
    frame = result.frame()
    assert frame["symbol"].tolist() == [symbol.symbol for symbol in result.symbols]
    assert frame["class"].tolist() == [symbol.class_ for symbol in result.symbols]
    assert frame["kama"].tolist() == [symbol.votes["kama"] for symbol in result.symbols]


def test_bars_in_memory_are_scanned_as_files_are(folder, tmp_path):
    """Symbols with a frame each; the next scan knows them again, and a frame alone will do."""
    frames = {name: pd.read_csv(folder / f"{name}.csv") for name in LENGTHS}
    cache = str(tmp_path / "cache")
    read = scan(data=f"csv:{folder}", is_kept=False)
    result = scan(bars=frames, cache=cache)
    assert result.rows_hash == read.rows_hash
    assert result.frame().equals(read.frame())
    again = scan(bars=frames, cache=cache)
    assert (again.compared, again.changes) == (3, ())
    alone = scan(bars=pa.Table.from_pandas(frames["AAA"]), is_kept=False)
    assert alone.symbols[0].trend == read.rows["AAA"].trend[-1]
    for wrong in ({}, [frames["AAA"]], {"AAA": 1}):
        with pytest.raises(ConfigError, match="symbols with a frame each"):
            scan(bars=wrong)
    with pytest.raises(ConfigError, match="in place of data"):
        scan(bars=frames, data="sample")


def test_a_long_symbol_is_cut_where_a_line_is_too_wide(folder):
    """With a mark; wide letters count as two columns."""
    symbols = scan(data=f"csv:{folder}", is_kept=False).symbols
    named = [replace(entry, symbol="漢" * 60) for entry in symbols]
    _, *lines = _format_symbols(named, 80).splitlines()
    assert all(cell_len(line) <= 80 and "…" in line for line in lines)


def test_a_symbol_that_would_be_a_formula_is_text_in_a_spreadsheet(command, tmp_path):
    """As in every CSV file that is written here."""
    write_market(tmp_path / "odd.csv", 100)
    first, *rest = (tmp_path / "odd.csv").read_text().splitlines()
    lines = [f"symbol,{first}", *(f"=1+1,{line}" for line in rest)]
    (tmp_path / "odd.csv").write_text("\n".join(lines))
    outcome = command("--data", "odd.csv", "--csv", "rows.csv")
    assert outcome.code == 0, outcome.err
    assert '\n"\'=1+1",' in (tmp_path / "rows.csv").read_text()
