"""data list, show, check and import, as a person uses them on files."""

import numpy as np
import pytest

from data import load_bars
from tests.support.commands import write_market
from tests.support.series import csv_text, make_columns, write_csv

pytestmark = pytest.mark.slow

DECIMAL_COMMAS = "Datum;Hoch;Tief;Er\u00f6ffnung;Schluss;Umsatz\n" + "".join(
    f"2024-01-{day:02d};{day + 3},5;{day},25;{day + 1},0;{day + 2},0;1.{day:03d}\n"
    for day in range(1, 29)
)


@pytest.fixture
def folder(tmp_path):
    """Two good files of different layouts and one that is not."""
    path = tmp_path / "files"
    path.mkdir()
    write_market(path / "AAA.csv", 1500)
    (path / "BBB.csv").write_text(DECIMAL_COMMAS)
    bad = make_columns(12)
    bad["volume"][4] = -1.0
    bad["low"][5] = 1e6
    bad["close"][[6, 7, 8, 9]] = np.nan
    order = [0, 2, 1, *range(3, 12), 11]
    write_csv(path, csv_text({name: bad[name][order] for name in bad}), "CCC.csv")
    return path


def test_check_tells_of_every_source_and_refuses_at_the_end(command, folder):
    """Good ones are summed up, bad ones shown with all that is wrong; the exit code follows."""
    outcome = command("data", "check", folder)
    assert outcome.code == 2
    assert "1 of 3" in outcome.error
    for words in ("AAA.csv: 1,500 bars of 15m", "BBB.csv: 28 bars of 1d, 2024-01-01", "CCC.csv",
                  "negative volume: 4", "low above open or close: 5", "row before: 2 ",
                  "equal to the row before: 12", "6 (2024-01-01T01:30)", "1 more"):  # fmt: skip
        assert words in outcome.out
    result = command("data", "check", folder, "--json").json
    assert [len(entry["problems"]) for entry in result] == [0, 0, 5]
    assert [entry.get("bars") for entry in result] == [1500, 28, None]
    repairs = ("--drop-bad-bars", "--sort", "--dedupe")
    assert command("data", "check", folder, *repairs).code == 0
    some = command("data", "check", folder, "--drop-bad-bars", "--json").json
    assert [len(entry["problems"]) for entry in some][:2] == [0, 0]
    assert "--sort" in some[2]["problems"][0]


def test_import_keeps_each_file_in_one_form(command, folder):
    """The bars are the same from there on; what cannot be read ends it, what was kept stays."""
    files = [folder / "AAA.csv", folder / "BBB.csv"]
    outcome = command("data", "import", *files, "--into", "bars", "--json")
    assert outcome.code == 0
    for row, file in zip(outcome.json, files, strict=True):
        assert load_bars(row["file"]).content_hash == load_bars(str(file)).content_hash
        assert row["written"]
    again = command("data", "import", *files, "--into", "bars")
    assert again.out.count("(as it was)") == 2
    outcome = command("data", "import", folder, "--into", "other")
    assert outcome.code == 2
    assert "CCC.csv" in outcome.error
    assert len(load_bars("other/AAA.parquet")) == 1500


def test_import_writes_over_nothing_that_it_read_or_wrote(command, tmp_path):
    """Nor over other bars without --replace, nor over a file in the place of its folder."""
    write_market(tmp_path / "AAA.csv", 1500)
    kept = ("data", "import", "AAA.csv")
    assert command(*kept).code == 0
    source = tmp_path / "bars" / "AAA.parquet"
    before = source.read_bytes()
    merged = ("data", "import", "bars/AAA.parquet", "--timeframe", "1h", "--replace")
    (tmp_path / "other").mkdir()
    write_market(tmp_path / "other" / "AAA.csv", 1600)
    (tmp_path / "file").write_text("mine")
    for refused, word in (
        (merged, "has read it"), (("data", "import", "other/AAA.csv"), "--replace"),
        ((*kept, "other/AAA.csv", "--replace"), "written it"), ((*kept, "--into", "file"), "file"),
    ):  # fmt: skip
        outcome = command(*refused)
        assert outcome.code == 2, refused
        assert word in outcome.error
        assert source.read_bytes() == before
    assert (tmp_path / "file").read_text() == "mine"
    assert command(*merged, "--into", "hours").code == 0
    assert command("data", "import", "other/AAA.csv", "--replace").code == 0
    assert len(load_bars(str(source))) == 1600
