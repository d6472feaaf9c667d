"""The command scan, as a person runs it, and its function in Python."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from optimizer import scan
from optimizer.errors import ConfigError
from optimizer.trend_scan import scan as scan_module
from tests.support.commands import Commands, read_csv, write_market

LENGTHS = {"AAA": 900, "BBB": 400, "CCC": 700, "DDD": 39}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four markets, the last too short."""
    path = tmp_path_factory.mktemp("symbols")
    for seed, (name, length) in enumerate(LENGTHS.items()):
        write_market(path / f"{name}.csv", length, seed=seed)
    return path


@pytest.fixture(scope="module")
def scanned(folder):
    """Their scan in Python, checked whole, with some history."""
    return scan(data=f"csv:{folder}", is_kept=False, history=3, verify="all")


@pytest.fixture
def command(capsys, tmp_path, monkeypatch, folder):
    """Run scan on them in an empty folder, with a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = Commands(capsys)
    return lambda *flags: run("scan", "--data", f"csv:{folder}", *flags)


def test_a_line_a_symbol_with_its_evidence(command, scanned):
    """Class, strength, since when and votes, last runs, check and hash: as JSON and Python say."""
    outcome = command("--verify", "all", "--history", 3, "--no-remember")
    assert outcome.code == 0, outcome.err
    head, *lines = outcome.out.splitlines()
    result = command("--json", "--verify", "all", "--history", 3, "--no-remember").json
    assert head.split()[:5] == ["symbol", "class", "trend", "bars", "since"]
    assert head.split()[-9:-3] == list(result["symbols"][0]["votes"])
    for line, symbol in zip(lines[:3], result["symbols"], strict=True):
        cells = line.split()
        known = symbol["symbol"], symbol["class"], f"{symbol['trend']:.6f}", str(symbol["bars"])
        assert tuple(cells[:4]) == known
        assert "T".join(cells[4:6]) == symbol["since"]
        assert list(map(int, cells[-9:-3])) == list(symbol["votes"].values())
        assert (len(symbol["history"]), symbol["history"][-1]["class"]) == (3, symbol["class"])
    rest = "\n".join(lines[3:])
    runs = [line.split()[0] for line in lines[3:] if re.search(r" -?\d+\.\d\d%$", line)]
    assert len(runs) == 9
    for word in ("DDD", "39", "40", "2,000", result["rows_hash"]):
        assert word in rest
    assert result["rows_hash"] == scanned.rows_hash
    assert result["symbols"] == scanned.payload()["symbols"]
    assert (result["replayed"], result["bars"], result["compared"]) == (3, 2000, 0)
    assert result["too_short"] == [{"symbol": "DDD", "bars": 39, "needed": 40}]
    assert sum(result["counts"].values()) == 3


def test_a_symbol_is_drawn_with_its_own_script(command, scanned):
    """One page that asks for nothing."""
    symbol = scanned.symbols[0].symbol
    assert command("--plot", f"{symbol}=drawn.html").code == 0
    page = Path("drawn.html").read_text(encoding="utf-8")
    assert f"adaptive trend of {symbol}" in page
    assert "<script src=" not in page


def test_files_hold_whole_rows_in_every_bit(command, folder):
    """CSV and Parquet, read back, equal what Python is given."""
    assert command("--csv", "rows.csv", "--parquet", "rows.parquet", "--set", "cutout=7").code == 0
    expected = scan({"cutout": 7}, data=[f"csv:{folder}"], is_kept=False).columns()
    table = pq.read_table("rows.parquet")
    rows = read_csv("rows.csv")
    assert list(expected) == table.column_names == list(rows[0])
    assert len(rows) == len(expected["trend"]) == 2000
    assert {row["trend"] for row in rows[:7]} == {""}
    for name, column in expected.items():
        kept, written = table[name].to_numpy(), [row[name] for row in rows]
        if name == "timestamp":
            stamps = [text.replace(" ", "T").removesuffix("Z") for text in written]
            kept, written = kept.astype(np.int64), np.array(stamps, "M8[ns]").astype(np.int64)
            assert column.tobytes() == kept.tobytes() == written.tobytes()
        elif column.dtype == np.float64:
            written = np.array([float(text or "nan") for text in written])
            assert column.tobytes() == kept.tobytes() == written.tobytes()
        else:
            assert column.tolist() == kept.tolist()
            assert list(map(str, column.tolist())) == written


def test_a_red_check_prints_no_class(command, monkeypatch):
    """Exit code 1, nothing on stdout, no file."""
    right = scan_module.trends

    def lying(*args, **kwargs):
        return [trend._replace(row=-trend.row) for trend in right(*args, **kwargs)]

    monkeypatch.setattr(scan_module, "trends", lying)
    outcome = command("--json", "--csv", "rows.csv")
    assert (outcome.code, outcome.out, Path("rows.csv").exists()) == (1, "", False)


def test_bars_in_memory_are_scanned_as_files_are(folder, scanned, tmp_path):
    """Symbols with a frame each; the next scan knows them again, and a frame alone will do."""
    frames = {name: pd.read_csv(folder / f"{name}.csv") for name in LENGTHS}
    cache = str(tmp_path / "cache")
    result = scan(bars=frames, cache=cache)
    assert result.rows_hash == scanned.rows_hash
    frame = result.frame()
    assert frame.equals(scanned.frame())
    for column, values in (
        ("symbol", [symbol.symbol for symbol in result.symbols]),
        ("class", [symbol.class_ for symbol in result.symbols]),
        ("kama", [symbol.votes["kama"] for symbol in result.symbols]),
    ):
        assert frame[column].tolist() == values
    again = scan(bars=frames, cache=cache)
    assert (again.compared, again.changes) == (3, ())
    alone = scan(bars=pa.Table.from_pandas(frames["AAA"]), is_kept=False)
    assert alone.symbols[0].trend == scanned.rows["AAA"].trend[-1]
    for wrong in ({"bars": {}}, {"bars": [1]}, {"bars": {"A": 1}}, {"bars": frames, "data": "x"}):
        with pytest.raises(ConfigError):
            scan(**wrong)
